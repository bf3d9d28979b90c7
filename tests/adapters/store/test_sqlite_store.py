"""What the store gives back after anything that may happen to it."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from desktop_agent.adapters.files.file_lock import StoreLocked
from desktop_agent.adapters.store import schema
from desktop_agent.adapters.store import store as sqlite_store
from desktop_agent.adapters.store.reader import SessionReader
from desktop_agent.adapters.store.schema import StoreTooNew
from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.core.approvals import AllowAlways, Deny, Edited, Rule
from desktop_agent.core.events import (
    AgentEvent,
    ApprovalResolved,
    MessageAdded,
    MessageStarted,
    NoteDelivered,
    NoteQueued,
    NoteReturned,
    NoteTaken,
    PartDelta,
    StepStarted,
    ToolEnded,
    ToolOutput,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from desktop_agent.core.ids import (
    AgentId,
    MessageId,
    RequestId,
    SessionId,
    new_message_id,
    new_note_id,
)
from desktop_agent.core.messages import ImagePart, Message, TextPart, ThinkingPart, ToolResult
from desktop_agent.core.messages import ToolCall as Call
from desktop_agent.core.notes import Note
from desktop_agent.engine.base.ports import StoreError
from tests.adapters.store.turns import AGENT, SESSION, assistant, info, turn, user
from tests.helpers.patience import HANG_S
from tests.helpers.stores import abandon, connection_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(path)) as opened:
        opened.save_session(info())
        yield opened


def reopened(store: SqliteStore, path: Path) -> SqliteStore:
    store.close()
    return SqliteStore(path)


def recorded(store: SqliteStore, *events: AgentEvent) -> None:
    for event in events:
        store.record(SESSION, event)


def kinds(events: tuple[AgentEvent, ...]) -> list[str]:
    return [type(event).__name__ for event in events]


# Events


def test_every_kind_of_event_comes_back_equal(store: SqliteStore, path: Path) -> None:
    events = [event for event in turn(1) if not isinstance(event, PartDelta | ToolOutput)]
    rule = Rule("shell", "pytest", "folder", "/tmp/reports")
    events += [
        ApprovalResolved(AGENT, RequestId("rq_1"), AllowAlways(rule)),
        ApprovalResolved(AGENT, RequestId("rq_2"), Edited({"command": "ls", "n": [1, None]})),
        ApprovalResolved(AGENT, RequestId("rq_3"), Deny("no \N{ZERO WIDTH SPACE}", by="user")),
        user("picture: \u0000 \U0001f600"),
        MessageAdded(
            AGENT,
            Message(new_message_id(), "user", (ImagePart("image/png", bytes(range(256))),)),
        ),
    ]
    recorded(store, *events)
    with closing(reopened(store, path)) as again:
        page = again.page(SESSION, None, 100)
    assert list(page.events) == events
    assert page.first_seq == 1


def test_older_pages_join_the_newest_without_a_gap(store: SqliteStore) -> None:
    messages = [user(f"message {number}") for number in range(25)]
    recorded(store, *messages)
    newest = store.page(SESSION, None, 10)
    middle = store.page(SESSION, newest.first_seq, 10)
    oldest = store.page(SESSION, middle.first_seq, 10)
    assert [newest.first_seq, middle.first_seq, oldest.first_seq] == [16, 6, 1]
    assert [*oldest.events, *middle.events, *newest.events] == messages
    assert store.page(SESSION, 1, 10).events == ()


def test_streamed_text_is_not_kept_twice_once_the_message_is_whole(
    store: SqliteStore, path: Path
) -> None:
    message_id = new_message_id()
    whole = MessageAdded(AGENT, Message(message_id, "assistant", (TextPart("one two"),)))
    recorded(store, PartDelta(AGENT, message_id, "text", "one "))
    store.flush_pending()
    recorded(store, PartDelta(AGENT, message_id, "text", "two"), whole)
    assert store.page(SESSION, None, 10).events == (whole,)
    with closing(reopened(store, path)) as again:
        assert again.page(SESSION, None, 10).events == (whole,)


def test_a_session_opened_while_its_model_speaks_shows_the_text_so_far(store: SqliteStore) -> None:
    message_id = new_message_id()
    started = MessageStarted(AGENT, message_id)
    recorded(store, started, PartDelta(AGENT, message_id, "thinking", "hm"))
    store.flush_pending()
    recorded(store, PartDelta(AGENT, message_id, "thinking", "m"))
    recorded(store, PartDelta(AGENT, message_id, "text", "Yes"))
    recorded(store, ToolOutput(AGENT, "call_1", "line 1\n"))
    assert store.page(SESSION, None, 10).events == (
        started,
        PartDelta(AGENT, message_id, "thinking", "hmm"),
        PartDelta(AGENT, message_id, "text", "Yes"),
        ToolOutput(AGENT, "call_1", "line 1\n"),
    )
    assert store.page(SESSION, 2, 10).events == (started,)


def test_streamed_text_survives_a_crash_as_a_partial_message(
    store: SqliteStore, path: Path
) -> None:
    message_id = new_message_id()
    recorded(store, user("hello"), TurnStarted(AGENT), MessageStarted(AGENT, message_id))
    recorded(store, PartDelta(AGENT, message_id, "thinking", "hmm"))
    recorded(store, PartDelta(AGENT, message_id, "text", "Good "))
    recorded(store, PartDelta(AGENT, message_id, "text", "mor"))
    store.flush_pending()
    recorded(store, PartDelta(AGENT, message_id, "text", "lost, less than 0.5 s old"))
    abandon(store)
    with closing(SqliteStore(path)) as again:
        assert again.was_interrupted
        newest = again.page(SESSION, None, 10).events[-1]
        (agent,) = again.load_agents(SESSION)
    assert isinstance(newest, MessageAdded)
    assert newest.is_partial
    assert newest.message.parts == (ThinkingPart("hmm"), TextPart("Good mor"))
    assert newest.message.id == message_id
    assert [message.role for message in agent.history] == ["user", "assistant"]
    assert agent.was_running


def test_text_older_than_half_a_second_is_on_disk_without_any_timer(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    store = SqliteStore(path)
    store.save_session(info())
    message_id = new_message_id()
    recorded(store, PartDelta(AGENT, message_id, "text", "old"))
    now += 0.45
    recorded(store, PartDelta(AGENT, message_id, "text", "new"))
    abandon(store)
    with closing(SqliteStore(path)) as again:
        (agent,) = again.load_agents(SESSION)
    assert agent.history[0].text == "old"


def test_live_output_survives_a_crash_and_is_replaced_by_the_result(
    store: SqliteStore, path: Path
) -> None:
    call = Call("call_1", "shell", {"command": "make"})
    recorded(store, ToolStarted(AGENT, call), ToolOutput(AGENT, call.id, "cc a.c\n"))
    recorded(store, ToolOutput(AGENT, call.id, "cc b.c\n"))
    store.flush_pending()
    abandon(store)
    with closing(SqliteStore(path)) as again:
        output = again.page(SESSION, None, 10).events[-1]
        assert output == ToolOutput(AGENT, call.id, "cc a.c\ncc b.c\n")
        recorded(again, ToolOutput(AGENT, "call_2", "more"))
        recorded(again, ToolEnded(AGENT, ToolResult("call_2", "all of it")))
        assert kinds(again.page(SESSION, None, 10).events) == [
            "ToolStarted",
            "ToolOutput",
            "ToolEnded",
        ]


def test_two_agents_may_use_the_same_call_id(store: SqliteStore) -> None:
    other = AgentId("ag_2")
    recorded(store, ToolOutput(AGENT, "call_1", "mine"), ToolOutput(other, "call_1", "yours"))
    recorded(store, ToolEnded(other, ToolResult("call_1", "done")))
    assert ToolOutput(AGENT, "call_1", "mine") in store.page(SESSION, None, 10).events


def test_text_of_an_answer_that_was_given_up_stays_in_the_transcript_only(
    store: SqliteStore,
) -> None:
    message_id = new_message_id()
    recorded(store, user("hello"), MessageStarted(AGENT, message_id))
    recorded(store, PartDelta(AGENT, message_id, "text", "Half"))
    recorded(store, TurnEnded(AGENT, "error"))
    assert kinds(store.page(SESSION, None, 10).events) == [
        "MessageAdded",
        "MessageStarted",
        "PartDelta",
        "TurnEnded",
    ]
    assert [message.role for message in store.load_agents(SESSION)[0].history] == ["user"]


def test_a_damaged_row_costs_only_itself(store: SqliteStore, path: Path) -> None:
    messages = [user(f"message {number}") for number in range(5)]
    recorded(store, *messages)
    store.close()
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("UPDATE event SET body = substr(body, 1, 20) WHERE seq = 2")
        raw.execute("UPDATE event SET body = replace(body, 'message', 'massage') WHERE seq = 4")
        raw.commit()
    with closing(SqliteStore(path)) as again:
        kept = again.page(SESSION, None, 10)
        assert list(kept.events) == [messages[0], messages[2], messages[4]]
        assert len(again.load_agents(SESSION)[0].history) == 3


@pytest.mark.parametrize("damage", ["substr(info, 2)", "X'FF'", "X''", "'text'", "7"])
def test_a_damaged_row_of_a_session_costs_no_other_session(
    store: SqliteStore, path: Path, damage: str
) -> None:
    other = info(SessionId("se_other"), "Other")
    store.save_session(other)
    connection_of(store).execute(f"UPDATE session SET info = {damage} WHERE id <> ?", (other.id,))
    with closing(reopened(store, path)) as again:
        assert again.sessions() == (other,)


def test_an_event_of_a_newer_version_is_left_out_not_fatal(store: SqliteStore, path: Path) -> None:
    recorded(store, user("before"))
    body = b'{"type":"PlanChanged","agent_id":"ag_1"}'
    crc = sqlite_store.encode(user("x"))[1]
    connection_of(store).execute(
        "INSERT INTO event (session, seq, agent, kind, body, crc, at)"
        " VALUES (1, 2, 'ag_1', 'PlanChanged', ?, ?, 0)",
        (body, crc),
    )
    with closing(reopened(store, path)) as again:
        recorded(again, user("after"))
        assert kinds(again.page(SESSION, None, 10).events) == ["MessageAdded", "MessageAdded"]


def test_events_of_a_deleted_session_do_not_bring_it_back(store: SqliteStore, path: Path) -> None:
    recorded(store, *turn(1))
    store.delete_session(SESSION)
    recorded(store, *turn(2))
    store.save_session(info())
    assert store.sessions() == ()
    assert found_by(store, "question") == []
    store.close()
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("SELECT COUNT(*) FROM event").fetchone() == (0,)
        assert raw.execute("SELECT COUNT(*) FROM words").fetchone() == (0,)


def test_deleted_words_are_gone_from_the_file(store: SqliteStore, path: Path) -> None:
    recorded(store, user("my password is Zanzibar"))
    store.delete_session(SESSION)
    store.close()
    assert b"anzibar" not in path.read_bytes()


def test_an_event_before_its_session_is_refused_loudly(store: SqliteStore) -> None:
    with pytest.raises(LookupError, match="save_session comes first"):
        store.record(SessionId("se_unknown"), user("hello"))


def test_another_thread_may_not_use_the_store(store: SqliteStore) -> None:
    raised: list[BaseException] = []

    def use() -> None:
        try:
            store.sessions()
        except sqlite3.ProgrammingError as error:
            raised.append(error)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert raised


_OPEN_WITHOUT_ROOM = """
import resource, sys
from pathlib import Path
from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.engine.base.ports import StoreError
resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
try:
    SqliteStore(Path(sys.argv[1]))
