"""Sessions to export: made by the store as the engine would, and taken in again."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec.structs import replace

from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.core.agents import AgentSpec
from desktop_agent.core.events import (
    AgentEnded,
    AgentEvent,
    AgentSpawned,
    BranchStarted,
    ListChanged,
    MessageAdded,
    ToolEnded,
    ToolStarted,
    TurnEnded,
)
from desktop_agent.core.ids import AgentId, SessionId, new_call_id, new_message_id, new_session_id
from desktop_agent.core.messages import DiffDisplay, ImagePart, Message, TextPart, ToolCall
from desktop_agent.core.messages import ToolResult as Result
from desktop_agent.core.sessions import ExportForm
from desktop_agent.core.tasks import Task
from desktop_agent.core.workspace import Workspace
from desktop_agent.session_files import json_import
from desktop_agent.session_files.files import Job, export_pieces
from tests.adapters.store.turns import AGENT, SESSION, assistant, info, turn, user

CHILD = AgentId("sa_0a0b0c0d")
FOLDER = Workspace("/tmp/reports")
PIXEL = bytes.fromhex("89504e470d0a1a0a")


def exported(path: Path, form: ExportForm = "json", session: SessionId = SESSION) -> str:
    return b"".join(export_pieces(path, session, form, Job())).decode()


def taken_in(store: SqliteStore, file: Path) -> SessionId:
    """Import a file into a store, as the app does it."""
    found = json_import.read(file, FOLDER)
    made = msgspec.structs.replace(
        info(new_session_id(), found.about.title),
        main_agent=found.frame.main_agent,
        created_at=found.about.created_at,
        updated_at=found.about.updated_at,
        usage=found.about.usage,
    )
    store.begin_import(made, found.frame)
    store.add_imported(made.id, found.rows())
    store.end_import(made)
    return made.id


def filled(path: Path, *events: AgentEvent, title: str = "Prices") -> Path:
    """Write a session that holds these events."""
    store = SqliteStore(path)
    store.save_session(replace(info(), title=title))
    store.record(SESSION, *events)
    store.close()
    return path


def rich(path: Path) -> Path:
    """Write a session with two branches, tasks, a subagent, a picture and a change of a file."""
    store = SqliteStore(path)
    store.save_session(info())
    store.record(SESSION, *turn(1), ListChanged(AGENT, 1, (Task(1, "Read prices"),), 2))
    asked = user("Draw the **prices**")
    picture = ImagePart("image/png", PIXEL, "prices.png")
    seen = Message(new_message_id(), "user", (TextPart("Like this"), picture))
    store.record(SESSION, asked, assistant("The old answer"), TurnEnded(AGENT, "finished"))
    again = BranchStarted(AGENT, asked.message.id)
    store.begin_branch(SESSION, asked.message.id, again, MessageAdded(AGENT, seen))
    spec = AgentSpec(AGENT, "Reader", "Read it", 1, FOLDER)
    call = ToolCall(new_call_id(), "edit", {"path": "prices.md"})
    diff = DiffDisplay("prices.md", "@@ -1 +1 @@\n-old <price>\n+new <price>\n", 1, 1)
    result = Result(call.id, "Edited.", display=diff)
    spoken = (TextPart(f"I ask {CHILD} and change the *file*."), call)
    store.record(
        SESSION,
        AgentSpawned(CHILD, spec),
        MessageAdded(CHILD, Message(new_message_id(), "user", (TextPart("Read it"),))),
        MessageAdded(CHILD, Message(new_message_id(), "assistant", (TextPart("I read it."),))),
        AgentEnded(CHILD, "completed", "I read it."),
        MessageAdded(AGENT, Message(new_message_id(), "assistant", spoken)),
        ToolStarted(AGENT, call),
        ToolEnded(AGENT, result),
        MessageAdded(AGENT, Message(new_message_id(), "tool", (result,))),
        assistant("```python\nprice = 1  # <b>\n```\n"),
        TurnEnded(AGENT, "finished"),
    )
    store.close()
    return path
