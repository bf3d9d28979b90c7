"""What an agent on a node has told, on the disk of its head: enough to go on on another node."""

from __future__ import annotations

import logging
from pathlib import Path

from desktop_agent.core.events import AgentEvent
from desktop_agent.core.ids import AgentId
from desktop_agent.core.pipes import outpost_pipe as pipe
from desktop_agent.core.pipes.frames import FrameBuffer, frame

_log = logging.getLogger(__name__)

# Of one agent's steps and words, on a disk that may be the memory.
_MOST_BYTES = 1 << 30
Told = pipe.AgentBegun | pipe.AgentWorked | pipe.TurnOver | pipe.AgentKept


class AgentLog:
    """One agent's; `file` is ours alone. Is as good as none once a part of it was refused."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._is_whole = True
        self._size = 0

    def add(self, told: Told) -> None:
        """Keep what was told."""
        if isinstance(told, pipe.TurnOver):  # what it changed is in the commits
            told = pipe.TurnOver(0, told.key)
        if not self._is_whole:
            return
        try:
            body = frame(told)
            self._size += len(body)
            if self._size > _MOST_BYTES:
                raise OSError("it is too much")
            with self._file.open("ab") as file:
                file.write(body)
        except OSError as error:
            self._is_whole = False
            self.forget()
            _log.warning("what an agent told is not kept: %s", error)

    def restore(self, start: pipe.StartAgent, why: str) -> pipe.StartAgent | pipe.RestoreAgent:
        """Return what has another node go on with it, or begin it if it had not begun.

        Raises OSError.
        """
        if not self._is_whole:
            raise OSError("what it did could not be kept")
        agent_id, events, kept, is_over = AgentId(""), list[AgentEvent](), 0, False
        steps: list[tuple[str, bytes]] = []
        for body in FrameBuffer().feed(self._file.read_bytes() if self._file.exists() else b""):
            match pipe.from_outpost().decode(body):
                case pipe.AgentBegun(agent_id=agent_id):
                    pass
                case pipe.AgentWorked(events=more):
                    events += [one for one in more if one.agent_id == agent_id]
                    is_over = False
                case pipe.TurnOver():
                    is_over = True
                case pipe.AgentKept(commit=commit, bundle=bundle):
                    kept = len(events)
                    steps += [(commit, bundle)] if bundle else []
                case _:
                    pass
        if not events:
            return start
        commits, bundles = tuple(one for one, _ in steps), tuple(one for _, one in steps)
        return pipe.RestoreAgent(
            start.key, start, agent_id, why, tuple(events), kept, commits, bundles, is_over
        )

    def forget(self) -> None:
        """Drop it."""
        self._file.unlink(missing_ok=True)
