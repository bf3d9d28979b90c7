"""Rules in a list: what each covers, where, how often it was used, and *Delete*."""

from __future__ import annotations

import time

from PySide6.QtCore import QDateTime, QLocale, Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.core.approvals import Rule
from desktop_agent.gui.kit.folders import short_path
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import Chip, IconButton
from desktop_agent.gui.settings.rows import SettingGroup, item_row
from desktop_agent.gui.transcript.cards.approval_text import rule_text

# Of a title that is longer than both, its beginning and its end.
_HALF = 120


class RuleList(SettingGroup):
    """Hidden while there are no rules. The list changes when `set_rules` is called.

    Signals:
        rule_deleted(Rule): what the user asked for
    """

    rule_deleted = Signal(object)

    def __init__(self, theme: Theme, *, of_hosts: bool = False) -> None:
        """`of_hosts`: all rules are about hosts, which needs no saying in each line."""
        super().__init__(theme)
        self._of_hosts = of_hosts
        self._theme = theme
        self._rules: tuple[Rule, ...] = ()
        self.hide()

    def set_rules(self, rules: tuple[Rule, ...]) -> None:
        if rules == self._rules:
            return
        self._rules = rules
        self.clear()
        for rule in rules:
            self.add_widget(self._row(rule))
        self.setVisible(bool(rules))

    def _row(self, rule: Rule) -> QWidget:
        title, detail, scope = self._title(rule), self._detail(rule), self._scope(rule)
        name = self.tr("Delete the rule {rule}").format(rule=title)
        delete = IconButton(self._theme, "trash-2", name, size=14, name="deleteRule")
        delete.clicked.connect(lambda: self.rule_deleted.emit(rule))
        icon, token = ("ban", "err") if rule.is_deny else ("shield-check", "ok")
        # What tells rules apart stands at the end.
        shown = f"{title[:_HALF]}…{title[-_HALF:]}" if len(title) > 2 * _HALF else title
        ends = (Chip(scope), delete)
        wraps = not self._of_hosts
        line = item_row(self._theme, icon, shown, detail, *ends, token=token, wraps=wraps)
        line.setObjectName("ruleRow")
        line.setAccessibleName(f"{title}, {scope}, {detail}")
        return line

    def _title(self, rule: Rule) -> str:
        what = rule_text(rule)
        if self._of_hosts:
            what = rule.pattern or self.tr("everything")
        elif rule.tool == "shell_sandboxed" and rule.pattern:
            # On its card that is said beside it.
            words = self.tr("commands in the sandbox that start with “{pattern}”")
            what = words.format(pattern=rule.pattern)
        text = self.tr("Never: {what}").format(what=what) if rule.is_deny else what
        return visible(text if self._of_hosts else text[:1].upper() + text[1:])

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
