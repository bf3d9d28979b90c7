"""One server: its tools with a switch each, how it is started, what it wrote."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, SignalInstance
from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from desktop_agent.core.mcp import McpLine, McpState
from desktop_agent.gui.kit.fitted_area import PlainArea
from desktop_agent.gui.kit.lists.fold import FoldButton
from desktop_agent.gui.kit.lists.list_page import DetailPane
from desktop_agent.gui.kit.safe_text import hard_wrapped, with_marks
from desktop_agent.gui.kit.theme import Theme, mono_font
from desktop_agent.gui.kit.widgets import (
    Chip,
    GhostButton,
    ReadOnlyText,
    Separator,
    TextButton,
    TextLabel,
    column,
    named,
    row,
)
from desktop_agent.gui.mcp.facts import Fact, FactsGrid
from desktop_agent.gui.mcp.sign_in_box import SignInBox
from desktop_agent.gui.mcp.state_mark import StateMark
from desktop_agent.gui.mcp.text import (
    command_text,
    listed_words,
    log_text,
    origin_words,
    since_words,
    state_mark,
    state_words,
)
from desktop_agent.gui.mcp.tools_box import ToolsBox

_LOG_ROWS = 7
_KEYRING = "${keyring:"


class ServerDetail(DetailPane):
    """Signals:
    tools_switched(name, tools, is_on)
    log_requested(name): all that it wrote; secret_wanted(name, variable): see `show_secret`
    test_requested(name), restart_requested(name), edit_requested(name)
    remove_requested(name), consent_given(name), trust_requested
    sign_in_requested(name), sign_out_requested(name)
    """

    tools_switched = Signal(str, object, bool)
    log_requested = Signal(str)
    secret_wanted = Signal(str, str)
    test_requested = Signal(str)
    restart_requested = Signal(str)
    edit_requested = Signal(str)
    remove_requested = Signal(str)
    consent_given = Signal(str)
    trust_requested = Signal()
    sign_in_requested = Signal(str)
    sign_out_requested = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, "serverDetail", parent)
        self.state: McpState | None = None
        self.setAccessibleName(self.tr("Server"))
        area = named(PlainArea(self._make_content()), "serverDetailArea")
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        column((area, 1), Separator(self), self._make_foot(), spacing=0, within=self)
        theme.changed.connect(self._fit)

    def show_state(self, state: McpState) -> None:
        """Show a server as it stands now; what it wrote comes by `show_log`."""
        is_other = self.state is None or state.server.name != self.state.server.name
        self.state = state
        server, (_, tone) = state.server, state_words(state)
        self._name.setText(with_marks(server.name))
        self._standing.setText(since_words(state))
        self._standing.set_role({"err": "error", "ok": "ok", "warn": "warn"}.get(tone, "muted"))
        self._sign_in.show_state(state)
        self._consent.setVisible(state.needs_consent)
        self._trust.setVisible(state.needs_trust)
        self._mark.show_mark(state_mark(state), tone)
        self._tools.show_state(state)
        self._show_offered(state)
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

    def show_log(self, lines: Sequence[McpLine]) -> None:
        """Show the last lines that the server wrote."""
        text = hard_wrapped(log_text(lines))
        if text != self._log.toPlainText():
            self._log.setPlainText(text)
            self._log.verticalScrollBar().setValue(self._log.verticalScrollBar().maximum())
            self._fit()
        for widget in (self._log_title, self._open_log, self._log):
            widget.setVisible(bool(lines))

    def show_secret(self, name: str, variable: str, value: str) -> None:
        """Show the value of a variable that is kept apart."""
        if self.state is not None and self.state.server.name == name:
            self._facts.show_value(variable, value)

    def show_result(self, words: str, role: str) -> None:
        """Say how a test goes, or went."""
        self._result.setText(words)
        self._result.set_role(role)
        self._result.setVisible(bool(words))

    # -- construction ------------------------------------------------------------------------

    def _make_content(self) -> QWidget:
        theme = self._theme
        content = QWidget()
        self._make_back(self.tr("All servers"), "leaveServer")
        self._name = TextLabel("", "h2", name="serverName", wraps=True, copies=True)
        self._mark = StateMark(theme)
        self._standing = TextLabel("", "muted", name="serverState", wraps=True, copies=True)
        self._test = TextButton(theme, self.tr("Test"), "play", name="testServer")
        self._restart = TextButton(theme, self.tr("Restart"), "refresh-cw", name="restartServer")
        self._result = TextLabel("", "muted", name="testResult", wraps=True)
        self._consent = TextButton(
            theme, self.tr("Let it run without a sandbox"), "shield-alert", name="allowServer"
        )
        self._trust = TextButton(theme, self.tr("Look and trust…"), "shield", name="trustServer")
        self._sign_in = SignInBox(theme)
        self._tools = ToolsBox(theme)
        self._resources = _OfferedList(theme, self.tr("Resources"), "serverResources")
        self._prompts = _OfferedList(theme, self.tr("Prompts"), "serverPrompts")
        self._facts = FactsGrid(theme)
        self._log_title = TextLabel(self.tr("Last lines it wrote"), "strong")
        self._open_log = GhostButton(theme, self.tr("Open log"), name="openServerLog")
        self._log = named(ReadOnlyText(), "serverLog", self.tr("Last lines it wrote"))
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
        layout.addLayout(row((self._mark, Qt.AlignmentFlag.AlignTop), (self._standing, 1)))
        layout.addWidget(self._result)
        layout.addLayout(row(self._consent, self._trust, None))
        layout.addWidget(self._sign_in)
        for widget in (self._tools, self._resources, self._prompts, Separator(), self._facts):
            layout.addWidget(widget)
        layout.addLayout(row(self._log_title, None, self._open_log))
        layout.addWidget(self._log)
        layout.addStretch(1)

    def _connect(self) -> None:
        for button, signal in (
            (self._test, self.test_requested),
            (self._restart, self.restart_requested),
            (self._consent, self.consent_given),
            (self._open_log, self.log_requested),
        ):
            button.clicked.connect(lambda _=False, one=signal: self._tell(one))
        self._trust.clicked.connect(self.trust_requested)
        self._sign_in.wanted.connect(lambda: self._tell(self.sign_in_requested))
        self._sign_in.ended.connect(lambda: self._tell(self.sign_out_requested))
        self._sign_in.cancelled.connect(lambda: self._tell(self.restart_requested))
        self._tools.switched.connect(self._on_tools)
        self._facts.wanted.connect(self._on_secret)

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

    def _on_tools(self, tools: Sequence[str], is_on: bool) -> None:
        if self.state is not None:
            self.tools_switched.emit(self.state.server.name, tools, is_on)

    def _on_secret(self, variable: str) -> None:
        if self.state is not None:
            self.secret_wanted.emit(self.state.server.name, variable)

    def _show_offered(self, state: McpState) -> None:
        prompts = tuple(f"/{state.server.name}:{one.name}" for one in state.prompts)
        resources = tuple(one.name for one in state.resources)
        self._prompts.show_lines(len(prompts), listed_words(prompts))
        self._resources.show_lines(len(resources), listed_words(resources))

    def _show_facts(self, state: McpState) -> None:
        server = state.server
        title = self.tr("Command") if server.is_local else self.tr("Address")
        facts = [Fact(title, command_text(server), is_code=True)]
        if server.is_local and state.phase in ("running", "starting"):
            inside = self.tr("In the sandbox: this folder, and the hosts that you allow")
            outside = self.tr("As an ordinary program, with all that you can reach")
            facts.append(Fact(self.tr("Runs"), inside if state.is_contained else outside))
        facts.append(Fact(self.tr("Origin"), origin_words(server)))
        is_mine = server.origin == "mine"
        values = server.env if server.is_local else server.headers
        facts += [self._fact(name, value, is_mine) for name, value in values.items()]
        self._facts.show_facts(tuple(facts))

    def _fact(self, name: str, value: str, is_mine: bool) -> Fact:
        if _KEYRING in value:
            kept = self.tr("with your keys")
            return Fact(name, is_code=True, is_hidden=True, kept=kept, can_show=is_mine)
        return Fact(name, value, is_code=True, is_hidden="${" not in value)

    def _fit(self) -> None:
        """Give what it wrote the height that it takes, to a bound."""
        self._log.setFont(mono_font(self._theme, "small"))
        line = self._log.fontMetrics().lineSpacing()
        count = min(self._log.document().blockCount(), _LOG_ROWS)
        self._log.setFixedHeight(count * line + 26)


class _OfferedList(QWidget):
    """What a server offers beside its tools: a title that unfolds, how many, and a line for each.

    Hidden while there is nothing of its kind. `title` is what is offered.
    """

    def __init__(self, theme: Theme, title: str, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self._title = title
        self._button = FoldButton(theme, name=f"{name}Fold")
        self._button.set_text(title)
        self._button.clicked.connect(lambda: self._set_open(is_open=not self._button.is_open))
        self._count = Chip("", "", self)
        self._lines = TextLabel("", "muted", name=f"{name}Lines", wraps=True, copies=True)
        self._lines.setIndent(theme.space("xl"))
        head = row(self._button, self._count, None, spacing=theme.space("xs"))
        column(head, self._lines, spacing=theme.space("xs"), within=self)
        self._set_open(is_open=False)

    def show_lines(self, count: int, lines: str) -> None:
        """Show these; it stays open or closed."""
        self._count.setText(str(count))
        self._lines.setText(lines)
        spoken = self.tr("{title}, {n}").format(title=self._title, n=count)
        self._button.setAccessibleName(spoken)
        self.setVisible(bool(count))

    def _set_open(self, *, is_open: bool) -> None:
        self._button.set_open(is_open=is_open)
        self._lines.setVisible(is_open)
