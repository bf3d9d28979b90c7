"""What fills the context, as the window is told; and what is known of it after a restart."""

from __future__ import annotations

from pathlib import Path

from desktop_agent.core.events import TurnEnded
from desktop_agent.core.ids import new_note_id
from desktop_agent.core.messages import TextPart
from desktop_agent.core.notes import Note
from desktop_agent.core.parts.origins import AttachedFile
from desktop_agent.core.tool import Access
from tests.engine.context.test_compaction import FIRST, SKILL, dumps, known, learn
from tests.engine.context.window_rig import LongRig, WindowModel, dump, tokens_of
from tests.engine.rig import tool
from tests.helpers.scripted import calls, says


async def test_the_parts_of_a_request_add_up_to_what_the_provider_counted(tmp_path: Path) -> None:
    model = WindowModel(100_000, *dumps(3), says("Painted."))
    rig = LongRig(tmp_path, model, describe_model=known(100_000))
    await rig.run(FIRST)
    use = await rig.engine.context_use(rig.agent_id)
    counted = tokens_of(model.requests[-1])
    assert use.input_tokens == counted
    assert 0 <= use.total - counted < 100  # the answer came since
    assert (use.window, use.source) == (100_000, "known")
    assert use.messages > use.tools > 0
    assert use.system > 0
    assert use.files == use.skills == 0
    assert use.can_compact
    await rig.end()


async def test_files_and_skills_are_told_apart_from_what_was_said(tmp_path: Path) -> None:
    script = [calls(("learn", {})), calls(("open", {"path": "a.txt", "size": 9_000})), says("Ok.")]
    tools = [tool("learn", learn, access=Access.INTERNAL), tool("open", dump)]
    rig = LongRig(tmp_path, WindowModel(100_000, *script), tools=tools)
    await rig.run(FIRST)
    before = await rig.engine.context_use(rig.agent_id)
    assert before.skills >= len(SKILL) // 4
    assert before.files > 2_000
    file = TextPart("x" * 8_000, AttachedFile("b.txt"))
    note = Note(new_note_id(), "And this.", attachments=(file,), created_at=1.0)
    rig.engine.send(rig.agent_id, note)
    await rig.until(TurnEnded, 2)
    after = await rig.engine.context_use(rig.agent_id)
    assert after.files - before.files > 1_500
    assert after.skills == before.skills
    await rig.end()


async def test_asking_what_fills_the_context_changes_nothing(tmp_path: Path) -> None:
    rig = LongRig(tmp_path, WindowModel(100_000, *dumps(1), says("Painted.")))
    await rig.run(FIRST)
    history, told = rig.history, len(rig.events)
    assert await rig.engine.context_use(rig.agent_id) == await rig.engine.context_use(rig.agent_id)
    assert (rig.history, len(rig.events)) == (history, told)
    await rig.end()


async def test_how_the_provider_counts_is_known_after_a_restart_before_the_first_answer(
    tmp_path: Path,
) -> None:
    rig = LongRig(tmp_path, WindowModel(100_000, *dumps(4), says("Painted.")))
    await rig.run(FIRST)
    before = (await rig.engine.context_use(rig.agent_id)).total
    await rig.end()
    again = LongRig(tmp_path, WindowModel(100_000))
    again.engine.open_session(again.session_id)
    after = await again.engine.context_use(again.agent_id)
    assert abs(after.total - before) <= before // 20
    assert (after.input_tokens, after.cached_tokens) == (None, None)
    await again.end()


async def test_a_new_session_with_the_same_model_begins_with_what_was_learned_of_it(
    tmp_path: Path,
) -> None:
    # The first line of a request is 4 characters a token here, and 3 in an estimate.
    rig = LongRig(tmp_path, WindowModel(100_000, *dumps(4), says("Painted.")))
    await rig.run(FIRST)
    info = rig.listed.sessions[0]
    assert info.calibration.model == info.model
    assert 0.5 < info.calibration.factor < 1.0
    await rig.end()
