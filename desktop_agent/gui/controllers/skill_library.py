"""Adding, updating and removing skills: the dialogs, and the library's part in them."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.core.skill_install import Fetched, InstallTarget, SkillLibraryError, SkillUpdate
from desktop_agent.core.skills import Skill
from desktop_agent.gui.bridge.bridge import Queries
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.skills.text import folder_name, in_words

if TYPE_CHECKING:
    import asyncio

    from desktop_agent.gui.skills.add_dialog import AddSkillSheet

_log = logging.getLogger(__name__)

UNDO, CANCEL = "undo_removal", "cancel_update"


class SkillLibraryController(QObject):
    """`say(text, tone, action)` shows a notice; an empty text removes it. What was removed last can
    be restored.

    Signals:
        installed(names): these skills were installed
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
        self._sheet: AddSkillSheet | None = None
        self._sheet_root = ""
        # The fetch that is waited for, and what the last one gave: older answers are for nobody.
        self._asked, self._address = 0, ""
        self._job: asyncio.Future[None] | None = None
        self._fetched: Fetched | None = None
        self._removed = "", ""
        # The newer version of a skill that is being fetched.
        self._looking: asyncio.Future[None] | None = None

    # -- adding ------------------------------------------------------------------------------

    def add(self, address: str = "") -> None:
        """Open the sheet, or bring it to the front, and look at an address if it is given."""
        sheet = self._sheet or self._make_sheet()
        sheet.open()
        if address:
            sheet.begin(address)

    def _make_sheet(self) -> AddSkillSheet:
        # Rarely wanted, and it loads the styles of the transcript.
        from desktop_agent.gui.skills.add_dialog import AddSkillSheet

        # The sheet names this folder, so it goes there, whatever is worked in by then.
        self._sheet_root = root = self._root()
        name = folder_name(root) if root else ""
        self._sheet = sheet = AddSkillSheet(self._theme, self._window.window(), folder_name=name)
        sheet.fetch_requested.connect(self._fetch)
        sheet.cancelled.connect(self._give_up)
        sheet.progress_wanted.connect(self._ask_progress)
        sheet.checklist.preview.wanted.connect(self._preview)
        sheet.target_chosen.connect(self._look_for_clashes)
        sheet.install_requested.connect(self._install)
        sheet.finished.connect(self._on_closed)
        return sheet

    def _on_closed(self) -> None:
        self._sheet = None
        self._give_up()

    def _fetch(self, address: str) -> None:
        self._give_up()
        self._address, number = address, self._asked

        def waiting() -> AddSkillSheet | None:
            return self._sheet if number == self._asked else None

        async def work() -> None:
            fetched = await self._queries.skills.fetch(address)
            sheet = waiting()
            if sheet is None:
                self._discard(fetched)
            elif not fetched.skills:
                self._discard(fetched)
                text = (self.tr("There is no skill in it."), *fetched.skipped)
                sheet.show_error(" ".join(text))
            else:
                self._fetched = fetched
                sheet.show_fetched(fetched)

        def fail(text: str) -> None:
            sheet = waiting()
            if sheet is not None:
                sheet.show_error(text)

        self._job = self._run(work(), "fetching skills", fail)

    def _ask_progress(self) -> None:
        sheet, number = self._sheet, self._asked

        def show(size: int) -> None:
            if sheet is not None and sheet is self._sheet and number == self._asked:
                sheet.show_progress(size)

        self._queries.ask(show, self._queries.skills.fetch_progress(self._address))

    def _showing(self, fetched: Fetched) -> AddSkillSheet | None:
        """Return the dialog, if it shows what was fetched."""
        return self._sheet if self._fetched is fetched else None

    def _give_up(self) -> None:
        """Stop fetching, and discard what was fetched."""
        self._asked += 1
        job, self._job = self._job, None
        if job is not None:
            job.cancel()
        fetched, self._fetched = self._fetched, None
        if fetched is not None:
            self._discard(fetched)

    def _discard(self, fetched: Fetched | SkillUpdate) -> None:
        self._queries.run(self._queries.skills.discard(fetched.id), "discarding what was fetched")

    def _preview(self, folder: str, path: str) -> None:
        fetched = self._fetched
        if fetched is None:
            return

        def show(text: str) -> None:
            sheet = self._showing(fetched)
            if sheet is not None:
                sheet.checklist.preview.show_text(folder, path, text)

        async def work() -> None:
            show(await self._queries.skills.preview(fetched.id, folder, path))

        self._run(work(), "reading a skill's file", show)

    def _look_for_clashes(self, target: InstallTarget) -> None:
        fetched, root = self._fetched, self._sheet_root
        if fetched is None:
            return

        def asking() -> AddSkillSheet | None:
            sheet = self._showing(fetched)
            return sheet if sheet is not None and sheet.target == target else None

        async def work() -> None:
            found = await self._queries.skills.clashes(fetched.id, target, root)
            sheet = asking()
            if sheet is not None:
                sheet.show_clashes(found)

        def fail(text: str) -> None:
            sheet = asking()
            if sheet is not None and not sheet.is_installing:
                sheet.show_error(text)

        self._run(work(), "looking for what is there", fail)

    def _install(self, folders: Sequence[str], target: InstallTarget, replaces: bool) -> None:
        fetched = self._fetched
        if fetched is None:
            return

        async def work() -> None:
            names = await self._queries.skills.install(
                fetched.id, tuple(folders), target=target, root=self._sheet_root, replace=replaces
            )
            sheet = self._showing(fetched)
            if sheet is not None:
                sheet.accept()
            self.installed.emit(names)

        def fail(text: str) -> None:
            sheet = self._showing(fetched)
            (self._say_error if sheet is None else sheet.show_error)(text)

        self._run(work(), "installing skills", fail)

    # -- what is there -----------------------------------------------------------------------

    def update(self, skill: Skill) -> None:
        self._stop_looking()
        words = self.tr("Looking for a newer {name}…").format(name=in_words(skill.name))
        self._say(words, action=CANCEL)
        self._looking = self._run(self._look_for_update(skill), "looking for an update")

    def cancel_update(self) -> None:
        """Stop fetching a newer version."""
        self._stop_looking()
        self._say("")

    def _stop_looking(self) -> None:
        looking, self._looking = self._looking, None
        if looking is not None:
            looking.cancel()

    async def _look_for_update(self, skill: Skill) -> None:
        found = await self._queries.skills.check_update(skill.directory)
        if found is None:
            self._say(self.tr("{name} is up to date.").format(name=in_words(skill.name)))
            return
        self._say("")
        from desktop_agent.gui.skills.update_dialog import UpdateSheet  # as the dialog above

        sheet = UpdateSheet(self._theme, skill, found, self._window.window())
        sheet.accepted.connect(lambda: self._run(self._take(found), "updating a skill"))
        sheet.rejected.connect(lambda: self._discard(found))
        sheet.open()

    async def _take(self, update: SkillUpdate) -> None:
        await self._queries.skills.update(update.id)
        self._say(self.tr("{name} was updated.").format(name=in_words(update.name)))

    def ask_remove(self, skill: Skill) -> None:
        from desktop_agent.gui.skills.update_dialog import ask_before_removing  # as above

        box = ask_before_removing(self._theme, skill, self._window.window())
        box.accepted.connect(lambda: self._run(self._remove(skill), "removing a skill"))
        box.open()

    async def _remove(self, skill: Skill) -> None:
        kept = await self._queries.skills.remove(skill.directory)
        self._removed = kept, skill.name
        self._say(self.tr("{name} was removed.").format(name=in_words(skill.name)), action=UNDO)

    def undo(self) -> None:
        """Restore what was removed last, as it was."""
        self._run(self._bring_back(*self._removed), "bringing a skill back")

    async def _bring_back(self, kept: str, name: str) -> None:
        await self._queries.skills.bring_back(kept)
        self._say(self.tr("{name} is back.").format(name=in_words(name)))

    # -- inside ------------------------------------------------------------------------------

    def _run(
        self, work: Coroutine[Any, Any, None], name: str, fail: Callable[[str], None] | None = None
    ) -> asyncio.Future[None]:
        """Run some work; `fail` says what could not be done, where the user looks."""
        guarded = self._guard(work, fail or self._say_error)
        job = self._queries.run(guarded, name)

        def close(_: asyncio.Future[None]) -> None:
            guarded.close()
            work.close()

        # What is given up before its turn comes never begins.
        job.add_done_callback(close)
        return job

    async def _guard(self, work: Coroutine[Any, Any, None], fail: Callable[[str], None]) -> None:
        try:
            await work
        except SkillLibraryError as error:
            _log.info("the skill library refused: %s", error)
            fail(str(error))
        finally:
            # Whatever else is on its way up: the sheet must not wait for ever.
            if isinstance(sys.exception(), Exception):
                fail(self.tr("That did not work. The log says more."))

    def _say_error(self, text: str) -> None:
        self._say(text, "error")
