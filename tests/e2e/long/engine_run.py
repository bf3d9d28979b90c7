"""The engine as a program, and a user who never rests: sends, goes back, switches, compacts.

`python -m tests.e2e.long.engine_run NOTE FOLDER MODEL API_BASE SEED [HOSTS]`; the lines are those
of `desktop-agent run --output jsonl`. It ends when it is killed. HOSTS is where hosts are forked.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys

import msgspec

from desktop_agent import paths
from desktop_agent.compose import Backend, compose
from desktop_agent.core.approvals import AllowOnce, Deny
from desktop_agent.core.events import (
    AgentsChanged,
    ApprovalRequested,
    Event,
    MessageAdded,
    QuestionAsked,
    SessionOpened,
)
from desktop_agent.core.ids import AgentId, MessageId, SessionId, new_note_id
from desktop_agent.core.notes import Note
from desktop_agent.core.settings import Settings
from desktop_agent.core.workspace import Workspace

SESSION = "killed"


class User:
    """Knows the branch that is shown; does something else once enough has happened."""

    def __init__(self, note: str, seed: int) -> None:
        self.backend: Backend
        self._note, self._chance = note, random.Random(seed)
        self._count = self._answers = self._heard = 0
        self._main = AgentId("")
        self._said: list[MessageId] = []
        self._heads: list[int] = []
        self._is_idle = False
        self._news = asyncio.Event()

    def hear(self, event: Event) -> None:
        """Print an event, and answer what is asked."""
        os.write(sys.stdout.fileno(), msgspec.json.encode(event) + b"\n")
        self._heard += 1
        self._news.set()
        soon = asyncio.get_running_loop().call_soon
        match event:
            case SessionOpened():
                self._open(event)
            case MessageAdded():
                self._add(event)
            case AgentsChanged(agents=agents):
                self._is_idle = not any(agent.is_working for agent in agents)
            case ApprovalRequested(request=request):
                self._answers += 1
                answer = AllowOnce() if self._answers % 3 else Deny("Not now.")
                soon(lambda: self.backend.engine.decide(request.id, answer))
            case QuestionAsked(question=question):
                soon(lambda: self.backend.engine.answer(question.id, "The first one."))
            case _:
                pass

    def _open(self, opened: SessionOpened) -> None:
        self._main, self._said = opened.info.main_agent, []
        self._heads = [head for point in opened.branches for head in point.heads]
        for event in opened.events:
            if isinstance(event, MessageAdded):
                self._add(event)

    def _add(self, added: MessageAdded) -> None:
        if added.agent_id == self._main and added.message.role == "user":
            self._said.append(added.message.id)

    async def go_on(self, folder: str) -> None:
        """Open the session, or begin it, and never end."""
        engine = self.backend.engine
        if self.backend.store.sessions():
            engine.open_session(SessionId(SESSION))
        else:
            engine.new_session(SessionId(SESSION), Workspace(folder))
        self._send()
        while True:
            until = self._heard + self._chance.randint(3, 60)
            await self._once(lambda until=until: self._is_idle or self._heard >= until)
            if not self._is_idle and self._chance.random() < 0.4:
                self._send()
                continue
            engine.stop(self._main)
            await self._once(lambda: self._is_idle)
            self._do_something()

    async def _once(self, holds: object) -> None:
        while not holds():  # type: ignore[operator]
            self._news.clear()
            await self._news.wait()

    def _do_something(self) -> None:
        engine = self.backend.engine
        before = self._chance.choice(self._said) if self._said else None
        self._is_idle = False
        match self._chance.randrange(6):
            case 0 | 1 if before:
                engine.begin_branch(self._main, before)
            case 2 if before:
                engine.begin_branch(self._main, before, self._words(), is_edit=True)
            case 3 if self._heads:
                engine.switch_branch(SessionId(SESSION), self._chance.choice(self._heads))
            case 4:
                engine.compact(self._main)
            case _:
                pass
        self._send()

    def _send(self) -> None:
        self.backend.engine.send(self._main, self._words())

    def _words(self) -> Note:
        self._count += 1
        return Note(new_note_id(), f"{self._note}.{self._count};")


async def run() -> None:
    """Do it with the arguments of the command line."""
    note, folder, model, api_base, seed, *hosts = sys.argv[1:]
    if hosts:
        from tests.helpers.forked import fork_hosts_at

        fork_hosts_at(*hosts)
    user = User(note, int(seed))
    user.backend = await compose(
        user.hear,
        data_dir=paths.data_dir(),
        config_dir=paths.config_dir(),
        settings=Settings(model=model, api_base=api_base, mode="ask"),
        is_warmed=False,
        is_machine_sandbox=True,
    )
    await user.go_on(folder)


if __name__ == "__main__":
    asyncio.run(run())
