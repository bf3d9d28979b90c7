"""What a subagent changed at a place: kept here, reviewed, applied, undone; nothing before that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from desktop_agent.adapters.places.git_copy import GitStore
from desktop_agent.adapters.undo.process_history import ProcessHistory
from desktop_agent.core.approvals import AllowOnce
from desktop_agent.core.changes import Result, UndoScope
from desktop_agent.core.events import ApprovalRequested, FilesChanged
from desktop_agent.core.ids import AgentId
from desktop_agent.core.messages import DiffDisplay, TextPart
from desktop_agent.core.parts.origins import AppNotice
from tests.engine.tree.tree_rig import WAIT
from tests.helpers.scripted import calls, says
from tests.outpost.rig import git, state
from tests.outpost.test_far_agents import SPAWN, FarRig, pytestmark

__all__ = ["pytestmark"]
WRITES = calls(
    ("write", {"path": "far.txt", "content": "far\n"}),
    ("edit", {"path": "beds.txt", "old_string": "thirteen", "new_string": "fourteen"}),
)


class ResultRig(FarRig):
    """One whose changes are kept here, by the real process."""

    def __init__(self, tmp_path: Path, main: list[Any], child: list[Any]) -> None:
        self.history = ProcessHistory(tmp_path / "data" / "undo")
        super().__init__(tmp_path, main, child, history=self.history)

    @property
    def folder(self) -> Path:
        return Path(self.workspace.root)

    async def kept(self) -> tuple[Result, ...]:
        return (await self.engine.session_changes(self.session_id)).results

    async def worked(self) -> AgentId:
        agent_id = await self.begun()
        await self.ended(agent_id)
        return agent_id


def files(folder: Path) -> dict[str, bytes]:
    return {path: text for path, text in state(folder).items() if ".outputs" not in path}


async def test_it_is_kept_to_be_reviewed_applied_and_undone_and_git_is_untouched(
    tmp_path: Path, closing: list[ResultRig]
) -> None:
    read = calls(("read", {"path": "beds.txt"}))
    main = [SPAWN, WAIT, says("Thanks."), says("I see.")]
    rig = ResultRig(tmp_path, main, [read, WRITES, says("Written there.")])
    closing.append(rig)
    before = files(rig.folder)
    agent_id = await rig.worked()
    await rig.at_rest()
    assert files(rig.folder) == before
    assert not rig.of(FilesChanged)
    (report,) = rig.notes_to(rig.agent_id, "report")
    assert "under Changes" in report
    (result,) = await rig.kept()
    assert (result.made.agent_id, result.applied) == (agent_id, "")
    assert [file.path for file in result.made.files] == ["beds.txt", "far.txt"]
    scope = UndoScope(rig.session_id, set_id=result.made.id, path="beds.txt")
    diff = await rig.engine.change_diff(scope)
    assert isinstance(diff, DiffDisplay)
    assert "-thirteen" in diff.patch
    assert "+fourteen" in diff.patch
    (judged,) = await rig.engine.judged_results(rig.session_id)
    assert judged.is_plain
    plan = await rig.engine.plan_result(rig.session_id, judged.id)
    report = await rig.engine.apply_result(rig.session_id, judged.id, {}, plan)
    assert files(rig.folder) == before | {"far.txt": b"far\n", "beds.txt": b"fourteen\n"}
    (told,) = rig.of(FilesChanged)
    assert (told.agent_id, told.changes.kind, told.changes.result) == (agent_id, "tool", judged.id)
    assert told.changes.message_id is not None, "an undo of the message takes it back as well"
    await rig.engine.undo(UndoScope(rig.session_id, agent_id=agent_id), {})
    assert files(rig.folder) == before
    assert [one.applied for one in await rig.kept()] == [""]


async def test_all_that_fit_are_applied_at_once_and_the_agent_that_was_reported_to_is_told(
    tmp_path: Path, closing: list[ResultRig]
) -> None:
    read = calls(("read", {"path": "beds.txt"}))
    main = [SPAWN, WAIT, says("Thanks."), says("I see.")]
    rig = ResultRig(tmp_path, main, [read, WRITES, says("Written there.")])
    closing.append(rig)
    await rig.worked()
    await rig.at_rest()
    (report,) = await rig.engine.apply_fitting(rig.session_id)
    assert not report.kept
    assert (rig.folder / "far.txt").read_text() == "far\n"
    assert not await rig.engine.apply_fitting(rig.session_id), "once"
    await rig.run("what now?")
    said = [part for one in rig.messages_of(rig.agent_id) for part in one.parts]
    told = [one.text for one in said if isinstance(one, TextPart) and _is_notice(one)]
    assert len(told) == 1
    assert "beds.txt, far.txt" in told[0]


def _is_notice(part: TextPart) -> bool:
    return isinstance(part.origin, AppNotice)


@pytest.mark.parametrize("name", [".envrc", ".vscode/tasks.json", "AGENTS.md"])
async def test_what_runs_by_itself_or_instructs_agents_is_not_applied_unseen_with_others(
    tmp_path: Path, closing: list[ResultRig], name: str
) -> None:
    writes = calls(("write", {"path": name, "content": "evil\n"}))
    rig = ResultRig(tmp_path, [SPAWN, WAIT, says("Thanks.")], [writes, says("Written.")])
    closing.append(rig)
    agent_id = await rig.begun()
    asked = (await rig.until(ApprovalRequested, 2)).request
    rig.engine.decide(asked.id, AllowOnce())
    await rig.ended(agent_id)
    await rig.at_rest()
    (judged,) = await rig.engine.judged_results(rig.session_id)
    assert judged.fits
    assert judged.guarded == (name,)
    assert not await rig.engine.apply_fitting(rig.session_id)
    assert not (rig.folder / name).exists()
    await rig.engine.apply_result(rig.session_id, judged.id, {})
    assert (rig.folder / name).read_text() == "evil\n", "by itself, once it was looked at"


def test_every_kind_of_change_in_a_copy_comes_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    odd = "odd\nname é.txt"
    for name in ("changed.txt", "gone.txt", "run.sh", odd, "link"):
        (folder / name).write_text(f"{name} before\n")
    store, copy = GitStore(tmp_path / "store"), tmp_path / "copy"
    store.make()
    base = store.snapshot(folder)
    store.copy(base, copy)
    (copy / "changed.txt").write_bytes(b"\0\xff binary\n")
    (copy / "gone.txt").unlink()
    (copy / "run.sh").chmod(0o755)
    (copy / odd).write_text("")
    (copy / "link").unlink()
    (copy / "link").symlink_to("changed.txt")
    (copy / "new").mkdir()
    (copy / "new/a.txt").write_text("new\n")
    (copy / "big.bin").write_bytes(b"\0" * ((16 << 20) + 1))
    inner = copy / "inner"
    inner.mkdir()
    git(inner, "init", "--quiet")
    git(inner, "commit", "--quiet", "--allow-empty", "-m", "first")
    found = {one.path.decode(): one for one in store.files(base, store.tree(base, copy))}
    assert set(found) == {
        "changed.txt", "gone.txt", "run.sh", odd, "link", "new/a.txt", "big.bin"
    }  # fmt: skip
    assert found["changed.txt"].before.content == b"changed.txt before\n"
    assert found["changed.txt"].after.content == b"\0\xff binary\n"
    assert found["gone.txt"].after.kind == "absent"
    assert (found["run.sh"].before.is_executable, found["run.sh"].after.is_executable) == (
        False, True,
    )  # fmt: skip
    assert found[odd].after.content == b""
    assert (found["link"].after.kind, found["link"].after.content) == ("link", b"changed.txt")
    assert (found["big.bin"].after.size, found["big.bin"].after.content) == ((16 << 20) + 1, None)
