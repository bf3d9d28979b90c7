"""Settings: the rules, each with where it came from and *Delete*, and a form that refuses."""

from __future__ import annotations

import msgspec
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from desktop_agent.core.approvals import Rule, RuleScope
from desktop_agent.core.network.hosts import HostError, pasted_place
from desktop_agent.gui.kit.fields.input_methods import Line
from desktop_agent.gui.kit.flow_layout import FlowLayout
from desktop_agent.gui.kit.folders import short_path
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import TextButton, TextLabel, column, named
from desktop_agent.gui.settings.rows import ChoiceBox, SettingGroup, scrolled
from desktop_agent.gui.settings.rule_list import RuleList


class RulesPage(QWidget):
    """The list changes when `set_rules` is called with the new one.

    Signals:
        rule_deleted(Rule), rule_added(Rule): what the user asked for
    """

    rule_deleted = Signal(object)
    rule_added = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        about = TextLabel(
            self.tr(
                "A rule lets the agent do something without asking again, or never. "
                "Rules that allow are made on the cards that ask you; rules that refuse, also here."
            ),
            "muted",
            wraps=True,
        )
        self._empty = TextLabel(self.tr("No rules yet."), "subtle", name="noRules")
        self._list = RuleList(theme)
        self._list.rule_deleted.connect(self.rule_deleted)
        self._form = RefuseRuleForm(theme)
        self._form.made.connect(self.rule_added)
        adding = SettingGroup(theme)
        adding.add_widget(self._form)
        column(scrolled(self, about, adding, self._empty, self._list), spacing=-1, within=self)
        self.set_rules(())

    def set_folder(self, folder: str) -> None:
        """Know the folder that is open, for a rule that holds there alone."""
        self._form.set_folder(folder)

    def set_rules(self, rules: tuple[Rule, ...]) -> None:
        self._list.set_rules(rules)
        self._empty.setVisible(not rules)


# What a pattern speaks of, and the tools it is about.
_TOOLS: dict[str, tuple[str, ...]] = {
    "commands": ("shell",),
    "files": ("write", "edit"),
}
_LONGEST = 500


class RefuseRuleForm(QWidget):
    """Adds rules that refuse, one for each tool they are about.

    Allowing rules are made on the cards only, where the whole effect is shown.

    Signals:
        made(Rule): the user added a rule
    """

    made = Signal(object)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._folder = ""
        self._kind = "commands"
        self._kinds = ChoiceBox(
            "refuseKind",
            (
                ("commands", self.tr("Commands that start with")),
                ("files", self.tr("Changes to files that match")),
                ("hosts", self.tr("Requests to the host")),
            ),
        )
        self._kinds.setAccessibleName(self.tr("What is always refused"))
        self._kinds.chosen.connect(self._on_kind)
        self._pattern = named(Line(), "refusePattern")
        self._pattern.setMaxLength(_LONGEST)
        self._pattern.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self._pattern.returnPressed.connect(self._add)
        self._pattern.textChanged.connect(self._show_state)
        self._wrong = TextLabel("", "warn", name="wrongRefusal", wraps=True)
        self._add_button = TextButton(theme, self.tr("Add rule"), "plus", name="addRefusal")
        self._add_button.clicked.connect(self._add)
        self._where = QWidget()
        self._scopes = FlowLayout(self._where, 8)
        self._scope = self._make_scope()
        self._scopes.addWidget(self._scope)
        self._scopes.addWidget(self._add_button)
        self._lay_out()
        self._on_kind("commands")

    def _lay_out(self) -> None:
        detail = TextLabel(
            self.tr(
                "It beats every rule that allows, in every mode, also in subagents on this "
                "computer. Subagents at a place go by the rules that were made there."
            ),
            "subtle",
        )
        detail.setWordWrap(True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 9, 0, 9)
        layout.setSpacing(6)
        layout.addWidget(TextLabel(self.tr("Always refuse"), ""))
        layout.addWidget(detail)
        layout.addWidget(self._kinds)
        layout.addWidget(self._pattern)
        layout.addWidget(self._wrong)
        layout.addWidget(self._where)

    def _make_scope(self) -> ChoiceBox:
        choices = [("everywhere", self.tr("Everywhere"))]
        if self._folder:
            words = self.tr("Only in {folder}").format(folder=short_path(self._folder))
            choices.append(("folder", words))
        box = ChoiceBox("refuseScope", choices)
        box.setAccessibleName(self.tr("Where it is refused"))
        return box

    def set_folder(self, folder: str) -> None:
        """Know the folder that is open; a rule can be made for it alone."""
        if folder == self._folder:
            return
        self._folder = folder
        old, self._scope = self._scope, self._make_scope()
        self._scopes.removeWidget(self._add_button)
        self._scopes.removeWidget(old)
        old.setParent(None)
        old.deleteLater()
        self._scopes.addWidget(self._scope)
        self._scopes.addWidget(self._add_button)

    def _on_kind(self, kind: str) -> None:
        self._kind = kind
        names = {
            "commands": (self.tr("Beginning of the command"), "git push"),
            "files": (self.tr("Pattern of the files, from the folder"), "migrations/*"),
            "hosts": (self.tr("Name of the host"), "example.com"),
        }
        name, example = names[kind]
        self._pattern.setAccessibleName(name)
        self._pattern.setPlaceholderText(self.tr("For example {words}").format(words=example))
        self._show_state()

    def _show_state(self) -> None:
        rules, wrong = self._entered()
        self._add_button.setEnabled(bool(rules))
        self._wrong.setText(wrong)
        self._wrong.setVisible(bool(wrong))

    def _entered(self) -> tuple[tuple[Rule, ...], str]:
        """Return the rules that would be made, and what is wrong with what was entered.

        None of them would refuse everything, or, as a host that is not one, nothing at all.
        """
        words = " ".join(self._pattern.text().split())
        if self._kind == "commands":
            # What follows is refused anyway; other apps have it written as `git push:*`.
            words = words.rstrip("*").rstrip(": ")
        if not words:
            return (), ""
        if self._kind != "hosts":
            return tuple(Rule(tool, words, is_deny=True) for tool in _TOOLS[self._kind]), ""
        try:
            host, port = pasted_place(words)
        except HostError as error:
            told = str(error)
            return (), f"{told[:1].upper()}{told[1:]}"
        rule = Rule("network", f"{host}:{port}") if port else Rule("web_fetch", host)
        return (msgspec.structs.replace(rule, is_deny=True),), ""

    def _add(self) -> None:
        rules, _ = self._entered()
        if not rules:
            return
        is_here = bool(self._folder) and self._scope.currentIndex() == 1
        scope: RuleScope = "folder" if is_here else "everywhere"
        where = self._folder if is_here else ""
        self._pattern.clear()
        for rule in rules:
            self.made.emit(msgspec.structs.replace(rule, scope=scope, where=where))
