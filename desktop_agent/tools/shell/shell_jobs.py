"""`shell_job` and `shell_input`: following, ending and feeding background commands."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta

from desktop_agent.core.messages import CommandDisplay, OutputDisplay
from desktop_agent.core.tool import Access, Preview, ToolContext, ToolError, ToolOutput
from desktop_agent.engine.workspace.safe_open import digest
from desktop_agent.tools.define import Arguments, tool
from desktop_agent.tools.shell import process_tree
from desktop_agent.tools.shell.jobs import Job, Jobs
from desktop_agent.tools.shell.sandbox_hint import sandbox_hint

_LONGEST_WAIT_S = 120


class JobArguments(Arguments, frozen=True):
    """Which background command, and what about it."""

    action: Annotated[
        Literal["output", "kill", "list"],
        Meta(description="`output` since the last look, `kill` it, or `list` all."),
    ] = "output"
    job_id: Annotated[str, Meta(description="Its id, such as `job_1`; not for `list`.")] = ""
    wait_s: Annotated[
        int, Meta(ge=0, description="With `output`: wait up to so many seconds for it to end.")
    ] = 0


class InputArguments(Arguments, frozen=True):
    """What to type into which background command."""

    job_id: Annotated[str, Meta(description="Its id, such as `job_1`.")]
    text: Annotated[str, Meta(description="What to type; end a line with a line feed.")]


def _describe_job(raw: Mapping[str, Any]) -> str:
    action = raw.get("action", "output")
    if action == "list":
        return "looking at background commands"
    return f"{'ending' if action == 'kill' else 'looking at'} {raw['job_id']}"


def _describe_input(raw: Mapping[str, Any]) -> str:
    return f"typing into {raw['job_id']}"


@tool(access=Access.INTERNAL, describe=_describe_job)
async def shell_job(args: JobArguments, ctx: ToolContext) -> ToolOutput:
    """Look at a command that `shell` started in the background, or end it."""
    jobs = _jobs(ctx)
    if args.action == "list":
        return ToolOutput("\n".join(map(_line, jobs.all())) or "No background commands.")
    job = jobs.find(args.job_id)
    if args.action == "kill":
        return await _kill(job)
    if args.wait_s and job.completion is not None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(args.wait_s, _LONGEST_WAIT_S)):
                await asyncio.shield(job.completion)
    return await _news(job, ctx)


async def _preview_input(args: InputArguments, ctx: ToolContext) -> Preview:
    job = _jobs(ctx).find(args.job_id)
    return Preview(
        title="Type into a running command?",
        display=CommandDisplay(args.text, f"{job.id}: {job.command}", containment=job.containment),
        stakes=("types into a program",),
        command=args.text,
        containment=job.containment,
        fingerprint=digest(f"{job.id}\0{args.text}".encode("utf-8", "replace")),
    )


@tool(access=Access.EXECUTE, preview=_preview_input, describe=_describe_input)
async def shell_input(args: InputArguments, ctx: ToolContext) -> ToolOutput:
    """Type text into a command that runs in the background."""
    job = _jobs(ctx).find(args.job_id)
    job.running.write(args.text)
    return ToolOutput(f"Typed {len(args.text)} characters into {job.id}.")


def _jobs(ctx: ToolContext) -> Jobs:
    if not isinstance(ctx.jobs, Jobs):
        raise ToolError("there are no background commands here.")
    return ctx.jobs


async def _kill(job: Job) -> ToolOutput:
    if job.running.exit_code is not None:
        return ToolOutput(f"{job.id} {job.state} before.")
    survivors = await asyncio.shield(job.running.end())
    if survivors:
        return ToolOutput(f"Could not be ended: {process_tree.names_of(survivors)}.")
    return ToolOutput(f"Ended {job.id}.")


async def _news(job: Job, ctx: ToolContext) -> ToolOutput:
    output = job.running.output
    text = output.since(job.reported)
    job.reported = output.total
    seconds = time.monotonic() - job.began
    state = f"[{job.id} {job.state}, started {seconds:.0f} s ago]"
    shown = text if not text or text.endswith("\n") else text + "\n"
    notes = await _notes_of_end(job, text, ctx)
    ending = "".join(f"{note}\n" for note in notes)
    display = OutputDisplay(shown + ending, job.running.exit_code, seconds)
    return ToolOutput(shown + ending + state, display)


async def _notes_of_end(job: Job, printed: str, ctx: ToolContext) -> list[str]:
    code = job.running.exit_code
    if code is None or job.is_end_told:
        return []
    job.is_end_told = True
    hint = sandbox_hint(printed, code, job.containment, ctx.workspace.read_roots)
    return [*await job.running.settle(), *([hint] if hint else [])]


def _line(job: Job) -> str:
    return f"{job.id} ({job.state}): {job.command[:200]}"
