"""The form that takes the address of an OpenAI-compatible server."""

from __future__ import annotations

from urllib.parse import urlsplit

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.core.faults import Fault
from desktop_agent.core.settings import CustomServer
from desktop_agent.gui.kit.check_line import CheckLine
from desktop_agent.gui.kit.fields.input_methods import Line
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import TextButton, column, has_focus_in, named, row


class ServerForm(QWidget):
    """The key may be empty.

    Signals:
        check_requested(provider, api_base, key): answered by `set_result`
        accepted(CustomServer, key): it was tested, or is saved untested
    """

    check_requested = Signal(str, str, str)
    accepted = Signal(object, str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("serverForm")
        self._address = named(Line(), "serverAddress", self.tr("Address of the server"))
        self._address.setPlaceholderText("http://127.0.0.1:8000/v1")
        self._key = named(Line(), "serverKey", self.tr("Key for the server, if it needs one"))
        self._key.setPlaceholderText(self.tr("Key, if it needs one"))
        self._key.setEchoMode(Line.EchoMode.Password)
        self._test = TextButton(theme, self.tr("Test and add"), name="testServer")
        self._test.clicked.connect(self._check)
        self.line = CheckLine(theme, self)
        self.line.forced.connect(self._accept)
        for field in (self._address, self._key):
            field.returnPressed.connect(self._check)
            field.textChanged.connect(self._on_edited)
        self.setFocusProxy(self._address)
        fields = row((self._address, 1), self._test)
        column(fields, self._key, self.line, spacing=6, within=self)
        self._on_edited()

    def select_server(self, api_base: str) -> None:
        """Take a key for the server at this address."""
        if not self.line.is_busy:
            self._address.setText(api_base)
        self._key.setFocus(Qt.FocusReason.OtherFocusReason)

    def set_result(self, fault: Fault | None) -> None:
        if not self.line.is_busy:
            return
        if fault is None:
            self._accept()
        else:
            self.line.show_fault(fault, can_force=fault.kind != "auth")
            self._lock(False)
            self._address.setFocus(Qt.FocusReason.OtherFocusReason)

    def _check(self) -> None:
        base = tidy_address(self._address.text())
        if self.line.is_busy or not self._address.text().strip():
            return
        if not base:
            self.line.show_missing(self.tr("An address looks like http://127.0.0.1:8000/v1"))
            return
        self.line.show_busy(self.tr("Asking the server…"))
        self._lock(True)
        self.check_requested.emit("openai", base, self._key.text().strip())

    def _accept(self) -> None:
        base, key = tidy_address(self._address.text()), self._key.text().strip()
        self._hold_focus()
        self._address.clear()
        self._key.clear()
        self._lock(False)
        title = urlsplit(base).netloc
        self.line.show_ok(self.tr("{server} was added.").format(server=title))
        self.accepted.emit(CustomServer(title, base), key)

    def _lock(self, is_locked: bool) -> None:
        self._hold_focus()
        self._address.setReadOnly(is_locked)
        self._key.setReadOnly(is_locked)
        self._test.setEnabled(not is_locked and bool(self._address.text().strip()))

    def _hold_focus(self) -> None:
        """Keep the focus here when the button that has it goes."""
        if has_focus_in(self):
            self._address.setFocus(Qt.FocusReason.OtherFocusReason)

    def _on_edited(self) -> None:
        self._test.setEnabled(bool(self._address.text().strip()))
        if not self.line.is_busy:
            self.line.clear()


def tidy_address(text: str) -> str:
    """Return a typed address in full, with its scheme; empty when it is none."""
    has_scheme = "://" in text
    text = text.strip().rstrip("/")
    if text and not has_scheme:
        # Without a scheme an address on the network would get its key unprotected.
        host = text.partition("/")[0].rpartition(":")[0] or text.partition("/")[0]
        is_near = host in ("localhost", "127.0.0.1", "[::1]")
        text = f"{'http' if is_near else 'https'}://{text}"
    try:
        parts = urlsplit(text)
        is_fine = parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        return ""
    return text if is_fine and not any(letter.isspace() for letter in text) else ""
