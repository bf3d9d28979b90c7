"""The form that takes a provider's key: guesses the provider, tests the key, then hands it on."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QCheckBox, QVBoxLayout, QWidget

from desktop_agent.core.faults import Fault
from desktop_agent.core.providers import PROVIDER_CHOICES, guess_provider
from desktop_agent.gui.kit.accessible import NamedChoice
from desktop_agent.gui.kit.check_line import CheckLine
from desktop_agent.gui.kit.fields.input_methods import Line
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    GhostButton,
    TextButton,
    TextLabel,
    has_focus_in,
    named,
    row,
)

Place = Literal["keyring", "session", "file"]


class KeyForm(QWidget):
    """The key is held by the field alone. Without `asks_place` the choice of a file is made
    elsewhere, and `set_places` passes it on.

    Signals:
        check_requested(provider, api_base, key): answered by `set_result`
        accepted(provider, key, where): it was tested, or is saved untested
    """

    check_requested = Signal(str, str, str)
    accepted = Signal(str, str, str)

    def __init__(self, theme: Theme, *, asks_place: bool = True) -> None:
        super().__init__()
        self._asks_place = asks_place
        self.setObjectName("keyForm")
        # None while this computer is being asked: nothing is promised then.
        self._has_keyring: bool | None = None
        self._is_provider_picked = False
        self._make_fields()
        self.setFocusProxy(self._key)
        self._link = GhostButton(theme, self.tr("Where do I get one?"), "external-link")
        self._link.setObjectName("keyPage")
        self._link.clicked.connect(self._open_key_page)
        self._test = TextButton(theme, self.tr("Test and save"), name="testKey")
        self._test.clicked.connect(self._check)
        self.line = CheckLine(theme, self)
        self.line.forced.connect(self._accept)
        self._where = TextLabel("", "subtle", wraps=True)
        self._in_file = QCheckBox(self.tr("Keep it in a file that only I can read"))
        self._in_file.setObjectName("keepInFile")
        self._in_file.toggled.connect(self._show_place)
        fields = row((self._key, 1), self._test)
        places = row(self._where)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addLayout(fields)
        layout.addLayout(row(self._provider, self._link, None))
        layout.addWidget(self.line)
        layout.addWidget(self._in_file, 0, Qt.AlignmentFlag.AlignLeft)
        layout.addLayout(places)
        self._in_file.hide()
        self._show_place()
        self._show_provider()

    def _make_fields(self) -> None:
        self._key = named(Line(), "keyField", self.tr("API key"))
        self._key.setPlaceholderText(self.tr("Paste an API key"))
        self._key.setEchoMode(Line.EchoMode.Password)
        self._key.textChanged.connect(self._on_key_changed)
        self._key.returnPressed.connect(self._check)
        self._provider = named(NamedChoice(), "keyProvider", self.tr("Provider of the key"))
        self._provider.addItem(self.tr("Provider…"), "")
        for choice in PROVIDER_CHOICES:
            self._provider.addItem(choice.title, choice.name)
        self._provider.activated.connect(self._on_provider_picked)
        self._provider.currentIndexChanged.connect(self._show_provider)

    def set_places(self, *, has_keyring: bool | None, keeps_in_file: bool) -> None:
        """Know where keys can be kept on this computer, and what the user chose before."""
        self._has_keyring = has_keyring
        self._in_file.setVisible(self._asks_place and has_keyring is False)
        self._in_file.setChecked(keeps_in_file and has_keyring is False)
        self._show_place()

    def select_provider(self, name: str) -> None:
        """Take a key for this provider."""
        index = self._provider.findData(name)
        if index < 0 and name:
            self._provider.addItem(name, name)
            index = self._provider.count() - 1
        self._provider.setCurrentIndex(index)
        self._is_provider_picked = True
        self._key.setFocus(Qt.FocusReason.OtherFocusReason)

    def set_result(self, fault: Fault | None) -> None:
        """Take the answer to a check: a key that works is handed on and forgotten here."""
        if not self.line.is_busy:
            return
        if fault is None:
            self._accept()
        else:
            # A refused key is useless; what could not be tested may still be right.
            self.line.show_fault(fault, can_force=fault.kind not in ("auth", "billing"))
            self._lock(False)
            self._key.setFocus(Qt.FocusReason.OtherFocusReason)

    @property
    def place(self) -> Place:
        if self._in_file.isChecked():
            return "file"
        return "session" if self._has_keyring is False else "keyring"

    def _check(self) -> None:
        provider, key = self._provider.currentData(), self._key.text().strip()
        if self.line.is_busy or not key:
            return
        if not provider:
            self.line.show_missing(self.tr("Choose the provider this key is from."))
            self._provider.setFocus(Qt.FocusReason.OtherFocusReason)
            return
        self.line.show_busy(self.tr("Testing the key…"))
        self._lock(True)
        self.check_requested.emit(provider, "", key)

    def _accept(self) -> None:
        provider, key = self._provider.currentData(), self._key.text().strip()
        self._hold_focus()
        self._key.clear()
        self._lock(False)
        self.line.show_ok(
            self.tr("{provider}: key saved.").format(provider=self._provider.currentText())
        )
        self.accepted.emit(provider, key, self.place)

    def _lock(self, is_locked: bool) -> None:
        self._hold_focus()
        self._key.setReadOnly(is_locked)
        self._provider.setEnabled(not is_locked)
        self._test.setEnabled(not is_locked and bool(self._key.text().strip()))

    def _hold_focus(self) -> None:
        """Keep the focus here when the button that has it goes."""
        if has_focus_in(self):
            self._key.setFocus(Qt.FocusReason.OtherFocusReason)

    def _on_key_changed(self, text: str) -> None:
        self._test.setEnabled(bool(text.strip()))
        if text:
            self.line.clear()
        guess = guess_provider(text)
        if guess and not self._is_provider_picked:
            self._provider.setCurrentIndex(self._provider.findData(guess))
        if not text:
            self._is_provider_picked = False

    def _on_provider_picked(self) -> None:
        self._is_provider_picked = bool(self._provider.currentData())
        if not self.line.is_busy:
            self.line.clear()

    def _show_provider(self) -> None:
        self._link.setVisible(bool(self._key_page()))
        self._test.setEnabled(bool(self._key.text().strip()))

    def _key_page(self) -> str:
        name = self._provider.currentData()
        return next((one.key_page for one in PROVIDER_CHOICES if one.name == name), "")

    def _open_key_page(self) -> None:
        QDesktopServices.openUrl(QUrl(self._key_page()))

    def _show_place(self) -> None:
        self._where.setVisible(self._has_keyring is not None)
        self._where.setText(
            {
                "keyring": self.tr("Kept in this computer's keyring."),
                "session": self.tr("This computer has no keyring: the key is kept until you quit."),
                "file": self.tr("Kept in a file that only you can read."),
            }[self.place]
        )
