"""A rig for trees of agents: a model that answers each agent by its own script."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.approvals import Rule
from desktop_agent.core.events import AgentEnded, AgentsChanged, AgentSpawned, NoteQueued
from desktop_agent.core.ids import AgentId
from desktop_agent.core.prose.framing import framed
from desktop_agent.core.requests import ModelRequest, StreamItem
from desktop_agent.tools.agents import agent_tools
from desktop_agent.tools.shell.jobs import Jobs
from desktop_agent.tools.shell.shell import shell
from desktop_agent.tools.tasks import task_tools
from tests.engine.rig import Rig
from tests.helpers.patience import HANG_S
from tests.helpers.scripted import Answer, MemoryStore, ScriptedModel, Waits, calls


class TreeModel:
    """Plays one script for each agent: the main one's, and those of children by their prompt."""

    def __init__(self, main: list[Any], children: dict[str, list[Any]]) -> None:
        self.requests: list[ModelRequest] = []
        self._scripts = {prompt: ScriptedModel(*script) for prompt, script in children.items()}
        self._main = ScriptedModel(*main)

    def requests_of(self, prompt: str) -> list[ModelRequest]:
        """The requests of the child that was started with this prompt."""
        return self._scripts[prompt].requests

    @property
    def script(self) -> list[Any]:
        """The steps that are left for the main agent."""
        return self._main.script

    @script.setter
    def script(self, steps: list[Any]) -> None:
        self._main.script = steps

    @property
    def main_requests(self) -> list[ModelRequest]:
        """The requests of the main agent."""
        return self._main.requests

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        self.requests.append(request)
        first = request.messages[0].text
        script = self._scripts.get(first, self._main)
        async for item in script.stream(request):
            yield item


class TreeRig(Rig):
    """A session whose main agent has the tools of delegation and a task list."""

    def __init__(
        self, tmp_path: Path, main: list[Any], children: dict[str, list[Any]], **kwargs: Any
    ) -> None:
        super().__init__(tmp_path, **{"model": TreeModel(main, children), **kwargs})

    def _tools(self):
        return [*super()._tools(), *agent_tools(), *task_tools()]

    async def child(self, number: int = 1) -> AgentId:
        """Wait for the n-th subagent and return its id."""
        return (await self.until(AgentSpawned, number)).agent_id

    async def ended(self, agent_id: AgentId) -> AgentEnded:
        """Wait for a subagent's end."""
        await self.once(lambda: any(e.agent_id == agent_id for e in self.of(AgentEnded)))
        return next(e for e in self.of(AgentEnded) if e.agent_id == agent_id)

    async def status(self, agent_id: AgentId, wanted: str) -> AgentInfo:
        """Wait until an agent is seen in a status."""
        await self.once(lambda: self.info(agent_id).status == wanted)
        return self.info(agent_id)

    def info(self, agent_id: AgentId) -> AgentInfo:
        """The newest snapshot of an agent."""
        for event in reversed(self.of(AgentsChanged)):
            for agent in event.agents:
                if agent.id == agent_id:
                    return agent
        return AgentInfo(agent_id, self.session_id, "")

    def notes_to(self, agent_id: AgentId, kind: str) -> list[str]:
        """The notes of one kind that were queued for an agent: its words, or as it reads them."""
        notes = [e.note for e in self.of(NoteQueued) if e.agent_id == agent_id]
        return [
            framed(note.text, note.origin) if note.origin is not None else note.text
            for note in notes
            if note.kind == kind
        ]

    def tool_texts(self, agent_id: AgentId) -> list[str]:
        """What an agent's tools answered, in order."""
        agent = self.agent(agent_id)
        return [r.text for m in agent.history for r in m.results]


WAIT = calls(("wait", {}))


def gate(text: str = "", **kwargs: Any) -> Waits:
    """A step that holds until its own gate opens; `reached` tells that it does."""
    return Waits(asyncio.Event(), text, **kwargs)


def spawns(prompt: str, **arguments: Any) -> Answer:
    """Return an answer that starts one subagent."""
    return calls(("spawn", {"description": f"the {prompt}", "prompt": prompt, **arguments}))


class ShellRig(TreeRig):
    """Agents that run real commands, without being asked; `jobs` keeps those in the background."""

    def __init__(
        self, tmp_path: Path, main: list[Any], children: dict[str, list[Any]], **kwargs: Any
    ) -> None:
        store = MemoryStore()
        store.save_rules([Rule("shell", "", scope="everywhere")])
        super().__init__(tmp_path, main, children, **{"store": store, "new_jobs": Jobs, **kwargs})

    def _tools(self):
        return [*super()._tools(), shell]


def runs(command: str, *, in_background: bool = False) -> Answer:
    """Return an answer that runs one command."""
    return calls(("shell", {"command": command, "run_in_background": in_background}))


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that waits to be buried does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"


async def pids_in(file: Path, count: int = 1) -> list[int]:
    """Wait until commands have written so many process ids into a file."""

    def wait() -> list[int]:
        deadline = time.monotonic() + HANG_S
        while time.monotonic() < deadline:
            words = file.read_text().split() if file.exists() else []
            if len(words) >= count:
                return [int(word) for word in words]
            os.sched_yield()
        raise TimeoutError(f"{file.name} does not hold {count} process ids")

    return await asyncio.to_thread(wait)
