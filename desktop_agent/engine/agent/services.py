"""What all agents share, and what the engine may be given."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from desktop_agent.core.agents import StopReason
from desktop_agent.core.approvals import Rule
from desktop_agent.core.events import EngineFailed, Event
from desktop_agent.core.faults import Fault
from desktop_agent.core.ids import AgentId
from desktop_agent.core.sandbox import Sandbox, SandboxInstaller, SandboxInventory, ServedPorts
from desktop_agent.core.settings import Settings
from desktop_agent.core.workspace import OwnPlaces
from desktop_agent.engine.agent.dispatch import Dispatch
from desktop_agent.engine.agent.prompt import Prompt
from desktop_agent.engine.base.places import FarPlaces
from desktop_agent.engine.base.ports import FileHistory, Model
from desktop_agent.engine.context.context import ContextServices
from desktop_agent.engine.context.windows import AskServer, DescribeModel
from desktop_agent.engine.permissions.checked_sandbox import FindPlaces
from desktop_agent.engine.skills.registry import Skills

if TYPE_CHECKING:
    from desktop_agent.engine.mcp.servers import Servers, Surroundings

A = TypeVar("A")


class Environment(msgspec.Struct, frozen=True):
    """What the engine may be given besides: each has a working default.

    `new_jobs` makes an agent's place for background commands; it has an async `close`.
    `new_skills` makes the catalog of skills, given who hears of its changes; without it there
    are none. `own` are the app's own files, which are asked about in every mode.
    `describe_model` knows a model's price by its name, `served_window` asks a server of this
    computer how much context it gives a model. Commands run in the `sandbox` where it
    holds, `inventory` knows what is in it, `installer` installs what it needs, `registries` finds
    the hosts that packages come from, `served` knows what commands serve; `is_machine_sandbox`
    tells that the person has set this machine apart for the agent. `rules` hold while the app
    runs, beside the stored ones. `history` keeps what agents change in files; without it nothing
    can be undone. `new_mcp` makes what MCP servers run in; without it there are none. `places` are
    where subagents work besides here.
    """

    new_jobs: Callable[[], Any] | None = None
    new_skills: Callable[[Callable[[Event], None]], Skills] | None = None
    own: OwnPlaces = msgspec.field(default_factory=OwnPlaces)
    describe_model: DescribeModel | None = None
    served_window: AskServer | None = None
    sandbox: Sandbox | None = None
    inventory: SandboxInventory | None = None
    installer: SandboxInstaller | None = None
    registries: FindPlaces | None = None
    served: ServedPorts | None = None
    is_machine_sandbox: bool = False
    rules: Sequence[Rule] = ()
    history: FileHistory | None = None
    new_mcp: Callable[[Surroundings], Servers] | None = None
    places: FarPlaces | None = None


class AgentSetup(msgspec.Struct, Generic[A], frozen=True):
    """`A` is the agent itself.

    `failed` hears of defects; `changed` of each change of an agent's status or activity;
    `turn_over` of each turn's end, when no other follows; `before_step` may pause an agent
    that used up its budget; `forget` drops what is kept of its history between requests.
    While `is_closing` no turn begins. Without `skills` there are none.
    """

    model: Model
    dispatch: Dispatch
    prompt: Prompt
    settings: Callable[[], Settings]
    failed: Callable[[EngineFailed], None]
    check_thread: Callable[[], None]
    changed: Callable[[A], None]
    turn_over: Callable[[A, StopReason, Fault | None], None]
    before_step: Callable[[A], Awaitable[None]]
    forget: Callable[[AgentId], None]
    is_closing: Callable[[], bool]
    context: ContextServices
    skills: Skills | None = None
