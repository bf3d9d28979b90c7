"""Settings: the rules, each with where it came from and *Delete*, and a form that refuses."""

from __future__ import annotations

import time

from PySide6.QtCore import QDateTime, QLocale, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from desktop_agent.core.approvals import Rule
from desktop_agent.gui.kit.folders import short_path
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    Chip,
    ElidedLabel,
    IconButton,
    IconLabel,
    TextLabel,
    column,
)
from desktop_agent.gui.settings.rows import SettingGroup, scrolled
from desktop_agent.gui.settings.rule_form import RefuseRuleForm


class RulesPage(QWidget):
    """The list changes when `set_rules` is called with the new one.

    Signals:
        rule_deleted(Rule), rule_added(Rule): what the user asked for
    """

    rule_deleted = Signal(object)
    rule_added = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._rules: tuple[Rule, ...] | None = None
        about = TextLabel(
            self.tr(
                "A rule lets the agent do something without asking again, or never. "
                "Rules that allow are made on the cards that ask you; rules that refuse, also here."
            ),
            "muted",
            wraps=True,
        )
        self._empty = TextLabel(self.tr("No rules yet."), "subtle", name="noRules")
        self._group = SettingGroup(theme)
        self._form = RefuseRuleForm(theme)
        self._form.made.connect(self.rule_added)
        adding = SettingGroup(theme)
        adding.add_widget(self._form)
        column(scrolled(about, adding, self._empty, self._group), spacing=-1, within=self)
        self.set_rules(())

    def set_folder(self, folder: str) -> None:
        """Know the folder that is open, for a rule that holds there alone."""
        self._form.set_folder(folder)

    def set_rules(self, rules: tuple[Rule, ...]) -> None:
        rules = tuple(rules)
        if rules == self._rules:
            return
        self._rules = rules
        self._group.clear()
        for rule in rules:
            self._group.add_widget(self._row(rule))
        self._group.setVisible(bool(rules))
        self._empty.setVisible(not rules)

    def _row(self, rule: Rule) -> QWidget:
        line = QWidget()
        line.setObjectName("ruleRow")
        title, detail = self._title(rule), self._detail(rule)
        name = ElidedLabel(title, role="strong")
        words = column(name, ElidedLabel(detail, role="subtle"), spacing=1)
        delete = IconButton(
            self._theme, "trash-2", self.tr("Delete the rule {rule}").format(rule=title), size=14
        )
        delete.setObjectName("deleteRule")
        delete.clicked.connect(lambda: self.rule_deleted.emit(rule))
        icon, token = ("ban", "err") if rule.is_deny else ("shield-check", "ok")
        layout = QHBoxLayout(line)
        layout.setContentsMargins(0, 8, 0, 8)
        layout.setSpacing(12)
        layout.addWidget(IconLabel(self._theme, icon, token, 16))
        layout.addLayout(words, 1)
        layout.addWidget(Chip(self._scope(rule)))
        layout.addWidget(delete)
        line.setAccessibleName(f"{title}, {self._scope(rule)}, {detail}")
        return line

    def _title(self, rule: Rule) -> str:
        pattern = rule.pattern or self.tr("everything")
        words = self.tr("Never: {tool} {pattern}") if rule.is_deny else self.tr("{tool} {pattern}")
        return visible(words.format(tool=rule.tool, pattern=pattern))

    def _detail(self, rule: Rule) -> str:
        if rule.uses == 1:
            uses = self.tr("used once")
        else:
            uses = self.tr("used {count} times").format(count=rule.uses)
        parts = [uses if rule.uses else self.tr("not used yet")]
        if rule.scope == "folder" and rule.where:
            parts.insert(0, short_path(rule.where))
        if rule.created_at:
            day = QDateTime.fromSecsSinceEpoch(int(rule.created_at)).date()
            is_today = time.time() - rule.created_at < 86_400
            words = QLocale().toString(day, self.tr("d MMM yyyy", "a date, as in Qt's formats"))
            parts.append(self.tr("today") if is_today else words)
        if rule.origin:
            parts.append(rule.origin)
        return visible(" · ".join(parts))

    def _scope(self, rule: Rule) -> str:
        return {
            "session": self.tr("This session"),
            "folder": self.tr("One folder"),
            "everywhere": self.tr("Everywhere"),
        }[rule.scope]


def visible(text: str) -> str:
    """Return the text on one line with characters that hide or reorder others made visible."""
    return "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in text)
