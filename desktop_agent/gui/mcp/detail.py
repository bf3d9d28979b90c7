"""One server: its tools with a switch each, how it is started, what it wrote."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, SignalInstance
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QVBoxLayout, QWidget

from desktop_agent.core.mcp import McpState, hidden_values
from desktop_agent.gui.kit.fitted_area import plain_area
from desktop_agent.gui.kit.safe_text import hard_wrapped, with_marks
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    GhostButton,
    Separator,
    TextButton,
    TextLabel,
    column,
    named,
    row,
)
from desktop_agent.gui.mcp.sign_in_box import SignInBox
from desktop_agent.gui.mcp.switch_list import SwitchList
from desktop_agent.gui.mcp.text import (
    command_text,
    count_words,
    listed_words,
    origin_words,
    since_words,
    state_words,
    tool_row,
)

_MOST_ROWS = 8
_LOG_ROWS = 7


class ServerDetail(QFrame):
    """Follows the server that is chosen.

    Signals:
        left: back to the list, where there is no room for both
        tool_switched(name, tool, is_on)
        test_requested(name), restart_requested(name), edit_requested(name)
        remove_requested(name), consent_given(name), trust_requested
        sign_in_requested(name), sign_out_requested(name)
    """

    left = Signal()
    tool_switched = Signal(str, str, bool)
    test_requested = Signal(str)
    restart_requested = Signal(str)
    edit_requested = Signal(str)
    remove_requested = Signal(str)
    consent_given = Signal(str)
    trust_requested = Signal()
    sign_in_requested = Signal(str)
    sign_out_requested = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.state: McpState | None = None
        self.setObjectName("serverDetail")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAccessibleName(self.tr("Server"))
        area = named(plain_area(self._make_content()), "serverDetailArea")
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        column((area, 1), Separator(self), self._make_foot(), spacing=0, within=self)
        theme.changed.connect(self._fit)

    def set_narrow(self, is_narrow: bool) -> None:
        """Offer the way back to the list, which is not beside."""
        self._back.setVisible(is_narrow)

    def focus_first(self) -> None:
        """Take the focus where there is no list beside."""
        self._back.setFocus(Qt.FocusReason.OtherFocusReason)

    def show_state(self, state: McpState) -> None:
        """Show a server as it stands now; what it wrote comes by `show_log`."""
        is_other = self.state is None or state.server.name != self.state.server.name
        self.state = state
        server, (_, tone) = state.server, state_words(state)
        self._name.setText(with_marks(server.name))
        self._standing.setText(since_words(state))
        self._standing.set_role({"err": "error", "ok": "ok", "warn": "warn"}.get(tone, "muted"))
        self._sign_in.show_state(state)
        self._consent.setVisible(state.needs_consent and server.origin == "mine")
        self._trust.setVisible(server.origin == "folder" and state.phase == "waiting")
        self._tools_title.setText(self.tr("Tools  {n}").format(n=count_words(state)))
        self._tools.show_rows(tuple(tool_row(tool, state) for tool in state.tools))
        for widget in (self._tools_title, self._tools, self._asked):
            widget.setVisible(bool(state.tools))
        self._show_facts(state)
        is_mine = server.origin == "mine"
        for button in (self._edit, self._remove):
            button.setVisible(is_mine)
        self._restart.setEnabled(state.phase in ("running", "failed", "sign_in"))
        self._test.setEnabled(state.phase != "waiting")
        if is_other:
            self.show_result("", "")
            self.show_log(())
        self._fit()

    def show_log(self, lines: tuple[str, ...]) -> None:
        """Show the last lines that the server wrote."""
        text = hard_wrapped(with_marks("\n".join(lines)))
        if text != self._log.toPlainText():
            self._log.setPlainText(text)
            self._log.verticalScrollBar().setValue(self._log.verticalScrollBar().maximum())
        for widget in (self._log_title, self._log):
            widget.setVisible(bool(lines))

    def show_result(self, words: str, role: str) -> None:
        """Say how a test goes, or went."""
        self._result.setText(words)
        self._result.set_role(role)
        self._result.setVisible(bool(words))

    # -- construction ------------------------------------------------------------------------

    def _make_content(self) -> QWidget:
        theme = self._theme
        content = QWidget()
        self._back = GhostButton(theme, self.tr("All servers"), "chevron-left", name="leaveServer")
        self._back.clicked.connect(self.left)
        self._back.hide()
        self._name = TextLabel("", "h2", name="serverName", wraps=True, copies=True)
        self._standing = TextLabel("", "muted", name="serverState", wraps=True, copies=True)
        self._test = TextButton(theme, self.tr("Test"), "play", name="testServer")
        self._restart = TextButton(theme, self.tr("Restart"), "refresh-cw", name="restartServer")
        self._result = TextLabel("", "muted", name="testResult", wraps=True)
        self._consent = TextButton(
            theme, self.tr("Let it run without a sandbox"), "shield-alert", name="allowServer"
        )
        self._trust = TextButton(theme, self.tr("Look and trust…"), "shield", name="trustServer")
        self._sign_in = SignInBox(theme)
        self._tools_title = TextLabel("", "h3", name="serverToolsTitle")
        self._tools = SwitchList(theme, "serverTools", self.tr("Tools of this server"))
        self._tools.setMinimumHeight(0)
        self._asked = TextLabel(
            self.tr(
                "Each tool is asked about until you allow it. What a tool does is its "
                "server’s own word."
            ),
            "caption",
            wraps=True,
        )
        self._facts = TextLabel("", "muted", name="serverFacts", wraps=True, copies=True)
        self._log_title = TextLabel(self.tr("Last lines it wrote"), "h3")
        self._log = named(QPlainTextEdit(), "serverLog", self.tr("Last lines it wrote"))
        self._log.setReadOnly(True)
        self._log.setTabChangesFocus(True)
        self._connect()
        self._lay_out(content)
        return content

    def _lay_out(self, content: QWidget) -> None:
        theme = self._theme
        layout = QVBoxLayout(content)
        edge = theme.space("xl")
        layout.setContentsMargins(edge, edge, edge, theme.space("l"))
        layout.setSpacing(theme.space("m"))
        layout.addLayout(row(self._back, None))
        layout.addLayout(row((self._name, 1), self._test, self._restart))
        for widget in (self._standing, self._result):
            layout.addWidget(widget)
        layout.addLayout(row(self._consent, self._trust, None))
        layout.addWidget(self._sign_in)
        for widget in (self._tools_title, self._tools, self._asked, self._facts):
            layout.addWidget(widget)
        for widget in (self._log_title, self._log):
            layout.addWidget(widget)
        layout.addStretch(1)

    def _connect(self) -> None:
        for button, signal in (
            (self._test, self.test_requested),
            (self._restart, self.restart_requested),
            (self._consent, self.consent_given),
        ):
            button.clicked.connect(lambda _=False, one=signal: self._tell(one))
        self._trust.clicked.connect(self.trust_requested)
        self._sign_in.wanted.connect(lambda: self._tell(self.sign_in_requested))
        self._sign_in.ended.connect(lambda: self._tell(self.sign_out_requested))
        self._sign_in.cancelled.connect(lambda: self._tell(self.restart_requested))
        self._tools.switched.connect(self._on_tool)

    def _make_foot(self) -> QWidget:
        theme = self._theme
        foot = QFrame(self)
        self._edit = TextButton(theme, self.tr("Edit…"), "pencil", foot, name="editServer")
        self._remove = GhostButton(
            theme, self.tr("Remove…"), "trash-2", foot, token="err", name="removeServer"
        )
        self._edit.clicked.connect(lambda: self._tell(self.edit_requested))
        self._remove.clicked.connect(lambda: self._tell(self.remove_requested))
        edge = theme.space("xl")
        edges = (edge, theme.space("s"), edge, theme.space("l"))
        row(self._edit, self._remove, None, edges=edges, within=foot)
        return foot

    # -- inside ------------------------------------------------------------------------------

    def _tell(self, signal: SignalInstance) -> None:
        if self.state is not None:
            signal.emit(self.state.server.name)

    def _on_tool(self, tool: str, is_on: bool) -> None:
        if self.state is not None:
            self.tool_switched.emit(self.state.server.name, tool, is_on)

    def _show_facts(self, state: McpState) -> None:
        server = state.server
        title = self.tr("Command") if server.is_local else self.tr("Address")
        facts = [(title, command_text(server)), (self.tr("Origin"), origin_words(server))]
        if server.is_local and state.phase in ("running", "starting"):
            inside = self.tr("in the sandbox: this folder, and public addresses")
            outside = self.tr("as an ordinary program, with all that you can reach")
            facts.append((self.tr("Runs"), inside if state.is_contained else outside))
        prompts = tuple(f"/{server.name}:{one.name}" for one in state.prompts)
        resources = tuple(one.name for one in state.resources)
        for what, names in ((self.tr("Prompts"), prompts), (self.tr("Resources"), resources)):
            if names:
                facts.append((what, listed_words(names)))
        values = hidden_values(server.env if server.is_local else server.headers)
        facts += [(name, self._value(value)) for name, value in values.items()]
        self._facts.setText("\n".join(f"{name}:  {with_marks(value)}" for name, value in facts))

    def _value(self, value: str) -> str:
        return self.tr("••• (in the keyring)") if "${keyring:" in value else value

    def _fit(self) -> None:
        """Give the lists the height of what is in them, to a bound."""
        high = self._theme.size("row2") + 4
        count = min(self._tools.model().rowCount(), _MOST_ROWS)
        self._tools.setFixedHeight(max(1, count) * high + 4)
        line = self._log.fontMetrics().lineSpacing()
        self._log.setFixedHeight(_LOG_ROWS * line + 16)
