"""A list of rows with switches: arrows choose, Space switches; a snapshot changes it."""

from __future__ import annotations

from PySide6.QtCore import (
    QAbstractItemModel,
    QEvent,
    QModelIndex,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QFontMetrics, QKeyEvent, QMouseEvent, QPainter
from PySide6.QtWidgets import QListView, QStyleOptionViewItem, QWidget

from desktop_agent.gui.kit.lists.check_box import (
    CheckBoxDelegate,
    check_state,
    paint_box,
    trailing_box,
)
from desktop_agent.gui.kit.lists.list_model import (
    ROW_ROLE,
    Index,
    SnapshotListModel,
    text_roles,
)
from desktop_agent.gui.kit.lists.row_painter import RowPainter
from desktop_agent.gui.kit.rtl import placed
from desktop_agent.gui.kit.safe_text import plain_tip
from desktop_agent.gui.kit.theme import Theme, mono_font
from desktop_agent.gui.mcp.state_mark import paint_mark
from desktop_agent.gui.mcp.text import SwitchRow

_CHECK = int(Qt.ItemDataRole.CheckStateRole)
_EDGE, _BOX, _ICON, _GAP = 12, 16, 18, 10
_MOST_MEASURED = 100


class SwitchList(QListView):
    """In a table the title and what is below it are columns of one line.

    Signals:
    switched(key, is_on): the user wants it so; the row changes with the next snapshot
    pointed(key): another row is the current one; empty without any
    opened(key): a click or Enter
    acted(key): a click on the button in a row
    """

    switched = Signal(str, bool)
    pointed = Signal(str)
    opened = Signal(str)
    acted = Signal(str)

    def __init__(
        self,
        theme: Theme,
        name: str,
        spoken: str,
        parent: QWidget | None = None,
        *,
        is_table: bool = False,
    ) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setAccessibleName(spoken)
        self.setMouseTracking(True)
        self.setUniformItemSizes(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        roles = {**text_roles(_title, _spoken, _tip), _CHECK: _check_state}
        self.rows = _Rows(_key, roles, self, _flags)
        self.rows.switched.connect(self.switched)
        self.setModel(self.rows)
        self._delegate = (_TableDelegate if is_table else _Delegate)(theme, self)
        self._delegate.acted.connect(self.acted)
        self.setItemDelegate(self._delegate)
        self.clicked.connect(self._on_clicked)
        self.selectionModel().currentChanged.connect(lambda: self.pointed.emit(self.current_key))
        theme.changed.connect(self.scheduleDelayedItemsLayout)

    @property
    def current_key(self) -> str:
        """The key of the row that keys are for."""
        row = self.currentIndex().data(ROW_ROLE) if self.currentIndex().isValid() else None
        return row.key if isinstance(row, SwitchRow) else ""

    def show_rows(self, rows: tuple[SwitchRow, ...]) -> None:
        """Show these rows; the current one stays if it is among them, else the first is."""
        held = self.current_key
        self._delegate.titles = tuple(row.title for row in rows)
        self.rows.set_rows(rows)
        index = self.rows.index_of(held) if held else QModelIndex()
        if not index.isValid() and rows:
            index = self.rows.index(0)
        if index != self.currentIndex():
            self.setCurrentIndex(index)

    def choose(self, key: str) -> bool:
        """Make a row the current one."""
        index = self.rows.index_of(key)
        if index.isValid():
            self.setCurrentIndex(index)
        return index.isValid()

    def _on_clicked(self, index: QModelIndex) -> None:
        if not self._delegate.took_click:
            self.opened.emit(index.data(ROW_ROLE).key)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.current_key:
            self.opened.emit(self.current_key)
        else:
            super().keyPressEvent(event)


class _Rows(SnapshotListModel[SwitchRow]):
    """Setting a check state only tells that it is wanted."""

    switched = Signal(str, bool)

    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        row = index.data(ROW_ROLE)
        if role != Qt.ItemDataRole.CheckStateRole or row is None or row.is_on is None:
            return False
        self.switched.emit(row.key, Qt.CheckState(value) == Qt.CheckState.Checked)
        return True


class _Delegate(CheckBoxDelegate):
    """Icon, two lines, a word or a button at the end, a box."""

    acted = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, trailing_box(theme, _EDGE, _BOX), parent)
        self.titles: tuple[str, ...] = ()

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(120, self._theme.size("row2") + 4)

    def editorEvent(
        self, event: QEvent, model: QAbstractItemModel, option: QStyleOptionViewItem, index: Index
    ) -> bool:
        row: SwitchRow = index.data(ROW_ROLE)
        if row.action and isinstance(event, QMouseEvent):
            rect: QRect = option.rect
            direction: Qt.LayoutDirection = option.direction
            button = placed(direction, rect, self._button(rect, row))
            if button.contains(event.position().toPoint()):
                is_left = event.button() == Qt.MouseButton.LeftButton
                if is_left and event.type() == QEvent.Type.MouseButtonRelease:
                    self.took_click = True
                    self.acted.emit(row.key)
                # Not of a press, which makes the row the current one.
                return event.type() != QEvent.Type.MouseButtonPress
        return super().editorEvent(event, model, option, index)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row: SwitchRow = index.data(ROW_ROLE)
        with RowPainter(self._theme, painter, option) as pen:
            pen.ground()
            pen.cursor()
            inner = pen.rect.adjusted(_EDGE, 0, -_EDGE, 0)
            left = inner.left()
            if row.icon:
                size = self._theme.icon_px(_ICON)
                top = inner.center().y() - size // 2 + 1
                token = "accent" if pen.is_selected else "muted"
                pen.icon(QRect(left, top, size, size), row.icon, token)
                left += size + _GAP
            right = inner.right()
            if row.is_on is not None:
                box = self.box(pen.rect)
                paint_box(self._theme, painter, pen.mirrored(box), is_on=row.is_on)
                right = box.left() - _GAP
            if row.action:
                button = self._button(pen.rect, row)
                pen.button(button, row.action)
                right = button.left() - _GAP
            self._paint_words(pen, row, inner, left, right)

    def _paint_words(
        self, pen: RowPainter, row: SwitchRow, inner: QRect, left: int, right: int
    ) -> None:
        theme, middle = self._theme, inner.center().y()
        upper = QRect(left, inner.top() + 7, max(0, right - left), middle - inner.top() - 5)
        lower = QRect(left, middle + 2, max(0, right - left), inner.bottom() - middle - 8)
        if row.trailing and not row.action:
            font = theme.font("caption")
            width = min(upper.width() // 2, QFontMetrics(font).horizontalAdvance(row.trailing) + 2)
            box = QRect(right - width, upper.top(), width + 1, upper.height())
            pen.text(box, row.trailing, pen.faint, font)
            upper.setWidth(upper.width() - width - _GAP)
        pen.text(upper, row.title, _ink(row), theme.font("ui", "semibold"))
        tone = row.tone if row.tone and row.tone != "subtle" else pen.faint
        if row.mark:
            lower.setLeft(lower.left() + paint_mark(theme, pen, row.mark, lower, tone))
        pen.text(lower, row.below, tone, theme.font("small"))

    def _button(self, rect: QRect, row: SwitchRow) -> QRect:
        metrics = QFontMetrics(self._theme.font("ui", "medium"))
        width, height = metrics.horizontalAdvance(row.action) + 2 * _EDGE, metrics.height() + _EDGE
        width = min(width, rect.width() // 2)
        right = self.box(rect).left() - _GAP
        return QRect(right - width, rect.center().y() - height // 2, width, height)


class _TableDelegate(_Delegate):
    """Title, what is below it, a word on a ground and a box, in one line."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(120, self._theme.size("row") + 4)

    def _paint_words(
        self, pen: RowPainter, row: SwitchRow, inner: QRect, left: int, right: int
    ) -> None:
        theme, font = self._theme, mono_font(self._theme)
        if self.titles[-1:] != (row.title,):
            pen.divide()
        line = QRect(left, inner.top(), right - left, inner.height())
        used = pen.chip(line, row.badge, line.width() // 3, row.badge_tone) + _GAP
        metrics = QFontMetrics(font)
        widest = max(map(metrics.horizontalAdvance, self.titles[:_MOST_MEASURED]), default=0)
        column = min(widest + 2 * _GAP, (line.width() - used) // 2)
        pen.text(line.adjusted(0, 0, column - line.width() - _GAP, 0), row.title, _ink(row), font)
        rest = line.adjusted(column, 0, -used, 0)
        pen.text(rest, row.below, pen.faint, theme.font("small"))


def _ink(row: SwitchRow) -> str:
    return "muted" if row.is_on is False else "fg"


def _key(row: SwitchRow) -> str:
    return row.key


def _title(row: SwitchRow) -> str:
    return row.title


def _spoken(row: SwitchRow) -> str:
    return row.spoken


def _tip(row: SwitchRow) -> str:
    return plain_tip(row.below)


def _check_state(row: SwitchRow) -> Qt.CheckState | None:
    return None if row.is_on is None else check_state(is_on=row.is_on)


def _flags(row: SwitchRow) -> Qt.ItemFlag:
    usual = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
    return usual if row.is_on is None else usual | Qt.ItemFlag.ItemIsUserCheckable
