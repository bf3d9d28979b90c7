"""Random work over a tree of agents: nothing hangs, nothing is lost, all comes to one end."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from desktop_agent.core.events import (
    AgentEnded,
    AgentEvent,
    AgentSpawned,
    ApprovalRequested,
    ApprovalResolved,
    CommandRefused,
    EngineFailed,
    MessageAdded,
    NoteDelivered,
    NoteQueued,
    NoteReturned,
    NoteTaken,
    QuestionAnswered,
    QuestionAsked,
    SideCallEnded,
    StepStarted,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from desktop_agent.core.ids import AgentId
from desktop_agent.core.messages import open_calls
from desktop_agent.engine.agent.lifecycle import ENDS, Phase
from desktop_agent.engine.tree import budgets
from tests.engine.tree.random_tree import RandomRig, Tape
from tests.helpers.patience import HANG_S
from tests.helpers.scripted import MemoryStore

TOKENS_A_STEP = 15  # as scripted answers say
# Long ones make whole stories; zeros at their end are the simplest, as if they were shorter.
TAPES = st.lists(st.integers(0, 839), min_size=120, max_size=300)


@settings(max_examples=100)
@given(TAPES, TAPES)
def test_whatever_happens_in_a_tree_nothing_is_lost_and_nothing_hangs(
    model: list[int], person: list[int]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        rig = asyncio.run(story(Path(folder), model, person))
    assert rig.random_model.overdrawn == []


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks processes up in /proc")
@settings(max_examples=20)
@given(TAPES, TAPES)
def test_whatever_happens_no_command_of_a_tree_outlives_it(
    model: list[int], person: list[int]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(story(Path(folder), model, person, has_shell=True))
        assert processes_in(folder) == []


@settings(max_examples=40)
@given(TAPES, TAPES, st.integers(0, 10_000))
def test_killed_at_any_event_a_tree_goes_on_without_losing_or_repeating_a_note(
    model: list[int], person: list[int], moment: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        rig = asyncio.run(killed_story(Path(folder), model, person, moment))
    assert failures(rig) == []


async def story(
    folder: Path, model: list[int], person: list[int], *, has_shell: bool = False
) -> RandomRig:
    """Play to the end and check what came of it."""
    before = asyncio.all_tasks()
    rig = RandomRig(folder, Tape(model), Tape(person), has_shell=has_shell)
    rig.send("begin")
    try:
        await played(rig)
        check_turns(rig)
        rig.engine.stop(rig.agent_id)
    finally:
        await rig.engine.close()
    check_story(rig)
    ours = {task for task in asyncio.all_tasks() - before if task not in rig.wakeups}
    assert not ours, ours
    return rig


async def killed_story(folder: Path, model: list[int], person: list[int], moment: int) -> RandomRig:
    """Play, take the disk as it was at some event, and let a new engine go on from there."""
    first = await story(folder, model, person)
    events = first.store.events[first.session_id]
    store = MemoryStore()
    store.infos = {
        key: msgspec.structs.replace(info, status="running")
        for key, info in first.store.infos.items()
    }
    store.events[first.session_id] = list(events[: 1 + moment % len(events)])
    rig = RandomRig(folder, Tape(()), Tape(()), store=store)
    rig.random_model.last_steps |= first.random_model.last_steps
    rig.engine.open_session(rig.session_id)
    rig.engine.resume(rig.agent_id)
    await played(rig)
    await rig.engine.close()
    check_story(rig)
    return rig


async def played(rig: RandomRig) -> None:
    try:
        await rig.settle(HANG_S)
    except TimeoutError:
        pytest.fail(f"the tree hangs: {standing(rig)}")


def standing(rig: RandomRig) -> list[str]:
    """How each agent stands, for the message of a failure."""
    return [
        f"{a.id} {rig.tree.status(a)} end={a.end is not None} notes={len(a.inbox)} "
        f"waking={a.inbox.is_waking} runs={a.is_running} paused={a.pace.is_paused}"
        for a in rig.tree.all()
    ]


def check_turns(rig: RandomRig) -> None:
    assert len(rig.of(TurnStarted)) == len(rig.of(TurnEnded))


def check_story(rig: RandomRig) -> None:
    """Check what is on disk: it is what was told, and what the next start has."""
    assert failures(rig) == []
    check_lives(rig)
    check_budgets(rig)
    events = rig.store.events[rig.session_id]
    check_ends(events)
    check_asks(events)
    main = rig.agent(rig.agent_id)
    kept = {note.id for note in (*main.inbox.waiting, *main.inbox._undelivered)}
    for agent_id in {event.agent_id for event in events}:
        own = [event for event in events if event.agent_id == agent_id]
        # A main agent that was stopped keeps what waits for the next message.
        check_notes(own, kept if agent_id == rig.agent_id else set())
        assert not open_calls([e.message for e in own if isinstance(e, MessageAdded)])


def failures(rig: RandomRig) -> list[str]:
    """Defects, and commands that were refused, but for edits of what had been read or came back."""
    gone = {event.note_id for event in (*rig.of(NoteTaken), *rig.of(NoteReturned))}
    refused = (
        event
        for event in rig.of(CommandRefused)
        if event.command != "edit_note" or event.about not in gone
    )
    return [event.message for event in (*rig.of(EngineFailed), *refused)]


def check_lives(rig: RandomRig) -> None:
    """Every agent is where its life's table says: no turn, and ended if its end was told."""
    for agent in rig.tree.all():
        life = agent.life
        assert not life.is_running
        assert life.is_ended == (agent.end is not None) == life.over.is_set()
        assert life.phase is (ENDS[agent.end.status][1] if agent.end is not None else Phase.IDLE)
        assert agent.end is None or agent.status()[0] == agent.end.status
        assert life.outcome is None


