"""Makes a store with one long session: realistic answers, tool calls, results, notes.

`python -m tests.helpers.make_session PATH [MESSAGES]` writes it and prints the session's id.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.core.events import (
    AgentEvent,
    MessageAdded,
    MessageStarted,
    NoteDelivered,
    NoteQueued,
    NoteTaken,
    StepEnded,
    StepStarted,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from desktop_agent.core.ids import AgentId, MessageId, NoteId, SessionId
from desktop_agent.core.messages import (
    DiffDisplay,
    FilesDisplay,
    Message,
    OutputDisplay,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
)
from desktop_agent.core.notes import Note
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.usage import Usage
from desktop_agent.core.workspace import Workspace

_AT_ONCE = 2_000
_BEGAN = 1_760_000_000.0
_TEXT = (
    "the prices in this table are older than those in the report so I compare both files and "
    "write down what differs then run the tests again because one of them read a fixed date "
    "from the folder instead of asking for today which made every result look one day late"
)
_CODE = '''def total(rows: list[Row], currency: str = "EUR") -> Decimal:
    """Return the sum of all rows in one currency."""
    result = Decimal(0)
    for row in rows:
        if row.currency != currency:
            raise ValueError(f"{row.id}: {row.currency} is not {currency}")
        result += row.amount  # amounts are exact, never floats
    return result
'''
_PATCH = """--- a/prices.py
+++ b/prices.py
@@ -10,6 +10,7 @@ def load(path):
     rows = []
     for line in path.read_text().splitlines():
-        rows.append(line.split(","))
+        fields = line.split(";")
+        rows.append(fields)
     return rows
