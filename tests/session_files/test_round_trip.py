"""Export, import, export: the same file; and a session like any other, under ids of its own."""

from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.core.agents import AgentSpec
from desktop_agent.core.events import (
    AgentEnded,
    AgentSpawned,
    BranchStarted,
    ListChanged,
    MessageAdded,
    TurnEnded,
)
from desktop_agent.core.ids import new_message_id, new_subagent_id
from desktop_agent.core.messages import Message, TextPart
from desktop_agent.core.tasks import Task
from desktop_agent.session_files import json_import
from desktop_agent.session_files.files import Cancelled, Job
from tests.adapters.store.turns import AGENT, SESSION, assistant, info, turn, user
from tests.session_files.sessions import CHILD, FOLDER, exported, rich, taken_in

_texts = st.text(max_size=60)
_steps = st.lists(
    st.tuples(
        st.sampled_from(["turn", "say", "branch", "switch", "tasks", "child"]),
        st.integers(0, 7),
        _texts,
    ),
    max_size=8,
)


@settings(max_examples=25, deadline=None)
@given(_steps)
def test_an_export_that_was_imported_exports_the_same(steps: list[tuple[str, int, str]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "sessions.db")
        with closing(SqliteStore(path)) as store:
            store.save_session(info())
            store.record(SESSION, *turn(0))
            for number, (kind, place, text) in enumerate(steps, 1):
                _do(store, kind, place, text, number)
        first = exported(path)
        file = Path(directory, "session.json")
        file.write_text(first, "utf-8")
        with closing(SqliteStore(path)) as store:
            new = taken_in(store, file)
            old_points, new_points = store.branch_points(SESSION), store.branch_points(new)
            assert [(p.place, p.heads) for p in new_points[0]] == [
                (p.place, p.heads) for p in old_points[0]
            ]
        assert exported(path, session=new) == first


def _do(store: SqliteStore, kind: str, place: int, text: str, number: int) -> None:
    said = [
        event.message.id
        for event in store.page(SESSION, None, 10_000, AGENT).events
        if isinstance(event, MessageAdded) and event.message.role == "user"
    ]
    match kind:
        case "turn":
            store.record(SESSION, *turn(number))
        case "say":
            store.record(SESSION, user(text), assistant(text), TurnEnded(AGENT, "finished"))
        case "branch":
            before = said[place % len(said)]
            store.begin_branch(SESSION, before, BranchStarted(AGENT, before), user(text))
        case "switch":
            heads = [head for p in store.branch_points(SESSION)[0] for head in p.heads]
            if heads:
                store.switch_branch(SESSION, heads[place % len(heads)])
        case "tasks":
            tasks = tuple(Task(one, f"{one} {text}") for one in range(1, place + 1))
            revision = store.task_states(SESSION)
            now = revision[AGENT].revision if AGENT in revision else 0
            store.record(SESSION, ListChanged(AGENT, now + 1, tasks, 9))
        case _:
            child = new_subagent_id()
            spoken = Message(new_message_id(), "assistant", (TextPart(f"{text} {child}"),))
            spec = AgentSpec(AGENT, text, text, 1, FOLDER)
            events = (AgentSpawned(child, spec), MessageAdded(child, spoken))
            store.record(SESSION, *events, AgentEnded(child, "completed", text))


def test_what_is_imported_has_ids_of_its_own_also_where_a_model_reads_them(tmp_path: Path) -> None:
    path = rich(tmp_path / "sessions.db")
    file = tmp_path / "session.json"
    file.write_text(exported(path), "utf-8")
    with closing(SqliteStore(path)) as store:
        new = taken_in(store, file)
        old_agents = {one.agent_id: one for one in store.load_agents(SESSION)}
        new_agents = {one.agent_id: one for one in store.load_agents(new)}
        assert not old_agents.keys() & new_agents.keys()
        (child,) = (one for one in new_agents.values() if one.spec is not None)
        main = next(one for one in new_agents.values() if one.spec is None)
        said = " ".join(message.text for message in main.history)
        assert child.agent_id in said
        assert CHILD not in said
        old_ids = {message.id for one in old_agents.values() for message in one.history}
        assert not old_ids & {message.id for one in new_agents.values() for message in one.history}
        assert [hit.session_id for hit in store.search("Draw the", 10).hits].count(new) == 1


def test_the_other_branch_is_in_the_file_and_can_be_switched_to(tmp_path: Path) -> None:
    path = rich(tmp_path / "sessions.db")
    file = tmp_path / "session.json"
    file.write_text(exported(path), "utf-8")
    with closing(SqliteStore(path)) as store:
        new = taken_in(store, file)
        ((point,), _) = store.branch_points(new)
        store.switch_branch(new, point.heads[0])
        shown = store.page(new, None, 100).events
        texts = [event.message.text for event in shown if isinstance(event, MessageAdded)]
        assert "The old answer" in texts


def test_an_import_tells_how_far_it_is_and_can_be_given_up_while_it_reads(tmp_path: Path) -> None:
    """A large file takes long before the first event of it is written."""
    file, heard = tmp_path / "session.json", list[float]()
    file.write_text(exported(rich(tmp_path / "sessions.db")))
    json_import.read(file, FOLDER, heard.append)
    assert len(heard) > 5
    assert heard == sorted(set(heard))
    job = Job()
    json_import.read(file, FOLDER, job.check)
    assert 0 < job.share < 1
    job.is_cancelled = True
    with pytest.raises(Cancelled):
        json_import.read(file, FOLDER, job.check)
