"""One thing that waits for the user: who asks, what, and the answer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QCheckBox, QFrame, QLineEdit, QVBoxLayout, QWidget

from desktop_agent.core.approvals import AllowOnce, ApprovalRequest, Deny
from desktop_agent.core.messages import CommandDisplay, DiffDisplay
from desktop_agent.core.questions import Question
from desktop_agent.gui.agents.card_blocks import option_button
from desktop_agent.gui.kit.fields.input_methods import Line
from desktop_agent.gui.kit.flow_layout import FlowLayout
from desktop_agent.gui.kit.lists.keyboard_focus import PaintsRing
from desktop_agent.gui.kit.rtl import code_text
from desktop_agent.gui.kit.safe_text import name_text, path_text, plain_tip, with_marks
from desktop_agent.gui.kit.text import LONGEST_LINE, plain_words
from desktop_agent.gui.kit.theme import Theme, mono_font
from desktop_agent.gui.kit.widgets import (
    ElidedLabel,
    GhostButton,
    IconLabel,
    PrimaryButton,
    TextButton,
    TextLabel,
    column,
    named,
    row,
)
from desktop_agent.gui.state.pending_request import PendingRequest
from desktop_agent.gui.transcript.cards.approval_text import is_host, once_text, request_text
from desktop_agent.gui.transcript.cards.diff_view import diff_lines

# The card in the transcript shows all of it.
_EFFECT_LINES = 3
_OPTIONS, _OPTION = 4, 30
# What a name has in a narrow panel, in pixels.
_ROOM = 200


class RequestRow(PaintsRing, QFrame):
    """One request or question that waits, with what answers it.

    Where its card is in sight, that is where it is answered, and the row only points to it.

    Signals:
        chosen: a click or Enter, to go to its card
        decided(AllowOnce | Deny), answered(text)
        marked(is_marked): it was selected, or not any more
        walked(step): up or down by the arrow keys
    """

    chosen = Signal()
    decided = Signal(object)
    answered = Signal(str)
    marked = Signal(bool)
    walked = Signal(int)

    def __init__(self, theme: Theme, ask: PendingRequest, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.ask = ask
        self.setObjectName("askRow")
        self.setProperty("frame", "card")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.mark = named(QCheckBox(self), "askMark", self.tr("Select this request"))
        self.mark.setProperty("kind", "bare")
        self.mark.toggled.connect(self.marked)
        self.mark.hide()
        icon = "shield-alert" if ask.is_approval else "message-circle-question-mark"
        self._icon = IconLabel(theme, icon, "warn", 14, self)
        self._who = ElidedLabel("", Qt.TextElideMode.ElideLeft, "caption", self, name="askWho")
        self._age = TextLabel("", "caption", self)
        what = ask.asked.title if isinstance(ask.asked, ApprovalRequest) else ask.asked.text
        self._what = TextLabel(plain_words(what), "strong", self, wraps=True)
        is_prose = isinstance(ask.asked, ApprovalRequest) and is_host(ask.asked)
        kind = "muted" if is_prose else "mono"
        self._effect = TextLabel("", kind, self, name="askEffect", wraps=True)
        effect = self._effect_text()
        narrow = _ROOM // QFontMetrics(mono_font(theme)).averageCharWidth()
        self._effect.setText(name_text(effect if is_prose else code_text(effect), narrow))
        self._effect.setVisible(bool(effect))
        self.setAccessibleDescription(effect)
        self._build()

    def set_pointer(self, *, is_pointer: bool) -> None:
        """Leave the answer, and what is asked for, to the card, or offer it here."""
        self._acts.setVisible(not is_pointer)
        self._effect.setVisible(not is_pointer and bool(self._effect.text()))
        self._arrow.setVisible(is_pointer)

    def focus_answer(self) -> None:
        """Give the focus to the field of an answer; a request gets it as a whole."""
        field = self._acts.findChild(QLineEdit, "askField")
        (field or self).setFocus(Qt.FocusReason.ShortcutFocusReason)

    def show_ask(self, who: str) -> None:
        asked = self.ask.asked
        seconds = max(0, int(time.time() - asked.created_at))
        waited = f"{seconds // 60}:{seconds % 60:02d}"
        self._who.set_text(who)
        self._age.setText(f"\u2068{waited}\u2069")
        said = self.tr("{who} asks: {what}, waiting {time}")
        self.setAccessibleName(said.format(who=who, what=self._what.text(), time=waited))

    def _effect_text(self) -> str:
        asked = self.ask.asked
        if not isinstance(asked, ApprovalRequest):
            return ""
        if is_host(asked):
            return plain_words(request_text(asked))
        if isinstance(asked.display, DiffDisplay):
            # The file and the size of the change, then the lines that change.
            change = asked.display
            counts = f"  +{change.added} −{change.removed}" if change.is_counted else ""
            head = path_text(change.path) + counts
            lines = [head, *map(with_marks, _changed(change.patch))]
        else:
            lines = request_text(asked).splitlines()
        if isinstance(asked.display, CommandDisplay) and asked.display.directory:
            lines.append(self.tr("in {folder}").format(folder=asked.display.directory))
        self._effect.setToolTip(plain_tip("\n".join(lines[:40])))
        if len(lines) > _EFFECT_LINES:
            rest = len(lines) - _EFFECT_LINES
            return "\n".join([*lines[:_EFFECT_LINES], self.tr("… and %n more", "", rest)])
        return "\n".join(lines)

    def _build(self) -> None:
        theme = self._theme
        self._arrow = IconLabel(theme, "arrow-right", "muted", 14, self)
        self._arrow.hide()
        head = row(self.mark, self._icon, self._who, self._age, self._arrow, spacing=6, stretch=2)
        self._acts = QWidget(self)
        parts = (head, self._what, self._effect, self._acts)
        edges = (10, theme.space("s"), 10, theme.space("s"))
        self.setLayout(column(*parts, spacing=theme.space("xs"), edges=edges))
        lines = column(spacing=theme.space("xs"), within=self._acts)
        if isinstance(self.ask.asked, Question) and self.ask.asked.form is not None:
            show = PrimaryButton(theme, self.tr("Show"), parent=self, name="askShow")
            decline = TextButton(theme, self.tr("Decline"), parent=self, name="askDecline")
            show.clicked.connect(self.chosen)
            decline.clicked.connect(lambda: self.answered.emit(""))
            lines.addLayout(row(show, decline, None, spacing=6))
            return
        if isinstance(self.ask.asked, Question):
            self._add_options(lines, self.ask.asked)
            self._add_field(lines)
            return
        allow = PrimaryButton(theme, once_text(self.ask.asked), parent=self)
        refuse = TextButton(theme, self.tr("Refuse"), parent=self)
        show = GhostButton(theme, self.tr("Show"), parent=self)
        show.setToolTip(self.tr("Goes to the card in the transcript (Enter)"))
        for button, name, act in (
            (allow, "askAllow", partial(self.decided.emit, AllowOnce())),
            (refuse, "askRefuse", partial(self.decided.emit, Deny())),
            (show, "askShow", self.chosen.emit),
        ):
            button.setObjectName(name)
            button.clicked.connect(lambda _=False, act=act: act())
        lines.addLayout(row(allow, refuse, None, show, spacing=6))

    def _add_field(self, lines: QVBoxLayout) -> None:
        self._field = named(Line(self), "askField", self.tr("Answer"))
        self._field.setMaxLength(LONGEST_LINE)
        self._field.setPlaceholderText(self.tr("Answer…"))
        self._field.returnPressed.connect(self._answer)
        answer = PrimaryButton(self._theme, self.tr("Answer"), parent=self, name="askAnswer")
        answer.clicked.connect(self._answer)
        lines.addLayout(row(self._field, answer, spacing=6, stretch=0))

    def _add_options(self, lines: QVBoxLayout, question: Question) -> None:
        """Offer the first few answers as buttons; the card in the transcript has all."""
        if not question.options:
            return
        holder = QWidget(self)
        flow = FlowLayout(holder, self._theme.space("xs"))
        for option in question.options[:_OPTIONS]:
            button = option_button(self._theme, plain_words(option), _OPTION, holder)
            button.setObjectName("askOption")
            button.clicked.connect(lambda _=False, text=option: self.answered.emit(text))
            flow.addWidget(button)
        lines.addWidget(holder)

    def _answer(self) -> None:
        text = self._field.text().strip()
        if text:
            self.answered.emit(text)

    # -- keys and mouse --------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter goes to the card; Space marks; the arrows walk. Nothing is allowed by a key
        that was not pressed on a button.
        """
        if not self.hasFocus():
            super().keyPressEvent(event)  # it was meant for the field of the answer
            return
        match event.key():
            case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                self.chosen.emit()
            case Qt.Key.Key_Space if not self.mark.isHidden():
                self.mark.toggle()
            case Qt.Key.Key_Up:
                self.walked.emit(-1)
            case Qt.Key.Key_Down:
                self.walked.emit(1)
            case _:
                super().keyPressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """A click goes to the card; with Ctrl or Shift it marks."""
        super().mouseReleaseEvent(event)
        if event.button() != Qt.MouseButton.LeftButton:
            return
        if not self.rect().contains(event.position().toPoint()):
            return
        marking = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
        if event.modifiers() & marking and not self.mark.isHidden():
            self.mark.toggle()
        else:
            self.chosen.emit()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.is_ringed:
            painter = QPainter(self)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(self._theme.color("accent"), 2))
            radius = self._theme.radius("card")
            painter.drawRoundedRect(self.rect().adjusted(1, 1, -1, -1), radius, radius)
            painter.end()


def _changed(patch: str) -> Iterator[str]:
    """Return the lines that change, as they stand in the patch; its head may look like some."""
    signs = {"added": "+", "removed": "-", "note": ""}
    return (signs[one.kind] + one.text for one in diff_lines(patch) if one.kind in signs)
