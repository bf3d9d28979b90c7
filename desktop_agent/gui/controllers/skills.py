"""Skills in the window: the sidebar's list, the page, the message box, and their commands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

from desktop_agent import paths
from desktop_agent.core.events import Event, SkillsChanged
from desktop_agent.core.skills import FolderTrust, Skill, SkillDetail
from desktop_agent.gui.controllers.controller import Controller, WindowParts
from desktop_agent.gui.controllers.full_pages import FullPages
from desktop_agent.gui.controllers.popups import PopupController
from desktop_agent.gui.controllers.skill_library import CANCEL, UNDO, SkillLibraryController
from desktop_agent.gui.controllers.transcript_pages import load_parser
from desktop_agent.gui.controllers.trust import TrustController
from desktop_agent.gui.frame.notice_bar import Notice
from desktop_agent.gui.kit.links import open_link
from desktop_agent.gui.kit.preload import Preload
from desktop_agent.gui.skills.text import few_names, setup_text

if TYPE_CHECKING:
    from desktop_agent.gui.skills.page import SkillsPage
    from desktop_agent.gui.skills.sidebar_section import SkillsSection
    from desktop_agent.gui.workspace.picker import WorkspacePicker

_USE = "use_skills"
_NEWS_MS = 12_000
_MOST_USED = 3


class SkillsController(Controller):
    """What belongs to skills is made when there is first something of it to show."""

    def __init__(self, parts: WindowParts, popups: PopupController, full: FullPages) -> None:
        super().__init__(parts)
        self._full = full
        self._found: dict[str, SkillsChanged] = {}
        self._page: SkillsPage | None = None
        self._section: SkillsSection | None = None
        self._added: tuple[str, ...] = ()
        self._preload = Preload(
            self, ("transcript.document.answer", "skills.detail", "skills.page"), (load_parser,)
        )
        self._place = ("", "")
        self.library = SkillLibraryController(
            self._theme, self._frame, self._queries, self._say, lambda: self.root
        )
        self.trust = TrustController(parts)
        parts.bridge.received.connect(self._on_received)
        popups.picker_made.connect(self._join_picker)
        self._connect()

    def _connect(self) -> None:
        self._session.shown.connect(self._on_place)
        self._session.workspace_changed.connect(self._on_place)
        self._session.setup_needed.connect(self._watch_without_session)
        self._frame.notices.acted.connect(self._act)
        self.library.installed.connect(self._on_installed)

    # -- what is known -----------------------------------------------------------------------

    @property
    def skills(self) -> tuple[Skill, ...]:
        known = self._found.get(self.root)
        return known.skills if known is not None else ()

    def _on_received(self, batch: Sequence[Event]) -> None:
        changed = [event for event in batch if isinstance(event, SkillsChanged)]
        for event in changed:
            self._found[event.root] = event
        if any(event.root == self.root for event in changed):
            self._show()

    def _on_place(self) -> None:
        """What was said belongs to the session and the folder in which it was."""
        info = self._session.info
        place = (info.id if info is not None else "", self.root)
        if place != self._place:
            self._place = place
            self._say("")
            self.trust.remove_notice()
        self._show_folder()

    def _watch_without_session(self) -> None:
        self._engine.watch_skills(self.root)
        self._show_folder()

    def _show_folder(self) -> None:
        """Show what is known of a folder that has just come on screen."""
        if self.root in self._found:
            self._show()
        else:
            self._frame.composer.box.set_skills(())
            self.trust.show(FolderTrust(self.root), ())

    def _show(self) -> None:
        known = self._found[self.root]
        self._frame.composer.box.set_skills(known.skills)
        section = self._section or self._make_section()
        section.set_skills(known.skills)
        if self._page is not None:
            self._page.set_skills(known.skills, has_folder=bool(known.root))
        self.trust.show(known.trust, known.skills)

    # -- the page ----------------------------------------------------------------------------

    def open(self, directory: str = "") -> None:
        page = self._page or self._make_page()
        page.set_skills(self.skills, has_folder=bool(self.root))
        self._full.show(page)
        page.enter()
        if directory:
            page.choose(directory)

    def use(self, skills: Sequence[str]) -> None:
        """Put chips into the message box, and go there."""
        self._full.leave()
        for name in skills:
            self._frame.composer.box.add_skill(name)
        self._frame.composer.focus_text()

    def _make_section(self) -> SkillsSection:
        # Not before there are any.
        from desktop_agent.gui.skills.sidebar_section import SkillsSection

        self._section = section = SkillsSection(self._theme, self._frame.sidebar)
        section.approached.connect(self._get_ready)
        section.opened.connect(self.open)
        section.add_requested.connect(self.library.add)
        self._frame.sidebar.add_foot(section, is_first=True)
        return section

    def _get_ready(self) -> None:
        """Load what the page needs, while the pointer is on its way to a click."""
        if self._page is None:
            self._preload.start()

    def _make_page(self) -> SkillsPage:
        # It brings Markdown and the looks of the transcript.
        from desktop_agent.gui.skills.page import SkillsPage

        self._page = page = SkillsPage(self._theme, self._frame.stack)
        self._full.add(page)
        page.add_requested.connect(self.library.add)
        page.dropped.connect(self.library.add)
        page.folder_requested.connect(self._open_own_folder)
        page.pointed.connect(self._ask_detail)
        page.detail.file_chosen.connect(self._show_file)
        page.detail.link_agreed.connect(open_link)
        page.detail.trust_requested.connect(self.trust.look)
        page.requests.switched.connect(self._switch)
        page.requests.used.connect(self._use_one)
        page.requests.setup_requested.connect(self._set_up)
        page.requests.folder_opened.connect(self._open_folder_of)
        page.requests.update_requested.connect(self.library.update)
        page.requests.remove_requested.connect(self.library.ask_remove)
        return page

    def _join_picker(self, picker: WorkspacePicker) -> None:
        self.trust.changed.connect(picker.trust.show_trust)
        picker.trust.show_trust(self.trust.trust)
        picker.trust.decided.connect(self.trust.decide)
        picker.trust.look_requested.connect(picker.close)
        picker.trust.look_requested.connect(self.trust.look)

    # -- requests ----------------------------------------------------------------------------

    def _switch(self, skill: Skill, is_on: bool, only_here: bool) -> None:
        self._engine.switch_skill(self.root, skill.name, is_on, only_here=only_here)

    def _use_one(self, skill: Skill) -> None:
        self.use((skill.name,))

    def _set_up(self, skill: Skill) -> None:
        """Write what an agent is to be asked for, behind what stands in the message box."""
        self._full.leave()
        composer = self._frame.composer
        composer.set_text("\n\n".join(filter(None, (composer.box.text.strip(), setup_text(skill)))))

    def _ask_detail(self, skill: Skill) -> None:
        def show(detail: SkillDetail | None) -> None:
            if self._page is not None and detail is not None:
                self._page.detail.show_detail(detail)

        self._queries.ask(show, self._queries.engine.skill_detail(self.root, skill.directory))

    def _show_file(self, skill: Skill, path: str) -> None:
        self.trust.read(skill.directory, path, lambda text: self._open_text(path, text))

    def _open_text(self, path: str, text: str) -> None:
        from desktop_agent.gui.transcript.view.text_dialogs import show_text

        show_text(self._theme, path, text, self._frame)

    def _open_folder_of(self, skill: Skill) -> None:
        _open_folder(Path(skill.directory))

    def _open_own_folder(self) -> None:
        own = paths.data_dir() / "skills"
        own.mkdir(parents=True, exist_ok=True)
        _open_folder(own)

    def _on_installed(self, names: Sequence[str]) -> None:
        self._added = tuple(names)
        one, several = self.tr("1 skill added: {names}."), self.tr("{n} skills added: {names}.")
        text = (several if len(names) > 1 else one).format(n=len(names), names=few_names(names))
        # Nobody means a whole collection with one message.
        self._say(text, action=_USE if len(names) <= _MOST_USED else "")

    def _act(self, action: str) -> None:
        if action == _USE:
            self.use(self._added)
        elif action == UNDO:
            self.library.undo()
        elif action == CANCEL:
            self.library.cancel_update()

    def _say(self, text: str, tone: str = "info", action: str = "") -> None:
        if not text:
            self._frame.notices.remove("skills")
            return
        titles = {_USE: self.tr("Use in chat"), UNDO: self.tr("Undo"), CANCEL: self.tr("Cancel")}
        # What went well need not be put away by hand.
        lasts = _NEWS_MS if tone == "info" and not text.endswith("…") else 0
        self._frame.notices.put("skills", Notice(text, tone, action, titles.get(action, ""), lasts))


def _open_folder(path: Path) -> None:
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))
