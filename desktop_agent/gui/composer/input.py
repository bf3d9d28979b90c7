"""The part of the composer that is typed into: text, chips, the lists of files and skills."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QImage, QKeyEvent
from PySide6.QtWidgets import QFileDialog, QWidget

from desktop_agent.core.messages import ImagePart, TextPart
from desktop_agent.core.skills import Skill
from desktop_agent.gui.composer.attachments import Attachment, text_attachment
from desktop_agent.gui.composer.chips import attachment_row, skill_row
from desktop_agent.gui.composer.drafts import Draft
from desktop_agent.gui.composer.server_offers import ServerPrompt, ServerSource
from desktop_agent.gui.composer.text_edit import ComposerText
from desktop_agent.gui.kit.lists.fuzzy import ranked
from desktop_agent.gui.kit.safe_text import clean, typed_text
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import TextLabel, column, single_timer
from desktop_agent.gui.skills.text import why_not_usable

if TYPE_CHECKING:
    from desktop_agent.gui.composer.file_popup import FilePopup, SkillPopup
    from desktop_agent.gui.composer.prompt_form import PromptForm

_COMPLETION_DELAY_MS = 40
# What a message may begin with, behind a slash, in place of a skill.
COMMANDS = ("compact", "clear", "remember")
# With the name of a place behind it, once for each.
RUN_ON = "run-on"
_MOST_SOURCES = 20


class ComposerInput(QWidget):
    """Shows one draft, with its text in `edit`."""

    changed = Signal()
    path_completion_requested = Signal(str)  # what stands behind an `@`
    offers_wanted = Signal()  # a `/` or an `@` was typed: servers may have something to offer
    prompt_wanted = Signal(object, object)  # ServerPrompt, its arguments
    resource_wanted = Signal(object, int, object)  # AttachmentList, the number in it, ServerSource

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._root = ""
        self._has_images: bool | None = None
        self._skills: dict[str, Skill] = {}
        self._prompts: tuple[ServerPrompt, ...] = ()
        self._places: tuple[str, ...] = ()
        self._sources: tuple[ServerSource, ...] = ()
        self._skill_chips = skill_row(theme, self)
        self._chips = attachment_row(theme, self)
        self._warning = TextLabel("", "warn", self, name="imageWarning", wraps=True)
        self._warning.hide()
        self.edit = ComposerText(theme, self)
        # The lists are made when they first open.
        self._file_list: FilePopup | None = None
        self._skill_list: SkillPopup | None = None
        self._completion = single_timer(self, _COMPLETION_DELAY_MS, self._ask_completions)
        # Made when a server's prompt is first chosen.
        self._form: PromptForm | None = None
        parts = (self._skill_chips, self._chips, self._warning, self.edit)
        self._layout = column(*parts, spacing=6, within=self)
        self.setFocusProxy(self.edit)
        self._connect()
        self._draft = Draft()
        self._draft.attachments.changed.connect(self._show_draft)

    def _connect(self) -> None:
        edit = self.edit
        edit.recalled.connect(self._recall)
        edit.textChanged.connect(self._on_text_changed)
        edit.files_given.connect(self.attach_files)
        edit.image_given.connect(self._attach_image)
        edit.long_text_given.connect(self._attach_text)
        edit.focus_changed.connect(self._on_focus_changed)
        edit.mention_changed.connect(self._on_mention_changed)
        edit.slash_changed.connect(self._on_slash_changed)
        edit.key_filter = self._take_key
        self._skill_chips.removed.connect(self.remove_skill)
        self._chips.removed.connect(self._remove_attachment)

    @property
    def text(self) -> str:
        return typed_text(self.edit.document().toRawText())

    @property
    def parts(self) -> tuple[TextPart | ImagePart, ...]:
        """What is attached and can go out."""
        return self._draft.attachments.parts

    @property
    def attached(self) -> tuple[Attachment, ...]:
        """What is attached, as it is shown."""
        return tuple(self._draft.attachments.entries.values())

    @property
    def skills(self) -> tuple[str, ...]:
        """The skills that go along, by name; those that can't be used stay behind."""
        named = self._draft.skills
        return tuple(name for name in named if not why_not_usable(self._skills.get(name)))

    @property
    def is_reading(self) -> bool:
        return self._draft.attachments.is_reading

    @property
    def has_content(self) -> bool:
        """Whether there is anything to send, now or in a moment."""
        attached = any(not one.reason for one in self.attached)
        return bool(self.text.strip() or self.edit.unfinished or attached or self.skills)

    def open_draft(self, draft: Draft, root: str) -> None:
        """Show this draft in place of the present one."""
        is_other = draft is not self._draft
        self._draft.attachments.changed.disconnect(self._show_draft)
        self._draft, self._root = draft, root
        draft.attachments.changed.connect(self._show_draft)
        if is_other:
            self.edit.load_text(draft.text)
        self._hide_lists()
        if self._form is not None and is_other:
            self._form.close_form()
        self._show_draft()

    def clear(self) -> None:
        """Empty the box after its content was sent."""
        self.edit.replace_text("")
        self._draft.skills.clear()
        self._draft.attachments.clear()
        self._show_skills()

    # -- attachments ----------------------------------------------------------------------

    def pick_files(self) -> None:
        dialog = QFileDialog(self.window(), self.tr("Attach files"), self._root)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.filesSelected.connect(self.attach_files)
        dialog.open()

    def attach_files(self, paths: Sequence[Path | str]) -> None:
        self._draft.attachments.add_files([Path(path) for path in paths], self._root)

    def set_has_images(self, has_images: bool | None) -> None:
        self._has_images = has_images
        self._show_image_warning()

    def _attach_image(self, image: QImage) -> None:
        self._draft.attachments.add_image(image, self.tr("Pasted picture.png"))

    def _attach_text(self, text: str) -> None:
        self._draft.attachments.add(text_attachment(self.tr("Pasted text.txt"), text))

    def _remove_attachment(self, number: int) -> None:
        self._draft.attachments.remove(number)

    def _show_draft(self) -> None:
        """Show the draft as it is now: another window may have changed it."""
        if self.text != self._draft.text:
            self.edit.replace_text(self._draft.text)
        self._show_skills()
        self._chips.show_entries(self._draft.attachments.entries)
        self._show_image_warning()
        self.changed.emit()

    def _show_image_warning(self) -> None:
        has_image = any(isinstance(part, ImagePart) for part in self.parts)
        self._warning.setText(self.tr("This model can't see pictures: it gets only the text."))
        self._warning.setVisible(has_image and self._has_images is False)

    # -- text -----------------------------------------------------------------------------

    def _recall(self, step: int) -> None:
        text = self._draft.recall(step)
        if text is not None:
            self.edit.is_recalling = False
            self.edit.replace_text(text)
            self.edit.is_recalling = bool(text)

    def _on_text_changed(self) -> None:
        self.edit.is_recalling = False
        if not self.text:
            self._draft.stop_recalling()
        self.changed.emit()

    # -- files to mention -----------------------------------------------------------------

    def begin_mention(self) -> None:
        """Type an `@`, which opens the list of files."""
        self.edit.setFocus(Qt.FocusReason.OtherFocusReason)
        self.edit.insert_word("@")

    def set_completions(self, prefix: str, paths: tuple[str, ...]) -> None:
        """Show the files for what stands behind the `@`; late answers are passed over."""
        if self.edit.mention != prefix or not self.edit.hasFocus():
            return
        if self._file_list is None:
            from desktop_agent.gui.composer.file_popup import FilePopup  # not before an `@`

            self._file_list = FilePopup(self._theme, self)
            self._file_list.chosen.connect(self._insert_path)
            self._file_list.offer_chosen.connect(self.attach_source)
        found = ranked(prefix, self._sources, lambda one: one.title)[:_MOST_SOURCES]
        self._file_list.show_paths(tuple(paths), found)

    def _on_mention_changed(self, prefix: str | None) -> None:
        if prefix is not None:
            self.offers_wanted.emit()
            self._completion.start()
            return
        self._completion.stop()
        if self._file_list is not None:
            self._file_list.hide()

    def _ask_completions(self) -> None:
        if self.edit.mention is not None:
            self.path_completion_requested.emit(self.edit.mention)

    def _insert_path(self, path: str) -> None:
        if path.endswith("/"):
            self.edit.enter_folder(path)
            return
        shown = f"`{path}`" if any(letter.isspace() for letter in path) else path
        self.edit.replace_mention(f"{shown} ")
        self._hide_lists()

    # -- what servers offer ---------------------------------------------------------------

    def set_offers(
        self, prompts: tuple[ServerPrompt, ...], sources: tuple[ServerSource, ...]
    ) -> None:
        """Know the prompts and resources of this folder's servers."""
        if (prompts, sources) == (self._prompts, self._sources):
            return
        self._prompts, self._sources = prompts, sources
        if self.edit.slash is not None:
            self._on_slash_changed(self.edit.slash)
        if self.edit.mention is not None:
            self._completion.start()

    def read_sources(self) -> None:
        """Have the resources that go with the message be read now."""
        attachments = self._draft.attachments
        for number, source in attachments.take_unread():
            self.resource_wanted.emit(attachments, number, source)

    @property
    def has_failed_source(self) -> bool:
        """Whether a resource could not be read."""
        return any(one.source is not None and one.reason for one in self.attached)

    def put_prompt(self, asked: ServerPrompt, text: str) -> None:
        """Put the text of a prompt into the message, if it is still waited for."""
        if self._form is not None and self._form.asked is asked:
            self._form.leave()
            self.edit.give_text(clean(text))

    def refuse_prompt(self, asked: ServerPrompt, words: str) -> None:
        """Say why there is no text of a prompt."""
        if self._form is not None and self._form.asked is asked:
            self._form.show_problem(words)

    def attach_source(self, source: ServerSource) -> None:
        self.edit.replace_mention("")
        self._hide_lists()
        about = Attachment(source.title, detail=source.resource.uri, source=source)
        self._draft.attachments.add(about)

    def fill_in(self, prompt: ServerPrompt) -> None:
        self.edit.replace_slash("")
        self._hide_lists()
        if self._form is None:
            from desktop_agent.gui.composer.prompt_form import PromptForm  # rarely wanted

            self._form = PromptForm(self._theme, self)
            self._form.wanted.connect(self.prompt_wanted)
            self._form.left.connect(lambda: self.edit.setFocus(Qt.FocusReason.OtherFocusReason))
            self._layout.insertWidget(0, self._form)
        self._form.ask(prompt)

    # -- skills ---------------------------------------------------------------------------

    def set_skills(self, skills: Iterable[Skill]) -> None:
        """Know the skills of this folder: they are offered behind a `/`."""
        self._skills = {one.name: one for one in skills if not one.shadowed_by}
        self._show_skills()
        if self._skill_list is not None and self._skill_list.isVisible():
            self._on_slash_changed(self.edit.slash)

    def set_places(self, names: Iterable[str]) -> None:
        """Know the places where work can be had done."""
        self._places = tuple(names)

    def begin_task(self, place: str) -> None:
        """Have a subagent at a place do what is in the box, once it is sent."""
        self.edit.replace_text(f"/{RUN_ON} {place} {self.text}")

    @property
    def commands(self) -> tuple[str, ...]:
        """What a message may begin with, behind a slash."""
        return (*COMMANDS, *(f"{RUN_ON} {name}" for name in self._places))

    def add_skill(self, name: str) -> None:
        if name not in self._draft.skills:
            self._draft.skills.append(name)
            self._show_skills()

    def remove_skill(self, name: str) -> None:
        if name in self._draft.skills:
            self._draft.skills.remove(name)
            self._show_skills()
            self.edit.setFocus(Qt.FocusReason.OtherFocusReason)

    def _show_skills(self) -> None:
        named = self._draft.skills
        reasons = {name: (name, why_not_usable(self._skills.get(name))) for name in named}
        self._skill_chips.show_entries(reasons)
        self.changed.emit()

    def _on_slash_changed(self, text: str | None) -> None:
        usable = [one for one in self._skills.values() if one.is_usable]
        commands = [one for one in self.commands if text is not None and one.startswith(text)]
        if text is not None:
            self.offers_wanted.emit()
        has_any = usable or commands or self._prompts
        if text is None or not has_any or not self.edit.hasFocus():
            if self._skill_list is not None:
                self._skill_list.hide()
            return
        if self._skill_list is None:
            from desktop_agent.gui.composer.file_popup import SkillPopup  # not before a `/`

            self._skill_list = SkillPopup(self._theme, self)
            self._skill_list.chosen.connect(self._on_skill_chosen)
            self._skill_list.offer_chosen.connect(self.fill_in)
        self._skill_list.show_skills(text, usable, commands, self._prompts)

    def _on_skill_chosen(self, name: str) -> None:
        if name.startswith("/"):
            self.edit.replace_slash(f"{name} ")
            self._hide_lists()
            return
        self.edit.replace_slash("")
        self._hide_lists()
        self.add_skill(name)

    # -- the lists ------------------------------------------------------------------------

    def _take_key(self, event: QKeyEvent) -> bool:
        """Give a key to an open list; True when it belonged to it."""
        return any(
            one.take_key(event) for one in (self._skill_list, self._file_list) if one is not None
        )

    def _hide_lists(self) -> None:
        for one in (self._skill_list, self._file_list):
            if one is not None:
                one.hide()

    def _on_focus_changed(self, has_focus: bool) -> None:
        if not has_focus:
            self._hide_lists()
