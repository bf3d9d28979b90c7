"""Going on with an agent whose node was lost, from what it told and its last commit.

Nothing is run twice: a call that has no end is closed as unknown, and the agent is told which
calls came after the commit, since what they did in the folder is not there.
"""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from desktop_agent.adapters.places.git_copy import GitError, GitStore
from desktop_agent.compose import Backend
from desktop_agent.core.events import AgentEvent, NoteQueued, ToolEnded, ToolStarted, TurnEnded
from desktop_agent.core.ids import NoteId, SessionId, new_note_id
from desktop_agent.core.notes import Note
from desktop_agent.core.parts.origins import AppNotice
from desktop_agent.core.pipes import outpost_pipe as pipe
from desktop_agent.core.prose.markdown import listed
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.sessions.crash_recovery import closing_events

_MOST_NAMED = 20
# Of one step, packed. A head keeps all of them, and writes them down between other work.
_MOST_BYTES = 32 << 20


class Restored(msgspec.Struct, frozen=True):
    """How an agent stands that was restored.

    `closing` is what its last turn still lacked, `note` what it has to be told to go on; without
    one its turn had come to an end, `ended`, or it had none. `gone` says which of what the turn
    did is not in the copy. `told` are the notes that it had.
    """

    closing: tuple[AgentEvent, ...]
    note: Note | None
    ended: TurnEnded | None
    gone: str
    told: set[NoteId]


def keep_step(store: GitStore, start: pipe.StartAgent, before: str, copy: Path) -> pipe.AgentKept:
    """Return what a copy holds that it did not at `before`, perhaps nothing.

    Raises GitError or OSError, also for what is too much to send with a step.
    """
    commit = store.checkpoint(start.commit, before, copy)
    if commit == before:
        return pipe.AgentKept(start.key, commit, b"")
    with TemporaryDirectory(prefix="desktop-agent-step-") as place:
        file = Path(place) / "bundle"
        store.bundle(commit, file, after=before)
        if file.stat().st_size > _MOST_BYTES:
            raise GitError("its changes are too large to be kept with each step")
        return pipe.AgentKept(start.key, commit, file.read_bytes())


def lay_steps(store: GitStore, order: pipe.RestoreAgent, copy: Path) -> None:
    """Bring a copy of the folder to where the last step left it. Raises GitError or OSError."""
    with TemporaryDirectory(prefix="desktop-agent-step-") as place:
        file = Path(place) / "bundle"
        for commit, bundle in zip(order.commits, order.bundles, strict=True):
            file.write_bytes(bundle)
            store.unbundle(commit, file)
    store.lay(order.start.commit, order.commits[-1], copy)


def restore_session(
    backend: Backend, session_id: SessionId, order: pipe.RestoreAgent, copy: Path
) -> Restored:
    """Make the session anew from what its agent told. Raises StoreError."""
    start, engine = order.start, backend.engine
    info = msgspec.structs.replace(
        engine.new_info(session_id, Workspace(str(copy)), start.name),
        main_agent=order.agent_id,
        model=start.model,
        api_base=start.api_base,
        mode=start.mode,
    )
    backend.store.record(session_id, *order.events, info=info)
    record = backend.store.load_agent(session_id, order.agent_id)
    closing: tuple[AgentEvent, ...] = ()
    if record.was_running or record.unconfirmed:
        closing = closing_events(record, order.events)
        backend.store.record(session_id, *closing)
    engine.adopt_session(info)
    engine.open_session(session_id)
    ends = [one for one in order.events if isinstance(one, TurnEnded)]
    goes_on = bool(closing or record.inbox)
    return Restored(
        tuple(one for one in closing if not isinstance(one, TurnEnded)),
        _note(order, copy) if goes_on else None,
        ends[-1] if ends and not goes_on else None,
        _gone(order),
        {one.note.id for one in order.events if isinstance(one, NoteQueued)},
    )


def _note(order: pipe.RestoreAgent, copy: Path) -> Note:
    words = [
        f"The computer that you worked on was lost ({order.why}). You go on on another, in {copy}.",
        "The folder is as your last step that was kept has left it; the repository of it is as it "
        "was when you began, and others in it are gone. So are files elsewhere, ignored files and "
        "commands that ran.",
    ]
    if gone := _gone(order):
        words.append(f"{gone}. Look before you do any of it again.")
    now = time.time()
    return Note(
        new_note_id(), " ".join(words), "notice", sender="app", created_at=now, origin=AppNotice()
    )


def _gone(order: pipe.RestoreAgent) -> str:
    """Name the calls that were under way or began since the last commit, if any."""
    ended = {one.result.call_id for one in order.events[: order.kept] if isinstance(one, ToolEnded)}
    began = (one for one in order.events if isinstance(one, ToolStarted))
    names = [one.doing or one.call.name for one in began if one.call.id not in ended]
    if not names:
        return ""
    return (
        "What these calls did in the folder is not there, and how far those that had not ended "
        f"came is not known: {listed(names, _MOST_NAMED, '; ')}"
    )
