"""The tree view of subagents: rows with buttons that show under the mouse and the focus."""

from __future__ import annotations

from typing import cast

from PySide6.QtCore import (
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QContextMenuEvent, QHelpEvent, QMouseEvent, QPainter, QPaintEvent, QRegion
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QStyle,
    QStyleOptionViewItem,
    QToolTip,
    QTreeView,
    QWidget,
)

from desktop_agent.gui.agent_actions import AgentActions
from desktop_agent.gui.agent_delegate import AgentDelegate
from desktop_agent.gui.agent_rows import AgentRow
from desktop_agent.gui.models.snapshot_list import ROW_ROLE
from desktop_agent.gui.models.snapshot_tree import SnapshotTreeModel
from desktop_agent.gui.theme import Theme

_INDENT = 18
# The rest is scrolled.
_ROWS_ASKED = 60
_Index = QModelIndex | QPersistentModelIndex


class AgentTreeView(QTreeView):
    """`opened` is emitted on a click on a row; keys and buttons go through `actions`."""

    opened = Signal(str)

    def __init__(self, theme: Theme, model: SnapshotTreeModel[AgentRow], parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        # What was pressed, and where: the row, the wish of its button, the place.
        self._pressed: tuple[QPersistentModelIndex, str, QPoint] | None = None
        self._pointer: QPoint | None = None
        self._dirty = QRegion()
        self.setObjectName("agentTree")
        self.setAccessibleName(self.tr("Subagents"))
        self.setHeaderHidden(True)
        self.setUniformRowHeights(True)
        self.setIndentation(theme.icon_px(_INDENT))
        self.setAnimated(False)
        self.setExpandsOnDoubleClick(False)
        self.setMouseTracking(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setEditTriggers(QTreeView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QTreeView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.actions_of_row = AgentActions(theme, self)
        self.rows = AgentDelegate(theme, self.actions_of_row.can_do, self)
        self.setItemDelegate(self.rows)
        self.setModel(model)
        model.rowsInserted.connect(self._open_new)
        theme.changed.connect(self._fit)

    def row_at(self, index: _Index) -> AgentRow | None:
        """Return the row of an index."""
        return index.data(ROW_ROLE) if index.isValid() else None

    def _fit(self) -> None:
        self.setIndentation(self._theme.icon_px(_INDENT))
        self.doItemsLayout()

    def turn_spinners(self) -> None:
        """Repaint the state icons of the running rows that can be seen, and nothing else."""
        index = self.indexAt(QPoint(self.viewport().width() // 2, 0))
        bottom = self.viewport().height()
        while index.isValid():
            rect = self.visualRect(index)
            if rect.top() > bottom:
                break
            row = self.row_at(index)
            if row is not None and row.state == "running":
                self.viewport().update(self.rows.icon_box(rect, self.layoutDirection()))
            index = self.indexBelow(index)

    def wish_box(self, index: QModelIndex, wish: str) -> QRect:
        """Return where a row's button is, for pointing at it."""
        return self.rows.button_box(self.visualRect(index), wish, self.layoutDirection())

    def sizeHint(self) -> QSize:
        """Ask for the room of the rows that are open, up to a limit."""
        count = 0
        index = self.model().index(0, 0)
        while index.isValid() and count < _ROWS_ASKED:
            count += 1
            index = self.indexBelow(index)
        return QSize(240, count * self._theme.size("row2") + 6)

    # -- drawing ---------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        """Remember what is to be painted: often it is spinners only."""
        self._dirty = event.region()
        super().paintEvent(event)

    def drawRow(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        """Draw the ground over the whole width, the chevron, then the row."""
        whole: QRect = option.rect  # pyright: ignore[reportAttributeAccessIssue]
        rect = self.visualRect(cast(QModelIndex, index))
        state = QStyle.StateFlag.State_Enabled
        is_selected = self.selectionModel().isSelected(index)
        is_hovered = self._pointer is not None and whole.contains(self._pointer)
        if is_selected:
            state |= QStyle.StateFlag.State_Selected
        if is_hovered:
            state |= QStyle.StateFlag.State_MouseOver
        if self.hasFocus() and self.currentIndex() == index:
            state |= QStyle.StateFlag.State_HasFocus
        if is_selected or is_hovered:
            painter.save()
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._theme.color("active" if is_selected else "hover"))
            painter.drawRoundedRect(whole.adjusted(4, 1, -4, -1), 6, 6)
            painter.restore()
        if self.model().hasChildren(index):
            self._paint_chevron(painter, rect, index)
        one = QStyleOptionViewItem(option)
        one.rect = rect  # pyright: ignore[reportAttributeAccessIssue]
        one.state = state  # pyright: ignore[reportAttributeAccessIssue]
        one.direction = self.layoutDirection()  # pyright: ignore[reportAttributeAccessIssue]
        row = self.row_at(index)
        if row is None or self._dirty.intersects(self.rows.words_box(rect, self.layoutDirection())):
            self.rows.paint(painter, one, index)
        else:
            self.rows.paint_state(painter, one, row)

    def _paint_chevron(self, painter: QPainter, rect: QRect, index: _Index) -> None:
        is_mirrored = self.layoutDirection() == Qt.LayoutDirection.RightToLeft
        icon = "chevron-left" if is_mirrored else "chevron-right"
        if self.isExpanded(cast(QModelIndex, index)):
            icon = "chevron-down"
        size = self._theme.icon_px(14)
        left = rect.right() + 3 if is_mirrored else rect.left() - size
        y = self.rows.icon_box(rect, self.layoutDirection()).center().y() - size // 2 + 1
        ratio = painter.device().devicePixelRatioF()
        painter.drawPixmap(left, y, self._theme.pixmap(icon, "muted", size, ratio))

    # -- mouse -----------------------------------------------------------------------------

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Follow the button under the mouse."""
        super().mouseMoveEvent(event)
        self._point(event.position().toPoint())

    def leaveEvent(self, event: QEvent) -> None:
        """No button is pointed at any more."""
        super().leaveEvent(event)
        self._pointer = None
        self.rows.pointed = ""
        self.viewport().update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """A press on a button leaves the selection alone."""
        if not self._press(event):
            super().mousePressEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """The second press of a quick pair acts at once: its release says nothing new."""
        if not self._press(event):
            super().mouseDoubleClickEvent(event)
        self._act(event)

    def _press(self, event: QMouseEvent) -> bool:
        """Remember what is pressed; tell whether it is a button."""
        where = event.position().toPoint()
        index = self.indexAt(where)
        wish = self._wish_at(index, where) if event.button() == Qt.MouseButton.LeftButton else ""
        is_row = index.isValid() and self.visualRect(index).contains(where)
        self._pressed = (QPersistentModelIndex(index), wish, where) if is_row else None
        return bool(wish)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """A button acts, the rest of the row opens the transcript.

        What counts is the row that was pressed: by then the card below may have made room for
        itself, and another row be there.
        """
        if self._pressed is None or not self._pressed[1]:
            super().mouseReleaseEvent(event)
        self._act(event)

    def _act(self, event: QMouseEvent) -> None:
        pressed, self._pressed = self._pressed, None
        if event.button() != Qt.MouseButton.LeftButton or pressed is None:
            return
        index, wish, where = pressed
        moved = event.position().toPoint() - where
        row = self.row_at(index)
        if row is None or moved.manhattanLength() >= QApplication.startDragDistance():
            return
        if not wish:
            self.opened.emit(row.key)
        elif self.actions_of_row.can_do(row, wish):
            self.actions_of_row.wished.emit(row.key, wish)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Show the menu of the row, by mouse or by key."""
        where = event.pos()
        index = self.indexAt(where)
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            index = self.currentIndex()
            where = self.visualRect(index).center()
        if index.isValid():
            self.setCurrentIndex(index)
            self.actions_of_row.set_row(self.row_at(index))
            menu = self.actions_of_row.make_menu(self)
            menu.popup(self.viewport().mapToGlobal(where))

    def viewportEvent(self, event: QEvent) -> bool:
        """Name the button under the mouse, or say why it can't be pressed."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            index = self.indexAt(event.pos())
            row = self.row_at(index)
            wish = self._wish_at(index, event.pos())
            if row is not None and wish:
                QToolTip.showText(event.globalPos(), self.actions_of_row.tip(row, wish), self)
                return True
        return super().viewportEvent(event)

    def _point(self, where: QPoint) -> None:
        index = self.indexAt(where)
        pointed = self._wish_at(index, where)
        before = self.indexAt(self._pointer) if self._pointer is not None else QModelIndex()
        self._pointer = where
        if pointed != self.rows.pointed or index != before:
            self.rows.pointed = pointed
            self.viewport().update()

    def _wish_at(self, index: QModelIndex, where: QPoint) -> str:
        row = self.row_at(index)
        if row is None or row.info.is_ended:  # which shows how it ended in their place
            return ""
        return self.rows.wish_at(self.visualRect(index), where, self.layoutDirection())

    def _open_new(self, parent: QModelIndex, first: int, last: int) -> None:
        """Show the first subagents below a row; what the person has closed stays closed."""
        if parent.isValid() and self.model().rowCount(parent) == last - first + 1:
            self.expand(parent)
