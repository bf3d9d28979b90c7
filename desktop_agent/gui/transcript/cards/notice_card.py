"""Cards that end a turn: a failure with one thing to do, or a stop with what it left."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QSizePolicy, QWidget

from desktop_agent.core.events import StopReport
from desktop_agent.core.faults import Fault
from desktop_agent.gui.kit.safe_text import with_marks
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import GhostButton, IconLabel, TextButton, TextLabel, row
from desktop_agent.gui.transcript.cards.card import Card
from desktop_agent.gui.transcript.document.clock import clock_text
from desktop_agent.gui.transcript.state.items import FailureItem, TurnItem

_ICON, _GAP = 18, 8


class NoticeCard(Card):
    """A sentence, lines of detail, and buttons.

    `resume_requested`, `compose_requested` and `fault_action` are what its buttons ask for.
    """

    resume_requested = Signal()
    compose_requested = Signal()
    fault_action = Signal(str)

    def __init__(self, theme: Theme, icon: str, token: str, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.body.setContentsMargins(16, 12, 16, 12)
        self.body.setSpacing(theme.space("s"))
        self._icon = IconLabel(theme, icon, token, _ICON)
        self.setObjectName("noticeCard")

    @property
    def _indent(self) -> int:
        """Where the sentence begins, beside the icon."""
        return self._theme.icon_px(_ICON) + _GAP

    def say(self, sentence: str, details: list[str]) -> None:
        """Put the words in."""
        title = TextLabel(sentence, "strong")
        title.setWordWrap(True)
        title.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        title.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        top = row(self._icon, title, spacing=_GAP)
        top.setAlignment(self._icon, Qt.AlignmentFlag.AlignTop)
        self.body.addLayout(top)
        for line in details:
            label = TextLabel(line, "muted")
            label.setWordWrap(True)
            label.setContentsMargins(self._indent, 0, 0, 0)
            self.body.addWidget(label)
        self.setAccessibleName(sentence)
        self.setAccessibleDescription(" ".join(details))

    def offer(self, *buttons: QWidget) -> None:
        """Put the buttons in."""
        # A button without an edge has its padding to the left of the words.
        indent = self._indent - (9 if isinstance(buttons[0], GhostButton) else 0)
        line = row(indent, *buttons, None, spacing=8)
        self.body.addLayout(line)

    def button(self, words: str, name: str, icon: str = "", *, ghost: bool = False) -> TextButton:
        """Return a button of this card."""
        kind = GhostButton if ghost else TextButton
        made = kind(self._theme, words, icon, self)
        made.setObjectName(name)
        return made


class FaultCard(NoticeCard):
    """What went wrong, in the provider's words, and the one thing to do about it."""

    def __init__(self, theme: Theme, item: TurnItem, parent: QWidget | None = None) -> None:
        super().__init__(theme, "circle-alert", "err", parent)
        fault = item.fault or Fault("internal", self.tr("The turn ended early."), "continue")
        is_interrupted = item.reason == "interrupted"
        if is_interrupted:
            self._icon.set_icon("circle-alert", "warn")
            self.set_ground("warnSoft", "warnLine")
        else:
            self.set_ground("errSoft", "err")
        self.setObjectName("faultCard")
        self.say(with_marks(fault.message), [])
        buttons: list[QWidget] = []
        if item.is_current:
            buttons.append(self._action(fault))
        if fault.details:
            copy = self.button(self.tr("Copy details"), "copyDetails", "copy", ghost=True)
            copy.clicked.connect(lambda: _copy(f"{fault.message}\n\n{fault.details}"))
            buttons.append(copy)
        if buttons:
            self.offer(*buttons)

    def _action(self, fault: Fault) -> TextButton:
        words = {
            "retry": self.tr("Retry"),
            "continue": self.tr("Continue"),
            "edit_key": self.tr("Edit key…"),
            "switch_model": self.tr("Switch model…"),
            "settings": self.tr("Settings…"),
        }[fault.action]
        icons = {"retry": "refresh-cw", "continue": "play", "edit_key": "key"}
        button = self.button(words, "faultAction", icons.get(fault.action, "settings"))
        if fault.action in {"retry", "continue"}:
            button.clicked.connect(self.resume_requested)
        else:
            button.clicked.connect(lambda: self.fault_action.emit(fault.action))
        return button


class StopCard(NoticeCard):
    """What a stop cancelled, ended, kept and left undone; `words` say who stopped."""

    def __init__(
        self, theme: Theme, item: TurnItem, words: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(theme, "circle-stop", "muted", parent)
        self.setObjectName("stopCard")
        report = item.report or StopReport()
        at = clock_text(item.at)
        sentence = self.tr("{stopped} at {time}") if at else "{stopped}"
        if report.alive:
            self._icon.set_icon("triangle-alert", "warn")
            self.set_ground("warnSoft", "warnLine")
        self.say(sentence.format(stopped=words, time=at), self._lines(report))
        if item.is_current:
            go_on = self.button(self.tr("Continue"), "continueTurn", "play")
            go_on.clicked.connect(self.resume_requested)
            change = self.button(self.tr("Change and continue…"), "changeTurn", ghost=True)
            change.clicked.connect(self.compose_requested)
            self.offer(go_on, change)

    def _lines(self, report: StopReport) -> list[str]:
        said = (
            (self.tr("Cancelled: {what}"), report.cancelled),
            (self.tr("Ended: {what}"), report.killed),
            (self.tr("Not run: {what}"), report.not_executed),
            (self.tr("Kept: {what}"), report.kept),
            (self.tr("Still running, could not be ended: {what}"), self._pids(report)),
        )
        return [words.format(what=with_marks(", ".join(what))) for words, what in said if what]

    def _pids(self, report: StopReport) -> tuple[str, ...]:
        return tuple(self.tr("process {pid}").format(pid=pid) for pid in report.alive)


class LimitCard(NoticeCard):
    """The turn reached a limit that the user has set."""

    def __init__(self, theme: Theme, item: TurnItem, parent: QWidget | None = None) -> None:
        super().__init__(theme, "circle-pause", "warn", parent)
        self.setObjectName("limitCard")
        if item.reason == "budget":
            sentence = self.tr("Paused: the budget for this work is used up.")
        else:
            sentence = self.tr("Paused: this turn took as many steps as the settings allow.")
        self.say(sentence, [])
        if item.is_current:
            go_on = self.button(self.tr("Continue"), "continueTurn", "play")
            go_on.clicked.connect(self.resume_requested)
            self.offer(go_on)


class FailureCard(NoticeCard):
    """A defect of the app itself that the session survived."""

    def __init__(self, theme: Theme, item: FailureItem, parent: QWidget | None = None) -> None:
        super().__init__(theme, "triangle-alert", "warn", parent)
        self.setObjectName("failureCard")
        self.say(self.tr("Something in the app went wrong. Your work goes on."), [])
        copy = self.button(self.tr("Copy details"), "copyDetails", "copy", ghost=True)
        copy.clicked.connect(lambda: _copy(f"{item.where}: {item.message}"))
        self.offer(copy)


def _copy(text: str) -> None:
    QGuiApplication.clipboard().setText(text)
