"""The quiet line under the header while a folder brings along what nobody trusted yet."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from desktop_agent.core.skills import FolderTrust
from desktop_agent.gui.kit.safe_text import with_marks
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import GhostButton, IconLabel, TextButton, TextLabel
from desktop_agent.gui.skills.trust_text import banner_text


class TrustBanner(QFrame):
    """`digest` is what was shown when the banner appeared: content that came later is not trusted.

    Signals:
        look_requested: open the trust dialog
        decided("trust" | "ignore", digest): the decision
    """

    look_requested = Signal()
    decided = Signal(str, str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.digest = ""
        self._root: str = ""
        self.setObjectName("trustBanner")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._words = TextLabel("", "", self, name="trustWords", wraps=True)
        review = TextButton(theme, self.tr("Review…"), "", self)
        review.setObjectName("trustReview")
        review.setToolTip(self.tr("See what would be read, before you decide"))
        review.clicked.connect(self.look_requested)
        trust = GhostButton(theme, self.tr("Trust"), "", self)
        trust.setObjectName("trustFolder")
        trust.setToolTip(self.tr("Let agents use it; what changes later is asked about again"))
        trust.clicked.connect(lambda: self.decided.emit("trust", self.digest))
        ignore = GhostButton(theme, self.tr("Ignore"), "", self)
        ignore.setObjectName("ignoreFolder")
        ignore.setToolTip(self.tr("Work here without it; the folder's menu brings it back"))
        ignore.clicked.connect(lambda: self.decided.emit("ignore", self.digest))
        layout = QHBoxLayout(self)
        layout.setContentsMargins(theme.space("l") + 4, 6, theme.space("m"), 6)
        layout.setSpacing(theme.space("s"))
        layout.addWidget(IconLabel(theme, "shield", "accent", 16, self))
        layout.addWidget(self._words, 1)
        for button in (review, trust, ignore):
            layout.addWidget(button)
        self.hide()

    def show_trust(self, trust: FolderTrust) -> None:
        if self.isHidden() or trust.root != self._root or trust.is_refused:
            self._root, self.digest = trust.root, trust.digest
        words = with_marks(banner_text(trust))
        self._words.setText(words)
        self.setAccessibleName(words)