"""


def make_session(
    path: Path, messages: int, *, seed: int = 1, title: str = "A long piece of work"
) -> SessionId:
    """Add a session with that many messages (to the next whole turn) to the store at `path`."""
    with closing(SqliteStore(path)) as store:
        return fill_session(store, messages, seed=seed, title=title)


def fill_session(
    store: SqliteStore, messages: int, *, seed: int = 1, title: str = "A long piece of work"
) -> SessionId:
    """Add the session to a store that is open."""
    session_id, agent_id = SessionId(f"se_{seed:016x}"), AgentId(f"ag_{seed:016x}")
    info = SessionInfo(
        session_id,
        agent_id,
        title,
        Workspace(str(Path.home())),
        "demo",
        created_at=_BEGAN,
        updated_at=_BEGAN + messages,
        usage=Usage(12_000, 3_400, cost=0.12),
        context_tokens=12_000,
        context_limit=200_000,
    )
    store.save_session(info)
    made = 0
    maker = _Maker(agent_id, seed)
    while made < messages:
        turns: list[AgentEvent] = []  # many at once: each call is a transaction
        while made < messages and len(turns) < _AT_ONCE:
            turn = list(maker.turn())
            made += sum(isinstance(event, MessageAdded) for event in turn)
            turns += turn
        store.record(session_id, *turns)
    return session_id


class _Maker:
    """Deterministic turns: the same seed gives the same session."""

    def __init__(self, agent_id: AgentId, seed: int) -> None:
        self._agent = agent_id
        self._words = _TEXT.split()
        self._chance = random.Random(seed)
        self._number = 0
        self._step = 0
        self._now = _BEGAN

    def turn(self) -> Iterator[AgentEvent]:
        """Yield one turn: a question, some steps with tool calls, an answer."""
        self._now += 60
        note = Note(NoteId(self._id("no")), self._sentence(24), created_at=self._now)
        yield NoteQueued(self._agent, note)
        yield TurnStarted(self._agent, self._now)
        asked = self._message("user", TextPart(note.text), note_ids=(note.id,))
        first = self._step + 1
        for index in range(self._chance.randint(1, 4)):
            self._step += 1
            yield StepStarted(self._agent, self._step)
            if index == 0:
                yield NoteTaken(self._agent, note.id, asked.id)
                yield MessageAdded(self._agent, asked)
                yield NoteDelivered(self._agent, note.id, first, self._now)
            yield from self._work()
        self._step += 1
        yield StepStarted(self._agent, self._step)
        yield from self._said(self._message("assistant", TextPart(self._markdown())))
        yield TurnEnded(self._agent, "finished", Usage(12_000, 900, cost=0.01), at=self._now)

    def _work(self) -> Iterator[AgentEvent]:
        call, result = self._tool()
        parts: list[TextPart | ThinkingPart | ToolCall] = [TextPart(self._sentence(14)), call]
        if self._chance.random() < 0.3:
            parts.insert(0, ThinkingPart(self._sentence(40)))
        yield from self._said(self._message("assistant", *parts))
        yield ToolStarted(self._agent, call, f"using {call.name}", self._now)
        yield ToolEnded(self._agent, result, "failed" if result.is_error else "ok", 0.4)
        yield MessageAdded(self._agent, self._message("tool", result))

    def _said(self, message: Message) -> Iterator[AgentEvent]:
        yield MessageStarted(self._agent, message.id)
        yield MessageAdded(self._agent, message)
        yield StepEnded(self._agent, self._step, Usage(11_000, 300, cost=0.004), 11_300)

    def _message(self, role: str, *parts: object, note_ids: tuple[NoteId, ...] = ()) -> Message:
        self._now += 1
        return Message(
            MessageId(self._id("me")),
            role,  # pyright: ignore[reportArgumentType]
            parts,  # pyright: ignore[reportArgumentType]
            note_ids=note_ids,
            created_at=self._now,
        )

    def _tool(self) -> tuple[ToolCall, ToolResult]:
        call_id = self._id("call")
        kind = self._chance.choice(("read", "edit", "shell", "grep"))
        path = f"src/module_{self._chance.randint(1, 40)}.py"
        if kind == "read":
            lines = "\n".join(
                f"{number:5}\t{line}" for number, line in enumerate(_CODE.split("\n"))
            )
            shown = FilesDisplay((path,), "84 lines")
            return ToolCall(call_id, kind, {"path": path}), ToolResult(
                call_id, lines, display=shown
            )
        if kind == "edit":
            change = DiffDisplay(path, _PATCH, 2, 1)
            arguments = {"path": path, "old_text": "a", "new_text": "b"}
            result = ToolResult(call_id, f"Edited {path}.", display=change)
            return ToolCall(call_id, kind, arguments), result
        if kind == "shell":
            failed = self._chance.random() < 0.2
            text = "\n".join(f"tests/test_{n}.py::test_{n} PASSED" for n in range(12))
            shown = OutputDisplay(text, 1 if failed else 0, 2.3)
            result = ToolResult(call_id, text, is_error=failed, display=shown)
            return ToolCall(call_id, kind, {"command": "pytest -q"}), result
        text = "\n".join(f"{path}:{n}: {self._sentence(8)}" for n in range(6))
        shown = FilesDisplay((path,), "6 matches")
        arguments = {"pattern": "total", "path": "src"}
        return ToolCall(call_id, kind, arguments), ToolResult(call_id, text, display=shown)

    def _markdown(self) -> str:
        blocks = [f"## {self._sentence(4)}", self._sentence(45)]
        kind = self._chance.choice(("code", "table", "list", "plain"))
        if kind == "code":
            blocks.append(f"```python\n{_CODE}```")
        elif kind == "table":
            rows = [f"| {n} | `item_{n}` | {n * 3.25:.2f} € |" for n in range(1, 7)]
            blocks.append("\n".join(["| # | Item | Price |", "|--:|------|------:|", *rows]))
        elif kind == "list":
            blocks.append(
                "\n".join(f"{n}. **{self._sentence(3)}**: {self._sentence(9)}" for n in (1, 2, 3))
            )
        blocks.append(self._sentence(25))
        return "\n\n".join(blocks)

    def _sentence(self, words: int) -> str:
        self._number += 1
        chosen = " ".join(self._chance.choice(self._words) for _ in range(words))
        return f"{chosen.capitalize()} ({self._number})."

    def _id(self, prefix: str) -> str:
        self._number += 1
        return f"{prefix}_{self._number:08x}{self._chance.getrandbits(32):08x}"


if __name__ == "__main__":
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    print(make_session(Path(sys.argv[1]), count))