except StoreError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limits")
def test_a_disk_that_is_too_full_to_open_the_file_is_told_as_full(
    store: SqliteStore, path: Path
) -> None:
    store.close()
    command = [sys.executable, "-c", _OPEN_WITHOUT_ROOM, str(path)]
    told = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=True)
    assert told.stdout.startswith("The disk is full")


def test_a_full_disk_is_told_and_nothing_is_half_written(store: SqliteStore) -> None:
    recorded(store, user("before"))
    pages = connection_of(store).execute("PRAGMA page_count").fetchone()[0]
    connection_of(store).execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError):
        recorded(store, user("x" * 1_000_000))
    connection_of(store).execute("PRAGMA max_page_count = 1000000")
    after = user("after")
    recorded(store, after)
    assert store.page(SESSION, None, 10).events[-1] == after
    assert store.page(SESSION, None, 10).first_seq == 1
    assert [row[0] for row in connection_of(store).execute("SELECT seq FROM event")] == [1, 2]


# Agents


def test_an_agent_is_as_it_was_after_a_restart(store: SqliteStore, path: Path) -> None:
    recorded(store, *turn(0), *turn(1))
    with closing(reopened(store, path)) as again:
        assert not again.was_interrupted
        (agent,) = again.load_agents(SESSION)
    assert agent.agent_id == AGENT
    assert [message.role for message in agent.history] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ] * 2
    assert agent.step == 4
    assert (agent.inbox, agent.unconfirmed, agent.was_running) == ((), (), False)


