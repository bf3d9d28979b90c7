"""Cards that end a turn, or hold it: what happened, what it left, and what can be done now."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QSizePolicy, QWidget

from desktop_agent.core.events import StopReport
from desktop_agent.core.faults import Fault
from desktop_agent.gui.kit.flow_layout import FlowLayout
from desktop_agent.gui.kit.safe_text import with_marks
from desktop_agent.gui.kit.text import short_count
from desktop_agent.gui.kit.widgets import (
    ElidedLabel,
    GhostButton,
    IconLabel,
    TextButton,
    TextLabel,
    row,
)
from desktop_agent.gui.transcript.cards.card import Card, CardHost
from desktop_agent.gui.transcript.document.user_message import clock_text
from desktop_agent.gui.transcript.state.items import BudgetItem, FailureItem, TurnItem

translate = QCoreApplication.translate
_ICON, _GAP = 18, 8


class NoticeCard(Card):
    """A sentence, lines of detail, and buttons."""

    def __init__(self, host: CardHost, name: str, icon: str, token: str) -> None:
        super().__init__(host.theme, host.ground)
        self.host = host
        self.body.setContentsMargins(16, 12, 16, 12)
        self.body.setSpacing(host.theme.space("s"))
        self._icon = IconLabel(host.theme, icon, token, _ICON)
        self._buttons: list[TextButton] = []
        self.setObjectName(name)
        if token == "err":
            self.set_ground("errSoft", "err")

    def warn(self, icon: str) -> None:
        self._icon.set_icon(icon, "warn")
        self.set_ground("warnSoft", "warnLine")

    def say(self, sentence: str, *details: str) -> None:
        title = TextLabel(sentence, "strong", wraps=True)
        title.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        title.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        top = row(self._icon, title, spacing=_GAP)
        top.setAlignment(self._icon, Qt.AlignmentFlag.AlignTop)
        self.body.addLayout(top)
        for line in details:
            label = TextLabel(line, "muted", wraps=True)
            label.setContentsMargins(self._indent, 0, 0, 0)
            self.body.addWidget(label)
        self.setAccessibleName(sentence)
        self.setAccessibleDescription(" ".join(details))

    def offer(
        self, words: str, name: str, icon: str, act: Callable[[], object], *, ghost: bool = False
    ) -> None:
        button = (GhostButton if ghost else TextButton)(self._theme, words, icon, self)
        button.setObjectName(name)
        button.clicked.connect(lambda: act())
        self._buttons.append(button)

    def finish(self) -> NoticeCard:
        """Put the buttons in, beginning where the sentence does."""
        if self._buttons:
            # A button without an edge has its padding to the left of the words.
            indent = self._indent - (9 if isinstance(self._buttons[0], GhostButton) else 0)
            strip = QWidget(self)
            flow = FlowLayout(strip, 8)
            for button in self._buttons:
                flow.addWidget(button)
            self.body.addLayout(row(indent, (strip, 1), spacing=0))
        return self

    def take_focus(self) -> bool:
        if not self._buttons:
            return super().take_focus()
        self._buttons[0].setFocus(Qt.FocusReason.ShortcutFocusReason)
        return self.isEnabled()

    def offer_copy(self, text: str) -> None:
        self.offer(self.tr("Copy details"), "copyDetails", "copy", partial(_copy, text), ghost=True)

    def offer_continue(self) -> None:
        resume = self.host.resume_requested.emit
        self.offer(self.tr("Continue"), "continueTurn", "play", resume)

    @property
    def _indent(self) -> int:
        return self._theme.icon_px(_ICON) + _GAP


def turn_card(host: CardHost, item: TurnItem, text: str) -> Card:
    """Return the card of a turn's end; `text` says who stopped it, if somebody did."""
    if item.reason == "cancelled":
        return _stop_card(host, item, text)
    if item.reason not in ("step_limit", "budget"):
        return (_past_fault if item.is_past else _fault_card)(host, item)
    card = NoticeCard(host, "limitCard", "circle-pause", "warn")
    if item.reason == "budget":
        card.say(card.tr("Paused: the budget for this work is used up."))
    else:
        card.say(card.tr("Paused: this turn took as many steps as the settings allow."))
    if item.is_current:
        card.offer_continue()
    return card.finish()


def failure_card(host: CardHost, item: FailureItem) -> NoticeCard:
    """Return the card of a defect of the app itself that the session survived."""
    card = NoticeCard(host, "failureCard", "triangle-alert", "warn")
    card.say(card.tr("Something in the app went wrong. Your work goes on."))
    card.offer_copy(f"{item.where}: {item.message}")
    return card.finish()


def _fault_card(host: CardHost, item: TurnItem) -> NoticeCard:
    """Return what went wrong, in the provider's words, and the one thing to do about it."""
    card = NoticeCard(host, "faultCard", "circle-alert", "err")
    fault = _fault_of(item)
    if item.reason == "interrupted":
        card.warn("circle-alert")
    card.say(with_marks(fault.message))
    if item.is_current:
        words = {
            "retry": card.tr("Try again"),
            "continue": card.tr("Continue"),
            "edit_key": card.tr("Edit key…"),
            "switch_model": card.tr("Switch model…"),
            "settings": card.tr("Settings…"),
        }[fault.action]
        icons = {"retry": "refresh-cw", "continue": "play", "edit_key": "key"}
        act: Callable[[], object] = partial(host.fault_action.emit, fault.action)
        if fault.action in {"retry", "continue"}:
            act = host.resume_requested.emit
        card.offer(words, "faultAction", icons.get(fault.action, "settings"), act)
        if fault.action not in {"retry", "continue"}:
            again = card.tr("Try again")
            card.offer(again, "tryAgain", "refresh-cw", host.resume_requested.emit, ghost=True)
    if fault.details:
        card.offer_copy(_details(fault))
    return card.finish()


