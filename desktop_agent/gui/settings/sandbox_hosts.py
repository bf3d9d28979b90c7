"""Settings: the hosts that commands in the sandbox may reach, and a form that allows one more."""

from __future__ import annotations

from pathlib import PurePath

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.core.approvals import Rule, RuleScope
from desktop_agent.core.ids import SessionId
from desktop_agent.core.network.hosts import HostError, pasted_place, reachable
from desktop_agent.gui.kit.fields.input_methods import Line
from desktop_agent.gui.kit.flow_layout import FlowLayout
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import TextButton, TextLabel, column
from desktop_agent.gui.settings.rows import ChoiceBox, SettingGroup
from desktop_agent.gui.settings.rule_list import RuleList, visible

_NETWORK = "network"
_LONGEST = 270


class SandboxHosts(QWidget):
    """Signals:
    rule_added(Rule), rule_deleted(Rule): what the user asked for
    """

    rule_added = Signal(object)
    rule_deleted = Signal(object)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._form = AllowHostForm(theme)
        self._form.made.connect(self.rule_added)
        group = SettingGroup(theme, self.tr("Hosts that commands may reach"))
        group.add_widget(self._form)
        self._list = RuleList(theme, of_hosts=True)
        self._list.rule_deleted.connect(self.rule_deleted)
        column(group, self._list, spacing=8, within=self)

    def set_place(self, folder: str, session_id: SessionId | None) -> None:
        self._form.set_place(folder, session_id)

    def set_rules(self, rules: tuple[Rule, ...]) -> None:
        self._list.set_rules(tuple(rule for rule in rules if rule.tool == _NETWORK))


class AllowHostForm(QWidget):
    """Allows one host, in the open folder or for the open session; nowhere unseen.

    Signals:
        made(Rule): the user allowed a host
    """

    made = Signal(object)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._places: dict[RuleScope, str] = {}
        about = TextLabel(
            self.tr(
                "A command or MCP server that wants to reach another host waits, and you are "
                "asked. What they read could be sent to a host that is allowed here. A port of "
                "this computer, such as a database's, is reached once it is allowed: "
                "localhost:5432."
            ),
            "subtle",
            wraps=True,
        )
        self._field = Line()
        self._field.setObjectName("allowHost")
        self._field.setAccessibleName(self.tr("Name of the host, with a port if it is not the web"))
        self._field.setPlaceholderText(self.tr("For example {words}").format(words="example.com"))
        self._field.setMaxLength(_LONGEST)
        self._field.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self._field.returnPressed.connect(self._add)
        self._field.textChanged.connect(self._show_state)
        self._wrong = TextLabel("", "warn", name="wrongHost", wraps=True)
        self._add_button = TextButton(theme, self.tr("Allow host"), "plus")
        self._add_button.setObjectName("addHost")
        self._add_button.clicked.connect(self._add)
        self._scope = ChoiceBox("hostScope", ())
        self._scope.setAccessibleName(self.tr("Where it is allowed"))
        where = QWidget()
        flow = FlowLayout(where, 8)
        flow.addWidget(self._scope)
        flow.addWidget(self._add_button)
        parts = (about, self._field, self._wrong, where)
        column(*parts, spacing=6, edges=(0, 9, 0, 9), within=self)
        self._show_state()

    def set_place(self, folder: str, session_id: SessionId | None) -> None:
        """Know the folder and the session that are open."""
        self._places = {}
        if folder:
            self._places["folder"] = folder
        if session_id is not None:
            self._places["session"] = session_id
        self._scope.clear()
        words: dict[RuleScope, str] = {
            "folder": self.tr("Only in {folder}").format(folder=visible(PurePath(folder).name)),
            "session": self.tr("For this session"),
        }
        for scope in self._places:
            self._scope.addItem(words[scope], scope)
        self._show_state()

    def _show_state(self) -> None:
        pattern, wrong = self._entered()
        self._add_button.setEnabled(bool(pattern and self._places))
        self._wrong.setText(wrong)
        self._wrong.setVisible(bool(wrong))

    def _entered(self) -> tuple[str, str]:
        """Return the pattern of a rule, and what is wrong with what was entered."""
        text = self._field.text().strip()
        if not text:
            return "", ""
        if not self._places:
            return "", self.tr("Open a folder first: a host is allowed for one.")
        try:
            host, port = reachable(pasted_place(text))
        except HostError as error:
            words = str(error)
            return "", f"{words[:1].upper()}{words[1:]}"
        return f"{host}:{port}" if port else host, ""

    def _add(self) -> None:
        pattern, _ = self._entered()
        scope: RuleScope | None = self._scope.currentData()
        if not pattern or scope is None:
            return
        self._field.clear()
        self.made.emit(Rule(_NETWORK, pattern, scope, self._places[scope]))
