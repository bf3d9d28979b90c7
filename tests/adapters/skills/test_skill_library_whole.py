"""A skill is put in place whole or not at all, whatever else is asked for at the same time, and
nothing outside the folder it goes to is touched."""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from desktop_agent.adapters.skills.fetch.fetch import in_thread
from desktop_agent.adapters.skills.library import SkillLibrary
from desktop_agent.adapters.skills.state import read_origins
from desktop_agent.core.skill_install import SkillLibraryError
from tests.adapters.skills.skill_sources import Home, skill_text, snapshot, write_files
from tests.helpers.patience import HANG_S as WAIT_S

BIG = {
    "big/SKILL.md": skill_text("big"),
    **{f"big/part-{number}/{number}.txt": f"{number}" for number in range(60)},
}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where fetched skills lie until they are installed."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


class Gate:
    """Holds the copying of a skill up in the middle, until it is let go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
        self.reached = threading.Event()
        self.opened = threading.Event()
        self._left = after
        self._copy = shutil.copyfileobj
        monkeypatch.setattr(shutil, "copyfileobj", self._hold)

    def _hold(self, source: object, target: object, *more: int) -> None:
        self._left -= 1
        if self._left == 0:
            self.reached.set()
            assert self.opened.wait(WAIT_S)
        self._copy(source, target, *more)  # pyright: ignore[reportArgumentType]

    async def wait(self) -> None:
        assert await asyncio.to_thread(self.reached.wait, WAIT_S)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    made = Gate(monkeypatch, after=30)
    yield made
    made.opened.set()


def files_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


async def turn() -> None:
    """Let everything that can run now run."""
    for _ in range(20):
        await asyncio.sleep(0)


async def fetched(library: SkillLibrary, folder: Path, files: Mapping[str, str]) -> str:
    return (await library.fetch(str(write_files(folder, files)))).id


async def test_what_is_thrown_away_while_it_is_installed_is_installed_whole(
    tmp_path: Path, home: Home, private: Path, gate: Gate
) -> None:
    library = home.library()
    number = await fetched(library, tmp_path / "source", BIG)
    installing = asyncio.create_task(library.install(number, ["big"], target="mine"))
    await gate.wait()
    discarding = asyncio.create_task(library.discard(number))
    await turn()
    assert not discarding.done()
    gate.opened.set()
    assert await installing == ("big",)
    await discarding
    assert files_in(home.mine) == set(BIG)
    assert list(private.iterdir()) == []
    await library.close()


async def test_quitting_while_a_skill_is_installed_leaves_it_whole_and_begins_no_other(
    tmp_path: Path, home: Home, private: Path, gate: Gate
) -> None:
    library = home.library()
    more = {**BIG, "late/SKILL.md": skill_text("late")}
    number = await fetched(library, tmp_path / "source", more)
    installing = asyncio.create_task(library.install(number, ["big", "late"], target="mine"))
    await gate.wait()
    closing = asyncio.create_task(library.close())
    await turn()
    gate.opened.set()
    await closing
    with pytest.raises(SkillLibraryError, match=r"closing\. Installed before that: big"):
        await installing
    assert files_in(home.mine) == set(BIG)
    assert list(read_origins(home.top / "config")) == [str(home.mine / "big")]
    assert list(private.iterdir()) == []


async def test_what_comes_in_after_quitting_is_not_left_behind(
    tmp_path: Path, home: Home, private: Path
) -> None:
    library = home.library()
    await library.close()
    with pytest.raises(SkillLibraryError, match="closing"):
        await fetched(library, tmp_path / "source", BIG)
    assert list(private.iterdir()) == []


async def test_an_installation_nobody_waits_for_any_more_keeps_its_files_until_it_ends(
    tmp_path: Path, home: Home, private: Path, gate: Gate
) -> None:
    library = home.library()
    number = await fetched(library, tmp_path / "source", BIG)
    installing = asyncio.create_task(library.install(number, ["big"], target="mine"))
    await gate.wait()
    installing.cancel()
    discarding = asyncio.create_task(library.discard(number))
    await turn()
    assert len(list(private.iterdir())) == 1
    gate.opened.set()
    with pytest.raises(asyncio.CancelledError):
        await installing
    await discarding
    assert files_in(home.mine) == set(BIG)
    assert list(read_origins(home.top / "config")) == [str(home.mine / "big")]
    await library.close()


async def test_what_a_fetch_raises_that_was_given_up_is_told_as_no_defect() -> None:
    loop, told = asyncio.get_running_loop(), list[object]()
    loop.set_exception_handler(lambda _, context: told.append(context))
    begun, stopped = asyncio.Event(), threading.Event()

    def work() -> None:
        loop.call_soon_threadsafe(begun.set)
        stopped.wait()
        raise SkillLibraryError("It was cancelled.")

    job = asyncio.create_task(in_thread(work, stopped.set))
    await begun.wait()
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    del job
    gc.collect()
    await turn()
    assert not told


async def test_an_update_that_is_agreed_to_twice_is_taken_once(tmp_path: Path, home: Home) -> None:
    library = home.library()
    source = tmp_path / "source"
    number = await fetched(library, source, BIG)
    await library.install(number, ["big"], target="mine")
    write_files(source, {"big/SKILL.md": skill_text("big", "Newer.")})
    update = await library.check_update(str(home.mine / "big"))
    assert update is not None
    both = await asyncio.gather(
        library.update(update.id), library.update(update.id), return_exceptions=True
    )
    assert both[0] is None
    assert isinstance(both[1], SkillLibraryError)
    assert files_in(home.mine) == set(BIG)
    assert "Newer." in (home.mine / "big/SKILL.md").read_text()
    assert len(list(home.removed.iterdir())) == 1
    await library.close()


async def test_an_update_of_a_skill_that_went_meanwhile_brings_nothing(
    tmp_path: Path, home: Home
) -> None:
    library = home.library()
    source = tmp_path / "source"
    await library.install(await fetched(library, source, BIG), ["big"], target="mine")
    write_files(source, {"big/SKILL.md": skill_text("big", "Newer.")})
    update = await library.check_update(str(home.mine / "big"))
    assert update is not None
    await library.remove(str(home.mine / "big"))
    with pytest.raises(SkillLibraryError, match="not there any more"):
        await library.update(update.id)
    assert list(home.mine.iterdir()) == []
    await library.close()


async def test_a_sheet_that_stood_open_for_days_still_installs_what_it_shows(
    tmp_path: Path, home: Home, private: Path
) -> None:
    library = home.library()
    number = await fetched(library, tmp_path / "source", BIG)
    long_ago = time.time() - 3 * 24 * 3600
    (own,) = private.iterdir()
    foreign = private / "desktop-agent-skills-of-a-killed-app"
    foreign.mkdir()
    for folder in (own, foreign):
        os.utime(folder, (long_ago, long_ago))
    await fetched(library, tmp_path / "other", {"x/SKILL.md": skill_text("x")})
    assert not foreign.exists()
    assert await library.install(number, ["big"], target="mine") == ("big",)
    assert files_in(home.mine) == set(BIG)
    await library.close()


@pytest.mark.parametrize("spoil", ["part-1", "part-1/1.txt", "shorter", "all"])
async def test_a_skill_of_which_something_is_missing_is_not_installed(
    tmp_path: Path, home: Home, private: Path, spoil: str
) -> None:
    library = home.library()
    number = await fetched(library, tmp_path / "source", BIG)
    own = write_files(home.mine, {"big/SKILL.md": skill_text("big", "Mine.")})
    before = snapshot(own)
    (kept,) = private.iterdir()
    inside = kept / "files" / "big"
    if spoil == "shorter":
        (inside / "part-1/1.txt").write_text("")
    elif spoil == "all":
        shutil.rmtree(kept)
    elif (inside / spoil).is_dir():
        shutil.rmtree(inside / spoil)
    else:
        (inside / spoil).unlink()
    with pytest.raises(SkillLibraryError, match="not whole any more"):
        await library.install(number, ["big"], target="mine", replace=True)
    assert snapshot(own) == before
    assert [path.name for path in home.mine.parent.iterdir()] == ["skills"]
    assert home.changes == []
    await library.close()


def _linked(tmp_path: Path, target: str, called: str) -> tuple[Path, Path]:
    """Return a folder whose shelf has a link to a skill called pdf, and what lies elsewhere."""
    elsewhere = write_files(tmp_path / "elsewhere", {"all/real/SKILL.md": skill_text("pdf")})
    root = write_files(tmp_path / "work", {".agents/skills/own/SKILL.md": skill_text("own")})
    (root / ".agents/skills" / called).parent.mkdir(parents=True, exist_ok=True)
    (root / ".agents/skills" / called).symlink_to(elsewhere / target)
    return root, elsewhere


@pytest.mark.parametrize("called", ["lnk", "pdf", "group/lnk"])
async def test_replacing_a_skill_that_is_a_link_takes_the_link_away_and_nothing_behind_it(
    tmp_path: Path, home: Home, called: str
) -> None:
    root, elsewhere = _linked(tmp_path, "all/real", called)
    before = snapshot(elsewhere)
    library = home.library()
    new = {"pdf/SKILL.md": skill_text("pdf", "New.")}
    number = await fetched(library, tmp_path / "source", new)
    told = await library.clashes(number, "folder", str(root))
    name = Path(called).name
    assert told == {"pdf": f"Replaces the skill {name} of this folder."}
    names = await library.install(number, ["pdf"], target="folder", root=str(root), replace=True)
    assert names == ("pdf",)
    assert snapshot(elsewhere) == before
    placed = root / ".agents/skills" / called
    assert not placed.is_symlink()
    assert "New." in (placed / "SKILL.md").read_text()
    (kept,) = home.removed.iterdir()
    assert kept.readlink() == elsewhere / "all/real"
    await library.close()


async def test_replacing_a_skill_in_a_linked_collection_is_refused_and_touches_nothing(
    tmp_path: Path, home: Home
) -> None:
    root, elsewhere = _linked(tmp_path, "all", "collection")
    before = snapshot(elsewhere, root)
    library = home.library()
    new = {"new/SKILL.md": skill_text("new"), "pdf/SKILL.md": skill_text("pdf", "New.")}
    number = await fetched(library, tmp_path / "source", new)
    both = ["new", "pdf"]
    with pytest.raises(SkillLibraryError, match=r"pdf is there already.*collection/real"):
        await library.install(number, both, target="folder", root=str(root), replace=True)
    assert snapshot(elsewhere, root) == before
    assert await library.install(number, both, target="folder", root=str(root)) == ("new",)
    assert snapshot(elsewhere) == {key: before[key] for key in snapshot(elsewhere)}
    await library.close()


async def test_a_skill_of_mine_that_is_a_link_is_replaced_without_what_it_leads_to(
    tmp_path: Path, home: Home, own_home: Path
) -> None:
    other = write_files(own_home / ".claude/skills/realone", {"SKILL.md": skill_text("pdf")})
    home.mine.mkdir(parents=True)
    (home.mine / "lnk").symlink_to(other)
    before = snapshot(other)
    library = home.library()
    number = await fetched(library, tmp_path / "source", {"pdf/SKILL.md": skill_text("pdf", "N.")})
    await library.install(number, ["pdf"], target="mine", replace=True)
    assert snapshot(other) == before
    assert "N." in (home.mine / "lnk/SKILL.md").read_text()
    await library.close()


async def test_removing_a_link_to_a_skill_of_another_project_leaves_that_project_alone(
    tmp_path: Path, home: Home
) -> None:
    other = write_files(tmp_path / "b/.agents/skills/pdf", {"SKILL.md": skill_text("pdf")})
    shelf = tmp_path / "a/.agents/skills"
    shelf.mkdir(parents=True)
    (shelf / "lnk").symlink_to(other)
    before = snapshot(tmp_path / "b")
    library = home.library()
    key = await library.remove(str(shelf / "lnk"))
    assert snapshot(tmp_path / "b") == before
    assert list(shelf.iterdir()) == []
    await library.bring_back(key)
    assert (shelf / "lnk").readlink() == other
    await library.close()


async def test_a_link_is_kept_as_one_across_disks(
    tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, elsewhere = _linked(tmp_path, "all/real", "lnk")
    before = snapshot(elsewhere)
    real = Path.rename

    def other_disk(path: Path, target: Path) -> Path:
        if home.removed in target.parents and home.removed not in path.parents:
            raise OSError(18, "Invalid cross-device link")
        return real(path, target)

    monkeypatch.setattr(Path, "rename", other_disk)
    library = home.library()
    number = await fetched(library, tmp_path / "source", {"pdf/SKILL.md": skill_text("pdf", "N.")})
    await library.install(number, ["pdf"], target="folder", root=str(root), replace=True)
    assert snapshot(elsewhere) == before
    (kept,) = home.removed.iterdir()
    assert kept.readlink() == elsewhere / "all/real"
    assert not list((root / ".agents").glob(".skill-*"))
    await library.close()


async def test_a_replacement_whose_old_version_cannot_be_kept_changes_nothing(
    tmp_path: Path, home: Home
) -> None:
    library = home.library()
    number = await fetched(library, tmp_path / "source", BIG)
    write_files(home.mine, {"big/SKILL.md": skill_text("big", "Mine."), "big/own.txt": "own"})
    home.removed.parent.mkdir(parents=True)
    home.removed.write_text("not a folder")
    before = snapshot(home.top)
    with pytest.raises(SkillLibraryError, match="The disk did not take it"):
        await library.install(number, ["big"], target="mine", replace=True)
    assert snapshot(home.top) == before
    assert home.changes == []
    home.removed.unlink()
    assert await library.install(number, ["big"], target="mine", replace=True) == ("big",)
    assert files_in(home.mine) == set(BIG)
    await library.close()


async def test_what_cannot_be_cleared_up_is_in_the_way_of_no_other_skill(
    tmp_path: Path, home: Home
) -> None:
    left = home.mine.parent / ".skill-outgoing-0a1b2c3d4e5f-big"
    write_files(left, {"SKILL.md": skill_text("big", "Older.")})
    write_files(home.mine, {"big/SKILL.md": skill_text("big", "Mine.")})
    home.removed.parent.mkdir(parents=True)
    home.removed.write_text("not a folder")
    library = home.library()
    number = await fetched(library, tmp_path / "source", {"new/SKILL.md": skill_text("new")})
    assert await library.install(number, ["new"], target="mine") == ("new",)
    assert "Older." in (left / "SKILL.md").read_text()
    await library.close()


async def test_a_link_that_a_killed_app_had_moved_aside_comes_back(
    tmp_path: Path, home: Home
) -> None:
    other = write_files(tmp_path / "other", {"SKILL.md": skill_text("pdf")})
    home.mine.mkdir(parents=True)
    (home.mine.parent / ".skill-outgoing-0a1b2c3d4e5f-lnk").symlink_to(other)
    library = home.library()
    number = await fetched(library, tmp_path / "source", {"new/SKILL.md": skill_text("new")})
    await library.install(number, ["new"], target="mine")
    assert (home.mine / "lnk").readlink() == other
    await library.close()
