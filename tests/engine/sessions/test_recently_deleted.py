"""A deleted session can be had back for a month, whole; after that nothing of it is left."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.core.approvals import Rule
from desktop_agent.core.events import CommandRefused, MessageAdded, SessionOpened, SessionsChanged
from desktop_agent.core.sessions import KEPT_DELETED_S
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.sessions import upkeep
from tests.engine.rig import Rig
from tests.helpers.scripted import calls, says


@asynccontextmanager
async def started(home: Path, *script: Any) -> AsyncIterator[Rig]:
    store = SqliteStore(home / "sessions.db")
    rig = Rig(home / "folder", *script, store=store)  # type: ignore[arg-type]
    try:
        yield rig
    finally:
        await rig.engine.close()
        store.close()


def deleted(rig: Rig) -> list[str]:
    return [info.title for info in rig.listed.deleted]


def listed(rig: Rig) -> list[str]:
    return [info.title for info in rig.listed.sessions]


async def test_a_deleted_session_comes_back_with_all_that_was_said_and_goes_on(
    tmp_path: Path,
) -> None:
    async with started(tmp_path, says("first answer")) as rig:
        await rig.run("count")
        await rig.at_rest()
        rig.engine.delete_session(rig.session_id)
        await rig.once(lambda: deleted(rig) == ["count"])
        assert listed(rig) == []
    async with started(tmp_path, says("second answer")) as again:
        await again.until(SessionsChanged)
        assert (listed(again), deleted(again)) == ([], ["count"])
        again.engine.restore_session(again.session_id)
        await again.once(lambda: listed(again) == ["count"])
        assert deleted(again) == []
        again.engine.open_session(again.session_id)
        opened = await again.until(SessionOpened)
        said = [e.message.text for e in opened.events if isinstance(e, MessageAdded)]
        assert said[-1] == "first answer"
        await again.run("go on")
        assert again.messages[-1].text == "second answer"


async def test_deleting_stops_what_works_there_and_restoring_at_once_loses_nothing(
    tmp_path: Path,
) -> None:
    async with started(tmp_path, calls(("slow", {})), says("done")) as rig:
        rig.send("go")
        await rig.once(lambda: "ToolStarted" in rig.kinds())
        rig.engine.delete_session(rig.session_id)
        rig.engine.restore_session(rig.session_id)
        await rig.once(lambda: listed(rig) == ["go"] and not deleted(rig))
        await rig.once(lambda: {info.status for info in rig.listed.sessions} == {"idle"})
        await rig.run("again")
        assert rig.messages[-1].text == "done"


async def test_rules_of_a_session_end_only_when_it_is_erased(tmp_path: Path) -> None:
    async with started(tmp_path, says("ok")) as rig:
        await rig.run("count")
        rule = Rule("shell", "pytest", "session", rig.session_id)
        rig.engine.add_rule(rule)
        rig.engine.delete_session(rig.session_id)
        await rig.once(lambda: deleted(rig) == ["count"])
        assert [one.pattern for one in await rig.engine.rules()] == ["pytest"]
        rig.engine.erase_session(rig.session_id)
        await rig.once(lambda: not deleted(rig))
        assert await rig.engine.rules() == ()


async def test_emptying_leaves_nothing_and_no_kept_session_is_erased_by_mistake(
    tmp_path: Path,
) -> None:
    async with started(tmp_path, says("ok")) as rig:
        await rig.run("count")
        rig.engine.erase_session(rig.session_id)
        rig.engine.empty_deleted()
        rig.engine.pin_session(rig.session_id, True)
        await rig.once(lambda: rig.listed.sessions[0].is_pinned)
        rig.engine.delete_session(rig.session_id)
        rig.engine.empty_deleted()
        await rig.once(lambda: not listed(rig) and not deleted(rig))
    store = SqliteStore(tmp_path / "sessions.db")
    assert store.sessions() == ()
    store.close()


async def test_a_session_is_erased_a_month_after_it_was_deleted_and_not_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "FIRST_S", 0.0)
    async with started(tmp_path, says("ok")) as rig:
        await rig.run("count")
        rig.engine.delete_session(rig.session_id)
    store = SqliteStore(tmp_path / "sessions.db")
    [info] = store.sessions()
    long_ago = time.time() - KEPT_DELETED_S - 60
    older = msgspec.structs.replace(info, id="se_old", title="old", deleted_at=long_ago)
    store.save_session(older)
    store.close()
    async with started(tmp_path) as again:
        await again.once(lambda: "old" in deleted(again))
        await again.once(lambda: "old" not in deleted(again))
        assert deleted(again) == ["count"]


async def test_a_session_in_which_nothing_was_said_is_not_kept(tmp_path: Path) -> None:
    async with started(tmp_path) as rig:
        rig.engine.delete_session(rig.session_id)
        await rig.once(lambda: not listed(rig) and not deleted(rig))
    with closing(SqliteStore(tmp_path / "sessions.db")) as store:
        assert store.sessions() == (), "an empty session comes back at the next start"


async def test_a_pinned_session_is_not_archived_and_the_other_way_round(tmp_path: Path) -> None:
    async with started(tmp_path, says("ok")) as rig:
        await rig.run("count")
        await rig.at_rest()
        before = rig.listed.sessions[0].updated_at
        rig.engine.archive_session(rig.session_id, True)
        rig.engine.pin_session(rig.session_id, True)
        await rig.once(lambda: rig.listed.sessions[0].is_pinned)
        assert not rig.listed.sessions[0].is_archived
        rig.engine.archive_session(rig.session_id, True)
        await rig.once(lambda: rig.listed.sessions[0].is_archived)
        info = rig.listed.sessions[0]
        assert (info.is_pinned, info.updated_at) == (False, before)


async def test_no_new_session_takes_the_id_of_one_that_is_deleted(tmp_path: Path) -> None:
    async with started(tmp_path, says("first answer")) as rig:
        await rig.run("count")
        rig.engine.delete_session(rig.session_id)
        await rig.once(lambda: deleted(rig) == ["count"])
        rig.engine.new_session(rig.session_id, Workspace(str(tmp_path / "folder")))
        assert [info.title for info in rig.store.sessions()] == ["count"]
        assert "already" in (await rig.until(CommandRefused)).message
