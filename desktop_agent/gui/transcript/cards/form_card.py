"""The card of what an MCP server asks the user for: a form, or an address to open."""

from __future__ import annotations

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QLineEdit, QWidget

from desktop_agent.core.keys.redaction import is_secret_name
from desktop_agent.core.parts.forms import FieldValue, FormAction, FormAnswer, ServerForm
from desktop_agent.gui.kit.fitted_area import WholeText
from desktop_agent.gui.kit.form_fields import FieldRow
from desktop_agent.gui.kit.links import host_of, open_link
from desktop_agent.gui.kit.safe_text import label_text, with_marks
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    GhostButton,
    IconLabel,
    PrimaryButton,
    TextButton,
    TextLabel,
    row,
)
from desktop_agent.gui.transcript.cards.card import AskCard

_LONGEST_SHOWN = 80


class FormCard(AskCard):
    """`answered` carries how the session tells of the answer, and the FormAnswer."""

    answered = Signal(str, object)

    def __init__(self, theme: Theme, form: ServerForm, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent, edge="accent")
        self._form = form
        self.setObjectName("formCard")
        self.body.setContentsMargins(16, 12, 16, 14)
        self.body.setSpacing(theme.space("s"))
        self._fields = [FieldRow(field, self) for field in form.fields]
        self._at_first = self._values()
        self._problem = TextLabel("", "error", self, name="formProblem", wraps=True)
        self._problem.hide()
        self._build(with_marks(form.message))

    @property
    def has_draft(self) -> bool:
        return self._values() != self._at_first

    def take_focus(self) -> bool:
        """Begin at the first field, or at the button where there is none."""
        target = self._fields[0].controls[0] if self._fields else self._send
        target.setFocus(Qt.FocusReason.ShortcutFocusReason)
        return self.isEnabled()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter presses the button that has the focus."""
        now = QApplication.focusWidget()
        is_enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if is_enter and isinstance(now, QAbstractButton) and not event.isAutoRepeat():
            now.click()
        else:
            super().keyPressEvent(event)

    def _build(self, asked: str) -> None:
        theme, form = self._theme, self._form
        words = self.tr("The server {name} asks: {question}")
        spoken = words.format(name=with_marks(form.server), question=asked)
        title = TextLabel(label_text(spoken), "title", self, wraps=True)
        icon = IconLabel(theme, "server", "accent", 18, self)
        top = row(icon, (title, 1))
        top.setAlignment(icon, Qt.AlignmentFlag.AlignTop)
        self.body.addLayout(top)
        about = self.tr("It gets what you fill in. Enter no passwords or keys here.")
        if form.url:
            about = self.tr("Check the address before you open it in your browser.")
        self.body.addWidget(TextLabel(about, "muted", self, wraps=True))
        if form.url:
            host = WholeText(theme, "formHost", self.tr("Host"), role="strong")
            address = WholeText(theme, "formAddress", self.tr("Address"))
            host.setText(host_of(QUrl(form.url)))
            address.setText(with_marks(form.url))
            self.body.addWidget(host)
            self.body.addWidget(address)
        for field in self._fields:
            self.body.addWidget(field)
            last = field is self._fields[-1]
            for line in (one for one in field.controls if isinstance(one, QLineEdit)):
                line.returnPressed.connect(self._answer if last else self._go_on)
        self.body.addWidget(self._problem)
        title = self.tr("Open in browser") if form.url else self.tr("Send")
        self._send = PrimaryButton(
            theme, title, "external-link" if form.url else "", self, name="sendForm"
        )
        decline = TextButton(theme, self.tr("Decline"), parent=self, name="declineForm")
        cancel = GhostButton(theme, self.tr("Cancel"), parent=self, name="cancelForm")
        self._send.clicked.connect(self._answer)
        decline.clicked.connect(lambda: self._finish("decline"))
        cancel.clicked.connect(lambda: self._finish("cancel"))
        self.body.addLayout(row(self._send, decline, cancel, None))
        self.setAccessibleName(spoken)
        self.setAccessibleDescription(form.url or about)

    def _go_on(self) -> None:
        self.focusNextPrevChild(True)

    def _values(self) -> dict[str, FieldValue]:
        found = ((one.field.name, one.value) for one in self._fields)
        return {name: value for name, value in found if value is not None}

    def _answer(self) -> None:
        for one in self._fields:
            if problem := one.problem():
                self._problem.setText(problem)
                self._problem.show()
                self.resized.emit()
                one.controls[0].setFocus(Qt.FocusReason.OtherFocusReason)
                return
        if self._form.url:
            open_link(self._form.url)
        self._finish("accept")

    def _finish(self, action: FormAction) -> None:
        values = self._values() if action == "accept" else {}
        told = ""
        if action == "accept":
            told = self.tr("opened in the browser") if self._form.url else self._told(values)
        self.switch_off()
        self.answered.emit(told, FormAnswer(action, values))

    def _told(self, values: dict[str, FieldValue]) -> str:
        titles = {one.field.name: one.title for one in self._fields}
        words = [
            f"{titles[name]}: {'•••' if is_secret_name(name) else str(value)[:_LONGEST_SHOWN]}"
            for name, value in values.items()
        ]
        return " · ".join(words) or self.tr("sent without any entry")
