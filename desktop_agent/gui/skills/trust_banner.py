"""How a folder that provides skills stands: the line under the header, and in the folder picker."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from desktop_agent.core.skills import FolderTrust
from desktop_agent.gui.kit.safe_text import with_marks
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    GhostButton,
    IconLabel,
    TextButton,
    TextLabel,
    column,
    row,
)
from desktop_agent.gui.skills.text import banner_text, is_asking, joined, state_text


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
        review = TextButton(theme, self.tr("Review…"), "", self, name="trustReview")
        review.setToolTip(self.tr("See what would be read, before you decide"))
        review.clicked.connect(self.look_requested)
        trust = GhostButton(theme, self.tr("Trust"), "", self, name="trustFolder")
        trust.setToolTip(self.tr("Let agents use it; what changes later is asked about again"))
        trust.clicked.connect(lambda: self.decided.emit("trust", self.digest))
        ignore = GhostButton(theme, self.tr("Ignore"), "", self, name="ignoreFolder")
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
        self._review = GhostButton(theme, self.tr("Review…"), "eye", self, name="trustReviewHere")
        self._review.clicked.connect(self.look_requested)
        self._forget = GhostButton(theme, self.tr("Forget this"), "undo-2", self)
        self._forget.setObjectName("forgetTrust")
        self._forget.clicked.connect(lambda: self.decided.emit("forget"))
        layout = column(spacing=2, edges=(theme.space("s"), theme.space("s"), 0, 0), within=self)
        line = row((self._icon, Qt.AlignmentFlag.AlignTop), (self._words, 1))
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