def test_a_turn_without_an_end_was_running(store: SqliteStore) -> None:
    recorded(store, *turn(0), TurnStarted(AGENT), StepStarted(AGENT, 3))
    (agent,) = store.load_agents(SESSION)
    assert agent.was_running
    assert agent.step == 3


def test_notes_are_where_they_were_after_a_restart(store: SqliteStore, path: Path) -> None:
    notes = [Note(new_note_id(), f"note {number}") for number in range(6)]
    edited = msgspec.structs.replace(notes[1], text="edited")
    message_id = MessageId("me_1")
    recorded(
        store,
        *(NoteQueued(AGENT, note) for note in notes),
        NoteQueued(AGENT, edited),
        NoteTaken(AGENT, notes[0].id, message_id),
        NoteTaken(AGENT, notes[3].id, message_id),
        NoteDelivered(AGENT, notes[3].id, 1),
        NoteReturned(AGENT, notes[4].id, "withdrawn"),
        NoteTaken(AGENT, notes[5].id, message_id),
        NoteQueued(AGENT, notes[5]),  # the request failed before it was accepted
    )
    with closing(reopened(store, path)) as again:
        (agent,) = again.load_agents(SESSION)
    assert agent.inbox == (edited, notes[2], notes[5])
    assert agent.unconfirmed == (notes[0],)


