"""Turns as the engine records them, with every text different."""

from __future__ import annotations

from collections.abc import Iterator

from desktop_agent.core.events import (
    AgentEvent,
    MessageAdded,
    MessageStarted,
    NoteDelivered,
    NoteQueued,
    NoteTaken,
    PartDelta,
    StepEnded,
    StepStarted,
    ToolEnded,
    ToolOutput,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from desktop_agent.core.ids import (
    AgentId,
    SessionId,
    new_call_id,
    new_message_id,
    new_note_id,
)
from desktop_agent.core.messages import Message, OutputDisplay, TextPart, ToolCall, ToolResult
from desktop_agent.core.notes import Note
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.workspace import Workspace

SESSION = SessionId("se_0000000000000001")
AGENT = AgentId("ag_0000000000000001")


def info(
    session_id: SessionId = SESSION, title: str = "Prices", updated_at: float = 1.0
) -> SessionInfo:
    return SessionInfo(
        session_id, AGENT, title, Workspace("/tmp/reports"), "demo", updated_at=updated_at
    )


def user(text: str, *notes: Note) -> MessageAdded:
    message = Message(
        new_message_id(), "user", (TextPart(text),), note_ids=tuple(note.id for note in notes)
    )
    return MessageAdded(AGENT, message)


def assistant(text: str, *calls: ToolCall) -> MessageAdded:
    return MessageAdded(AGENT, Message(new_message_id(), "assistant", (TextPart(text), *calls)))


def turn(number: int) -> Iterator[AgentEvent]:
    """One turn with one tool call, streamed in pieces: 17 rows and 14 pieces."""
    note = Note(new_note_id(), f"question {number}")
    asked = user(note.text, note)
    answered = asked.message.id
    yield NoteQueued(AGENT, note)
    yield TurnStarted(AGENT, float(number))
    yield StepStarted(AGENT, 2 * number + 1)
    yield NoteTaken(AGENT, note.id, answered)
    yield asked
    yield NoteDelivered(AGENT, note.id, 2 * number + 1)
    call = ToolCall(new_call_id(), "shell", {"command": f"echo {number}"})
    yield from _answer(f"I will look at number {number}. ", call)
    yield StepEnded(AGENT, 2 * number + 1)
    yield ToolStarted(AGENT, call)
    for piece in range(4):
        yield ToolOutput(AGENT, call.id, f"line {piece} of {number}\n")
    result = ToolResult(call.id, f"output {number}", display=OutputDisplay(f"output {number}"))
    yield ToolEnded(AGENT, result)
    yield MessageAdded(AGENT, Message(new_message_id(), "tool", (result,)))
    yield StepStarted(AGENT, 2 * number + 2)
    yield from _answer(f"It is {number}. ")
    yield StepEnded(AGENT, 2 * number + 2)
    yield TurnEnded(AGENT, "finished")


def _answer(text: str, *calls: ToolCall) -> Iterator[AgentEvent]:
    message_id = new_message_id()
    yield MessageStarted(AGENT, message_id)
    for _ in range(5):
        yield PartDelta(AGENT, message_id, "text", text)
    yield MessageAdded(AGENT, Message(message_id, "assistant", (TextPart(text * 5), *calls)))
