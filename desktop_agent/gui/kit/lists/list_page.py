"""Pages in the place of the conversation; such as a list with what is chosen in it beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Generic, NamedTuple, Protocol, TypeVar

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractButton, QFrame, QStackedWidget, QVBoxLayout, QWidget

from desktop_agent.gui.kit.flow_layout import FlowLayout
from desktop_agent.gui.kit.lists.tab_row import TabRow
from desktop_agent.gui.kit.search_field import SearchField
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    GhostButton,
    IconButton,
    IconLabel,
    PrimaryButton,
    TextButton,
    TextLabel,
    named,
    row,
)

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


class PageWords(NamedTuple):
    """What a list page says.

    `tabs` and `filter` are read out, `about` is what the page is for, `empty` and `why` what stands
    there as long as there is none, and `no_match` holds `{text}`.
    """

    title: str
    about: str
    tabs: str
    filter: str
    add: str
    empty: str
    why: str
    no_match: str


class ListPage(FullPage, Generic[View, Detail]):
    """The list on the leading side, what is chosen on the trailing one; one of them if narrow.

    Who derives from it makes `list` and `detail`, calls `_build` and shows its rows when `filtered`
    is emitted. Objects are named by the `kind`, such as `Skill`. The first tab is `all`.

    Signals:
        add_requested: open the dialog to add one
        filtered: the tab or the filter has changed
    """

    add_requested = Signal()
    filtered = Signal()
    kind: str
    icon: str
    list: View
    detail: Detail

    def __init__(self, theme: Theme, name: str, parent: QWidget | None) -> None:
        super().__init__(theme, name, parent)
        self._has_any = self._shows_detail = False

    def choose(self, key: str) -> None:
        """Look at the one of this key."""
        self.search.clear()
        self._tabs.choose("all")
        self.filtered.emit()
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

    # -- construction ------------------------------------------------------------------------

    def _build(
        self, view: QWidget, words: PageWords, tabs: Iterable[str], button: QAbstractButton
    ) -> None:
        """Lay out `list`, which is the view, and `detail`; the button is the page's own."""
        theme, kind = self._theme, self.kind
        self._words = words
        self.setAccessibleName(words.title)
        self.search = SearchField(theme, words.filter, self)
        self.search.setObjectName(f"filter{kind}s")
        self._tabs = TabRow(theme, words.tabs, f"{kind.lower()}Tab", dict.fromkeys(tabs, ""), self)
        self._add = TextButton(theme, words.add, "plus", name=f"add{kind}")
        self._pages = QStackedWidget(self)
        self._pages.addWidget(view)
        self._pages.addWidget(self._make_empty())
        self._pages.addWidget(self._make_no_match())
        self._pane = QWidget(self)
        self._fill_pane(button, self._add, self._make_close(self._pane, f"leave{kind}s"))
        row((self._pane, 1), (self.detail, 1), spacing=0, within=self)
        self.search.textChanged.connect(self.filtered)
        self.search.left.connect(self.left)
        self.search.stepped.connect(lambda: self.list.setFocus(Qt.FocusReason.TabFocusReason))
        self._tabs.chosen.connect(self.filtered)
        self._add.clicked.connect(self.add_requested)
        self.detail.left.connect(self._leave_detail)
        theme.changed.connect(self._place)

    def _fill_pane(self, *buttons: QAbstractButton) -> None:
        theme, pane = self._theme, self._pane
        title = TextLabel(self._words.title, "h1", pane)
        about = TextLabel(self._words.about, "muted", pane, wraps=True)
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
        layout.addWidget(self.search)
        layout.addWidget(self._tabs)
        layout.addWidget(self._pages, 1)

    def _make_empty(self) -> QWidget:
        """Say what there could be, why, and offer to add the first one."""
        theme, page = self._theme, named(QWidget(), f"no{self.kind}s")
        what = TextLabel(self._words.empty, "h2", page, wraps=True)
        why = TextLabel(self._words.why, "muted", page, wraps=True)
        for label in (what, why):
            label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        add = PrimaryButton(theme, self._words.add, "plus", page, name=f"addFirst{self.kind}")
        add.clicked.connect(self.add_requested)
        layout = QVBoxLayout(page)
        layout.setContentsMargins(*(theme.space("xl"),) * 4)
        layout.setSpacing(theme.space("m"))
        layout.addStretch(2)
        layout.addLayout(row(None, IconLabel(theme, self.icon, "subtle", 32, page), None))
        layout.addWidget(what)
        why.setMinimumWidth(240)
        why.setMaximumWidth(_EMPTY_WIDTH)
        layout.addLayout(row(None, (why, 1000), None))
        layout.addLayout(row(None, add, None))
        layout.addStretch(3)
        return page

    def _make_no_match(self) -> QWidget:
        page = QWidget()
        self._no_match = TextLabel("", "muted", page, wraps=True)
        self._no_match.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        clear = GhostButton(
            self._theme, self.tr("Clear filter"), "", page, name=f"clear{self.kind}Filter"
        )
        clear.clicked.connect(self.search.clear)
        layout = QVBoxLayout(page)
        layout.setContentsMargins(*(self._theme.space("xl"),) * 4)
        layout.addWidget(self._no_match)
        layout.addLayout(row(None, clear, None))
        layout.addStretch(1)
        return page

    # -- what is shown -----------------------------------------------------------------------

    def _show_counts(self, titles: Mapping[str, str], counts: Mapping[str, int], many: str) -> None:
        """Say how many each tab has; `many` holds `{n}` and is the filter's hint for several."""
        if not counts[self._tabs.current]:
            self._tabs.choose("all")
        self._tabs.show_counts(titles, counts)
        total = counts["all"]
        self.search.setPlaceholderText(many.format(n=total) if total > 1 else self._words.filter)
        self.filtered.emit()

    def _show_found(self, *, has_found: bool, has_any: bool) -> None:
        """Show the list, or why it is empty."""
        self._has_any = has_any
        self._pages.setCurrentIndex(0 if has_found else 2 if has_any else 1)
        text = " ".join(self.search.text().split())
        self._no_match.setText(self._words.no_match.format(text=text))
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
