"""Adding, updating and removing skills: the sheets, and what is asked of the library for them."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.core.skill_install import Fetched, InstallTarget, SkillLibraryError, SkillUpdate
from desktop_agent.core.skills import Skill
from desktop_agent.gui.bridge.requests import Queries
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.skills.text import in_words
from desktop_agent.gui.skills.trust_text import folder_name

_log = logging.getLogger(__name__)

UNDO = "undo_removal"


class SkillLibraryController(QObject):
    """`installed(names)`. `say(words, tone, action)` tells the person; empty words take back what
    was told. What was removed last can be brought back.
    """

    installed = Signal(object)

    def __init__(
        self,
        theme: Theme,
        window: QWidget,
        queries: Queries,
        say: Callable[..., None],
        root: Callable[[], str],
    ) -> None:
        super().__init__(window)
        self._theme = theme
        self._window = window
        self._queries = queries
        self._say = say
        self._root = root
        self._sheet: Any = None
        self._sheet_root = ""
        # The fetch that is waited for, and what the last one gave: older answers are for nobody.
        self._asked = 0
        self._job: Any = None
        self._fetched: Fetched | None = None
        self._removed = "", ""

    # -- adding ------------------------------------------------------------------------------

    def add(self, address: str = "") -> None:
        """Open the sheet, or bring it to the front, and look at an address if it is given."""
        if self._sheet is None:
            self._make_sheet()
        sheet: Any = self._sheet
        sheet.open()
        if address:
            sheet.begin(address)

    def _make_sheet(self) -> None:
        # Rarely wanted, and it brings the looks of the transcript.
        from desktop_agent.gui.skills.add_dialog import AddSkillSheet

        # The sheet names this folder, so it goes there, whatever is worked in by then.
        self._sheet_root = root = self._root()
        name = folder_name(root) if root else ""
        self._sheet = sheet = AddSkillSheet(self._theme, self._window.window(), folder_name=name)
        sheet.fetch_requested.connect(self._fetch)
        sheet.cancelled.connect(self._give_up)
        sheet.preview_requested.connect(self._preview)
        sheet.target_chosen.connect(self._look_for_clashes)
        sheet.install_requested.connect(self._install)
        sheet.finished.connect(self._on_closed)

    def _on_closed(self) -> None:
        self._sheet = None
        self._give_up()

    def _fetch(self, address: str) -> None:
        self._give_up()
        number = self._asked
        self._job = self._run(
            self._fetch_all(address, number),
            "fetching skills",
            lambda words: self._sheet.show_error(words) if self._waits_for(number) else None,
        )

    async def _fetch_all(self, address: str, number: int) -> None:
        fetched = await self._queries.skills.fetch(address)
        if not self._waits_for(number):
            self._discard(fetched)
        elif not fetched.skills:
            self._discard(fetched)
            words = (self.tr("There is no skill in it."), *fetched.skipped)
            self._sheet.show_error(" ".join(words))
        else:
            self._fetched = fetched
            self._sheet.show_fetched(fetched)

    def _waits_for(self, number: int) -> bool:
        return self._sheet is not None and number == self._asked

    def _shows(self, fetched: Fetched) -> bool:
        return self._sheet is not None and self._fetched is fetched

    def _give_up(self) -> None:
        """Stop fetching, and throw away what was fetched."""
        self._asked += 1
        job, self._job = self._job, None
        if job is not None:
            job.cancel()
        fetched, self._fetched = self._fetched, None
        if fetched is not None:
            self._discard(fetched)

    def _discard(self, fetched: Fetched) -> None:
        self._queries.ask(lambda _: None, self._queries.skills.discard(fetched.id))

    def _preview(self, folder: str, path: str) -> None:
        fetched = self._fetched
        if fetched is None:
            return

        def show(text: str) -> None:
            if self._shows(fetched):
                self._sheet.checklist.show_preview(folder, path, text)

        async def work() -> None:
            show(await self._queries.skills.preview(fetched.id, folder, path))

        self._run(work(), "reading a skill's file", show)

    def _look_for_clashes(self, target: InstallTarget) -> None:
        fetched, root = self._fetched, self._sheet_root
        if fetched is None:
            return

        def is_wanted() -> bool:
            return self._shows(fetched) and self._sheet.target == target

        async def work() -> None:
            found = await self._queries.skills.clashes(fetched.id, target, root)
            if is_wanted():
                self._sheet.show_clashes(found)

        def tell(words: str) -> None:
            if is_wanted() and not self._sheet.is_installing:
                self._sheet.show_error(words)

        self._run(work(), "looking for what is there", tell)

    def _install(self, folders: Sequence[str], target: InstallTarget, replaces: bool) -> None:
        fetched = self._fetched
        if fetched is not None:
            work = self._install_all(fetched, folders, target, replaces)
            self._run(
                work,
                "installing skills",
                lambda words: (
                    self._sheet.show_error(words) if self._shows(fetched) else self._complain(words)
                ),
            )

    async def _install_all(
        self, fetched: Fetched, folders: Sequence[str], target: InstallTarget, replaces: bool
    ) -> None:
        names = await self._queries.skills.install(
            fetched.id,
            tuple(folders),
            target=target,
            root=self._sheet_root,
            replace=replaces,
        )
        if self._shows(fetched):
            self._sheet.accept()
        self.installed.emit(names)

    # -- what is there -----------------------------------------------------------------------

    def update(self, skill: Skill) -> None:
        """Look for a newer version, and show what it changes."""
        self._say(self.tr("Looking for a newer {name}…").format(name=in_words(skill.name)))
        self._run(self._look_for_update(skill), "looking for an update")

    async def _look_for_update(self, skill: Skill) -> None:
        found = await self._queries.skills.check_update(skill.directory)
        if found is None:
            self._say(self.tr("{name} is up to date.").format(name=in_words(skill.name)))
            return
        self._say("")
        from desktop_agent.gui.skills.update_dialog import UpdateSheet  # as the sheet above

        sheet = UpdateSheet(self._theme, skill, found, self._window.window())
        sheet.agreed.connect(lambda update: self._run(self._take(update), "updating a skill"))
        sheet.rejected.connect(
            lambda: self._queries.ask(lambda _: None, self._queries.skills.discard(found.id))
        )
        sheet.open()

    async def _take(self, update: SkillUpdate) -> None:
        await self._queries.skills.update(update.id)
        self._say(self.tr("{name} was updated.").format(name=in_words(update.name)))

    def ask_remove(self, skill: Skill) -> None:
        """Ask, then remove."""
        from desktop_agent.gui.skills.update_dialog import ask_before_removing  # as above

        box = ask_before_removing(skill, self._window.window())
        box.accepted.connect(lambda: self._run(self._remove(skill), "removing a skill"))
        box.open()

    async def _remove(self, skill: Skill) -> None:
        kept = await self._queries.skills.remove(skill.directory)
        self._removed = kept, skill.name
        self._say(self.tr("{name} was removed.").format(name=in_words(skill.name)), action=UNDO)

    def undo(self) -> None:
        """Bring back what was removed last, as it was."""
        self._run(self._bring_back(*self._removed), "bringing a skill back")

    async def _bring_back(self, kept: str, name: str) -> None:
        await self._queries.skills.bring_back(kept)
        self._say(self.tr("{name} is back.").format(name=in_words(name)))

    # -- inside ------------------------------------------------------------------------------

    def _run(
        self,
        work: Coroutine[Any, Any, None],
        name: str,
        tell: Callable[[str], None] | None = None,
    ) -> Any:
        """Run some work; `tell` says in words what could not be done, where the person looks."""
        told = self._told(work, tell or self._complain)
        job = self._queries.run(told, name)
        # What is given up before its turn comes never begins.
        job.add_done_callback(lambda _: (told.close(), work.close()))
        return job

    async def _told(self, work: Coroutine[Any, Any, None], tell: Callable[[str], None]) -> None:
        try:
            await work
        except SkillLibraryError as error:
            _log.info("the skill library refused: %s", error)
            tell(str(error))
        finally:
            # Whatever else is on its way up: the sheet must not wait for ever.
            if isinstance(sys.exception(), Exception):
                tell(self.tr("That did not work. The log says more."))

    def _complain(self, words: str) -> None:
        self._say(words, "error")
