"""The card of a budget that is used up: everything holds until the user decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.core.agents import Budget, Spent
from desktop_agent.gui.kit.text import short_count
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.transcript.cards.notice_card import NoticeCard
from desktop_agent.gui.transcript.state.items import BudgetItem


class BudgetCard(NoticeCard):
    """`command_requested(agent, command)`: `more` (by half), `budget`, `finish`, `stop`."""

    command_requested = Signal(str, str)

    def __init__(self, theme: Theme, item: BudgetItem, parent: QWidget | None = None) -> None:
        super().__init__(theme, "gauge", "warn", parent)
        self.setObjectName("budgetCard")
        self.set_ground("warnSoft", "warnLine")
        unmeasured = item.spent.unmeasured(item.budget)
        if unmeasured:
            sentence = self._unmeasured_text(unmeasured, item.budget)
        else:
            sentence = self._reached_text(item)
        self.say(sentence, [self.tr("Nothing was lost. The work holds here until you decide.")])
        more = self.tr("Go on without this limit") if unmeasured else self.tr("+50 %")
        buttons = (
            ("more", more, ""),
            ("budget", self.tr("Set budget…"), "wallet"),
            ("finish", self.tr("Finish now"), "flag"),
            ("stop", self.tr("Stop"), "square"),
        )
        made: list[QWidget] = []
        for command, words, icon in buttons:
            button = self.button(words, f"budget-{command}", icon)
            whose = item.owner_id if command == "budget" else item.agent_id
            button.clicked.connect(
                lambda _=False, who=whose, one=command: self.command_requested.emit(who, one)
            )
            made.append(button)
        self.offer(*made)
        self._first = made[0]

    def take_focus(self) -> bool:
        """Begin at the first button."""
        self._first.setFocus(Qt.FocusReason.ShortcutFocusReason)
        return self.isEnabled()

    def _reached_text(self, item: BudgetItem) -> str:
        used = self._used_text(item.spent, item.budget)
        if item.agent_id == item.owner_id:
            return self.tr("The budget is used up: {used}.").format(used=used)
        return self.tr("The budget of the agent above this one is used up: {used}.").format(
            used=used
        )

    def _unmeasured_text(self, limits: Sequence[str], budget: Budget) -> str:
        if "cost" in limits:
            words = self.tr(
                "The limit of ${limit} can’t be measured: the price of a model isn’t known."
            )
            return words.format(limit=f"{budget.cost:.2f}")
        words = self.tr(
            "The limit of {limit} tokens can’t be measured: the provider does not count them."
        )
        return words.format(limit=_count(budget.tokens or 0))

    def _used_text(self, spent: Spent, budget: Budget) -> str:
        """Name the limit that was reached, the fullest one."""
        said: list[tuple[float, str]] = []

        def add(used: float, limit: float | None, words: str, show: Callable[[float], str]) -> None:
            if limit is not None:
                share = used / limit if limit else 1.0
                said.append((share, words.format(used=show(used), limit=show(limit))))

        add(spent.cost, budget.cost, self.tr("${used} of ${limit}"), "{:.2f}".format)
        add(spent.tokens, budget.tokens, self.tr("{used} of {limit} tokens"), _count)
        add(spent.steps, budget.steps, self.tr("{used} of {limit} steps"), _count)
        minutes = self.tr("{used} of {limit} minutes")
        add(spent.seconds, budget.seconds, minutes, lambda seconds: f"{seconds / 60:.0f}")
        return max(said)[1] if said else ""


def _count(count: float) -> str:
    return short_count(int(count))