def test_a_session_without_events_has_its_main_agent(store: SqliteStore) -> None:
    (agent,) = store.load_agents(SESSION)
    assert (agent.agent_id, agent.history) == (AGENT, ())


def test_each_agent_has_its_own_history_and_the_main_one_is_first(store: SqliteStore) -> None:
    child = AgentId("ag_child")
    message = Message(new_message_id(), "user", (TextPart("for the child"),))
    recorded(store, MessageAdded(child, message), user("for the main agent"))
    first, second = store.load_agents(SESSION)
    assert (first.agent_id, second.agent_id) == (AGENT, child)
    assert second.history == (message,)


# Sessions, search, rules


def test_sessions_come_newest_first_and_keep_their_status(store: SqliteStore, path: Path) -> None:
    old = msgspec.structs.replace(info(SessionId("se_old"), "Old", 0.5), status="interrupted")
    new = msgspec.structs.replace(info(SessionId("se_new"), "New", 9.0), is_unread=True)
    store.save_session(old)
    store.save_session(new)
    renamed = msgspec.structs.replace(info(), title="Preise", status="running")
    store.save_session(renamed)
    with closing(reopened(store, path)) as again:
        assert again.sessions() == (new, renamed, old)


def test_a_session_row_with_one_wrong_field_is_still_listed(store: SqliteStore, path: Path) -> None:
    raw = msgspec.json.decode(msgspec.json.encode(info()))
    raw |= {"status": "dreaming", "is_unread": "maybe", "colour": "blue"}
    connection_of(store).execute("UPDATE session SET info = ?", (msgspec.json.encode(raw),))
    with closing(reopened(store, path)) as again:
        assert again.sessions() == (info(),)


@pytest.fixture
def library(store: SqliteStore) -> SqliteStore:
    texts = {
        "se_a": ("Invoices", "Please compare the naïve prices in prices.csv"),
        "se_b": ("Über Preise", "Nothing to see"),
        "se_c": ("Printer", "The C++ build fails with 100%_load: 日本語の文章です"),
    }
    for number, (session_id, (title, words)) in enumerate(texts.items()):
        store.save_session(info(SessionId(session_id), title, 10.0 + number))
        store.record(SessionId(session_id), user(words))
        store.record(SessionId(session_id), assistant("Certainly, one moment."))
    return store


