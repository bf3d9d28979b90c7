"""What agents did to files through the real tools, taken back by message, call, agent and file."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import pytest

from desktop_agent.adapters.undo.process_history import ProcessHistory
from desktop_agent.core.changes import UndoError
from desktop_agent.core.events import AgentEnded, EngineFailed, FilesChanged, ToolEnded, TurnEnded
from desktop_agent.core.messages import DiffDisplay
from desktop_agent.core.parts.origins import FilesUndone
from tests.helpers.patience import HANG_S
from tests.helpers.scripted import calls, says
from tests.undo.undo_rig import UndoRig


def write(path: str, content: str) -> tuple[str, dict[str, Any]]:
    return ("write", {"path": path, "content": content})


def shell(command: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return ("shell", {"command": command, **more})


def contents(rig: UndoRig) -> dict[str, bytes]:
    return {name: content for name, (_, content) in rig.tree_of_files().items()}


async def opened(gate: Path) -> int:
    """Wait until a command reads from this pipe; it goes on when the descriptor is closed."""
    return await asyncio.wait_for(asyncio.to_thread(os.open, gate, os.O_WRONLY), HANG_S)


async def test_what_files_tools_and_commands_changed_is_told_with_the_message(
    tmp_path: Path,
) -> None:
    rig = UndoRig(
        tmp_path,
        [
            calls(write("new/a.txt", "one\ntwo\n"), shell("printf 'x\\n' >> b.txt; rm c.txt")),
            says("done"),
        ],
    )
    (rig.folder / "b.txt").write_text("b\n")
    (rig.folder / "c.txt").write_text("c\n")
    await rig.run("go")
    first, second = rig.sets
    assert (first.kind, second.kind) == ("tool", "command")
    assert [(f.path, f.kind, f.added) for f in first.files] == [("new/a.txt", "created", 2)]
    assert [(f.path, f.kind) for f in second.files] == [("b.txt", "changed"), ("c.txt", "deleted")]
    assert (second.added, second.removed) == (1, 1)
    assert first.message_id == second.message_id == rig.user_messages[0]
    order = [type(e) for e in rig.events if isinstance(e, FilesChanged | ToolEnded)]
    assert order == [FilesChanged, ToolEnded, FilesChanged, ToolEnded]
    assert not rig.of(EngineFailed)
    await rig.engine.close()


async def test_a_message_is_undone_and_redone_to_every_byte_and_mode(tmp_path: Path) -> None:
    command = (
        "rm -r old && ln -s a.txt link && chmod 755 a.txt && mkdir -p deep/er/empty && "
        "printf '\\000\\377' > data.bin && mv name.txt named.txt"
    )
    rig = UndoRig(
        tmp_path,
        [calls(write("a.txt", "changed\n")), calls(shell(command)), says("done")],
    )
    (rig.folder / "a.txt").write_text("before\n")
    (rig.folder / "name.txt").write_text("n")
    (rig.folder / "old" / "inner").mkdir(parents=True)
    (rig.folder / "old" / "inner" / "x").write_bytes(b"\0x")
    (rig.folder / "old" / "link").symlink_to("inner/x")
    before = rig.tree_of_files()
    await rig.run("go")
    after = rig.tree_of_files()
    assert after != before
    report = await rig.undo(message_id=rig.user_messages[0])
    assert rig.tree_of_files() == before
    assert not report.kept
    assert report.made is not None
    assert report.made.ended, "undos are put in order by their ends"
    again = await rig.undo(set_id=report.set_id)
    assert rig.tree_of_files() == after
    await rig.undo(set_id=again.set_id)
    assert rig.tree_of_files() == before
    assert not rig.of(EngineFailed)
    await rig.engine.close()


async def test_a_subagent_is_undone_without_its_parent_and_the_persons_edit_stays(
    tmp_path: Path,
) -> None:
    rig = UndoRig(
        tmp_path,
        [
            calls(write("mine.txt", "main\n")),
            calls(("spawn", {"description": "Sub", "prompt": "sub work"})),
            calls(("wait", {})),
            says("done"),
        ],
        {
            "sub work": [
                calls(write("s1.txt", "s1\n"), write("s2.txt", "s2\n"), shell("echo 3 > s3.txt")),
                says("sub done"),
            ]
        },
    )
    await rig.run("go")
    child = rig.of(AgentEnded)[0].agent_id
    by_child = [one for one in rig.sets if one.agent_id == child]
    assert {one.message_id for one in by_child} == {rig.user_messages[0]}
    (rig.folder / "s2.txt").write_text("the person's\n")
    report = await rig.undo(agent_id=child)
    assert sorted(f.path for f in report.restored) == ["s1.txt", "s3.txt"]
    assert report.kept == ("s2.txt",)
    assert contents(rig) == {"mine.txt": b"main\n", "s2.txt": b"the person's\n"}
    await rig.undo(message_id=rig.user_messages[0])
    assert contents(rig) == {"s2.txt": b"the person's\n"}
    await rig.engine.close()


async def test_what_the_person_changed_between_two_commands_is_not_the_agents(
    tmp_path: Path,
) -> None:
    rig = UndoRig(
        tmp_path,
        [calls(shell("echo 1 > a.txt")), says("one"), calls(shell("echo 2 > b.txt")), says("two")],
    )
    await rig.run("first")
    (rig.folder / "hers.txt").write_text("hers\n")
    await rig.run("second")
    assert [[f.path for f in one.files] for one in rig.sets] == [["a.txt"], ["b.txt"]]
    await rig.undo(message_id=rig.user_messages[1])
    await rig.undo(message_id=rig.user_messages[0])
    assert contents(rig) == {"hers.txt": b"hers\n"}
    await rig.engine.close()


async def test_one_call_and_one_file_of_a_message_are_undone_alone(tmp_path: Path) -> None:
    rig = UndoRig(
        tmp_path,
        [calls(write("a.txt", "a\n"), shell("echo b > b.txt; echo c > c.txt")), says("done")],
    )
    await rig.run("go")
    await rig.undo(call_id=rig.sets[1].call_id, path="b.txt")
    assert contents(rig) == {"a.txt": b"a\n", "c.txt": b"c\n"}
    await rig.undo(call_id=rig.sets[0].call_id)
    assert contents(rig) == {"c.txt": b"c\n"}
    await rig.engine.close()


async def test_files_go_back_to_how_they_were_before_a_message_that_changed_none(
    tmp_path: Path,
) -> None:
    rig = UndoRig(
        tmp_path,
        [
            calls(write("a.txt", "1\n")), says("one"),
            says("two, with words alone"),
            calls(shell("echo 3 > a.txt")), says("three"),
        ],
    )  # fmt: skip
    for text in ("first", "second", "third"):
        await rig.run(text)
    second = rig.user_messages[1]
    plan = await rig.engine.plan_undo(rig.scope(to_message=second))
    assert [one.path for one in plan.files] == ["a.txt"]
    await rig.undo(to_message=second)
    assert contents(rig) == {"a.txt": b"1\n"}
    with pytest.raises(UndoError, match="no such message"):
        await rig.undo(to_message="me_unknown")
    await rig.engine.close()


async def test_what_is_not_kept_any_more_is_told_where_it_would_be_taken_back(
    tmp_path: Path,
) -> None:
    rig = UndoRig(
        tmp_path,
        [
            calls(write("a.txt", "1\n")), says("one"), says("two"),
            calls(write("b.txt", "2\n")), says("three"),
        ],
    )  # fmt: skip
    await rig.run("first")
    assert (await rig.engine.session_changes(rig.session_id)).not_kept == 0
    await rig.engine.empty_undo(str(rig.folder))
    assert (await rig.engine.session_changes(rig.session_id)).not_kept == 1
    await rig.run("second")
    first, second = rig.user_messages
    with pytest.raises(UndoError, match="not kept any more"):
        await rig.undo(to_message=first)
    with pytest.raises(UndoError, match="Nothing was changed"):
        await rig.undo(to_message=second)
    await rig.run("third")
    scopes = [{"to_message": first}, {"to_message": second}, {"message_id": first}, {}]
    plans = [await rig.engine.plan_undo(rig.scope(**one)) for one in scopes]
    assert [one.not_kept for one in plans] == [1, 0, 1, 1]
    assert [len(one.files) for one in plans] == [1, 1, 0, 1]
    await rig.engine.close()


async def test_going_back_to_a_message_leaves_what_was_done_before_it_when_the_clock_was_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = UndoRig(
        tmp_path,
        [calls(write("a.txt", "1\n")), says("one"), calls(write("b.txt", "2\n")), says("two")],
    )
    with monkeypatch.context() as ahead:
        right = time.time
        ahead.setattr(time, "time", lambda: right() + 7200)
        await rig.run("first")
    await rig.run("second")
    await rig.undo(to_message=rig.user_messages[1])
    assert contents(rig) == {"a.txt": b"1\n"}
    await rig.engine.close()


async def test_who_changed_the_files_is_told_once_of_the_undo_and_not_woken(
    tmp_path: Path,
) -> None:
    rig = UndoRig(
        tmp_path,
        [calls(write("a.txt", "a\n"), write("b.txt", "b\n")), says("done"), says("I see")],
    )
    await rig.run("go")
    await rig.undo(message_id=rig.user_messages[0])
    assert len(rig.of(TurnEnded)) == 1
    await rig.run("what now?")
    parts = [part for part in rig.messages_of(rig.agent_id)[-2].parts if hasattr(part, "origin")]
    told = [part.text for part in parts if isinstance(part.origin, FilesUndone)]
    assert len(told) == 1
    assert "a.txt, b.txt" in told[0]
    await rig.engine.close()


async def test_nothing_is_undone_while_a_command_runs_in_the_folder(tmp_path: Path) -> None:
    rig = UndoRig(
        tmp_path,
        [
            calls(write("a.txt", "a\n")), says("one"),
            calls(shell("cat gate; echo b > b.txt")), says("two"),
        ],
    )  # fmt: skip
    os.mkfifo(rig.folder / "gate")
    await rig.run("first")
    rig.send("second")
    gate = await opened(rig.folder / "gate")
    with pytest.raises(UndoError, match="is running in this folder"):
        await rig.undo(message_id=rig.user_messages[0])
    plan = await rig.engine.plan_undo(rig.scope(message_id=rig.user_messages[0]))
    assert "cat gate" in plan.blocked
    assert contents(rig)["a.txt"] == b"a\n"
    os.close(gate)
    await rig.until(TurnEnded, 2)
    await rig.undo(message_id=rig.user_messages[0])
    assert "a.txt" not in contents(rig)
    await rig.engine.close()


async def test_a_background_command_is_captured_to_its_end(tmp_path: Path) -> None:
    rig = UndoRig(
        tmp_path,
        [
            calls(shell("cat gate; echo late > late.txt", run_in_background=True)),
            says("one"),
        ],
    )
    os.mkfifo(rig.folder / "gate")
    await rig.run("go")
    assert not [one for one in rig.sets if any(f.path == "late.txt" for f in one.files)]
    os.close(await opened(rig.folder / "gate"))
    await rig.once(lambda: any(f.path == "late.txt" for one in rig.sets for f in one.files))
    assert (rig.folder / "late.txt").exists()
    await rig.undo(message_id=rig.user_messages[0])
    assert not (rig.folder / "late.txt").exists()
    await rig.engine.close()


async def test_a_diff_and_a_patch_show_what_a_message_changed(tmp_path: Path) -> None:
    rig = UndoRig(tmp_path, [calls(write("a.txt", "new\n"), write("b.txt", "b\n")), says("done")])
    (rig.folder / "a.txt").write_text("old\n")
    await rig.run("go")
    scope = rig.scope(message_id=rig.user_messages[0], path="a.txt")
    diff = await rig.engine.change_diff(scope)
    assert isinstance(diff, DiffDisplay)
    assert "-old\n+new\n" in diff.patch
    patch = await rig.engine.patch(rig.session_id)
    assert "--- a/a.txt\n" in patch
    assert "--- /dev/null\n+++ b/b.txt\n" in patch
    await rig.engine.close()


async def test_what_only_looks_is_not_looked_at(tmp_path: Path) -> None:
    rig = UndoRig(tmp_path, [calls(shell("ls; cat a.txt")), says("done")])
    (rig.folder / "a.txt").write_text("a\n")
    await rig.run("go")
    assert not rig.sets
    changes = await rig.engine.session_changes(rig.session_id)
    assert changes.sets == ()
    await rig.engine.close()


async def test_an_undo_that_would_do_something_else_than_was_shown_is_refused(
    tmp_path: Path,
) -> None:
    rig = UndoRig(tmp_path, [calls(write("a.txt", "a\n"), write("b.txt", "b\n")), says("done")])
    await rig.run("go")
    scope = rig.scope(message_id=rig.user_messages[0])
    shown = await rig.engine.plan_undo(scope)
    (rig.folder / "b.txt").write_text("the person's\n")
    now = await rig.engine.plan_undo(scope)  # in another window
    with pytest.raises(UndoError, match="changed since this was listed"):
        await rig.engine.undo(scope, {}, shown)
    assert contents(rig)["a.txt"] == b"a\n"
    await rig.engine.undo(scope, {}, now)
    assert contents(rig) == {"b.txt": b"the person's\n"}
    await rig.engine.close()


async def test_a_machine_set_apart_for_a_session_keeps_what_happens_in_its_folder(
    tmp_path: Path,
) -> None:
    rig = UndoRig(tmp_path, [calls(shell("echo 2 > a.txt")), says("done")])
    (rig.folder / "a.txt").write_text("1\n")
    rig.engine.set_machine_sandbox(rig.session_id, True)
    await rig.run("go")
    assert [f.path for one in rig.sets for f in one.files] == ["a.txt"]
    await rig.undo(message_id=rig.user_messages[0])
    assert contents(rig)["a.txt"] == b"1\n"
    await rig.engine.close()


async def test_what_a_deleted_session_changed_can_be_undone_until_it_is_erased(
    tmp_path: Path,
) -> None:
    rig = UndoRig(tmp_path, [calls(write("a.txt", "changed\n")), says("done")])
    await rig.run("go")
    await rig.at_rest()
    message = rig.user_messages[0]
    rig.engine.delete_session(rig.session_id)
    await rig.once(lambda: bool(rig.listed.deleted))
    rig.engine.restore_session(rig.session_id)
    await rig.once(lambda: bool(rig.listed.sessions))
    await rig.undo(message_id=message)
    assert not (rig.folder / "a.txt").exists()
    rig.engine.delete_session(rig.session_id)
    await rig.once(lambda: bool(rig.listed.deleted))
    rig.engine.erase_session(rig.session_id)
    await rig.once(lambda: not rig.listed.deleted)
    await rig.engine.close()
    kept = ProcessHistory(rig.undo_folder)
    assert not (await kept.changes(rig.session_id, rig.workspace.root)).sets
    await kept.close()
