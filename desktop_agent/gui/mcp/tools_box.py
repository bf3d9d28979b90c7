"""The tools of a server, with a switch each and one for all of them."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.core.mcp import McpState
from desktop_agent.gui.kit.lists.fold import FoldButton
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import GhostButton, TextLabel, column, row
from desktop_agent.gui.mcp.switch_list import SwitchList
from desktop_agent.gui.mcp.text import on_words, tool_row

# More than that are folded, and fewer shown.
_MOST_ROWS, _FOLDED_ROWS = 8, 6


class ToolsBox(QWidget):
    """Hidden while there are none.

    Signals:
        switched(tools, is_on): the user wants these so
    """

    switched = Signal(object, bool)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._state: McpState | None = None
        self._count = TextLabel("", "muted", name="serverToolsCount")
        self._all = GhostButton(theme, "", name="switchAllTools")
        self._list = SwitchList(
            theme, "serverTools", self.tr("Tools of this server"), is_table=True
        )
        self._list.setMinimumHeight(0)
        self._more = FoldButton(theme, name="moreTools")
        about = self.tr(
            "Each tool is asked about until you allow it. What a tool does is its server’s own "
            "word."
        )
        title = row(TextLabel(self.tr("Tools"), "h3"), self._count, None, self._all)
        foot = row(self._more, (TextLabel(about, "caption", wraps=True), 1))
        column(title, self._list, foot, spacing=theme.space("xs"), within=self)
        self._all.clicked.connect(self._switch_all)
        self._more.clicked.connect(lambda: self._set_open(is_open=not self._more.is_open))
        self._list.switched.connect(self._switch_one)
        theme.changed.connect(self._fit)

    def show_state(self, state: McpState) -> None:
        """Show a server's tools."""
        is_other = self._state is None or self._state.server.name != state.server.name
        self._state = state
        if is_other:
            self._more.set_open(is_open=False)
        self._count.setText(on_words(state))
        self._all.set_text(self.tr("Switch all off") if self._on() else self.tr("Switch all on"))
        self._list.show_rows(tuple(tool_row(tool, state) for tool in state.tools))
        self.setVisible(bool(state.tools))
        self._fit()

    def _on(self) -> tuple[str, ...]:
        if self._state is None:
            return ()
        off = self._state.server.tools_off
        return tuple(tool.name for tool in self._state.tools if tool.name not in off)

    def _switch_one(self, tool: str, is_on: bool) -> None:
        self.switched.emit((tool,), is_on)

    def _switch_all(self) -> None:
        if self._state is not None:
            on = self._on()
            self.switched.emit(on or tuple(tool.name for tool in self._state.tools), not on)

    def _set_open(self, *, is_open: bool) -> None:
        self._more.set_open(is_open=is_open)
        self._fit()

    def _fit(self) -> None:
        """Give the list the height of what is shown of it."""
        every = self._list.model().rowCount()
        is_long = every > _MOST_ROWS
        count = _FOLDED_ROWS if is_long and not self._more.is_open else every
        more = self.tr("%n more", "", every - _FOLDED_ROWS)
        self._more.set_text(self.tr("Fewer") if self._more.is_open else more)
        self._more.setVisible(is_long)
        self._list.setFixedHeight(max(1, count) * self._list.sizeHintForRow(0) + 4)
