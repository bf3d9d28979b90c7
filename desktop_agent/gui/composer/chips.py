"""The chips of what goes with a message: files, pictures and skills; a red one stays behind."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QPixmap
from PySide6.QtWidgets import QFrame, QLabel, QWidget

from desktop_agent.core.messages import ImagePart
from desktop_agent.gui.composer.attachments import Attachment
from desktop_agent.gui.kit.flow_layout import FlowLayout
from desktop_agent.gui.kit.safe_text import path_text, plain_tip
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import ElidedLabel, IconButton, IconLabel, Spinner, named, row

_THUMB = 22
_MIDDLE, _RIGHT = Qt.TextElideMode.ElideMiddle, Qt.TextElideMode.ElideRight


class Chip(QFrame):
    """One of them, with why it stays behind. Delete or Backspace in it removes it."""

    removed = Signal()

    def __init__(self, theme: Theme, parent: QWidget, picture: QWidget, reason: str) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setProperty("frame", "chip")
        self.setProperty("tone", "err" if reason else "")
        self._line = row(picture, spacing=6, edges=(8, 2, 2, 2), within=self)

    def add_text(self, text: str, mode: Qt.TextElideMode, role: str, most: int) -> None:
        """Show a text at most so wide."""
        if text:
            label = ElidedLabel(text, mode, role, self)
            label.setFont(self._theme.font("small"))
            label.setFixedWidth(min(most, label.fontMetrics().horizontalAdvance(text) + 4))
            self._line.addWidget(label)

    def finish(self, name: str, tip: str, remove: str, remove_name: str) -> Chip:
        """Add the button that removes it; say what the chip is."""
        self.setAccessibleName(name)
        self.setToolTip(plain_tip(tip))
        button = IconButton(self._theme, "x", remove, self, size=12, name=remove_name)
        button.clicked.connect(self.removed)
        self._line.addWidget(button)
        return self

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.removed.emit()
        else:
            super().keyPressEvent(event)


class ChipRow(QWidget):
    """All chips, on as many lines as they need; hidden when there is none.

    `removed` carries a chip's key. `make` makes the chip of an entry, which is never changed.
    """

    removed = Signal(object)

    # Any: what an entry is, only `make` knows.
    def __init__(self, theme: Theme, make: Callable[[Any, QWidget], Chip], parent: QWidget) -> None:
        super().__init__(parent)
        self._make = make
        self._flow = FlowLayout(self)
        self._shown: dict[Hashable, tuple[object, Chip]] = {}
        self.hide()
        theme.changed.connect(self._make_again)

    def show_entries(self, entries: Mapping[Any, object]) -> None:
        """Show these by key; chips that stay the same are kept, with their focus."""
        for key, (entry, chip) in tuple(self._shown.items()):
            self._flow.removeWidget(chip)
            if key not in entries or entries[key] != entry:
                chip.setParent(None)
                chip.deleteLater()
                del self._shown[key]
        for key, entry in entries.items():
            if key not in self._shown:
                self._shown[key] = (entry, self._new_chip(key, entry))
            self._flow.addWidget(self._shown[key][1])
        self.setVisible(bool(entries))
        self.updateGeometry()

    def _new_chip(self, key: Hashable, entry: object) -> Chip:
        chip = self._make(entry, self)
        chip.removed.connect(lambda: self.removed.emit(key))
        chip.show()
        return chip

    def _make_again(self) -> None:
        entries = {key: entry for key, (entry, _) in self._shown.items()}
        self.show_entries({})
        self.show_entries(entries)


def attachment_row(theme: Theme, parent: QWidget) -> ChipRow:
    """Return a row of attachments by number."""
    row = ChipRow(theme, partial(_attachment_chip, theme), parent)
    row.setObjectName("attachmentRow")
    row.setAccessibleName(row.tr("Attachments"))
    return row


def skill_row(theme: Theme, parent: QWidget) -> ChipRow:
    """Return a row of skills by name: each entry is the name, and why the skill stays behind."""
    row = ChipRow(theme, partial(_skill_chip, theme), parent)
    row.setObjectName("skillChips")
    row.setAccessibleName(row.tr("Skills for this message"))
    return row


def _skill_chip(theme: Theme, skill: tuple[str, str], parent: QWidget) -> Chip:
    name, reason = skill
    icon, token = ("circle-alert", "err") if reason else ("book-open", "accent")
    chip = named(Chip(theme, parent, IconLabel(theme, icon, token, 14), reason), "skillChip")
    chip.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    chip.add_text(name, _RIGHT, "", 260)
    chip.add_text(reason, _RIGHT, "error", 420)
    spoken = chip.tr("Skill {name} goes with this message")
    if reason:
        spoken = chip.tr("Skill {name} does not go along. {reason}")
    spoken = spoken.format(name=name, reason=reason)
    remove = chip.tr("Remove skill {name}").format(name=name)
    return chip.finish(spoken, spoken, remove, "removeSkillChip")


def _attachment_chip(theme: Theme, attachment: Attachment, parent: QWidget) -> Chip:
    name, reason = path_text(attachment.name), attachment.reason
    chip = Chip(theme, parent, _picture(theme, attachment, parent), reason)
    chip.add_text(name, _MIDDLE, "", 220)
    chip.add_text(reason, _RIGHT, "error", 440)
    spoken = chip.tr("Attached: {name}")
    if reason:
        spoken = chip.tr("Not attached: {name}. {reason}")
    elif attachment.is_reading:
        spoken = chip.tr("Reading {name}")
    elif attachment.is_unread:
        spoken = chip.tr("Attached: {name}, read when you send")
    tip = "\n".join(filter(None, (path_text(attachment.detail), reason)))
    remove = chip.tr("Remove {name}").format(name=name)
    return chip.finish(spoken.format(name=name, reason=reason), tip, remove, "removeAttachment")


def _picture(theme: Theme, attachment: Attachment, parent: QWidget) -> QWidget:
    if attachment.is_reading:
        return Spinner(theme, 14)
    if attachment.reason:
        return IconLabel(theme, "circle-alert", "err", 14)
    if isinstance(attachment.part, ImagePart):
        return _thumbnail(theme, attachment.part, parent.devicePixelRatioF())
    icon = "server" if attachment.source is not None else "file-text"
    return IconLabel(theme, icon, "muted", 14)


def _thumbnail(theme: Theme, part: ImagePart, ratio: float) -> QWidget:
    pixmap = QPixmap()
    if not pixmap.loadFromData(part.data):
        return IconLabel(theme, "image", "muted", 14)
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