def found_by(store: SqliteStore, words: str) -> list[str]:
    """Return the sessions found, by title and then by messages."""
    found = store.search(words, 10)
    return list(dict.fromkeys([*found.titles, *(hit.session_id for hit in found.hits)]))


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("invoices", ["se_a"]),
        ("über", ["se_b"]),
        ("ÜBER preise", ["se_b"]),
        ("naive", ["se_a"]),
        ("compare pri", ["se_a"]),
        ("pri", ["se_c", SESSION, "se_a"]),
        ("c++", ["se_c"]),
        ("100%_load", ["se_c"]),
        ("語の文", ["se_c"]),
        ('"unbalanced AND (NEAR', []),
        ("   ", []),
        ("zebra", []),
    ],
)
def test_search_finds_words_of_titles_and_messages(
    library: SqliteStore, words: str, found: list[str]
) -> None:
    assert found_by(library, words) == found


def test_search_gives_no_more_than_asked_for(library: SqliteStore) -> None:
    found = library.search("certainly", 2)
    assert (len(found.hits), found.is_complete) == (2, False)


def test_search_works_without_a_full_text_index(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "_WORDS", "CREATE VIRTUAL TABLE words USING missing(text)")
    with closing(SqliteStore(path)) as store:
        store.save_session(info())
        recorded(store, user("compare the prices"))
        assert found_by(store, "THE PRI") == [SESSION]
        store.delete_session(SESSION)
        assert found_by(store, "prices") == []


def test_rules_are_replaced_as_a_whole(store: SqliteStore, path: Path) -> None:
    rules = (Rule("shell", "pytest", "folder", "/a", uses=3), Rule("write", "*.md", is_deny=True))
    store.save_rules((Rule("read", ""),))
    store.save_rules(rules)
    with closing(reopened(store, path)) as again:
        assert again.rules() == rules


def test_a_damaged_rule_keeps_nobody_from_their_sessions(store: SqliteStore, path: Path) -> None:
    store.save_rules((Rule("read", ""), Rule("shell", "pytest")))
    connection_of(store).execute("UPDATE rule SET body = substr(body, 2) WHERE position = 0")
    with closing(reopened(store, path)) as again:
        assert again.rules() == (Rule("shell", "pytest"),)


def test_what_a_newer_version_wrote_outlives_a_change_by_this_one(store: SqliteStore) -> None:
    rule, newer = Rule("read", ""), b'{"type":"Rule","tool":"read","pattern":"x","scope":"week"}'
    store.save_rules((rule, Rule("shell", "pytest")))
    connection = connection_of(store)
    connection.execute(
        "UPDATE rule SET body = CAST(json_set(body, '$.until', 7) AS BLOB) WHERE position = 0"
    )
    connection.execute("UPDATE rule SET body = ? WHERE position = 1", (newer,))
    connection.execute("UPDATE session SET info = CAST(json_set(info, '$.colour', 'blue') AS BLOB)")
    store.save_rules((msgspec.structs.replace(rule, uses=1),))
    store.save_session(msgspec.structs.replace(info(), title="Preise"))
    rows = [row[0] for row in connection.execute("SELECT body FROM rule ORDER BY position")]
    assert [msgspec.json.decode(rows[0])[name] for name in ("until", "uses")] == [7, 1]
    assert rows[1:] == [newer]
    row = connection.execute("SELECT info FROM session").fetchone()[0]
    assert [msgspec.json.decode(row)[name] for name in ("colour", "title")] == ["blue", "Preise"]


# The file


