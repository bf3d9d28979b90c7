"""Windows of the transcript: a link is asked about, a long text is shown whole."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QCoreApplication, Qt, QUrl
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QLayout, QVBoxLayout, QWidget

from desktop_agent.gui.kit.links import host_of, local_port, plain_address
from desktop_agent.gui.kit.safe_text import hard_wrapped, terminal_text, with_marks
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
from desktop_agent.gui.transcript.cards.output_view import OutputView
from desktop_agent.gui.transcript.document.markdown import safe_link

translate = QCoreApplication.translate

_LONGEST_ADDRESS = 2_000
_WIDE = 40  # in widths of the text size


def ask_to_open(
    theme: Theme, url: QUrl, parent: QWidget, agreed: Callable[[str], None]
) -> QDialog | None:
    """Ask before a link is opened, with the whole address; other schemes than the web's are not.

    The host is shown in its ASCII form, so that look-alike letters show.
    """
    address = safe_link(plain_address(url))
    if not address:
        return None
    dialog = _dialog(parent, "linkDialog", translate("Transcript", "Open this link?"))
    host = TextLabel(host_of(url), "h3", dialog, name="linkHost")
    whole = TextLabel(hard_wrapped(with_marks(address[:_LONGEST_ADDRESS])), "mono", dialog)
    whole.setObjectName("linkAddress")
    whole.setWordWrap(True)
    whole.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    opener = PrimaryButton(theme, translate("Transcript", "Open in browser"), "external-link")
    opener.setObjectName("openLink")
    opener.clicked.connect(lambda: (dialog.accept(), agreed(address)))
    copy = TextButton(theme, translate("Transcript", "Copy address"))
    copy.clicked.connect(lambda: (QGuiApplication.clipboard().setText(address), dialog.reject()))
    cancel = GhostButton(theme, translate("Transcript", "Cancel"), clicked=dialog.reject)
    cancel.setDefault(True)
    layout = QVBoxLayout(dialog)
    layout.setContentsMargins(20, 20, 20, 16)
    layout.setSpacing(12)
    wrapped = [whole]
    if local_port(address):
        words = translate("Transcript", "It runs in your browser, with your network.")
        wrapped.append(TextLabel(words, "muted", dialog, name="linkNote", wraps=True))
    wide = _WIDE * theme.text_px("ui")
    for label in wrapped:
        label.setFixedWidth(min(wide, parent.screen().availableGeometry().width() * 2 // 3))
    for part in (host, *wrapped):
        layout.addWidget(part)
    layout.addLayout(row(opener, copy, None, cancel))
    # As high as the words are: Qt gives a dialog of text that wraps too little.
    layout.setSizeConstraint(QLayout.SizeConstraint.SetFixedSize)
    dialog.open()
    return dialog


def show_text(theme: Theme, title: str, text: str, parent: QWidget) -> QDialog:
    """Show a long text in a window of its own."""
    dialog = _dialog(parent, "textDialog", title[:120])
    view = OutputView(theme, title, dialog)
    view.set_whole(terminal_text(text))
    copy = TextButton(theme, translate("Transcript", "Copy"), "copy")
    copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(text))
    close = PrimaryButton(theme, translate("Transcript", "Close"), clicked=dialog.accept)
    column(view, row(copy, None, close), spacing=-1, edges=None, within=dialog)
    dialog.resize(900, 640)
    dialog.open()
    return dialog


def _dialog(parent: QWidget, name: str, title: str) -> QDialog:
    dialog = named(QDialog(parent), name)
    dialog.setWindowTitle(title)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    return dialog
