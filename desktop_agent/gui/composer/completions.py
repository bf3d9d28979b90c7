"""The lists over the message box, of files and of skills: each is made when it first opens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from desktop_agent.core.skills import Skill
from desktop_agent.gui.kit.theme import Theme


class ComposerLists(QObject):
    """`path_chosen` carries a path relative to the folder, `skill_chosen` a skill's name."""

    path_chosen = Signal(str)
    skill_chosen = Signal(str)

    def __init__(self, theme: Theme, anchor: QWidget) -> None:
        super().__init__(anchor)
        self._theme = theme
        self._anchor = anchor
        self.files: Any = None
        self.skills: Any = None

    def show_paths(self, paths: tuple[str, ...]) -> None:
        """Show files."""
        if self.files is None:
            from desktop_agent.gui.composer.file_popup import (
                FilePopup,  # not before an `@` was typed
            )

            self.files = FilePopup(self._theme, self._anchor)
            self.files.chosen.connect(self.path_chosen)
        self.files.show_paths(paths)

    def show_skills(self, text: str, skills: Sequence[Skill]) -> None:
        """Show the skills that match."""
        if self.skills is None:
            from desktop_agent.gui.composer.skill_popup import (
                SkillPopup,  # not before a `/` was typed
            )

            self.skills = SkillPopup(self._theme, self._anchor)
            self.skills.chosen.connect(self.skill_chosen)
        self.skills.show_skills(text, skills)

    @property
    def is_listing_skills(self) -> bool:
        """Whether skills are offered now."""
        return self.skills is not None and self.skills.isVisible()

    def hide_files(self) -> None:
        """Close the list of files."""
        if self.files is not None:
            self.files.hide()

    def hide_skills(self) -> None:
        """Close the list of skills."""
        if self.skills is not None:
            self.skills.hide()

    def take_key(self, event: QKeyEvent) -> bool:
        """Act on a key that belongs to an open list; True when it did."""
        opened = (one for one in (self.skills, self.files) if one is not None)
        return any(one.take_key(event) for one in opened)
