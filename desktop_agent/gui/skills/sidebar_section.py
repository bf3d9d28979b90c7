"""The short list of skills in the sidebar."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QEvent, QModelIndex, QObject, QRect, QSize, Qt, Signal
from PySide6.QtGui import QEnterEvent, QFocusEvent, QFontMetrics, QKeyEvent, QPainter, QResizeEvent
from PySide6.QtWidgets import (
    QListView,
    QSizePolicy,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from desktop_agent.core.skills import Skill
from desktop_agent.gui.kit.lists.keyboard_focus import KeyboardFocus
from desktop_agent.gui.kit.lists.list_model import ROW_ROLE, Index, SnapshotListModel
from desktop_agent.gui.kit.lists.row_painter import RowPainter
from desktop_agent.gui.kit.safe_text import plain_tip
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import IconButton, PushButton, TextLabel, named, row
from desktop_agent.gui.skills.text import ORIGINS, origin_word, state_badge, state_icon

translate = QCoreApplication.translate
_SHOWN = 4
# In a low window the sessions need the room.
_ROOM = 400


class SkillsSection(QWidget):
    """A short list in the sidebar.

    Signals:
        opened(directory): open the page, with this skill if one is named
        add_requested: open the dialog to add skills
        approached: the pointer entered, so that the page can be prepared
    """

    approached = Signal()
    opened = Signal(str)
    add_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._skills: tuple[Skill, ...] = ()
        self.setObjectName("skillsSection")
        self.setAccessibleName(self.tr("Skills"))
        self._title = named(PushButton(self.tr("Skills"), self), "openSkills")
        self._title.setProperty("kind", "section")
        self._title.setToolTip(self.tr("All skills (Ctrl+Shift+K)"))
        self._title.clicked.connect(lambda: self.opened.emit(""))
        self._count = TextLabel("", "caption", self, name="skillCount")
        self._add = IconButton(theme, "plus", self.tr("Add skill…"), self, size=14)
        self._add.setObjectName("addSkillShort")
        self._add.clicked.connect(self.add_requested)
        self._model: SnapshotListModel[Skill] = SnapshotListModel(
            lambda one: one.directory,
            {
                int(Qt.ItemDataRole.DisplayRole): lambda one: one.name,
                int(Qt.ItemDataRole.AccessibleTextRole): self._spoken,
                int(Qt.ItemDataRole.ToolTipRole): lambda one: plain_tip(one.description) or None,
            },
            self,
        )
        self.list = _ShortList(self)
        self.list.setModel(self._model)
        self.list.setItemDelegate(_ShortDelegate(theme, self.list))
        self.list.setAccessibleName(self.tr("Skills"))
        self.list.clicked.connect(self._open)
        self.list.chosen.connect(self._open)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.space("s"), theme.space("s"), theme.space("s"), 0)
        layout.setSpacing(2)
        layout.addLayout(row(self._title, None, self._count, self._add, 2, spacing=4))
        layout.addWidget(self.list)
        theme.changed.connect(self._fit)
        theme.changed.connect(self.list.scheduleDelayedItemsLayout)
        if parent is not None:
            parent.installEventFilter(self)

    def set_skills(self, skills: tuple[Skill, ...]) -> None:
        """Show the first of these: those in use, the ones used most before the others."""
        self._skills = skills
        real = [one for one in skills if not one.shadowed_by]
        real.sort(key=_rank)
        on = sum(1 for one in real if one.is_usable)
        words = self.tr("{n} of {all}").format(n=on, all=len(real)) if real else ""
        self._count.setText(words)
        spoken = self.tr("Skills, {n} of {all} in use").format(n=on, all=len(real))
        self._title.setAccessibleName(spoken if real else self.tr("Skills"))
        self._model.set_rows(tuple(real[:_SHOWN]))
        self._fit()

    def set_room(self, height: int) -> None:
        """Collapse to the heading where the sidebar is low."""
        needed = _ROOM * self._theme.text_px("ui") // 13 + self.list.height()
        self.list.setVisible(height >= needed and self._model.rowCount() > 0)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.parent() and isinstance(event, QResizeEvent):
            self.set_room(event.size().height())
        return super().eventFilter(watched, event)

    def enterEvent(self, event: QEnterEvent) -> None:
        """Tell that the user may be about to open something."""
        super().enterEvent(event)
        self.approached.emit()

    def _fit(self) -> None:
        count = self._model.rowCount()
        self.list.setFixedHeight(count * (self._theme.size("row") - 2) + 6)
        window = self.parentWidget()
        self.set_room(window.height() if window is not None else 2 * _ROOM)

    def _spoken(self, one: Skill) -> str:
        state = self.tr("in use") if one.is_usable else _word(one)
        return ", ".join((one.name, origin_word(one.origin), state))

    def _open(self, index: QModelIndex) -> None:
        self.opened.emit(index.data(ROW_ROLE).directory)


class _ShortList(KeyboardFocus, QListView):
    """Enter chooses."""

    chosen = Signal(QModelIndex)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("shortSkills")
        self.setMouseTracking(True)
        self.setUniformItemSizes(True)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if not self.currentIndex().isValid():
            self.setCurrentIndex(self.model().index(0, 0))

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Nothing is chosen here: the page shows what is."""
        super().focusOutEvent(event)
        self.clearSelection()
        self.setCurrentIndex(QModelIndex())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        keys = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)
        if event.key() in keys and self.currentIndex().isValid():
            self.chosen.emit(self.currentIndex())
        else:
            super().keyPressEvent(event)


class _ShortDelegate(QStyledItemDelegate):
    """Icon, name, and a word on where it is from or why it is not in use."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(80, self._theme.size("row") - 2)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        theme = self._theme
        one: Skill = index.data(ROW_ROLE)
        with RowPainter(theme, painter, option) as pen:
            pen.ground(1)
            inner = pen.rect.adjusted(6, 0, -8, 0)
            size = theme.icon_px(14)
            icon, token = state_icon(one)
            top = inner.center().y() - size // 2 + 1
            token = "subtle" if token == "muted" else token
            pen.icon(QRect(inner.left(), top, size, size), icon, token)
            word = origin_word(one.origin) if one.is_usable else _word(one)
            small = theme.font("caption")
            wide = min(inner.width() // 2, QFontMetrics(small).horizontalAdvance(word) + 2)
            trailing = QRect(inner.right() - wide, inner.top(), wide + 1, inner.height())
            pen.text(trailing, word, "subtle", small)
            words = inner.adjusted(size + 8, 0, -wide - 8, 0)
            pen.text(words, one.name, "fg" if one.is_usable else "subtle", theme.font("ui"))


def _rank(one: Skill) -> tuple[bool, int, int, str]:
    return (not one.is_usable, -one.times_used, ORIGINS.index(one.origin), one.name)


def _word(one: Skill) -> str:
    badge, _ = state_badge(one)
    if badge and (one.problem or not one.is_trusted):
        return badge
    return translate("Skills", "off")
