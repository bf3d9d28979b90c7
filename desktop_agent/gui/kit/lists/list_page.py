"""What pages of a list have in common: the pane with title, filter and tabs, and the empty page."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QStackedWidget, QVBoxLayout, QWidget

from desktop_agent.gui.kit.flow_layout import FlowLayout
from desktop_agent.gui.kit.lists.tab_row import TabRow
from desktop_agent.gui.kit.search_field import SearchField
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import IconLabel, TextLabel, row

_EMPTY_WIDTH = 520


def fill_pane(
    pane: QWidget,
    theme: Theme,
    words: tuple[str, str],
    buttons: tuple[QAbstractButton, ...],
    parts: tuple[SearchField, TabRow, QStackedWidget],
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
