"""What all agents share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from desktop_agent.core.agents import StopReason
from desktop_agent.core.events import EngineFailed
from desktop_agent.core.faults import Fault
from desktop_agent.core.ids import AgentId
from desktop_agent.core.settings import Settings
from desktop_agent.engine.agent.dispatch import Dispatch
from desktop_agent.engine.agent.prompt import Prompt
from desktop_agent.engine.base.ports import Model
from desktop_agent.engine.skills.registry import Skills

A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class AgentSetup(Generic[A]):
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
    skills: Skills | None = None