def check_budgets(rig: RandomRig) -> None:
    """No agent and those below it used more than it was given, but for a last step each.

    A last step that the person stopped to say something else is taken again.
    """
    # On disk are those from before a restart too, which is charged for them.
    events = rig.store.events[rig.session_id]
    asides = [e for e in events if isinstance(e, SideCallEnded)]
    stopped = stopped_last_steps(rig)
    for agent in rig.tree.all():
        gone, limits = budgets.spent(rig.tree, agent), agent.meter.budget
        below = {one.id for one in rig.tree.subtree(agent)}
        last_steps = len(below) + sum(stopped[one] for one in below)
        # What a model is asked aside, or was stopped in, is charged, and asks no budget.
        calls = [e.usage for e in asides if e.agent_id in below]
        aside = sum((one.input_tokens or 0) + (one.output_tokens or 0) for one in calls)
        if limits.steps is not None:
            assert gone.steps <= limits.steps + last_steps
        if limits.tokens is not None:
            assert gone.tokens <= limits.tokens + aside + last_steps * TOKENS_A_STEP


def stopped_last_steps(rig: RandomRig) -> Counter[AgentId]:
    """Return how many last steps of each agent were stopped."""
    stopped: Counter[AgentId] = Counter()
    steps: dict[AgentId, int] = {}
    for event in rig.store.events[rig.session_id]:
        if isinstance(event, StepStarted):
            steps[event.agent_id] = event.step
        elif isinstance(event, TurnEnded) and event.reason == "cancelled":
            one = event.agent_id
            stopped[one] += (one, steps.get(one, 0)) in rig.random_model.last_steps
    return stopped


def check_ends(events: Sequence[AgentEvent]) -> None:
    """Every subagent ends exactly once, does nothing after, and its parent is told of it."""
    spawned = Counter(e.agent_id for e in events if isinstance(e, AgentSpawned))
    assert Counter(e.agent_id for e in events if isinstance(e, AgentEnded)) == spawned
    over: set[AgentId] = set()
    for event in events:
        if isinstance(event, AgentEnded):
            over.add(event.agent_id)
        elif isinstance(event, TurnStarted | StepStarted | ToolStarted | MessageAdded):
            assert event.agent_id not in over, event


def check_asks(events: Sequence[AgentEvent]) -> None:
    asked = Counter(e.request.id for e in events if isinstance(e, ApprovalRequested))
    assert Counter(e.request_id for e in events if isinstance(e, ApprovalResolved)) == asked
    questions = Counter(e.question.id for e in events if isinstance(e, QuestionAsked))
    answers = Counter(e.question_id for e in events if isinstance(e, QuestionAnswered))
    assert answers == questions


def check_notes(own: Sequence[AgentEvent], kept: set[str]) -> None:
    """Every note of one agent ends delivered or returned, once, and is in one message."""
    queued = {e.note.id for e in own if isinstance(e, NoteQueued)}
    ends = Counter(e.note_id for e in own if isinstance(e, NoteDelivered | NoteReturned))
    assert all(count == 1 for count in ends.values()), ends
    assert set(ends) <= queued
    assert queued - set(ends) <= kept, queued - set(ends)
    said = Counter(
        note_id for e in own if isinstance(e, MessageAdded) for note_id in e.message.note_ids
    )
    assert all(count == 1 for count in said.values()), said
    assert {e.note_id for e in own if isinstance(e, NoteDelivered)} <= set(said)


def processes_in(folder: str) -> list[str]:
    """Return the processes whose working directory is the folder."""
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str((entry / "cwd").readlink()).startswith(folder):
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
                found += [entry.name] if state not in "ZX" else []
        except OSError:
            continue
    return found
