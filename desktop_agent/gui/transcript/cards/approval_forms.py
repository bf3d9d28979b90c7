"""What an approval card asks next: another text for the call, or why it is refused."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent
from PySide6.QtWidgets import QMenu, QPlainTextEdit, QVBoxLayout, QWidget

from desktop_agent.core.approvals import Rule
from desktop_agent.gui.kit.code_font import mono_font
from desktop_agent.gui.kit.flow_layout import FlowLayout
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import GhostButton, PrimaryButton, TextButton, TextLabel, row
from desktop_agent.gui.transcript.cards.allow_button import put_icon_behind
from desktop_agent.gui.transcript.cards.card import AnswerLine

_SHOWN_LINES = 12


class EditForm(QWidget):
    """Change the command or the text before it is used. `accepted` carries it."""

    accepted = Signal(str)
    cancelled = Signal()

    def __init__(self, theme: Theme, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.field = QPlainTextEdit(text, self)
        self.field.setObjectName("editField")
        self.field.setAccessibleName(self.tr("What will be done instead"))
        self.field.setFont(mono_font(theme))
        self.field.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self.field.setTabChangesFocus(True)
        lines = min(_SHOWN_LINES, max(2, text.count("\n") + 1))
        line_height = QFontMetrics(self.field.font()).lineSpacing()
        self.field.setFixedHeight(lines * line_height + 24)
        allow = PrimaryButton(theme, self.tr("Allow this instead"))
        allow.setObjectName("allowEdited")
        allow.clicked.connect(lambda: self.accepted.emit(self.field.toPlainText()))
        cancel = GhostButton(theme, self.tr("Cancel"))
        cancel.clicked.connect(self.cancelled)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(TextLabel(self.tr("The agent is told that you changed it."), "subtle"))
        layout.addWidget(self.field)
        layout.addLayout(row(allow, cancel, None))

    def take_focus(self) -> None:
        """Go on typing here: the user has just asked for it."""
        self.field.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Ctrl+Enter allows, Esc goes back."""
        is_enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if is_enter and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.accepted.emit(self.field.toPlainText())
        elif event.key() == Qt.Key.Key_Escape:
            self.cancelled.emit()
        else:
            super().keyPressEvent(event)


class RefuseForm(QWidget):
    """An optional line that goes to the agent with the refusal, and a rule to refuse by from
    now on. `accepted` carries both; the rule is None for a refusal of this once.

    `choices` are the rules that can be made, each in words.
    """

    accepted = Signal(str, object)
    cancelled = Signal()

    def __init__(
        self,
        theme: Theme,
        choices: Sequence[tuple[str, Rule]] = (),
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._choices = choices
        self.field = AnswerLine(self)
        self.field.setObjectName("refuseReason")
        self.field.setPlaceholderText(self.tr("Tell the agent why, or what to do instead"))
        self.field.setAccessibleName(self.tr("Why not (optional)"))
        self.field.returnPressed.connect(self._accept)
        refuse = TextButton(theme, self.tr("Refuse"), token="err")
        refuse.setProperty("tone", "danger")
        refuse.setObjectName("refuseNow")
        refuse.clicked.connect(self._accept)
        cancel = GhostButton(theme, self.tr("Cancel"))
        cancel.clicked.connect(self.cancelled)
        buttons: list[QWidget] = [refuse, cancel]
        if choices:
            buttons.insert(1, self._make_always(theme))
        strip = QWidget(self)
        flow = FlowLayout(strip, 8)
        for button in buttons:
            flow.addWidget(button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.field)
        layout.addWidget(strip)

    def _make_always(self, theme: Theme) -> TextButton:
        always = TextButton(theme, self.tr("Always refuse…"), "chevron-down")
        put_icon_behind(always)
        always.setAutoDefault(False)
        always.setObjectName("refuseAlways")
        always.setToolTip(self.tr("Refuse, and make a rule that goes on refusing"))
        corner = always.rect().bottomLeft
        always.clicked.connect(lambda: self.rule_menu().popup(always.mapToGlobal(corner())))
        return always

    def rule_menu(self) -> QMenu:
        """Return the menu of rules, each with exactly what it refuses and where."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        pattern: str | None = None
        for words, rule in self._choices:
            if pattern not in {None, rule.pattern}:
                menu.addSeparator()
            pattern = rule.pattern
            action = menu.addAction(words.replace("&", "&&"))
            action.triggered.connect(lambda _=False, r=rule: self._accept(r))
        return menu

    def take_focus(self) -> None:
        """Go on typing here: the user has just asked for it."""
        self.field.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc goes back to the question; it decides nothing."""
        if event.key() == Qt.Key.Key_Escape:
            self.cancelled.emit()
        else:
            super().keyPressEvent(event)

    def _accept(self, rule: Rule | bool | None = None) -> None:
        # A button's `clicked` says whether it is checked.
        kept = rule if isinstance(rule, Rule) else None
        self.accepted.emit(self.field.text().strip(), kept)
