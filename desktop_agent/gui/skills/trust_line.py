"""How the present folder stands, in the folder picker: trusted, ignored, and the way back."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from desktop_agent.core.skills import FolderTrust
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import GhostButton, IconLabel, TextLabel, row
from desktop_agent.gui.skills.trust_text import is_asking, joined, state_text


class TrustLine(QWidget):
    """Hidden for a folder that provides nothing.

    Signals:
        decided("forget"): withdraw the decision
        look_requested: open the trust dialog
    """

    decided = Signal(str)
    look_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("trustLine")
        self._icon = IconLabel(theme, "shield", "muted", 16, self)
        self._words = TextLabel("", "muted", self, name="trustState", wraps=True)
        self._review = GhostButton(theme, self.tr("Review…"), "eye", self)
        self._review.setObjectName("trustReviewHere")
        self._review.clicked.connect(self.look_requested)
        self._forget = GhostButton(theme, self.tr("Forget this"), "undo-2", self)
        self._forget.setObjectName("forgetTrust")
        self._forget.clicked.connect(lambda: self.decided.emit("forget"))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.space("s"), theme.space("s"), 0, 0)
        layout.setSpacing(2)
        line = row(self._icon, self._words)
        line.setAlignment(self._icon, Qt.AlignmentFlag.AlignTop)
        line.setStretch(1, 1)
        layout.addLayout(line)
        layout.addLayout(row(20, self._review, self._forget, None, spacing=4))
        self.hide()

    def show_trust(self, trust: FolderTrust) -> None:
        words = state_text(trust)
        self.setVisible(bool(words))
        if not words:
            return
        self._words.setText(f"{joined(trust.brings)}\n{words}")
        icon = "shield-check" if trust.is_trusted and not trust.changed else "shield-off"
        token = "ok" if icon == "shield-check" else "warn" if is_asking(trust) else "muted"
        self._icon.set_icon(icon, token)
        self._forget.setVisible(trust.is_trusted or trust.is_ignored)
        self._review.setVisible(not trust.is_trusted or bool(trust.changed))
