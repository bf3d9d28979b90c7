"""Signing in to a server: the address is looked at before it is opened; and signing out."""

from __future__ import annotations

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtWidgets import QFrame, QWidget

from desktop_agent.core.mcp import McpState
from desktop_agent.gui.kit.fitted_area import WholeText
from desktop_agent.gui.kit.links import host_of, open_link
from desktop_agent.gui.kit.safe_text import with_marks
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    GhostButton,
    PrimaryButton,
    TextButton,
    TextLabel,
    column,
    named,
    row,
)


class SignInBox(QFrame):
    """Shows what the chosen server needs, and nothing where it needs nothing.

    Signals:
        wanted: start to sign in
        cancelled: it is not waited for any more
        ended: sign out
    """

    wanted = Signal()
    cancelled = Signal()
    ended = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("signInBox")
        self.setAccessibleName(self.tr("Signing in"))
        self._url = ""
        # Of the server whose address comes later: the focus follows to it.
        self._pressed = self._name = ""
        self._start = PrimaryButton(theme, self.tr("Sign in…"), "key", self, name="signIn")
        self._out = TextButton(theme, self.tr("Sign out"), "key", self, name="signOut")
        self._asked = named(QWidget(self), "signInAsked")
        self._open = PrimaryButton(
            theme, self.tr("Open in browser"), "external-link", name="openSignIn"
        )
        cancel = GhostButton(theme, self.tr("Cancel"), name="cancelSignIn")
        self._host = WholeText(theme, "signInHost", self.tr("Host"), role="strong")
        self._address = WholeText(theme, "signInAddress", self.tr("Address"))
        about = TextLabel(
            self.tr("You sign in here. Check the address before you open it in your browser."),
            "muted",
            wraps=True,
        )
        space = theme.space("s")
        buttons = row(self._open, cancel, None)
        column(about, self._host, self._address, buttons, spacing=space, within=self._asked)
        column(row(self._start, self._out, None), self._asked, within=self)
        self._start.clicked.connect(self._press)
        self._out.clicked.connect(self.ended)
        cancel.clicked.connect(self.cancelled)
        self._open.clicked.connect(lambda: open_link(self._url))

    def show_state(self, state: McpState) -> None:
        """Follow a server."""
        url = state.sign_in_url
        needs_it = state.phase == "sign_in" and not url
        if url != self._url:
            self._url = url
            self._host.setText(host_of(QUrl(url)))
            self._address.setText(with_marks(url))
            self._open.setAccessibleDescription(url)
        self._asked.setVisible(bool(url))
        self._start.setVisible(needs_it)
        self._out.setVisible(state.is_signed_in and not url)
        self.setVisible(bool(url) or needs_it or state.is_signed_in)
        self._name = state.server.name
        if url and self._pressed == self._name:
            self._open.setFocus(Qt.FocusReason.OtherFocusReason)
        if url or state.phase != "starting" or self._pressed != self._name:
            self._pressed = ""

    def _press(self) -> None:
        self._pressed = self._name
        self.wanted.emit()
