"""An engine on a scripted model, with small real tools and a list of all it said."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.approvals import Mode
from desktop_agent.core.events import (
    AgentsChanged,
    Event,
    MessageAdded,
    SessionOpened,
    SessionsChanged,
    TurnEnded,
)
from desktop_agent.core.ids import AgentId, SessionId, new_note_id, new_session_id
from desktop_agent.core.messages import Message, ToolResult
from desktop_agent.core.models import ModelInfo
from desktop_agent.core.notes import Delivery, Note
from desktop_agent.core.sandbox import Sandbox
from desktop_agent.core.settings import Settings
from desktop_agent.core.tool import Access, Preview, Tool, ToolContext, ToolError, ToolOutput
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.agent.agent import Agent
from desktop_agent.engine.base.places import FarPlaces
from desktop_agent.engine.base.ports import FileHistory
from desktop_agent.engine.context.windows import AskServer
from desktop_agent.engine.engine import Engine, Environment
from desktop_agent.engine.permissions.checked_sandbox import FindPlaces
from desktop_agent.engine.skills.registry import Skills
from desktop_agent.engine.tree.agents import Agents
from tests.helpers.engines import agent_of, tree_of
from tests.helpers.patience import HANG_S
from tests.helpers.scripted import MemoryStore, ScriptedModel

E = TypeVar("E")


def tool(
    name: str,
    run: Callable[[Mapping[str, Any], ToolContext], Any],
    *,
    access: Access = Access.READ,
    preview: Callable[[Mapping[str, Any]], Preview] | None = None,
) -> Tool:
    """Return a tool whose arguments are whatever the model sent."""

    async def previewed(args: Mapping[str, Any], _: ToolContext) -> Preview:
        assert preview is not None
        return preview(args)

    return Tool(
        name=name,
        description=f"{name} for tests",
        schema={"type": "object"},
        access=access,
        parse=dict,
        run=run,
        preview=previewed if preview else None,
        describe=lambda args: f"{name} {args.get('what', '')}".strip(),
    )


async def _echo(args: Mapping[str, Any], _: ToolContext) -> ToolOutput:
    return ToolOutput(f"echo {args.get('what', '')}")


async def _fail(args: Mapping[str, Any], _: ToolContext) -> ToolOutput:
    raise ToolError(f"cannot {args.get('what', '')}")


async def _crash(args: Mapping[str, Any], _: ToolContext) -> ToolOutput:
    raise RuntimeError("a defect")


async def _ask(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    return ToolOutput(await ctx.ask_user(args["what"], ("yes", "no")))


@dataclass
class Gates:
    """Where the `slow` tool waits: `reached` when it runs, `open` lets it end."""

    reached: asyncio.Event = field(default_factory=asyncio.Event)
    open: asyncio.Event = field(default_factory=asyncio.Event)
    ran: list[str] = field(default_factory=list)


class Rig:
    """One session with its main agent."""

    def __init__(
        self,
        tmp_path: Path,
        *script: Any,
        mode: Mode = "ask",
        store: MemoryStore | None = None,
        settings: Settings | None = None,
        new_skills: Callable[[Callable[[Event], None]], Skills] | None = None,
        describe_model: Callable[[str], Awaitable[ModelInfo | None]] | None = None,
        new_jobs: Callable[[], Any] | None = None,
        model: Any = None,
        tools: Sequence[Tool] = (),
        sandbox: Sandbox | None = None,
        history: FileHistory | None = None,
        is_machine_sandbox: bool = False,
        new_mcp: Callable[[Any], Any] | None = None,
        registries: FindPlaces | None = None,
        places: FarPlaces | None = None,
        served_window: AskServer | None = None,
    ) -> None:
        own = self._tools()
        self.model = model or ScriptedModel(*script)
        self.store = store or MemoryStore()
        self.events: list[Event] = []
        self.agents: dict[SessionId, tuple[AgentInfo, ...]] = {}
        self.gates = Gates()
        self.hear: Callable[[Event], None] = self._on_event
        self.wakeups: set[asyncio.Task[None]] = set()
        self._seen = asyncio.Condition()
        self.engine = Engine(
            model=self.model,
            store=self.store,
            tools=own if callable(own) else [*own, *tools],
            settings=settings or Settings(),
            emit=lambda event: self.hear(event),
            spill_dir=tmp_path / ".outputs",
            environment=Environment(
                new_jobs=new_jobs,
                new_skills=new_skills,
                describe_model=describe_model,
                sandbox=sandbox,
                registries=registries,
                history=history,
                is_machine_sandbox=is_machine_sandbox,
                new_mcp=new_mcp,
                places=places,
                served_window=served_window,
            ),
        )
        self.engine.start()
        tmp_path.mkdir(exist_ok=True)
        self.workspace = Workspace(str(tmp_path.resolve()))
        existing = self.store.sessions()
        self.session_id: SessionId = existing[0].id if existing else new_session_id()
        if not existing:
            self.engine.new_session(self.session_id, self.workspace, model="m", mode=mode)

    def _tools(self) -> list[Tool] | Callable[[], Sequence[Tool]]:
        async def slow(args: Mapping[str, Any], _: ToolContext) -> ToolOutput:
            self.gates.reached.set()
            await self.gates.open.wait()
            return ToolOutput("slow done")

        async def write(args: Mapping[str, Any], _: ToolContext) -> ToolOutput:
            self.gates.ran.append(args["what"])
            return ToolOutput("written")

        return [
            tool("echo", _echo),
            tool("fail", _fail),
            tool("crash", _crash),
            tool("ask", _ask, access=Access.INTERNAL),
            tool("slow", slow),
            tool("write", write, access=Access.WRITE, preview=lambda a: Preview(f"Write {a}?")),
        ]

    def _on_event(self, event: Event) -> None:
        if isinstance(event, AgentsChanged):
            # What a window knows by then: tests look at all agents as they stood.
            known = self.agents.get(event.session_id, ())
            whole = self.agents[event.session_id] = event.over(known)
            event = AgentsChanged(event.session_id, whole)
        elif isinstance(event, SessionOpened):
            self.agents[event.info.id] = event.agents
        self.events.append(event)
        job = asyncio.get_running_loop().create_task(self._wake())
        self.wakeups.add(job)
        job.add_done_callback(self.wakeups.discard)

    async def _wake(self) -> None:
        async with self._seen:
            self._seen.notify_all()

    @property
    def agent_id(self) -> AgentId:
        """The main agent's id."""
        infos = (info for info in self.store.sessions() if info.id == self.session_id)
        return next(infos).main_agent

    def send(self, text: str, delivery: Delivery = "step") -> Note:
        """Queue a message of the person's."""
        note = Note(new_note_id(), text, delivery=delivery)
        self.engine.send(self.agent_id, note)
        return note

    def send_to(self, agent_id: AgentId, text: str) -> Note:
        """Queue a message of the person's for any agent."""
        note = Note(new_note_id(), text)
        self.engine.send(agent_id, note)
        return note

    def messages_of(self, agent_id: AgentId) -> list[Message]:
        """One agent's history as it was told."""
        return [e.message for e in self.of(MessageAdded) if e.agent_id == agent_id]

    @property
    def tree(self) -> Agents:
        """The agents as the engine has them; for what it tells nobody."""
        return tree_of(self.engine)

    def agent(self, agent_id: AgentId) -> Agent:
        """Return one of them."""
        return agent_of(self.engine, agent_id)

    @property
    def opened(self) -> SessionOpened:
        """The newest opening of a session."""
        return self.of(SessionOpened)[-1]

    async def until(self, kind: type[E], count: int = 1) -> E:
        """Wait for the `count`-th event of a kind."""

        def found() -> bool:
            return len(self.of(kind)) >= count

        async with asyncio.timeout(HANG_S), self._seen:
            await self._seen.wait_for(found)
        return self.of(kind)[count - 1]

    async def once(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds, looking after each event."""
        async with asyncio.timeout(HANG_S), self._seen:
            await self._seen.wait_for(holds)

    async def at_rest(self) -> None:
        """Wait until the main agent may be woken again."""
        turn = agent_of(self.engine, self.agent_id).life.turn
        if turn is not None:
            await asyncio.wait([turn])

    async def run(self, text: str) -> TurnEnded:
        """Send a message and wait for the turn's end."""
        ended = len(self.of(TurnEnded))
        self.send(text)
        return await self.until(TurnEnded, ended + 1)

    def of(self, kind: type[E]) -> list[E]:
        """All events of a kind so far."""
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def messages(self) -> list[Message]:
        """The history as it was told."""
        return [event.message for event in self.of(MessageAdded)]

    @property
    def results(self) -> list[ToolResult]:
        """Every tool result in the history."""
        return [result for message in self.messages for result in message.results]

    def kinds(self) -> list[str]:
        """The names of all events, in order, without the snapshots."""
        names = [type(event).__name__ for event in self.events]
        return [n for n in names if not n.endswith("Changed") and n != "SessionOpened"]

    @property
    def listed(self) -> SessionsChanged:
        """The newest list of sessions."""
        return self.of(SessionsChanged)[-1]
