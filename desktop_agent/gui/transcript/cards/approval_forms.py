"""What an approval card asks next: another text for the call, or why it is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFontMetrics, QIcon, QKeyEvent
from PySide6.QtWidgets import QMenu, QVBoxLayout, QWidget

from desktop_agent.core.approvals import Rule
from desktop_agent.gui.kit.fields.input_methods import PlainText
from desktop_agent.gui.kit.flow_layout import FlowLayout
from desktop_agent.gui.kit.rtl import keep_left_to_right
from desktop_agent.gui.kit.safe_text import plain_tip, with_marks
from desktop_agent.gui.kit.theme import Theme, mono_font
from desktop_agent.gui.kit.widgets import (
    GhostButton,
    PrimaryButton,
    TextButton,
    TextLabel,
    named,
    row,
)
from desktop_agent.gui.transcript.cards.card import AnswerLine

_SHOWN_LINES = 12
_MENU_EDGES = 80
_LEAST_LETTERS = 12

# Rules that can be made, each with the text that says what it covers and where.
RuleChoices = Sequence[tuple[str, Rule]]


class ApprovalForm(QWidget):
    """A field below the request; Esc goes back to it and decides nothing."""

    cancelled = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.cancelled.emit()
        else:
            super().keyPressEvent(event)

    def cancel_button(self, theme: Theme) -> GhostButton:
        cancel = GhostButton(theme, self.tr("Cancel"))
        cancel.clicked.connect(self.cancelled)
        return cancel


class EditForm(ApprovalForm):
    """Change the command or the text before it is used. `accepted` carries it."""

    accepted = Signal(str)

    def __init__(self, theme: Theme, text: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._given = text
        self.field = field = PlainText(text, self)
        self._shown = self._words()
        field.setObjectName("editField")
        field.setAccessibleName(self.tr("What will be done instead"))
        field.setFont(mono_font(theme))
        keep_left_to_right(field)
        field.setTabChangesFocus(True)
        lines = min(_SHOWN_LINES, max(2, text.count("\n") + 1))
        field.setFixedHeight(lines * QFontMetrics(field.font()).lineSpacing() + 24)
        self.setFocusProxy(field)
        allow = PrimaryButton(theme, self.tr("Allow this instead"), clicked=self._accept)
        allow.setObjectName("allowEdited")
        self.column.addWidget(
            TextLabel(self.tr("The agent is told that you changed it."), "subtle")
        )
        self.column.addWidget(field)
        self.column.addLayout(row(allow, self.cancel_button(theme), None))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Allow with Ctrl+Enter."""
        is_enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if is_enter and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self._accept()
        else:
            super().keyPressEvent(event)

    def _words(self) -> str:
        """Return what is in the field; its plain text has no non-breaking space any more."""
        return self.field.document().toRawText().replace("\u2029", "\n")

    def _accept(self) -> None:
        """Emit the text with nothing changed but by the user: a field keeps no line ends."""
        words, given = self._words(), self._given
        if words == self._shown:
            words = given
        elif "\r\n" in given and given.count("\n") == given.count("\r\n"):
            words = words.replace("\n", "\r\n")
        self.accepted.emit(words)


