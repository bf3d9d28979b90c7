"""Files and branches: switching leaves them alone; they come back as they were at a message."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.core.events import TurnEnded
from desktop_agent.core.ids import new_note_id
from desktop_agent.core.notes import Note
from tests.helpers.scripted import calls, says
from tests.undo.undo_rig import UndoRig


async def test_files_of_another_branch_come_back_as_they_were_at_a_message(tmp_path: Path) -> None:
    write = ("write", {"path": "a.txt", "content": "blue\n"})
    with closing(SqliteStore(tmp_path / "s.sqlite")) as store:
        script = [says("one"), says("two"), calls(write), says("other two")]
        rig = UndoRig(tmp_path, script, store=store)
        for text in ("first", "second"):
            await rig.run(text)
            await rig.at_rest()
        second, file = rig.user_messages[1], rig.folder / "a.txt"
        rig.engine.begin_branch(rig.agent_id, second, Note(new_note_id(), "blue"))
        await rig.until(TurnEnded, 3)
        await rig.at_rest()
        assert file.read_text() == "blue\n"
        rig.engine.open_session(rig.session_id)
        rig.engine.switch_branch(rig.session_id, rig.opened.branches[0].heads[0])
        assert file.exists(), "switching leaves files as they are"
        plan = await rig.engine.plan_undo(rig.scope(to_message=second))
        assert [one.path for one in plan.files] == ["a.txt"]
        await rig.undo(to_message=second)
        assert not file.exists()
        await rig.engine.close()
