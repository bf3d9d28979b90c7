"""Answers that come late, or fail beside it, never change what the person just looks at."""

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from desktop_agent.adapters.skills.library import SkillLibrary
from desktop_agent.gui.bridge.bridge import Bridge, Queries
from desktop_agent.gui.controllers.skill_library import CANCEL, SkillLibraryController
from desktop_agent.gui.skills.add_dialog import AddSkillSheet
from tests.gui.skills.samples import skill
from tests.helpers.patience import HANG_MS as WAIT
from tests.helpers.patience import HANG_S as WAIT_S
from tests.helpers.windows import part


class SlowLibrary(SkillLibrary):
    """The real library; what is named in `gates` waits until the gate is opened."""

    def __init__(self, top):
        super().__init__(
            mine=top / "skills",
            removed=top / "removed",
            config_dir=top,
            changed=lambda: None,
        )
        self.gates = {}
        self.waiting = set()
        self.checked = []

    async def fetch(self, address):
        found = await super().fetch(address)
        await self._pass(f"fetch {address.rpartition('/')[2]}")
        return found

    async def fetch_progress(self, address):
        # What is held was fetched already.
        is_held = f"fetch {address.rpartition('/')[2]}" in self.waiting
        return 2_500_000 if is_held else await super().fetch_progress(address)

    async def preview(self, fetch_id, folder, path):
        await self._pass(f"preview {path}")
        return await super().preview(fetch_id, folder, path)

    async def clashes(self, fetch_id, target, root):
        found = await super().clashes(fetch_id, target, root)
        await self._pass(f"clashes {target}")
        return found

    async def install(self, fetch_id, folders, **where):
        await self._pass("install")
        return await super().install(fetch_id, folders, **where)

    async def check_update(self, directory):
        await self._pass("update")
        if "update" not in self.gates:
            return await super().check_update(directory)
        self.checked.append(directory)
        return None

    @property
    def kept(self):
        return tuple(self._kept.values())

    async def _pass(self, name):
        if name in self.gates:
            self.waiting.add(name)
            assert await asyncio.to_thread(self.gates[name].wait, WAIT_S)


class Shop:
    """A shop on a real bridge, and all that a test looks at."""

    def __init__(self, theme, qtbot, top):
        self.top = top
        self.qtbot = qtbot
        self.root = str(top / "project")
        self.said = []
        self.installed = []
        self.library = SlowLibrary(top / "app")
        self.bridge = Bridge()
        self.queries = Queries(self.bridge)
        self.window = QWidget()
        self.window.resize(1100, 800)
        qtbot.addWidget(self.window)
        self.window.show()
        self.shop = SkillLibraryController(
            theme, self.window, self.queries, self._say, lambda: self.root
        )
        self.shop.installed.connect(self.installed.append)
        self.bridge.start(self._compose)

    async def _compose(self, emit) -> Any:
        return SimpleNamespace(engine=None, skills=self.library, close=self.library.close)

    def _say(self, words, tone="info", action=""):
        self.said.append((words, tone))
        self.action = action

    @property
    def sheet(self):
        return part(self.window, "addSkillSheet")

    def skill(self, place, name, about=""):
        folder = self.top / place / name
        folder.mkdir(parents=True)
        text = f"---\nname: {name}\ndescription: Does {name}\n---\n{about}\n"
        (folder / "SKILL.md").write_text(text, encoding="utf-8")
        return str(self.top / place)

    def hold(self, name):
        self.library.gates[name] = threading.Event()

    def held(self, name):
        self.qtbot.waitUntil(lambda: name in self.library.waiting, timeout=WAIT)

    def let_go(self, name):
        self.library.gates[name].set()
        self.settle()

    def settle(self):
        self.qtbot.waitUntil(lambda: not self.queries.is_busy, timeout=WAIT)

    def wait_for_one(self):
        """Wait until all but what is held is answered."""
        self.qtbot.waitUntil(lambda: len(self.queries._jobs) == 1, timeout=WAIT)

    def look(self, address):
        self.shop.add(address)
        self.settle()

    def named(self, name):
        return self.sheet.findChild(QWidget, name)

    @property
    def listed(self):
        items = self.sheet.checklist.list
        return [items.item(number).text() for number in range(items.count())]

    def begin_installing(self):
        self.hold("install")
        self.named("installSkills").click()
        self.held("install")

    def close(self):
        for gate in self.library.gates.values():
            gate.set()
        self.queries.cancel()
        self.settle()
        assert self.bridge.close(WAIT_S)


