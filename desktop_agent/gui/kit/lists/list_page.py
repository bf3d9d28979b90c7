"""Pages in the place of the conversation; such as a list with what is chosen in it beside it."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractButton, QFrame, QStackedWidget, QVBoxLayout, QWidget

from desktop_agent.gui.kit.flow_layout import FlowLayout
from desktop_agent.gui.kit.lists.tab_row import TabRow
from desktop_agent.gui.kit.search_field import SearchField
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import GhostButton, IconButton, IconLabel, TextLabel, row

_BOTH_FROM = 820
_EMPTY_WIDTH = 520


class FullPage(QWidget):
    """Takes the room of the conversation.

    Signals:
        left: back to the conversation, as by Esc
    """

    left = Signal()

    def __init__(self, theme: Theme, name: str, parent: QWidget | None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setObjectName(name)

    def _make_close(self, parent: QWidget, name: str) -> IconButton:
        words = self.tr("Back to the conversation")
        return IconButton(self._theme, "x", words, parent, keys="Esc", name=name, clicked=self.left)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        else:
            super().keyPressEvent(event)


class DetailPane(QFrame):
    """What is chosen in the list of a page.

    Signals:
        left: back to the list, where there is no room for both
    """

    left = Signal()

    def __init__(self, theme: Theme, name: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setObjectName(name)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)

    def _make_back(self, words: str, name: str) -> None:
        self._back = GhostButton(self._theme, words, "chevron-left", name=name, clicked=self.left)
        self._back.hide()

    def set_narrow(self, is_narrow: bool) -> None:
        """Offer the way back to the list, which is not beside."""
        self._back.setVisible(is_narrow)

    def focus_first(self) -> None:
        """Take the focus where there is no list beside."""
        self._back.setFocus(Qt.FocusReason.OtherFocusReason)


class PageList(Protocol):
    """The list of a page."""

    def choose(self, key: str, /) -> bool: ...
    def currentIndex(self, /) -> QModelIndex: ...
    def setFocus(self, reason: Qt.FocusReason, /) -> None: ...


View = TypeVar("View", bound=PageList)
Detail = TypeVar("Detail", bound=DetailPane)


class ListPage(FullPage, Generic[View, Detail]):
    """The list on the leading side, what is chosen on the trailing one; one of them if narrow.

    Who derives from it makes the parts and calls `_join`. The first tab is `all`.

    Signals:
        add_requested: open the dialog to add one
    """

    add_requested = Signal()
    list: View
    detail: Detail
    search: SearchField
    _tabs: TabRow[str]
    _pages: QStackedWidget
    _add: QAbstractButton

    def __init__(self, theme: Theme, name: str, parent: QWidget | None) -> None:
        super().__init__(theme, name, parent)
        self._has_any = self._shows_detail = False

    def choose(self, key: str) -> None:
        """Look at the one of this key."""
        self.search.clear()
        self._tabs.choose("all")
        self._show_rows()
        if self.list.choose(key):
            self._open_detail()

    def enter(self) -> None:
        """Take the focus."""
        self._shows_detail = False
        self._place()
        target = self.search if self._has_any else self._add
        target.setFocus(Qt.FocusReason.ShortcutFocusReason)

    @property
    def is_narrow(self) -> bool:
        """Whether there is no room for list and detail side by side."""
        return self.width() < _BOTH_FROM * self._theme.text_px("ui") / 13

    def _join(self, pane: QWidget) -> None:
        """Lay out the pane of the list and the detail, and have them follow each other."""
        self._pane = pane
        row((pane, 1), (self.detail, 1), spacing=0, within=self)
        self.search.textChanged.connect(self._show_rows)
        self.search.left.connect(self.left)
        self.search.stepped.connect(lambda: self.list.setFocus(Qt.FocusReason.TabFocusReason))
        self._tabs.chosen.connect(self._show_rows)
        self._add.clicked.connect(self.add_requested)
        self.detail.left.connect(self._leave_detail)
        self._theme.changed.connect(self._place)

    def _show_rows(self) -> None:
        """Fill the list with what matches tab and filter."""
        raise NotImplementedError

    def _show_found(self, *, has_found: bool, has_any: bool) -> None:
        """Show the list, or why it is empty."""
        self._has_any = has_any
        self._pages.setCurrentIndex(0 if has_found else 2 if has_any else 1)
        for widget in (self.search, self._tabs):
            widget.setVisible(has_any)

    def _open_detail(self) -> None:
        self._shows_detail = True
        self._place()
        if self.is_narrow:
            self.detail.focus_first()

    def _leave_detail(self) -> None:
        self._shows_detail = False
        self._place()
        self.list.setFocus(Qt.FocusReason.OtherFocusReason)

    def _place(self) -> None:
        is_narrow, has_chosen = self.is_narrow, self.list.currentIndex().isValid()
        self.detail.set_narrow(is_narrow)
        self._pane.setVisible(not (is_narrow and self._shows_detail and has_chosen))
        self.detail.setVisible(has_chosen and (not is_narrow or self._shows_detail))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.is_narrow and self._shows_detail:
            self._leave_detail()
        else:
            super().keyPressEvent(event)


def fill_pane(
    pane: QWidget,
    theme: Theme,
    words: tuple[str, str],
    buttons: tuple[QAbstractButton, ...],
    parts: tuple[SearchField, TabRow[str], QStackedWidget],
) -> None:
    """Put title, buttons, what the page is for, the filter, the tabs and the list into the pane.

    `words` are the title and what the page is for.
    """
    title, about = TextLabel(words[0], "h1", pane), TextLabel(words[1], "muted", pane)
    about.setWordWrap(True)
    search, tabs, pages = parts
    layout = QVBoxLayout(pane)
    edge = theme.space("xl")
    layout.setContentsMargins(edge, theme.space("l"), theme.space("l"), theme.space("s"))
    layout.setSpacing(theme.space("s"))
    bar = QWidget(pane)
    row(*buttons, spacing=6, within=bar)
    title.setMinimumHeight(bar.sizeHint().height())  # on one line both have one middle
    head = FlowLayout(is_last_trailing=True)
    for part in (title, bar):
        head.addWidget(part)
    layout.addLayout(head)
    layout.addWidget(about)
    layout.addSpacing(theme.space("xs"))
    layout.addWidget(search)
    layout.addWidget(tabs)
    layout.addWidget(pages, 1)


def fill_empty(
    page: QWidget, theme: Theme, icon: str, words: tuple[str, str], add: QAbstractButton
) -> None:
    """Say what there could be, why, and offer to add the first one."""
    what, why = TextLabel(words[0], "h2", page), TextLabel(words[1], "muted", page)
    for label in (what, why):
        label.setWordWrap(True)
        label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
    layout = QVBoxLayout(page)
    layout.setContentsMargins(*(theme.space("xl"),) * 4)
    layout.setSpacing(theme.space("m"))
    layout.addStretch(2)
    layout.addLayout(row(None, IconLabel(theme, icon, "subtle", 32, page), None))
    layout.addWidget(what)
    why.setMinimumWidth(240)
    why.setMaximumWidth(_EMPTY_WIDTH)
    layout.addLayout(row(None, (why, 1000), None))
    layout.addLayout(row(None, add, None))
    layout.addStretch(3)
