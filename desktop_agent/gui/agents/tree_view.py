"""The tree view of subagents: rows with buttons that show under the mouse and the focus."""

from __future__ import annotations

from collections.abc import Sequence

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
from PySide6.QtGui import (
    QAccessible,
    QContextMenuEvent,
    QHelpEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QRegion,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QStyleOptionViewItem,
    QToolTip,
    QTreeView,
    QWidget,
)

from desktop_agent.gui.agents.actions import AgentActions
from desktop_agent.gui.agents.delegate import AgentDelegate, RowLook
from desktop_agent.gui.agents.rows import AgentRow
from desktop_agent.gui.kit.lists.keyboard_focus import KeyboardFocus
from desktop_agent.gui.kit.lists.list_model import Index
from desktop_agent.gui.kit.lists.row_painter import ring
from desktop_agent.gui.kit.lists.tree_model import SnapshotTreeModel
from desktop_agent.gui.kit.theme import Theme

_INDENT = 18
# The rest is scrolled.
_ROWS_ASKED = 60
_NAME = int(Qt.ItemDataRole.DisplayRole)
# What a screen reader says and a tooltip tells stands below the name.
_DETAIL = (int(Qt.ItemDataRole.AccessibleTextRole), int(Qt.ItemDataRole.ToolTipRole))
# More changed rows than that are painted with all others.
_MANY = 100


def changed_roles(before: AgentRow, after: AgentRow) -> Sequence[int]:
    """Return the roles by which two rows of one agent differ; what its line says always may."""
    one, two = before.info, after.info
    is_same = (before.state, one.pace, one.name) == (after.state, two.pace, two.name)
    return _DETAIL if is_same else (*_DETAIL, _NAME)


