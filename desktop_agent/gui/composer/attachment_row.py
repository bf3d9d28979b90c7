"""The chips of what goes with a message; a red one was refused and says why."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QPixmap
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QWidget

from desktop_agent.core.messages import ImagePart
from desktop_agent.gui.composer.attachments import Attachment
from desktop_agent.gui.kit.flow_layout import FlowLayout
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.tooltips import plain_tip
from desktop_agent.gui.kit.widgets import ElidedLabel, IconButton, IconLabel, Spinner

_MAX_NAME = 220
_THUMB = 22


class AttachmentChip(QFrame):
    """One attachment. Delete or Backspace removes the chip that has the focus."""

    removed = Signal()

    def __init__(self, theme: Theme, attachment: Attachment, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("frame", "chip")
        self.setProperty("tone", "err" if attachment.reason else "")
        self.setAccessibleName(self._spoken(attachment))
        tip = "\n".join(filter(None, (attachment.detail, attachment.reason)))
        self.setToolTip(plain_tip(tip))
        layout = QHBoxLayout(self)
        layout.setContentsMargins(8, 2, 2, 2)
        layout.setSpacing(6)
        layout.addWidget(self._picture(theme, attachment))
        layout.addLayout(self._words(theme, attachment))
        words = self.tr("Remove {name}").format(name=attachment.name)
        button = IconButton(theme, "x", words, size=12)
        button.setObjectName("removeAttachment")
        button.clicked.connect(self.removed)
        layout.addWidget(button)
        self._button = button

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Delete removes."""
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.removed.emit()
        else:
            super().keyPressEvent(event)

    def _spoken(self, attachment: Attachment) -> str:
        if attachment.reason:
            words = self.tr("Not attached: {name}. {reason}")
            return words.format(name=attachment.name, reason=attachment.reason)
        words = self.tr("Reading {name}") if attachment.is_reading else self.tr("Attached: {name}")
        return words.format(name=attachment.name)

    def _words(self, theme: Theme, attachment: Attachment) -> QHBoxLayout:
        words = QHBoxLayout()
        words.setSpacing(6)
        for text, token in ((attachment.name, "fg"), (attachment.reason, "err")):
            if not text:
                continue
            mode = Qt.TextElideMode
            label = ElidedLabel(text, mode.ElideMiddle if token == "fg" else mode.ElideRight)
            label.setProperty("role", "error" if token == "err" else "")
            label.setFont(theme.font("small"))
            limit = _MAX_NAME if token == "fg" else 2 * _MAX_NAME
            wide = label.fontMetrics().horizontalAdvance(text) + 4
            label.setFixedWidth(min(limit, wide))
            words.addWidget(label)
        return words

    def _picture(self, theme: Theme, attachment: Attachment) -> QWidget:
        if attachment.is_reading:
            return Spinner(theme, 14)
        if attachment.reason:
            return IconLabel(theme, "circle-alert", "err", 14)
        if isinstance(attachment.part, ImagePart):
            return self._thumbnail(theme, attachment.part)
        return IconLabel(theme, "file-text", "muted", 14)

    def _thumbnail(self, theme: Theme, part: ImagePart) -> QWidget:
        pixmap = QPixmap()
        if not pixmap.loadFromData(part.data):
            return IconLabel(theme, "image", "muted", 14)
        ratio = self.devicePixelRatioF()
        side = round(_THUMB * ratio)
        aspect, smooth = Qt.AspectRatioMode, Qt.TransformationMode
        small = pixmap.scaled(
            side, side, aspect.KeepAspectRatioByExpanding, smooth.SmoothTransformation
        ).copy(0, 0, side, side)
        small.setDevicePixelRatio(ratio)
        label = QLabel()
        label.setPixmap(small)
        label.setFixedSize(_THUMB, _THUMB)
        return label


class AttachmentRow(QWidget):
    """All chips, on as many lines as they need; hidden when there is none."""

    removed = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._flow = FlowLayout(self)
        self._shown: dict[int, tuple[Attachment, AttachmentChip]] = {}
        self.setObjectName("attachmentRow")
        self.setAccessibleName(self.tr("Attachments"))
        self.setVisible(False)
        theme.changed.connect(self._make_again)

    def _make_again(self) -> None:
        entries = tuple((number, shown[0]) for number, shown in self._shown.items())
        self.show_entries(())
        self.show_entries(entries)

    def show_entries(self, entries: tuple[tuple[int, Attachment], ...]) -> None:
        """Show these; chips that stay the same are kept, with their focus."""
        wanted = dict(entries)
        for number, (attachment, chip) in tuple(self._shown.items()):
            self._flow.removeWidget(chip)
            if wanted.get(number) != attachment:
                chip.setParent(None)
                chip.deleteLater()
                del self._shown[number]
        for number, attachment in wanted.items():
            self._flow.addWidget(self._chip(number, attachment))
        self.setVisible(bool(wanted))
        self.updateGeometry()

    def _chip(self, number: int, attachment: Attachment) -> AttachmentChip:
        if number in self._shown:
            return self._shown[number][1]
        chip = AttachmentChip(self._theme, attachment, self)
        chip.removed.connect(lambda: self.removed.emit(number))
        self._shown[number] = (attachment, chip)
        chip.show()
        return chip
