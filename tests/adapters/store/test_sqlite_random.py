"""Any order of events, flushes, clean ends and crashes: what was recorded is what is read."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.core.events import (
    AgentEvent,
    MessageAdded,
    MessageStarted,
    PartDelta,
    ToolEnded,
    ToolOutput,
    TurnEnded,
)
from desktop_agent.core.ids import AgentId, MessageId
from desktop_agent.core.messages import Message, TextPart, ToolResult
from tests.adapters.store.turns import AGENT, SESSION, info
from tests.helpers.stores import abandon, connection_of

OTHER = AgentId("ag_other")
_agents = st.sampled_from([AGENT, OTHER])
_items = st.integers(0, 2)
_steps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["text", "thinking", "output"]), _agents, _items),
        st.tuples(st.sampled_from(["message", "result", "turn", "end"]), _agents, _items),
        st.tuples(st.sampled_from(["flush", "close", "crash"]), st.just(AGENT), st.just(0)),
    ),
    max_size=40,
)


class Follower:
    """What the store must hold, kept the simple way."""

    def __init__(self) -> None:
        self.whole: list[AgentEvent] = []
        self.written: dict[str, str] = {}
        self.fresh: dict[str, str] = {}
        self.count = 0

    def shown(self) -> dict[str, str]:
        keys = dict.fromkeys([*self.written, *self.fresh])
        return {key: self.written.get(key, "") + self.fresh.get(key, "") for key in keys}

    def flush(self) -> None:
        self.written, self.fresh = self.shown(), {}

    def forget(self, key: str) -> None:
        self.written.pop(key, None)
        self.fresh.pop(key, None)


@settings(max_examples=40)
@given(_steps)
def test_the_store_holds_what_was_recorded(steps: list[tuple[str, AgentId, int]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "sessions.sqlite")
        store = SqliteStore(path)
        store.save_session(info())
        follower = Follower()
        for step in steps:
            store = _step(store, path, follower, *step)
            if step[0] in {"close", "crash"}:
                assert_holds(store, follower)
        assert_holds(store, follower)
        store.close()


def _step(
    store: SqliteStore, path: Path, follower: Follower, kind: str, agent: AgentId, item: int
) -> SqliteStore:
    if kind in {"flush", "close", "crash"}:
        return _pause(store, path, follower, kind)
    follower.count += 1
    event, key = _event(kind, agent, item, follower.count)
    store.record(SESSION, event)
    if isinstance(event, PartDelta | ToolOutput):
        follower.fresh[key] = follower.fresh.get(key, "") + event.text
        return store
    if kind == "end":
        # What was streaming is kept as it is, before the end.
        for open_key in [each for each in follower.shown() if each.startswith(agent)]:
            follower.forget(open_key)
    else:
        follower.forget(key)
    follower.whole.append(event)
    return store


def _event(kind: str, agent: AgentId, item: int, number: int) -> tuple[AgentEvent, str]:
    message_id = MessageId(f"{agent}-me{item}")
    call_id = f"call{item}"
    text = f"{number} "
    match kind:
        case "text" | "thinking":
            return PartDelta(agent, message_id, kind, text), f"{agent} {message_id}"
        case "output":
            return ToolOutput(agent, call_id, text), f"{agent} {call_id}"
        case "message":
            message = Message(message_id, "assistant", (TextPart(text),))
            return MessageAdded(agent, message), f"{agent} {message_id}"
        case "result":
            return ToolEnded(agent, ToolResult(call_id, text)), f"{agent} {call_id}"
        case "turn":
            return MessageStarted(agent, MessageId(f"other-{number}")), ""
        case _:
            return TurnEnded(agent, "finished"), ""


def _pause(store: SqliteStore, path: Path, follower: Follower, kind: str) -> SqliteStore:
    if kind == "flush":
        store.flush_pending()
        follower.flush()
        return store
    if kind == "close":
        store.close()
        follower.flush()
    else:
        abandon(store)
    # What was streaming is now part of the past; less than half a second of it is lost.
    follower.written, follower.fresh = {}, {}
    return SqliteStore(path)


def assert_holds(store: SqliteStore, follower: Follower) -> None:
    # Reading the newest page writes what is pending: the follower must, too.
    page = store.page(SESSION, None, 1000)
    follower.flush()
    recorded = [event for event in page.events if event in follower.whole]
    assert recorded == follower.whole
    streaming: dict[str, str] = {}
    past = store.page(SESSION, 1 << 40, 1000).events
    for event in page.events[len(past) :]:
        assert isinstance(event, PartDelta | ToolOutput)
        name = event.message_id if isinstance(event, PartDelta) else event.call_id
        key = f"{event.agent_id} {name}"
        streaming[key] = streaming.get(key, "") + event.text
    assert streaming == follower.shown()
    seqs = [row[0] for row in connection_of(store).execute("SELECT seq FROM event ORDER BY seq")]
    assert seqs == list(range(1, len(seqs) + 1))
    assert len(seqs) == len(past)