class AgentTreeView(KeyboardFocus, QTreeView):
    """Keys and buttons of a row go through `actions_of_row`.

    Signals:
        opened(agent_id): a click on a row
    """

    opened = Signal(str)

    def __init__(self, theme: Theme, model: SnapshotTreeModel[AgentRow], parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._tree = model
        # What was pressed, and where: the row, the command of its button, the place.
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

    def row_at(self, index: Index) -> AgentRow | None:
        return self._tree.row_of(index)

    def _fit(self) -> None:
        self.setIndentation(self._theme.icon_px(_INDENT))
        self.doItemsLayout()

    def turn_spinners(self) -> None:
        """Repaint the state icons of the running rows that can be seen, and nothing else."""
        viewport = self.viewport()
        index = self.indexAt(QPoint(viewport.width() // 2, 0))
        whole = self._across(self.visualRect(index))
        bottom, icons = viewport.height(), QRegion()
        while index.isValid() and whole.top() < bottom:
            row = self._tree.row_of(index)
            if row is not None and row.state == "running":
                icons += self.rows.icon_box(self._plain_look(row, whole, index))
            index = self.indexBelow(index)
            whole.translate(0, whole.height())
        if not icons.isEmpty():
            viewport.update(icons)

    def dataChanged(self, topLeft: Index, bottomRight: Index, roles: Sequence[int] = ()) -> None:
        """Repaint what reads otherwise: mostly that is the lower line of a row."""
        if QAccessible.isActive():  # others listen, whom Qt tells
            super().dataChanged(topLeft, bottomRight, roles)
            return
        first, last = topLeft.row(), bottomRight.row()
        if last - first > _MANY:
            self.viewport().update()
            return
        is_whole = not roles or _NAME in roles
        parent, changed = topLeft.parent(), QRegion()
        for place in range(first, last + 1):
            index = self._tree.index(place, 0, parent)
            row, whole = self._tree.row_of(index), self._across(self.visualRect(index))
            if row is None or whole.isEmpty():  # below one that is closed
                continue
            look = self._plain_look(row, whole, index)
            changed += whole if is_whole else self.rows.detail_box(look)
        self.viewport().update(changed)

    def button_box(self, index: QModelIndex, command: str) -> QRect:
        look = self._look(index, self._across(self.visualRect(index)))
        return QRect() if look is None else self.rows.button_box(look, command)

    def sizeHint(self) -> QSize:
        """Ask for the room of the rows that are open, up to a limit."""
        count = self._tree.count_open(self.isExpanded, _ROWS_ASKED)
        return QSize(240, count * self._theme.size("row2") + 6)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the chosen row in view, as when its card opens below."""
        chosen = self.visualRect(self.currentIndex())
        was_seen = chosen.isValid() and 0 <= chosen.top() < event.oldSize().height()
        super().resizeEvent(event)
        if was_seen:
            self.scrollTo(self.currentIndex())

    def minimumSizeHint(self) -> QSize:
        """Ask for no more than that: Qt's own would leave a hole below one row."""
        return QSize(0, 0)

    # -- drawing ---------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        self._dirty = event.region()
        super().paintEvent(event)

    def drawRow(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw the ground over the whole width, the chevron, then what is dirty of the row."""
        whole: QRect = option.rect
        look = self._look(index, whole)
        if look is None:
            return
        if look.is_selected or look.is_hovered:
            painter.save()
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._theme.color("active" if look.is_selected else "hover"))
            painter.drawRoundedRect(whole.adjusted(4, 1, -4, -1), 6, 6)
            painter.restore()
        if self._tree.hasChildren(index):
            self._paint_chevron(painter, look)
        self.rows.draw(painter, look, self._dirty)
        if look.is_focused and self.is_by_keys:
            painter.save()
            ring(painter, whole, self._theme.color("accent"))
            painter.restore()

    def _plain_look(self, row: AgentRow, whole: QRect, index: Index) -> RowLook:
        inset = (self._tree.level_of(index) + 1) * self.indentation()
        is_mirrored = self.isRightToLeft()
        left, right = (0, -inset) if is_mirrored else (inset, 0)
        return RowLook(row, whole.adjusted(left, 0, right, 0), is_mirrored)

    def _look(self, index: Index, whole: QRect) -> RowLook | None:
        """Return a row as it is to be drawn now, or None when it is gone."""
        row = self._tree.row_of(index)
        if row is None:
            return None
        look = self._plain_look(row, whole, index)
        selection = self.selectionModel()
        look.is_selected = selection.hasSelection() and selection.isSelected(index)
        look.is_hovered = self._pointer is not None and whole.contains(self._pointer)
        look.is_focused = self.hasFocus() and self.currentIndex() == index
        return look

    def _across(self, rect: QRect) -> QRect:
        return QRect(0, rect.top(), self.viewport().width(), rect.height())

    def _paint_chevron(self, painter: QPainter, look: RowLook) -> None:
        icon = "chevron-left" if look.is_mirrored else "chevron-right"
        if self.isExpanded(self._tree.index_of(look.row.key)):
            icon = "chevron-down"
        size = self._theme.icon_px(14)
        left = look.rect.right() + 3 if look.is_mirrored else look.rect.left() - size
        y = self.rows.icon_box(look).center().y() - size // 2 + 1
        ratio = painter.device().devicePixelRatioF()
        painter.drawPixmap(left, y, self._theme.pixmap(icon, "muted", size, ratio))

    # -- mouse -----------------------------------------------------------------------------

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        self._point(event.position().toPoint())

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._pointer = None
        self.rows.pointed = ""
        self.viewport().update()

    def set_by_keys(self, *, is_by_keys: bool) -> None:
        if is_by_keys != self.is_by_keys:
            self.is_by_keys = is_by_keys
            self.viewport().update(self._across(self.visualRect(self.currentIndex())))

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
        is_left = event.button() == Qt.MouseButton.LeftButton
        command = self._command_at(index, where) if is_left else ""
        is_row = index.isValid() and self.visualRect(index).contains(where)
        self._pressed = (QPersistentModelIndex(index), command, where) if is_row else None
        return bool(command)

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
        index, command, where = pressed
        moved = event.position().toPoint() - where
        row = self.row_at(index)
        if row is None or moved.manhattanLength() >= QApplication.startDragDistance():
            return
        if not command:
            self.opened.emit(row.key)
        elif self.actions_of_row.can_do(row, command):
            self.actions_of_row.command_requested.emit(row.key, command)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
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
            row, command = self.row_at(index), self._command_at(index, event.pos())
            if row is not None and command:
                QToolTip.showText(event.globalPos(), self.actions_of_row.tip(row, command), self)
                return True
        return super().viewportEvent(event)

    def _point(self, where: QPoint) -> None:
        index = self.indexAt(where)
        pointed = self._command_at(index, where)
        before = self.indexAt(self._pointer) if self._pointer is not None else QModelIndex()
        self._pointer = where
        if pointed != self.rows.pointed or index != before:
            self.rows.pointed = pointed
            self.viewport().update()

    def _command_at(self, index: QModelIndex, where: QPoint) -> str:
        look = self._look(index, self._across(self.visualRect(index)))
        if look is None or look.row.info.is_ended:  # which shows how it ended in their place
            return ""
        return self.rows.command_at(look, where)

    def _open_new(self, parent: QModelIndex, first: int, last: int) -> None:
        """Show the first subagents below a row; what the user has closed stays closed."""
        if parent.isValid() and self.model().rowCount(parent) == last - first + 1:
            self.expand(parent)