@pytest.fixture
def shop(theme, qtbot, window_loop, tmp_path):
    made = Shop(theme, qtbot, tmp_path)
    (tmp_path / "project").mkdir()
    yield made
    made.close()


def test_the_answer_of_an_older_fetch_does_not_replace_the_newer_one(shop):
    shop.hold("fetch old")
    shop.shop.add(shop.skill("old", "alpha"))
    shop.held("fetch old")
    shop.shop.add(shop.skill("new", "beta"))
    shop.qtbot.waitUntil(lambda: shop.listed == ["beta"], timeout=WAIT)
    shop.let_go("fetch old")
    assert shop.listed == ["beta"]
    shop.named("installSkills").click()
    shop.settle()
    assert shop.installed == [("beta",)]


def test_while_skills_are_fetched_the_sheet_says_how_much_has_come(shop):
    shop.hold("fetch old")
    shop.shop.add(shop.skill("old", "alpha"))
    shop.held("fetch old")
    shop.sheet.progress_wanted.emit()
    shop.wait_for_one()
    assert "2.4 MB so far" in shop.named("addSkillProgress").text()
    shop.named("addSkillCancel").click()
    shop.sheet.progress_wanted.emit()
    shop.shop.add(shop.skill("new", "beta"))
    shop.qtbot.waitUntil(lambda: shop.listed == ["beta"], timeout=WAIT)
    assert "2.4 MB" not in shop.named("addSkillProgress").text()


def test_the_failure_of_an_older_fetch_does_not_end_the_newer_one(shop):
    shop.hold("fetch new")
    (shop.top / "nowhere").mkdir()
    shop.shop.add(str(shop.top / "nowhere"))
    shop.shop.add(shop.skill("new", "beta"))
    shop.held("fetch new")
    shop.wait_for_one()
    assert shop.named("addSkillDoing").isVisible()
    shop.let_go("fetch new")
    assert shop.listed == ["beta"]
    assert not shop.named("addSkillError").isVisible()


def test_what_was_fetched_before_is_thrown_away_when_something_else_is_looked_at(shop):
    shop.look(shop.skill("old", "alpha"))
    shop.look(shop.skill("new", "beta"))
    (kept,) = shop.library.kept
    assert [one.name for one in kept.fetched.skills] == ["beta"]
    shop.sheet.reject()
    shop.settle()
    assert not shop.library.kept


def test_a_file_that_cannot_be_shown_is_told_in_its_place_and_ends_no_installation(shop):
    shop.hold("preview SKILL.md")
    shop.shop.add(shop.skill("new", "beta"))
    shop.held("preview SKILL.md")
    (kept,) = shop.library.kept
    shop.begin_installing()
    (kept.files / "beta" / "SKILL.md").rename(kept.files / "away")
    shop.library.gates["preview SKILL.md"].set()
    shown = shop.sheet.checklist.findChild(QPlainTextEdit)
    shop.qtbot.waitUntil(lambda: "SKILL.md" in shown.toPlainText(), timeout=WAIT)
    (kept.files / "away").rename(kept.files / "beta" / "SKILL.md")
    assert shop.sheet.is_installing
    assert not shop.named("addSkillCancel").isEnabled()
    assert not shop.named("addSkillError").isVisible()
    shop.let_go("install")
    assert shop.installed == [("beta",)]
    assert shop.sheet is None


