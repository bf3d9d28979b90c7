"""The page of all skills: find one, look at it, switch it, use it, add another."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QWidget

from desktop_agent.core.skills import Skill
from desktop_agent.gui.kit.links import accept_copy
from desktop_agent.gui.kit.lists.list_page import ListPage, PageWords
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import GhostButton, has_focus_in
from desktop_agent.gui.skills.detail import SkillDetailPane
from desktop_agent.gui.skills.drop_zone import dropped_source
from desktop_agent.gui.skills.list import SkillList, SkillRequests
from desktop_agent.gui.skills.list_model import TABS, SkillRow, counts, rows_of, shown_rows
from desktop_agent.gui.skills.text import ORIGINS, origin_title


class SkillsPage(ListPage[SkillList, SkillDetailPane]):
    """Signals:
    pointed(Skill): asks for a skill's text
    dropped(path): something to add
    folder_requested: open the folder of the skills
    """

    kind, icon = "Skill", "book-open"
    pointed = Signal(object)
    dropped = Signal(str)
    folder_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, "skillsPage", parent)
        self._rows: tuple[SkillRow, ...] = ()
        self._skills: tuple[Skill, ...] | None = None
        self._asked: Skill | None = None
        self.setAcceptDrops(True)
        self.requests = SkillRequests(self)
        self.list = SkillList(theme, self.requests, self)
        self.detail = SkillDetailPane(theme, self.requests, self)
        folder = GhostButton(theme, self.tr("Open folder"), "folder-open", name="openSkillsFolder")
        folder.setToolTip(self.tr("Open the folder of your own skills"))
        self._build(self.list, self._make_words(), TABS, folder)
        folder.clicked.connect(self.folder_requested)
        self.filtered.connect(self._show_rows)
        self.list.pointed.connect(self._on_pointed)
        self.list.opened.connect(self._open_detail)
        self.list.typed.connect(self._on_typed)

    def _make_words(self) -> PageWords:
        return PageWords(
            title=self.tr("Skills"),
            about=self.tr("Instructions and scripts that the agent loads when they fit the task."),
            tabs=self.tr("Which skills"),
            filter=self.tr("Filter skills"),
            add=self.tr("Add skill…"),
            empty=self.tr("A skill teaches the agent how you do something"),
            why=self.tr(
                "It is a folder with a SKILL.md: when it is used, what to do, and perhaps "
                "scripts. Add one from an address, a folder or a file, or drop it here."
            ),
            no_match=self.tr("No skill matches “{text}”."),
        )

    # -- down --------------------------------------------------------------------------------

    def set_skills(self, skills: tuple[Skill, ...], *, has_folder: bool) -> None:
        """Show these skills; what is chosen, searched for and scrolled to stays."""
        self.detail.set_has_folder(has_folder)
        if skills == self._skills:
            return
        self._skills = skills
        self._rows = rows_of(skills, self._rows)
        titles = {"all": self.tr("All"), **{one: origin_title(one) for one in ORIGINS}}
        self._show_counts(titles, counts(self._rows), self.tr("Filter {n} skills"))

    def enter(self) -> None:
        """Take the focus; what is shown in detail is read again."""
        self._asked = None
        super().enter()

    # -- what is shown -----------------------------------------------------------------------

    def _show_rows(self) -> None:
        found = shown_rows(self._rows, self._tabs.current, self.search.text())
        self.list.show_rows(found)
        self._show_found(has_found=bool(found), has_any=bool(self._rows))

    def _on_pointed(self, skill: Skill | None) -> None:
        before = self.detail.skill
        is_other = before is not None and (skill is None or skill.directory != before.directory)
        was_in_detail = is_other and has_focus_in(self.detail)
        self.detail.show_skill(skill)
        if skill is None:
            self._shows_detail = False
        self._place()
        if was_in_detail and self.list.isVisible():
            # It was removed: the next key must not switch off another one.
            self.list.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _on_typed(self, letters: str) -> None:
        """What is typed in the list is looked for: a Space after it is no switch."""
        self.search.setFocus(Qt.FocusReason.OtherFocusReason)
        self.search.insert(letters)

    def _place(self) -> None:
        super()._place()
        is_shown = self.isVisible() and not self.detail.isHidden()
        if is_shown and self.detail.skill is not self._asked:
            self._asked = self.detail.skill
            self.pointed.emit(self._asked)

    # -- events ------------------------------------------------------------------------------

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if dropped_source(event.mimeData()):
            accept_copy(event)
        else:
            event.ignore()

    def dropEvent(self, event: QDropEvent) -> None:
        path = dropped_source(event.mimeData())
        if path:
            accept_copy(event)
            self.dropped.emit(path)
