"""Bars in place of dialogs: what went wrong, and what waits for the user."""

from __future__ import annotations

from functools import partial

import msgspec
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from desktop_agent.core.events import CommandRefused, EngineFailed, Event
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    GhostButton,
    IconButton,
    IconLabel,
    TextLabel,
    restyle,
    single_timer,
)

_ICONS = {
    "error": ("circle-x", "err"),
    "warn": ("triangle-alert", "warn"),
    "info": ("info", "info"),
}
_HINT_MS = 2000


class Notice(msgspec.Struct, frozen=True):
    """One thing to say. It goes by itself after `lasts_ms`, or without that stays."""

    text: str
    tone: str = "error"
    action: str = ""
    action_title: str = ""
    lasts_ms: int = 0


class NoticeBar(QFrame):
    """Shows the newest notice; the others wait behind it.

    Signals:
        acted(name): the button's action
    """

    acted = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._notices: dict[str, Notice] = {}
        self._ends: dict[str, QTimer] = {}
        self.setObjectName("noticeBar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._icon = IconLabel(theme, "circle-x", "err", 16, self)
        self._text = TextLabel("", "", self, name="noticeText", wraps=True, copies=True)
        self._action = GhostButton(theme, "", "", self, name="noticeAction")
        self._action.clicked.connect(self._on_action)
        self._close = IconButton(theme, "x", self.tr("Dismiss"), self, size=14)
        self._close.setObjectName("dismissNotice")
        self._close.clicked.connect(self._on_dismiss)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(theme.space("l") + 4, 6, theme.space("m"), 6)
        layout.setSpacing(theme.space("s"))
        layout.addWidget(self._icon)
        layout.addWidget(self._text, 1)
        layout.addWidget(self._action)
        layout.addWidget(self._close)
        self.hide()

    def apply(self, event: Event) -> None:
        """Follow what was refused and what failed here; the transcript tells of a provider."""
        if isinstance(event, EngineFailed | CommandRefused):
            self.put("engine", Notice(event.message, "error"))

    def put(self, key: str, notice: Notice) -> None:
        self._take_out(key)
        self._notices[key] = notice
        if notice.lasts_ms:
            self._ends[key] = single_timer(self, notice.lasts_ms, partial(self.remove, key))
            self._ends[key].start()
        self._show()

    def put_behind(self, key: str, notice: Notice) -> None:
        """Put a notice behind those that are there, or in the place of the one of that key."""
        self._notices = {key: notice} | self._notices | {key: notice}
        self._show()

    def has(self, key: str) -> bool:
        """Whether there is such a notice: it may have been dismissed."""
        return key in self._notices

    def remove(self, key: str) -> None:
        if self._take_out(key):
            self._show()

    def hint(self, text: str, key: str = "hint") -> None:
        """Show a word on what was done, or what a key will do, for two seconds."""
        self.put(key, Notice(text, "info", lasts_ms=_HINT_MS))

    def _take_out(self, key: str) -> bool:
        if (end := self._ends.pop(key, None)) is not None:
            end.stop()
            end.deleteLater()
        return self._notices.pop(key, None) is not None

    def _show(self) -> None:
        self.setVisible(bool(self._notices))
        if not self._notices:
            return
        notice = list(self._notices.values())[-1]
        icon, token = _ICONS[notice.tone]
        self._icon.set_icon(icon, token)
        self._text.setText(notice.text)
        self._action.set_text(notice.action_title)
        self._action.setVisible(bool(notice.action))
        if self.property("tone") != notice.tone:
            self.setProperty("tone", notice.tone)
            restyle(self)

    def _on_action(self) -> None:
        key = list(self._notices)[-1]
        action = self._notices[key].action
        self.remove(key)
        self.acted.emit(action)

    def _on_dismiss(self) -> None:
        self.remove(list(self._notices)[-1])


class ApprovalStrip(QFrame):
    """Stands over the composer while an approval waits out of view."""

    review_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("approvalStrip")
        self.setProperty("frame", "warn")
        self._text = TextLabel("", "strong", self, name="approvalCount")
        review = GhostButton(theme, self.tr("Review"), "arrow-down", self, name="reviewApproval")
        review.setToolTip(self.tr("Go to the oldest question (Ctrl+Shift+A)"))
        review.clicked.connect(self.review_requested)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(theme.space("m"), 4, theme.space("xs"), 4)
        layout.addWidget(IconLabel(theme, "shield-alert", "warn", 16, self))
        layout.addWidget(self._text, 1)
        layout.addWidget(review)
        self.hide()

    def set_count(self, count: int) -> None:
        if count == 1:
            self._text.setText(self.tr("1 approval waiting"))
        else:
            self._text.setText(self.tr("{n} approvals waiting").format(n=count))
        self.setVisible(count > 0)
