"""The page of all skills: find one, look at it, switch it, use it, add another."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from desktop_agent.core.skills import Skill
from desktop_agent.gui.kit.links import accept_copy
from desktop_agent.gui.kit.lists.list_page import ListPage, fill_empty, fill_pane
from desktop_agent.gui.kit.lists.tab_row import TabRow
from desktop_agent.gui.kit.search_field import SearchField
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    GhostButton,
    PrimaryButton,
    TextButton,
    TextLabel,
    has_focus_in,
    named,
    row,
)
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

    pointed = Signal(object)
    dropped = Signal(str)
    folder_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, "skillsPage", parent)
        self._rows: tuple[SkillRow, ...] = ()
        self._skills: tuple[Skill, ...] | None = None
        self._asked: Skill | None = None
        self.setAccessibleName(self.tr("Skills"))
        self.setAcceptDrops(True)
        self.requests = SkillRequests(self)
        self.list = SkillList(theme, self.requests, self)
        self.detail = SkillDetailPane(theme, self.requests, self)
        self._join(self._make_list_pane())
        self._connect()

    # -- down --------------------------------------------------------------------------------

    def set_skills(self, skills: tuple[Skill, ...], *, has_folder: bool) -> None:
        """Show these skills; what is chosen, searched for and scrolled to stays."""
        self.detail.set_has_folder(has_folder)
        if skills == self._skills:
            return
        self._skills = skills
        self._rows = rows_of(skills, self._rows)
        numbers = counts(self._rows)
        if not numbers[self._tabs.current]:
            self._tabs.choose("all")
        titles = {"all": self.tr("All"), **{one: origin_title(one) for one in ORIGINS}}
        self._tabs.show_counts(titles, numbers)
        many = self.tr("Filter {n} skills").format(n=numbers["all"])
        self.search.setPlaceholderText(self.tr("Filter skills") if numbers["all"] < 2 else many)
        self._show_rows()

    def enter(self) -> None:
        """Take the focus; what is shown in detail is read again."""
        self._asked = None
        super().enter()

    # -- construction ------------------------------------------------------------------------

    def _make_list_pane(self) -> QWidget:
        theme = self._theme
        pane = QWidget(self)
        self._folder = GhostButton(theme, self.tr("Open folder"), "folder-open", pane)
        self._folder.setObjectName("openSkillsFolder")
        self._folder.setToolTip(self.tr("Open the folder of your own skills"))
        self._add = TextButton(theme, self.tr("Add skill…"), "plus", pane, name="addSkill")
        close = self._make_close(pane, "leaveSkills")
        self.search = SearchField(theme, self.tr("Filter skills"), pane)
        self.search.setObjectName("filterSkills")
        self._tabs = TabRow(
            theme, self.tr("Which skills"), "skillTab", dict.fromkeys(TABS, ""), pane
        )
        self._pages = QStackedWidget(pane)
        self._pages.addWidget(self.list)
        self._pages.addWidget(self._make_empty())
        self._pages.addWidget(self._make_no_match())
        about = self.tr("Instructions and scripts that the agent loads when they fit the task.")
        buttons = (self._folder, self._add, close)
        parts = (self.search, self._tabs, self._pages)
        fill_pane(pane, theme, (self.tr("Skills"), about), buttons, parts)
        return pane

    def _make_empty(self) -> QWidget:
        theme = self._theme
        page = named(QWidget(), "noSkills")
        what = self.tr("A skill teaches the agent how you do something")
        why = self.tr(
            "It is a folder with a SKILL.md: when it is used, what to do, and perhaps "
            "scripts. Add one from an address, a folder or a file, or drop it here."
        )
        add = PrimaryButton(theme, self.tr("Add skill…"), "plus", page, name="addFirstSkill")
        add.clicked.connect(self.add_requested)
        fill_empty(page, theme, "book-open", (what, why), add)
        return page

    def _make_no_match(self) -> QWidget:
        page = QWidget()
        self._no_match = TextLabel("", "muted", page, wraps=True)
        self._no_match.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        clear = GhostButton(self._theme, self.tr("Clear filter"), "", page)
        clear.setObjectName("clearSkillFilter")
        clear.clicked.connect(self.search.clear)
        layout = QVBoxLayout(page)
        layout.setContentsMargins(*(self._theme.space("xl"),) * 4)
        layout.addWidget(self._no_match)
        layout.addLayout(row(None, clear, None))
        layout.addStretch(1)
        return page

    def _connect(self) -> None:
        self._folder.clicked.connect(self.folder_requested)
        self.list.pointed.connect(self._on_pointed)
        self.list.opened.connect(self._open_detail)
        self.list.typed.connect(self._on_typed)

    # -- what is shown -----------------------------------------------------------------------

    def _show_rows(self) -> None:
        text = self.search.text()
        found = shown_rows(self._rows, self._tabs.current, text)
        self.list.show_rows(found)
        self._show_found(has_found=bool(found), has_any=bool(self._rows))
        self._no_match.setText(self.tr("No skill matches “{text}”.").format(text=text.strip()))

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
