"""The lines of usage as a table, with a bar that compares them."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QPersistentModelIndex,
    QRect,
    QRectF,
    Qt,
    Signal,
)
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from desktop_agent.core.usage import UsageLine
from desktop_agent.gui.kit.lists.ringed_table import RingedTable
from desktop_agent.gui.kit.safe_text import plain_tip
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.usage.text import (
    Grouping,
    Measure,
    amount,
    amount_text,
    count_text,
    name_text,
    unknown,
)

SHARE_ROLE = int(Qt.ItemDataRole.UserRole)
_NAME, _BAR, _COST, _TOKENS, _INPUT, _OUTPUT, _CACHED, _REQUESTS = range(8)
_NAME_WIDTH, _BAR_WIDTH = 240, 120
_Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()


class UsageTableModel(QAbstractTableModel):
    """A row a line. `SHARE_ROLE` of the bar is its length, from 0 to 1, None if unknown."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._lines: Sequence[UsageLine] = ()
        self._grouping: Grouping = "model"
        self._measure: Measure = "cost"
        # What a full bar stands for: days are compared with the highest one.
        self._all = self._whole = 0.0

    def set_lines(self, lines: Sequence[UsageLine], grouping: Grouping, measure: Measure) -> None:
        if (lines, grouping, measure) == (self._lines, self._grouping, self._measure):
            return
        self.beginResetModel()
        self._lines, self._grouping, self._measure = lines, grouping, measure
        values = [amount(line, measure) for line in lines]
        self._all = sum(values)
        self._whole = max(values, default=0.0) if grouping == "day" else self._all
        self.endResetModel()

    def line(self, index: _Index) -> UsageLine:
        return self._lines[index.row()]

    def rowCount(self, parent: _Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._lines)

    def columnCount(self, parent: _Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else _REQUESTS + 1

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid() or index.row() >= len(self._lines):
            return None
        line, column = self._lines[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(line, column)
        if role == Qt.ItemDataRole.ToolTipRole and column == _NAME:
            return plain_tip(self._text(line, column))
        if role == Qt.ItemDataRole.TextAlignmentRole and column > _BAR:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if role == SHARE_ROLE and column == _BAR:
            return self._share(line, self._whole)
        return None

    def _share(self, line: UsageLine, whole: float) -> float | None:
        """Return its part of what is known; None where nothing is known of it."""
        if not whole or unknown(line, self._measure) == line.requests:
            return None
        return amount(line, self._measure) / whole

    def _text(self, line: UsageLine, column: int) -> str:
        match column:
            case 0:
                return name_text(line, self._grouping)
            case 1:
                share = self._share(line, self._all)
                return "–" if share is None else f"{share * 100:.0f} %"
            case 2 | 3:
                return amount_text(line, "cost" if column == _COST else "tokens")
            case 4 | 5 | 6:
                kinds = (line.input_tokens, line.output_tokens, line.cached_tokens)
                return count_text(line, kinds[column - _INPUT])
            case _:
                return f"{line.requests:,}"

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if orientation == Qt.Orientation.Vertical:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole and section > _BAR:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        first = {
            "model": self.tr("Model"),
            "session": self.tr("Session"),
            "day": self.tr("Day"),
        }
        names = (
            *(first[self._grouping], self.tr("Share"), self.tr("Cost"), self.tr("Tokens")),
            *(self.tr("Read"), self.tr("Written"), self.tr("From cache"), self.tr("Requests")),
        )
        return names[section]


class UsageTable(RingedTable):
    """Signals:
    chosen(UsageLine): a double click or Enter
    """

    chosen = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setObjectName("usageTable")
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setWordWrap(False)
        self.setShowGrid(False)
        self.setTabKeyNavigation(False)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self._model = UsageTableModel(self)
        self.setModel(self._model)
        self._bars = _BarDelegate(theme, self)
        self.setItemDelegateForColumn(_BAR, self._bars)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setMinimumSectionSize(64)
        for column in range(_REQUESTS + 1):
            mode = QHeaderView.ResizeMode
            header.setSectionResizeMode(column, mode.Stretch if not column else mode.Interactive)
        self.doubleClicked.connect(self._choose)
        theme.changed.connect(self._resize)

    def show_lines(
        self, lines: Sequence[UsageLine], grouping: Grouping, measure: Measure, spoken: str
    ) -> None:
        """Show these; `spoken` is what they are."""
        chosen = self.currentIndex()
        key = self._model.line(chosen).key if chosen.isValid() else None
        self.setAccessibleName(spoken)
        self._model.set_lines(lines, grouping, measure)
        self._resize()
        keys = [line.key for line in lines]
        if keys:
            self.selectRow(keys.index(key) if key in keys else 0)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.currentIndex()
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and index.isValid():
            self._choose(index)
        else:
            super().keyPressEvent(event)

    def _choose(self, index: QModelIndex) -> None:
        self.chosen.emit(self._model.line(index))

    def _resize(self) -> None:
        scale = self._theme.text_px("ui") / 13
        self.verticalHeader().setDefaultSectionSize(self._theme.size("row"))
        self.resizeColumnsToContents()
        self.setColumnWidth(_BAR, round(_BAR_WIDTH * scale))
        self.horizontalHeader().setMinimumSectionSize(round(64 * scale))


class _BarDelegate(QStyledItemDelegate):
    """Draws the share as a bar, with its number beside it."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box: QRect = option.rect
        ground = QStyleOptionViewItem(option)
        self.initStyleOption(ground, index)
        ground.text = ""
        view: QWidget = option.widget
        view.style().drawControl(QStyle.ControlElement.CE_ItemViewItem, ground, painter, view)
        self._draw(painter, box, index)
        painter.restore()

    def _draw(self, painter: QPainter, box: QRect, index: _Index) -> None:
        share = index.data(SHARE_ROLE)
        words = 44 * self._theme.text_px("ui") / 13
        room = QRectF(box).adjusted(8, 0, -8, 0)
        bar = QRectF(room.left(), room.center().y() - 4, max(0.0, room.width() - words), 8)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.color("line2"))
        painter.drawRoundedRect(bar, 4, 4)
        if isinstance(share, float) and share > 0:
            filled = QRectF(bar)
            filled.setWidth(max(4.0, bar.width() * share))
            painter.setBrush(self._theme.color("accentFill"))
            painter.drawRoundedRect(filled, 4, 4)
        painter.setPen(self._theme.color("muted"))
        painter.setFont(self._theme.font("caption"))
        flags = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(room, flags, str(index.data() or ""))
