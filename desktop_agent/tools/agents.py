"""How agents work together: start, wait, steer, ask, answer, stop. Ownership is checked at
the call, so every agent is offered the same tools.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from desktop_agent.core.approvals import Rule
from desktop_agent.core.faults import ModelError
from desktop_agent.core.models import ModelInfo
from desktop_agent.core.network.places import Place
from desktop_agent.core.parts.facts import Started
from desktop_agent.core.tool import Access, Preview, Tool, ToolContext, ToolError, ToolOutput
from desktop_agent.engine.agent.agent import Agent
from desktop_agent.engine.skills.roles import role_named
from desktop_agent.engine.tree.agents import SpawnRequest
from desktop_agent.engine.tree.child_model import ChildModel, price_text
from desktop_agent.engine.tree.messaging import Steering
from desktop_agent.tools.define import Arguments, tool

_LONGEST_WAIT_S = 3600.0


def _parties(ctx: ToolContext) -> tuple[Agent, Steering]:
    if not isinstance(ctx.agent, Agent) or not isinstance(ctx.steering, Steering):
        raise ToolError("subagents are not available here")
    return ctx.agent, ctx.steering


class SpawnArguments(Arguments, frozen=True):
    """What a subagent is started with."""

    description: Annotated[str, Meta(description="A name for it of two to five words.")]
    prompt: Annotated[
        str, Meta(description="All it is to know: the goal, the files, the answer's form.")
    ]
    agent: Annotated[str, Meta(description="Its role, by name.")] = "general"
    model: Annotated[
        str, Meta(description="Another model; empty is yours. Most are asked about first.")
    ] = ""
    read: Annotated[tuple[str, ...], Meta(description="Folders it may read; empty: yours.")] = ()
    write: Annotated[tuple[str, ...], Meta(description="Folders it may write; empty: yours.")] = ()
    task_id: Annotated[int, Meta(description="A task of your list that it is to do.")] = 0
    place: Annotated[
        str,
        Meta(
            description="Where it works; empty is this computer. Elsewhere it works in a copy of "
            "the folder, and its changes come back as a patch."
        ),
    ] = ""


def _spawning(raw: Mapping[str, Any]) -> str:
    return f"starting a subagent: {str(raw.get('description', ''))[:60]}"


def _request(args: SpawnArguments) -> SpawnRequest:
    return SpawnRequest(
        description=args.description,
        prompt=args.prompt,
        role=args.agent,
        model=args.model,
        read=args.read,
        write=args.write,
        task_id=args.task_id,
        place=args.place.strip(),
    )


async def _preview_spawn(args: SpawnArguments, ctx: ToolContext) -> Preview:
    caller, steering = _parties(ctx)
    model = steering.agents.model_for(caller, _request(args))
    elsewhere = steering.agents.place_for(_request(args))
    if elsewhere is not None and model.is_agreed:
        return _preview_elsewhere(elsewhere)
    if model.is_agreed:
        return Preview(title="Start a subagent?")
    if elsewhere is not None:
        raise ToolError("on another model it can only be started here")
    price = price_text(model, await _known(steering, model))
    if steering.agents.model_for(caller, _request(args)) != model:
        raise ToolError("the model of this subagent was changed just now; call again")
    place = f"{model.name} at {model.address}"
    return Preview(
        title=f"Start a subagent on {model.name}?",
        stakes=(model.provider, model.address, price),
        host=place,
        rules=(Rule("spawn", place),),
    )


def _preview_elsewhere(place: Place) -> Preview:
    address = f"{place.name} ({place.kind} {place.target})"
    return Preview(
        title=f"Start a subagent on {place.name}?",
        stakes=(place.target, "sends a copy of the folder"),
        host=address,
        rules=(Rule("spawn", address),),
    )


async def _known(steering: Steering, model: ChildModel) -> ModelInfo | None:
    if steering.describe_model is None:
        return None
    try:
        return await steering.describe_model(model.name)
    except ModelError:  # no host to ask: the price stays unknown
        return None


@tool(access=Access.INTERNAL, preview=_preview_spawn, describe=_spawning)
async def spawn(args: SpawnArguments, ctx: ToolContext) -> ToolOutput:
    """Start a subagent and go on at once; its answer comes to you as a report.

    It sees nothing of your conversation: only the prompt, its folders and its role. Roles:
    general (a whole piece of work), explore (looks, changes nothing), review (checks work).
    """
    caller, steering = _parties(ctx)
    child = steering.agents.spawn(caller, _request(args))
    where = f" on {args.place.strip()}" if args.place.strip() else ""
    text = f"Started {child.name} as {child.id}{where}. Its report will come to you."
    role = role_named(args.agent, caller.skills.catalog.roles)
    if unknown := role.unknown_tools(caller.known_tools):
        text += f" Its role names tools that do not exist here: {', '.join(unknown)}."
    return ToolOutput(text, facts=Started(child.id, child.name))


class WaitArguments(Arguments, frozen=True):
    """Whom to wait for."""

    agent_ids: Annotated[tuple[str, ...], Meta(description="Subagents; empty: any of yours.")] = ()
    timeout_s: Annotated[float, Meta(description="How long at most, in seconds.")] = 600.0


@tool(access=Access.INTERNAL, describe=lambda _: "waiting for subagents")
async def wait(args: WaitArguments, ctx: ToolContext) -> ToolOutput:
    """Do nothing until a subagent reports or asks, or a note reaches you."""
    caller, steering = _parties(ctx)
    limit = min(max(args.timeout_s, 0.0), _LONGEST_WAIT_S)
    return await steering.wait(caller, args.agent_ids, limit)


class ChildArguments(Arguments, frozen=True):
    """One subagent."""

    agent_id: Annotated[str, Meta(description="The id of one of your subagents: sa_…")] = ""


@tool(access=Access.INTERNAL, describe=lambda _: "reading a subagent's result")
async def agent_result(args: ChildArguments, ctx: ToolContext) -> ToolOutput:
    """Return the whole of what a subagent ended with, when its report was shortened."""
    caller, steering = _parties(ctx)
    return ToolOutput(steering.result(caller, args.agent_id))


class SteerArguments(ChildArguments, frozen=True):
    """A note for a subagent."""

    note: Annotated[str, Meta(description="Short, complete in itself.")] = ""


@tool(access=Access.INTERNAL, describe=lambda raw: f"steering {raw.get('agent_id', '')}")
async def steer(args: SteerArguments, ctx: ToolContext) -> ToolOutput:
    """Queue a note for one of your own running subagents.

    It reads the note at its next step and changes its course; nothing is interrupted.
    """
    caller, steering = _parties(ctx)
    return ToolOutput(steering.steer(caller, args.agent_id, args.note))


class ProbeArguments(ChildArguments, frozen=True):
    """A look at a subagent."""

    question: Annotated[str, Meta(description="With live: what you want to know.")] = ""
    live: Annotated[bool, Meta(description="Ask its model aside; at most 5 times a child.")] = False


@tool(access=Access.INTERNAL, describe=lambda raw: f"looking at {raw.get('agent_id', '')}")
async def probe(args: ProbeArguments, ctx: ToolContext) -> ToolOutput:
    """See how a subagent stands, without telling it anything."""
    caller, steering = _parties(ctx)
    return ToolOutput(await steering.probe(caller, args.agent_id, args.question, live=args.live))


class QuestionArguments(Arguments, frozen=True):
    """A question for the parent."""

    question: Annotated[str, Meta(description="One clear question.")] = ""


@tool(access=Access.INTERNAL, describe=lambda _: "asking its parent")
async def ask_parent(args: QuestionArguments, ctx: ToolContext) -> ToolOutput:
    """Ask the agent that started you, and wait for the answer. For subagents only."""
    caller, steering = _parties(ctx)
    return ToolOutput(await steering.ask_parent(caller, ctx.call_id, args.question))


class AnswerArguments(ChildArguments, frozen=True):
    """An answer for a subagent."""

    answer: Annotated[str, Meta(description="What it asked for.")] = ""


@tool(access=Access.INTERNAL, describe=lambda raw: f"answering {raw.get('agent_id', '')}")
async def answer_child(args: AnswerArguments, ctx: ToolContext) -> ToolOutput:
    """Answer the question one of your subagents waits with."""
    caller, steering = _parties(ctx)
    return ToolOutput(steering.answer_child(caller, args.agent_id, args.answer))


@tool(access=Access.INTERNAL, describe=lambda raw: f"stopping {raw.get('agent_id', '')}")
async def stop(args: ChildArguments, ctx: ToolContext) -> ToolOutput:
    """Stop one of your subagents and all that it started. What it did stays done."""
    caller, steering = _parties(ctx)
    return ToolOutput(await steering.stop(caller, args.agent_id))


def agent_tools() -> tuple[Tool, ...]:
    """Return the tools with which agents work together."""
    return (spawn, wait, agent_result, steer, probe, ask_parent, answer_child, stop)
