"""The sessions file: what one event costs, and listing many sessions."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.core.events import MessageAdded, StepStarted
from desktop_agent.core.ids import new_agent_id, new_message_id, new_session_id
from desktop_agent.core.messages import Message, TextPart
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.workspace import Workspace
from tests.bench.report import report

_EVENTS = 1000
_SESSIONS = 10_000


def _info(number: int) -> SessionInfo:
    return SessionInfo(
        new_session_id(), new_agent_id(), f"Session {number}", Workspace("/tmp"), "demo"
    )


def _median_ms(action: Callable[[], None], count: int) -> float:
    taken: list[float] = []
    for _ in range(count):
        start = time.perf_counter()
        action()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken) * 1000


def _appends(store: SqliteStore) -> None:
    info = _info(0)
    store.save_session(info)
    agent = info.main_agent

    def message() -> None:
        text = TextPart("A sentence of an answer. " * 20)
        store.record(info.id, MessageAdded(agent, Message(new_message_id(), "assistant", (text,))))

    report(
        "store_append", _median_ms(lambda: store.record(info.id, StepStarted(agent, 1)), _EVENTS)
    )
    report("store_append_forced", _median_ms(message, _EVENTS))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "sessions.db")
        _appends(store)
        for number in range(_SESSIONS):
            store.save_session(_info(number))
        report("store_list_10k", _median_ms(lambda: len(store.sessions()) and None, 5))
        store.close()


if __name__ == "__main__":
    main()