def _past_fault(host: CardHost, item: TurnItem) -> Card:
    """Return the line of what went wrong before it was tried again, or gone on from."""
    card = Card(host.theme, host.ground, ground="", edge="")
    card.setObjectName("pastFault")
    fault, at = _fault_of(item), clock_text(item.at)
    said = "  ·  ".join(filter(None, (" ".join(with_marks(fault.message).split()), at)))
    card.setAccessibleName(said)
    buttons: list[GhostButton] = []
    if fault.details:
        words = card.tr("Copy details")
        copy = GhostButton(host.theme, words, "copy", card, name="copyDetails")
        copy.clicked.connect(partial(_copy, _details(fault)))
        buttons.append(copy)
    mark = IconLabel(host.theme, "circle-alert", "muted", 16, card)
    line = ElidedLabel(said, role="muted", parent=card)
    card.body.addLayout(row(4, mark, (line, 1), *buttons, spacing=host.theme.space("s")))
    return card


def _fault_of(item: TurnItem) -> Fault:
    ended = translate("NoticeCard", "The turn ended early.")
    return item.fault or Fault("internal", ended, "continue")


def _details(fault: Fault) -> str:
    return f"{fault.message}\n\n{fault.details}"


def _copy(text: str, *_: object) -> None:
    QGuiApplication.clipboard().setText(text)


def _stop_card(host: CardHost, item: TurnItem, text: str) -> NoticeCard:
    """Return what a stop cancelled, ended, kept and left undone."""
    card = NoticeCard(host, "stopCard", "circle-stop", "muted")
    report = item.report or StopReport()
    if report.alive:
        card.warn("triangle-alert")
    pids = tuple(card.tr("process {pid}").format(pid=pid) for pid in report.alive)
    left = (
        (card.tr("Cancelled: {what}"), report.cancelled),
        (card.tr("Ended: {what}"), report.killed),
        (card.tr("Not run: {what}"), report.not_executed),
        (card.tr("Kept: {what}"), report.kept),
        (card.tr("Still running, could not be ended: {what}"), pids),
    )
    at = clock_text(item.at)
    sentence = card.tr("{stopped} at {time}").format(stopped=text, time=at) if at else text
    details = (words.format(what=with_marks(", ".join(what))) for words, what in left if what)
    card.say(sentence, *details)
    if item.is_current:
        card.offer_continue()
        change = host.compose_requested.emit
        card.offer(card.tr("Change and continue…"), "changeTurn", "", change, ghost=True)
    return card.finish()


def budget_card(host: CardHost, item: BudgetItem) -> NoticeCard:
    """Return the card of a budget that is used up: everything holds until the user decides."""
    card = NoticeCard(host, "budgetCard", "gauge", "warn")
    card.warn("gauge")
    unmeasured = item.spent.unmeasured(item.budget)
    if "cost" in unmeasured:
        words = card.tr(
            "The limit of ${limit} can’t be measured: the price of a model isn’t known."
        )
        sentence = words.format(limit=f"{item.budget.cost:.2f}")
    elif unmeasured:
        words = card.tr(
            "The limit of {limit} tokens can’t be measured: the provider does not count them."
        )
        sentence = words.format(limit=_count(item.budget.tokens or 0))
    elif item.has_lent:
        words = card.tr(
            "The rest of the budget is set aside for subagents that wait: {used} are used."
        )
        sentence = words.format(used=_used_text(card, item))
    else:
        words = card.tr("The budget is used up: {used}.")
        if item.agent_id != item.owner_id:
            words = card.tr("The budget of the agent above this one is used up: {used}.")
        sentence = words.format(used=_used_text(card, item))
    card.say(sentence, card.tr("Nothing was lost. The work holds here until you decide."))
    more = card.tr("Go on without this limit") if unmeasured else card.tr("+50 %")
    for command, words, icon in (
        ("more", more, ""),
        ("budget", card.tr("Set budget…"), "wallet"),
        ("finish", card.tr("Finish now"), "flag"),
        ("stop", card.tr("Stop"), "square"),
    ):
        card.offer(words, f"budget-{command}", icon, partial(_decide, host, item, command))
    return card.finish()


def _decide(host: CardHost, item: BudgetItem, command: str) -> None:
    agent_id = item.owner_id if command == "budget" else item.agent_id
    host.command_requested.emit(agent_id, command, "")
    if command != "budget":
        # The button that was pressed goes away.
        host.compose_requested.emit()


def _used_text(card: Card, item: BudgetItem) -> str:
    """Name the limit that was reached, the fullest one."""
    spent, budget = item.spent, item.budget
    minutes = None if budget.seconds is None else budget.seconds / 60
    limits: tuple[tuple[float, float | None, str, Callable[[float], str]], ...] = (
        (spent.cost, budget.cost, card.tr("${used} of ${limit}"), "{:.2f}".format),
        (spent.tokens, budget.tokens, card.tr("{used} of {limit} tokens"), _count),
        (spent.steps, budget.steps, card.tr("{used} of {limit} steps"), _count),
        (spent.seconds / 60, minutes, card.tr("{used} of {limit} minutes"), "{:.0f}".format),
    )
    return max(
        (
            (used / limit if limit else 1.0, words.format(used=show(used), limit=show(limit)))
            for used, limit, words, show in limits
            if limit is not None
        ),
        default=(0.0, ""),
    )[1]


def _count(count: float) -> str:
    return short_count(int(count))
