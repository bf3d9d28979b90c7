"""The user's settings. Keys are never among them."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from desktop_agent.core.agents import Budget
from desktop_agent.core.approvals import Mode
from desktop_agent.core.messages import Value
from desktop_agent.core.network.places import Place
from desktop_agent.core.requests import Limits
from desktop_agent.core.sandbox import SandboxOptions

# How much of the user's own instructions is given to agents, in characters.
LONGEST_INSTRUCTIONS = 16_000

Theme = Literal["system", "light", "dark"]
# What is written by hand has to leave an app that can be used.
_MOST = 100_000_000
_Count = Annotated[int, Meta(ge=1, le=_MOST)]
_NotNegative = Annotated[int, Meta(ge=0, le=_MOST)]
_Scale = Annotated[int, Meta(ge=50, le=400)]


class CustomServer(Value, frozen=True):
    """An OpenAI-compatible server the user added by its address."""

    title: str
    api_base: str


class ListedModel(Value, frozen=True):
    """A model that subagents may use unasked, at this address; empty is its provider's own."""

    name: str
    api_base: str = ""


class Settings(Value, frozen=True):
    """Everything the Settings window can change; each field is read somewhere.

    `model` is empty until one was chosen. `steer_on_enter` swaps *Queue* and *Steer*.
    `text_scale` is a percentage of the type sizes. `max_depth`, `max_children` (of one agent)
    and `max_agents` (live, in one session) cap subagents; `budget` is a session's main
    agent's, `subagent_budget` what each subagent gets at most. `subagent_models` are those that a
    subagent may be started on unasked, besides its parent's. `context_window` is how many tokens a
    request may take at most, if less than its model allows; 0 leaves it to the model.
    `places` are where jobs can run besides here. `instructions` are the user's own for all work, in
    every folder.
    """

    theme: Theme = "system"
    text_scale: _Scale = 100
    reduce_motion: bool = False
    model: str = ""
    api_base: str = ""
    mode: Mode = "ask"
    send_with_ctrl_enter: bool = False
    steer_on_enter: bool = False
    keep_keys_in_file: bool = False
    max_steps: _Count = 200
    shell_timeout_s: _Count = 120
    context_window: _NotNegative = 0
    limits: Limits = Limits()
    sandbox: SandboxOptions = SandboxOptions()
    has_subagents: bool = True
    max_depth: _NotNegative = 2
    max_children: _NotNegative = 4
    max_agents: _NotNegative = 8
    question_timeout_s: _NotNegative = 900
    budget: Budget = Budget()
    subagent_budget: Budget = Budget()
    subagent_models: tuple[ListedModel, ...] = ()
    servers: tuple[CustomServer, ...] = ()
    places: tuple[Place, ...] = ()
    favourite_models: tuple[str, ...] = ()
    recent_folders: tuple[str, ...] = ()
    check_updates_weekly: bool = False
    instructions: str = ""


def without_wrong_limits(budget: Budget) -> tuple[Budget, tuple[str, ...]]:
    """Return a budget without the limits that none can be, and their names.

    What is left of a budget can be nothing, so its own type allows that.
    """
    limits: dict[str, float | None] = msgspec.structs.asdict(budget)
    wrong = [name for name, most in limits.items() if most is not None and not 0 <= most <= _MOST]
    return msgspec.structs.replace(budget, **dict.fromkeys(wrong)), tuple(wrong)