def test_only_this_user_can_read_the_file(store: SqliteStore, path: Path) -> None:
    recorded(store, user("private"))
    modes = {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert modes == {0o600}


def test_a_second_copy_of_the_app_is_told_who_has_the_file(store: SqliteStore, path: Path) -> None:
    script = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from desktop_agent.adapters.files.file_lock import StoreLocked
        from desktop_agent.adapters.store.store import SqliteStore
        try:
            SqliteStore(Path(sys.argv[1]))
        except StoreLocked as error:
            print(error.pid)
        """
    )
    command = [sys.executable, "-c", script, str(path)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert told.strip() == str(os.getpid())
    with pytest.raises(StoreLocked):
        SqliteStore(path)
    recorded(store, user("still the only writer"))
    store.close()
    SqliteStore(path).close()


def test_a_lock_that_a_killed_apps_child_still_holds_is_waited_for(path: Path) -> None:
    script = "import fcntl, sys; fcntl.flock(file := open(sys.argv[1], 'w'), 2); print(); input()"
    command = [sys.executable, "-c", script, f"{path}.lock"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as holder:
        holder.stdout.readline()
        holder.stdin.write("\n")
        holder.stdin.flush()
        store = SqliteStore(path)
        assert store.set_aside is None
        store.close()


def _damage(path: Path, kind: str) -> None:
    body = path.read_bytes()
    if kind == "not a database":
        path.write_bytes(b"hello, this is not a database at all" * 100)
    elif kind == "cut in half":
        path.write_bytes(body[: len(body) // 2])
    else:
        path.write_bytes(body[:4096] + b"\xff" * 8192 + body[4096 + 8192 :])


@pytest.mark.parametrize("kind", ["not a database", "cut in half", "overwritten inside"])
def test_a_damaged_file_is_kept_aside_and_a_new_one_begun(
    store: SqliteStore, path: Path, kind: str
) -> None:
    for number in range(20):
        recorded(store, *turn(number))
    store.close()
    _damage(path, kind)
    damaged = path.read_bytes()
    path.with_name(f"{path.name}.lock").write_text("999999")  # as after a crash
    with closing(SqliteStore(path)) as again:
        assert again.set_aside is not None
        assert again.set_aside.read_bytes() == damaged
        assert "damaged-20" in again.set_aside.name
        again.save_session(info())
        newest = user("a new beginning")
        recorded(again, newest)
        assert again.page(SESSION, None, 10).events[-1] == newest
    with closing(SqliteStore(path)) as again:
        assert again.set_aside is None


def test_damage_that_is_no_text_costs_neither_the_start_nor_a_session(
    store: SqliteStore, path: Path
) -> None:
    recorded(store, *turn(1))
    raw = connection_of(store)
    raw.execute("UPDATE session SET title = CAST(X'50FF' AS TEXT)")
    # SQLite quotes this when it reads the tables.
    raw.execute("PRAGMA writable_schema = ON")
    damaged = b"CREATE INDEX session_by_time ON session (upd\xffted_at DESC)"
    raw.execute(
        "UPDATE sqlite_master SET sql = CAST(? AS TEXT) WHERE name = ?",
        (damaged, "session_by_time"),
    )
    store.close()
    with pytest.raises(StoreError), SessionReader(path) as reader:
        reader.sessions()
    with closing(SqliteStore(path)) as again:
        assert again.set_aside is not None
        assert again.sessions() == (info(),)
        assert len(again.load_agents(SESSION)[0].history) > 1


def test_a_damaged_page_costs_what_was_on_it_and_no_other_session(
    store: SqliteStore, path: Path
) -> None:
    for session in range(8):
        store.save_session(info(SessionId(f"se_{session}"), f"Title {session}", session))
        for number in range(10):
            for event in turn(100 * session + number):
                store.record(SessionId(f"se_{session}"), event)
    store.save_rules((Rule("shell", "pytest"),))
    store.close()
    body = bytearray(path.read_bytes())
    start = body.index(b"output 305") // 4096 * 4096
    body[start : start + 4096] = b"\xff" * 4096
    path.write_bytes(body)
    path.with_name(f"{path.name}.lock").write_text("999999")  # as after a crash
    with closing(SqliteStore(path)) as again:
        assert again.set_aside is not None
        assert len(again.sessions()) == 9
        assert again.rules() == (Rule("shell", "pytest"),)
        lengths = [
            len(again.load_agents(SessionId(f"se_{session}"))[0].history) for session in range(8)
        ]
        assert lengths.count(40) >= 6
        assert sum(lengths) > 300
        assert found_by(again, "question 705") == ["se_7"]
        again.record(SessionId("se_3"), user("going on"))


@pytest.mark.skipif(sys.platform != "linux", reason="no start of the system is named")
@pytest.mark.parametrize("end", ["of the app", "of the system"])
def test_a_large_file_is_looked_through_after_the_system_ended_not_the_app_alone(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    for number in range(20):
        recorded(store, *turn(number))
    path.with_name("while-open").write_bytes(path.with_name(f"{path.name}.lock").read_bytes())
    store.close()
    body = bytearray(path.read_bytes())
    start = body.index(b"output 3") // 4096 * 4096
    body[start : start + 4096] = b"\xff" * 4096
    path.write_bytes(body)
    held = path.with_name("while-open").read_text()
    held = held if end == "of the app" else held[:-1] + ("0" if held[-1] != "0" else "1")
    path.with_name(f"{path.name}.lock").write_text(held)
    monkeypatch.setattr(sqlite_store, "_CHECKED_AT_EACH", 0)
    with closing(SqliteStore(path)) as again:
        assert again.was_interrupted
        assert (again.set_aside is not None) == (end == "of the system")


def test_a_healthy_file_is_not_set_aside(store: SqliteStore, path: Path) -> None:
    with closing(reopened(store, path)) as again:
        assert again.set_aside is None
        assert not again.was_interrupted


def test_a_file_of_a_newer_version_is_left_untouched(store: SqliteStore, path: Path) -> None:
    connection_of(store).execute("PRAGMA user_version = 99")
    store.close()
    before = path.read_bytes()
    with pytest.raises(StoreTooNew):
        SqliteStore(path)
    assert path.read_bytes() == before
    assert list(path.parent.glob("*damaged*")) == []


def test_a_migration_backs_the_file_up_first(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded(store, *turn(1))
    store.close()
    scripts = (*schema.MIGRATIONS, "ALTER TABLE session ADD COLUMN unheard_of INTEGER")
    monkeypatch.setattr(schema, "MIGRATIONS", scripts)
    monkeypatch.setattr(schema, "SCHEMA_VERSION", len(scripts))
    with closing(SqliteStore(path)) as again:
        assert connection_of(again).execute("SELECT unheard_of FROM session").fetchone() == (None,)
        assert again.sessions() == (info(),)
    version = len(scripts) - 1
    with closing(sqlite3.connect(path.with_name(f"sessions.version-{version}.sqlite"))) as backup:
        assert backup.execute("PRAGMA user_version").fetchone() == (version,)
        assert backup.execute("SELECT COUNT(*) FROM event").fetchone()[0] > 10


def test_a_failed_migration_leaves_the_old_version(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.close()
    scripts = (*schema.MIGRATIONS, "CREATE TABLE half (x);\nINSERT INTO nowhere VALUES (1)")
    with monkeypatch.context() as patched:
        patched.setattr(schema, "MIGRATIONS", scripts)
        patched.setattr(schema, "SCHEMA_VERSION", len(scripts))
        with pytest.raises(StoreError):
            SqliteStore(path)
    with closing(SqliteStore(path)) as again:
        assert again.sessions() == (info(),)
        tables = connection_of(again).execute("SELECT name FROM sqlite_master").fetchall()
        assert ("half",) not in tables


def test_a_file_that_can_not_be_read_at_the_start_is_let_go_again(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    SqliteStore(path).close()
    with closing(sqlite3.connect(path)) as other:
        other.execute("ALTER TABLE streaming RENAME COLUMN crc TO was")
    for _ in range(2):
        with pytest.raises(StoreError, match="crc"):
            SqliteStore(path)
    with closing(sqlite3.connect(path)) as other:
        other.execute("ALTER TABLE streaming RENAME COLUMN was TO crc")
    SqliteStore(path).close()


def test_a_deleted_session_gives_back_its_room_on_the_disk(store: SqliteStore, path: Path) -> None:
    for number in range(100):
        recorded(store, user(f"{number} " * 10_000))
    store.flush_pending()
    store.delete_session(SESSION)
    store.close()
    assert path.stat().st_size < 300_000


def test_a_file_of_an_earlier_version_shrinks_when_the_app_ends(path: Path) -> None:
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA journal_mode = WAL")
    store = SqliteStore(path)
    kept = SessionId("se_kept")
    for one in (info(), msgspec.structs.replace(info(), id=kept)):
        store.save_session(one)
    for number in range(100):
        store.record(SESSION, user(f"{number} " * 20_000))
    store.record(kept, user("stays"))
    store.delete_session(SESSION)
    store.close()
    assert path.stat().st_size < 300_000
    with closing(SqliteStore(path)) as again:
        assert kinds(again.page(kept, None, 10).events) == ["MessageAdded"]


def test_a_backup_of_before_an_update_goes_after_a_month(store: SqliteStore, path: Path) -> None:
    old = path.with_name(f"{path.stem}.version-1{path.suffix}")
    newer = path.with_name(f"{path.stem}.version-2{path.suffix}")
    for backup, days in ((old, 31), (newer, 29)):
        backup.write_bytes(b"sessions")
        made_at = time.time() - days * 24 * 3600
        os.utime(backup, (made_at, made_at))
    with closing(reopened(store, path)):
        assert (old.exists(), newer.exists()) == (False, True)
