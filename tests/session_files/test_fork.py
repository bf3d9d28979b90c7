"""`desktop-agent sessions fork`: another session goes on from a message; the first one stays."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from desktop_agent import app, paths
from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.compose import SESSIONS_FILE
from desktop_agent.core.agents import AgentSpec
from desktop_agent.core.changes import ChangeSet
from desktop_agent.core.events import (
    AgentSpawned,
    BranchStarted,
    FilesChanged,
    ListChanged,
    MessageAdded,
    NoteQueued,
    NoteTaken,
    StepEnded,
)
from desktop_agent.core.ids import AgentId, MessageId, SessionId, new_message_id, new_note_id
from desktop_agent.core.messages import Message, TextPart
from desktop_agent.core.notes import Note
from desktop_agent.core.tasks import Task
from desktop_agent.core.usage import Usage
from tests.adapters.store.turns import AGENT, SESSION, info

CHILD = AgentId("sa_0a0b0c0d")
FIRST, SECOND, OTHER = (new_message_id() for _ in range(3))


def said(message_id: MessageId, text: str, note: Note | None = None) -> MessageAdded:
    notes = (note.id,) if note is not None else ()
    return MessageAdded(AGENT, Message(message_id, "user", (TextPart(text),), "user", notes))


def answered(text: str) -> tuple[MessageAdded, StepEnded]:
    message = Message(new_message_id(), "assistant", (TextPart(text),))
    return MessageAdded(AGENT, message), StepEnded(AGENT, 1, Usage(10, 5, cost=0.5), model="m")


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A session of two messages, the second one sent again with other words on a branch."""
    monkeypatch.setenv("DESKTOP_AGENT_HOME", str(tmp_path / "home"))
    path = paths.data_dir() / SESSIONS_FILE
    note = Note(new_note_id(), "the second")
    with closing(SqliteStore(path)) as store:
        store.save_session(info())
        store.record(SESSION, said(FIRST, "the first"), *answered("one"))
        spec = AgentSpec(AGENT, "Look", "Look around", 1, info().workspace)
        store.record(SESSION, AgentSpawned(CHILD, spec))
        store.record(SESSION, FilesChanged(AGENT, ChangeSet("cs_1", "tool", AGENT)))
        store.record(SESSION, ListChanged(AGENT, 1, (Task(1, "Before"),), 2))
        store.record(SESSION, NoteQueued(AGENT, note), NoteTaken(AGENT, note.id, SECOND))
        store.record(SESSION, said(SECOND, "the second", note), *answered("two"))
        store.record(SESSION, ListChanged(AGENT, 2, (), 2))
        store.begin_branch(SESSION, SECOND, BranchStarted(AGENT, SECOND))
        store.record(SESSION, said(OTHER, "the other second"), *answered("other two"))
    return path


def fork(capfd: pytest.CaptureFixture[str], *arguments: str) -> SessionId:
    assert app.main(["sessions", "fork", SESSION, *arguments, "--json"]) == 0
    return SessionId(json.loads(capfd.readouterr().out)["session"])


def texts(store: SqliteStore, session: SessionId) -> list[str]:
    return [message.text for message in store.load_agents(session)[0].history]


def test_a_fork_goes_on_from_the_end_of_the_branch_that_is_shown(
    path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    new = fork(capfd)
    with closing(SqliteStore(path)) as store:
        forked, was = store.load_agents(new), store.load_agents(SESSION)
        assert texts(store, new) == ["the first", "one", "the other second", "other two"]
        assert texts(store, SESSION) == texts(store, new)
        names = {one.id: one.title for one in store.sessions()}
        assert names[new] == f"{names[SESSION]} (fork)"
        # Nothing of one is the other's.
        ids = [{m.id for one in records for m in one.history} for records in (forked, was)]
        assert not ids[0] & ids[1]
        assert not {one.agent_id for one in forked} & {one.agent_id for one in was}


def test_a_fork_at_a_message_has_what_was_said_before_it_and_the_tasks_of_then(
    path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    new = fork(capfd, "--at", OTHER)
    with closing(SqliteStore(path)) as store:
        main, child = store.load_agents(new)
        assert texts(store, new) == ["the first", "one"]
        assert not main.unconfirmed
        # A subagent that works on in the other session has ended in this one, and is told of.
        assert [(note.kind, note.sender) for note in main.inbox] == [("report", child.agent_id)]
        assert child.end is not None
        assert child.end.status == "stopped"
        assert [task.subject for task in store.task_states(new)[main.agent_id].tasks] == ["Before"]
        (row,) = (one for one in store.sessions() if one.id == new)
        assert row.usage.cost == 0.5
        # Files are taken back where they were changed.
        assert not [e for e in store.page(new, None, 99).events if isinstance(e, FilesChanged)]
        # It can be branched, searched and forked like any other.
        first = main.history[0].id
        store.begin_branch(new, first, BranchStarted(main.agent_id, first))
        assert len(store.search("first", 9).hits) == 2


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([SESSION, "--at", SECOND], 1, "no message of the user's"),
        ([SESSION, "--at", ""], 2, "--at"),
        (["nobody"], 1, "there is no session nobody"),
        ([], 2, "ID"),
    ],
)
def test_what_can_not_be_forked_is_one_sentence_and_leaves_nothing(
    path: Path, capfd: pytest.CaptureFixture[str], arguments: list[str], code: int, words: str
) -> None:
    assert app.main(["sessions", "fork", *arguments]) == code
    out, err = capfd.readouterr()
    assert words in err
    assert len(err.splitlines()) == 1
    assert not out
    with closing(SqliteStore(path)) as store:
        assert len(store.sessions()) == 1