def test_a_failed_installation_is_told_in_the_sheet_and_can_be_tried_again(shop):
    shop.look(shop.skill("new", "beta"))
    app = shop.top / "app"
    app.mkdir()
    (app / "skills").write_text("in the way")
    shop.named("installSkills").click()
    shop.qtbot.waitUntil(shop.named("addSkillError").isVisible, timeout=WAIT)
    (app / "skills").unlink()
    shop.named("installSkills").click()
    shop.settle()
    assert shop.installed == [("beta",)]


def test_what_is_dropped_during_an_installation_takes_nothing_away_from_it(shop):
    shop.look(shop.skill("new", "beta"))
    shop.begin_installing()
    shop.shop.add(shop.skill("other", "alpha"))
    assert shop.sheet.is_installing
    shop.let_go("install")
    assert shop.installed == [("beta",)]


def test_what_an_update_says_while_something_is_fetched_does_not_end_the_fetching(shop):
    shop.hold("fetch new")
    shop.shop.add(shop.skill("new", "beta"))
    shop.held("fetch new")
    shop.shop.update(skill("gone"))
    shop.qtbot.waitUntil(lambda: len(shop.said) == 2, timeout=WAIT)
    assert shop.said[1] == ("This skill is not there any more.", "error")
    assert shop.named("addSkillDoing").isVisible()
    shop.let_go("fetch new")
    assert shop.listed == ["beta"]


def test_looking_for_a_newer_version_is_cancelled_where_it_is_said(shop):
    shop.hold("update")
    shop.shop.update(skill("slow"))
    assert shop.action == CANCEL
    shop.held("update")
    shop.shop.cancel_update()
    shop.settle()  # the engine's side has heard of it
    shop.let_go("update")
    assert shop.said[1:] == [("", "info")]
    assert shop.library.checked == []


def test_of_two_looks_for_newer_versions_the_last_one_is_told(shop):
    shop.hold("update")
    shop.shop.update(skill("slow"))
    shop.held("update")
    shop.shop.update(skill("other"))
    shop.wait_for_one()
    shop.let_go("update")
    assert [words for words, _ in shop.said][-1] == "other is up to date."
    assert len(shop.library.checked) == 1


def test_what_is_there_already_is_told_for_the_place_that_is_chosen_now(shop):
    shop.skill("project/.agents/skills", "beta")
    shop.look(shop.skill("new", "beta"))
    shop.hold("clashes folder")
    shop.named("installHere").click()
    shop.held("clashes folder")
    shop.named("installMine").click()
    shop.wait_for_one()
    shop.let_go("clashes folder")
    assert not shop.named("replaceThere").isVisible()
    assert shop.sheet.checklist.chosen() == ("beta",)
    del shop.library.gates["clashes folder"]
    shop.named("installHere").click()
    shop.settle()
    assert shop.named("replaceThere").isVisible()
    assert shop.sheet.checklist.chosen() == ()


def test_a_skill_goes_into_the_folder_that_the_sheet_names(shop):
    shop.look(shop.skill("new", "beta"))
    (shop.top / "elsewhere").mkdir()
    shop.root = str(shop.top / "elsewhere")
    assert "project" in shop.named("installHere").text()
    shop.named("installHere").click()
    shop.named("installSkills").click()
    shop.settle()
    assert (shop.top / "project/.agents/skills/beta/SKILL.md").is_file()
    assert list((shop.top / "elsewhere").iterdir()) == []


def test_closing_the_sheet_in_mid_fetch_brings_nothing_into_the_next_one(shop):
    shop.hold("fetch old")
    shop.shop.add(shop.skill("old", "alpha"))
    shop.held("fetch old")
    shop.sheet.reject()
    shop.shop.add()
    assert isinstance(shop.sheet, AddSkillSheet)
    shop.let_go("fetch old")
    assert shop.listed == []
    assert shop.named("skillAddress").isVisible()
