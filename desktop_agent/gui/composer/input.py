"""The part of the composer a person types into: text, chips, the lists of files and skills."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QFileDialog, QVBoxLayout, QWidget

from desktop_agent.core.messages import ImagePart, TextPart
from desktop_agent.core.notes import Note
from desktop_agent.core.skills import Skill
from desktop_agent.gui.composer.attachment_row import AttachmentRow
from desktop_agent.gui.composer.attachments import Attachment, image_attachment, text_attachment
from desktop_agent.gui.composer.completions import ComposerLists
from desktop_agent.gui.composer.draft import Draft
from desktop_agent.gui.composer.skill_chips import SkillChips
from desktop_agent.gui.composer.text_edit import ComposerText
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import TextLabel
from desktop_agent.gui.skills.text import why_not_usable

_COMPLETION_DELAY_MS = 40


class ComposerInput(QWidget):
    """Shows one draft. Signals: `changed`, `sent(bool)` true for the other way of sending,
    `focus_changed(bool)`, `path_completion_requested(prefix)`.
    """

    changed = Signal()
    sent = Signal(bool)
    focus_changed = Signal(bool)
    path_completion_requested = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._root = ""
        self._has_images: bool | None = None
        self._skills: dict[str, Skill] = {}
        self._skill_chips = SkillChips(theme, self)
        self._chips = AttachmentRow(theme, self)
        self._warning = TextLabel("", "warn", self)
        self._warning.setObjectName("imageWarning")
        self._warning.setWordWrap(True)
        self._warning.hide()
        self._text = ComposerText(theme, self)
        self._lists = ComposerLists(theme, self)
        self._completion = QTimer(self)
        self._completion.setSingleShot(True)
        self._completion.setInterval(_COMPLETION_DELAY_MS)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        for widget in (self._skill_chips, self._chips, self._warning, self._text):
            layout.addWidget(widget)
        self.setFocusProxy(self._text)
        self._connect()
        self._draft = Draft()
        self._draft.attachments.changed.connect(self._show_attachments)

    def _connect(self) -> None:
        text = self._text
        text.sent.connect(self.sent)
        text.recalled.connect(self._recall)
        text.textChanged.connect(self._on_text_changed)
        text.files_given.connect(self.attach_files)
        text.image_given.connect(self._attach_image)
        text.long_text_given.connect(self._attach_text)
        text.focus_changed.connect(self._on_focus_changed)
        text.mention_changed.connect(self._on_mention_changed)
        text.slash_changed.connect(self._on_slash_changed)
        text.key_filter = self._lists.take_key
        self._lists.skill_chosen.connect(self._on_skill_chosen)
        self._skill_chips.removed.connect(self.remove_skill)
        self._completion.timeout.connect(self._ask_completions)
        self._lists.path_chosen.connect(self._insert_path)
        self._chips.removed.connect(lambda number: self._draft.attachments.remove(number))

    @property
    def text(self) -> str:
        """What is in the box."""
        return self._text.toPlainText()

    @property
    def parts(self) -> tuple[TextPart | ImagePart, ...]:
        """What is attached and can go out."""
        return self._draft.attachments.parts

    @property
    def attached(self) -> tuple[Attachment, ...]:
        """What is attached, with what people see of it."""
        return tuple(one for _, one in self._draft.attachments.entries)

    @property
    def skills(self) -> tuple[str, ...]:
        """The skills that go along, by name; those that can't be used stay behind."""
        named = self._draft.skills
        return tuple(name for name in named if not why_not_usable(self._skills.get(name)))

    @property
    def is_reading(self) -> bool:
        """Whether a file is still on its way from the disk."""
        return self._draft.attachments.is_reading

    @property
    def has_content(self) -> bool:
        """Whether there is anything to send, now or in a moment."""
        return bool(self.text.strip() or self.parts or self.is_reading or self.skills)

    def open_draft(self, draft: Draft, root: str) -> None:
        """Put the present draft away and show this one."""
        self._draft.text = self.text
        self._draft.attachments.changed.disconnect(self._show_attachments)
        self._draft, self._root = draft, root
        draft.attachments.changed.connect(self._show_attachments)
        if self.text != draft.text:
            self._text.load_text(draft.text)
        self._lists.hide_files()
        self._lists.hide_skills()
        self._show_skills()
        self._show_attachments()

    def replace_text(self, text: str) -> None:
        """Show this text; Undo brings the old one back."""
        self._text.replace_text(text)

    def give_back(self, draft: Draft, note: Note, attached: Sequence[Attachment]) -> None:
        """Put what was not sent into its draft again, before what was written since."""
        is_shown = draft is self._draft
        if is_shown:
            draft.text = self.text
        draft.take_back(note, attached)
        if is_shown:
            self._text.replace_text(draft.text)
            self._show_skills()

    def clear(self) -> None:
        """Empty the box after its content was sent."""
        self._text.replace_text("")
        self._draft.skills.clear()
        self._draft.attachments.clear()
        self._show_skills()

    def set_keys(self, *, send_with_ctrl_enter: bool) -> None:
        """Follow the person's choice of what Enter does."""
        self._text.send_with_ctrl_enter = send_with_ctrl_enter

    def set_placeholders(self, texts: tuple[str, ...]) -> None:
        """Show the longest of these that fits while the box is empty."""
        self._text.set_placeholders(texts)

    def set_has_images(self, has_images: bool | None) -> None:
        """Know whether the model can see pictures."""
        self._has_images = has_images
        self._show_image_warning()

    def set_completions(self, prefix: str, paths: tuple[str, ...]) -> None:
        """Show the files for what stands behind the `@`; late answers are passed over."""
        if self._text.mention == prefix and self._text.hasFocus():
            self._lists.show_paths(tuple(paths))

    def set_skills(self, skills: Iterable[Skill]) -> None:
        """Know the skills of this folder: they are offered behind a `/`."""
        self._skills = {one.name: one for one in skills if not one.shadowed_by}
        self._show_skills()
        if self._lists.is_listing_skills:
            self._on_slash_changed(self._text.slash)

    def add_skill(self, name: str) -> None:
        """Let a skill go along with this message."""
        if name not in self._draft.skills:
            self._draft.skills.append(name)
            self._show_skills()

    def remove_skill(self, name: str) -> None:
        """Leave a skill behind."""
        if name in self._draft.skills:
            self._draft.skills.remove(name)
            self._show_skills()
            self._text.setFocus(Qt.FocusReason.OtherFocusReason)

    def begin_mention(self) -> None:
        """Type an `@`, which opens the list of files."""
        self._text.setFocus(Qt.FocusReason.OtherFocusReason)
        self._text.insert_word("@")

    def pick_files(self) -> None:
        """Let the person choose files to attach."""
        dialog = QFileDialog(self.window(), self.tr("Attach files"), self._root)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.filesSelected.connect(lambda names: self.attach_files([Path(n) for n in names]))
        dialog.open()

    def _recall(self, step: int) -> None:
        text = self._draft.recall(step)
        if text is not None:
            self._text.is_recalling = False
            self._text.replace_text(text)
            self._text.is_recalling = bool(text)

    def _on_text_changed(self) -> None:
        self._text.is_recalling = False
        if not self.text:
            self._draft.stop_recalling()
        self.changed.emit()

    def attach_files(self, paths: list[Path]) -> None:
        """Attach files, as dropped on the window."""
        self._draft.attachments.add_files(paths, self._root)

    def _attach_image(self, image: QImage) -> None:
        self._draft.attachments.add(image_attachment(image, self.tr("Pasted picture.png")))

    def _attach_text(self, text: str) -> None:
        self._draft.attachments.add(text_attachment(self.tr("Pasted text.txt"), text))

    def _show_attachments(self) -> None:
        self._chips.show_entries(self._draft.attachments.entries)
        self._show_image_warning()
        self.changed.emit()

    def _show_image_warning(self) -> None:
        has_image = any(isinstance(part, ImagePart) for part in self._draft.attachments.parts)
        self._warning.setText(self.tr("This model can't see pictures: it gets only the text."))
        self._warning.setVisible(has_image and self._has_images is False)

    def _on_mention_changed(self, prefix: str | None) -> None:
        if prefix is None:
            self._completion.stop()
            self._lists.hide_files()
        else:
            self._completion.start()

    def _ask_completions(self) -> None:
        if self._text.mention is not None:
            self.path_completion_requested.emit(self._text.mention)

    def _insert_path(self, path: str) -> None:
        if path.endswith("/"):
            self._text.replace_mention(f"@{path}")
            return
        shown = f"`{path}`" if any(letter.isspace() for letter in path) else path
        self._text.replace_mention(f"{shown} ")
        self._lists.hide_files()

    def _show_skills(self) -> None:
        named = self._draft.skills
        self._skill_chips.show_skills({n: why_not_usable(self._skills.get(n)) for n in named})
        self.changed.emit()

    def _on_slash_changed(self, text: str | None) -> None:
        usable = [one for one in self._skills.values() if one.is_usable]
        if text is None or not usable or not self._text.hasFocus():
            self._lists.hide_skills()
        else:
            self._lists.show_skills(text, usable)

    def _on_skill_chosen(self, name: str) -> None:
        self._text.remove_slash()
        self._lists.hide_skills()
        self.add_skill(name)

    def _on_focus_changed(self, has_focus: bool) -> None:
        self.focus_changed.emit(has_focus)
        if not has_focus:
            self._lists.hide_files()
            self._lists.hide_skills()