class RefuseForm(ApprovalForm):
    """An optional line that goes to the agent with the refusal, and a rule to refuse by from
    now on. `accepted` carries both; the rule is None for a refusal of this once.
    """

    accepted = Signal(str, object)

    def __init__(self, theme: Theme, choices: RuleChoices, parent: QWidget) -> None:
        super().__init__(parent)
        self._choices = choices
        self.field = named(AnswerLine(self), "refuseReason", self.tr("Why not (optional)"))
        self.field.setPlaceholderText(self.tr("Tell the agent why, or what to do instead"))
        self.field.returnPressed.connect(self._refuse_once)
        self.setFocusProxy(self.field)
        refuse = TextButton(theme, self.tr("Refuse"), token="err", name="refuseNow")
        refuse.setProperty("tone", "danger")
        refuse.clicked.connect(self._refuse_once)
        strip = QWidget(self)
        flow = FlowLayout(strip, 8)
        flow.addWidget(refuse)
        if choices:
            always = menu_button(theme, self.tr("Always refuse…"), "refuseAlways", self.rule_menu)
            always.setToolTip(self.tr("Refuse, and make a rule that goes on refusing"))
            flow.addWidget(always)
        flow.addWidget(self.cancel_button(theme))
        self.column.addWidget(self.field)
        self.column.addWidget(strip)

    def rule_menu(self) -> QMenu:
        """Return the menu of rules, each with exactly what it refuses and where."""
        return rule_menu(self, self._choices, self._refuse)

    def _refuse_once(self) -> None:
        self._refuse(None)

    def _refuse(self, rule: Rule | None) -> None:
        self.accepted.emit(self.field.text().strip(), rule)


class AllowButton(PrimaryButton):
    """Names its key while the key is its own; nothing moves when that comes or goes."""

    _has_key = False

    def __init__(self, theme: Theme, text: str) -> None:
        super().__init__(theme, text, "corner-down-left")
        put_icon_behind(self)

    def show_key(self, *, is_shown: bool) -> None:
        self._has_key = is_shown
        self._paint_icon()

    def _paint_icon(self) -> None:
        super()._paint_icon()
        if not self._has_key:
            self.setMinimumWidth(self.sizeHint().width())
            self.setIcon(QIcon())


def put_icon_behind(button: TextButton) -> None:
    """Put the icon of a button behind its text."""
    words = button.accessibleName()
    is_mirrored = button.layoutDirection() == Qt.LayoutDirection.RightToLeft
    side = Qt.LayoutDirection.LeftToRight if is_mirrored else Qt.LayoutDirection.RightToLeft
    button.setLayoutDirection(side)
    # The mark keeps the thin spaces between the words and the icon.
    button.setText(f"{words}\u2009\u2009\u200e")


def menu_button(theme: Theme, text: str, name: str, menu: Callable[[], QMenu | None]) -> TextButton:
    """Return a button that opens a menu of rules below it, if there is one now."""
    button = TextButton(theme, text, "chevron-down")
    put_icon_behind(button)
    button.setObjectName(name)

    def pop_up() -> None:
        if opened := menu():
            opened.popup(button.mapToGlobal(button.rect().bottomLeft()))

    button.clicked.connect(pop_up)
    return button


def rule_menu(parent: QWidget, choices: RuleChoices, choose: Callable[[Rule], None]) -> QMenu:
    """Return a menu of rules, those of one pattern together."""
    menu = QMenu(parent)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    menu.setToolTipsVisible(True)
    menu.ensurePolished()
    # Where a rule holds stands at the end of its words: the screen must not cut that.
    metrics, room = menu.fontMetrics(), parent.screen().availableGeometry().width() - _MENU_EDGES
    least = _LEAST_LETTERS * metrics.averageCharWidth()
    last: Rule | None = None
    for words, rule in choices:
        if last is not None and (last.tool, last.pattern) != (rule.tool, rule.pattern):
            menu.addSeparator()
        last = rule
        pattern = with_marks(rule.pattern)
        left = room - metrics.horizontalAdvance(words) + metrics.horizontalAdvance(pattern)
        cut = metrics.elidedText(pattern, Qt.TextElideMode.ElideMiddle, max(left, least))
        before, _, after = words.partition(pattern) if pattern else (words, "", "")
        # Large letters on a small screen: then words before the pattern go as well.
        left = room - metrics.horizontalAdvance(cut + after)
        shown = metrics.elidedText(before, Qt.TextElideMode.ElideRight, left) + cut + after
        action = menu.addAction(shown.replace("&", "&&"))
        action.setToolTip(plain_tip(words) if shown != words else "")
        action.triggered.connect(lambda _=False, r=rule: choose(r))
    return menu
