"""`shell`: running commands, in the foreground and in the background, and ending them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from desktop_agent.core.approvals import Rule
from desktop_agent.core.messages import CommandDisplay, OutputDisplay
from desktop_agent.core.parts.containment import Containment
from desktop_agent.core.parts.facts import FailedInside, InBackground
from desktop_agent.core.sandbox import Boundary
from desktop_agent.core.tool import Access, Preview, ToolContext, ToolError, ToolOutput
from desktop_agent.engine.permissions.policy import OUTSIDE_RULES, SANDBOX_RULES
from desktop_agent.engine.permissions.shell import classify
from desktop_agent.engine.permissions.shell.git_profile import GitUse, git_use
from desktop_agent.engine.workspace.containment import resolve_for_read, resolve_for_write
from desktop_agent.engine.workspace.programs import stood_in_for
from desktop_agent.engine.workspace.safe_open import digest, open_folder
from desktop_agent.tools.define import Arguments, tool
from desktop_agent.tools.shell import process_tree
from desktop_agent.tools.shell.boundary import boundary_of, containment_of
from desktop_agent.tools.shell.command_effects import effects_of, secrets_searched
from desktop_agent.tools.shell.environment import command_environment
from desktop_agent.tools.shell.jobs import Jobs
from desktop_agent.tools.shell.output import LiveText, Output
from desktop_agent.tools.shell.proof import Proof, prove
from desktop_agent.tools.shell.running import Launch, RunningCommand
from desktop_agent.tools.shell.sandbox_hint import sandbox_hint

_LONGEST_S = 600
_LOOK_AGAIN_S = 1.0
_ENDED_WITH_IT = (
    "[Sandbox: what it started with & and did not wait for has ended with it. "
    "Set run_in_background to keep a command running.]"
)


class ShellArguments(Arguments, frozen=True):
    """What to run."""

    command: Annotated[
        str, Meta(min_length=1, description="The command; for bash, on Windows PowerShell.")
    ]
    directory: Annotated[str, Meta(description="The folder to run it in.")] = "."
    timeout_s: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="Seconds until it is ended; at most 600."),
    ] = None
    run_in_background: Annotated[
        bool, Meta(description="Return at once; follow it with `shell_job`.")
    ] = False
    changes: Annotated[
        bool,
        Meta(description="False when it only looks or checks: nothing can be written then."),
    ] = True
    outside: Annotated[
        str,
        Meta(description="Why it must run outside the sandbox; the user is asked. Mostly empty."),
    ] = ""

    def seconds(self, ctx: ToolContext) -> int:
        """Return the time limit; longer ones are cut down rather than refused."""
        return min(self.timeout_s or ctx.command_time_s, _LONGEST_S)


async def _preview(args: ShellArguments, ctx: ToolContext) -> Preview:
    return await asyncio.to_thread(_plan, args, ctx)


def _describe(raw: Mapping[str, Any]) -> str:
    lines = str(raw["command"]).strip().splitlines() or [""]
    return f"running {lines[0][:80]}{'…' if len(lines) > 1 or len(lines[0]) > 80 else ''}"


@tool(access=Access.EXECUTE, preview=_preview, describe=_describe)
async def shell(args: ShellArguments, ctx: ToolContext) -> ToolOutput:
    """Run a command in the workspace folder and return what it printed.

    It has no input and is ended after `timeout_s`, the user's usual limit when left out.
    What it leaves running is ended too: for servers and watchers set `run_in_background`.
    Each call is a new shell. Prefer `read`, `glob`, `grep`, `edit` where they do.
    """
    # It runs as it was decided about, whatever has become of the sandbox since.
    judged = ctx.judged or await _preview(args, ctx)
    run = await asyncio.to_thread(_located, args, ctx, judged.containment)
    jobs = ctx.jobs if isinstance(ctx.jobs, Jobs) else Jobs()
    return await (
        _in_background(run, jobs) if args.run_in_background else _in_foreground(run, jobs)
    )


class _Run(msgspec.Struct, frozen=True):
    """One call, with where its command runs, how it is contained, and what it may reach then."""

    args: ShellArguments
    ctx: ToolContext
    directory: str
    containment: Containment | None
    boundary: Boundary | None = None


def _located(args: ShellArguments, ctx: ToolContext, containment: Containment | None) -> _Run:
    """Look up where a command is to run. Raises ToolError; waits for the disk."""
    directory = _directory(args, ctx)
    ctx.require_judged(Path(directory))
    is_inside = containment is not None and containment.is_contained
    boundary = boundary_of(ctx, containment, directory) if containment and is_inside else None
    return _Run(args, ctx, directory, containment, boundary)


def _plan(args: ShellArguments, ctx: ToolContext) -> Preview:
    if "\0" in args.command:
        raise ToolError("the command holds a NUL character.")
    directory = _directory(args, ctx)
    environment = command_environment(ctx.environment)
    background = args.run_in_background
    proof = Proof()
    if not background:
        proof = prove(args.command, directory, ctx.workspace, environment, ctx.boundary.own)
    git = GitUse() if background else git_use(args.command, proof.parts)
    is_changing = args.changes and not proof.is_whole
    contained = containment_of(
        ctx, outside=args.outside, is_changing=is_changing, git=git, environment=environment
    )
    return _previewed(args, ctx, directory, proof, contained, git)


def _previewed(
    args: ShellArguments,
    ctx: ToolContext,
    directory: str,
    proof: Proof,
    contained: Containment | None,
    git: GitUse,
) -> Preview:
    is_inside = contained is not None and contained.is_contained
    is_changing = contained is None or contained.is_changing
    effects = effects_of(
        args.command, directory, ctx.workspace, ctx.boundary.own, is_changing=is_changing
    )
    if contained is not None and effects.protected:
        contained = msgspec.structs.replace(contained, named=effects.protected)
    searched = () if is_inside else secrets_searched(args.command, directory, ctx.boundary.own)
    parts = classify.split_parts(args.command)
    is_leaving = contained is not None and not contained.is_contained
    # Out there a rule is for exactly this, and so for what is fed to it.
    proven = classify.not_feeding(args.command, proof.parts) if is_leaving else proof.parts
    return Preview(
        title=_title(args, is_leaving=is_leaving),
        display=CommandDisplay(args.command, directory, parts, contained),
        stakes=_stakes(args, ctx, bool(effects.deletes)),
        paths=(directory,),
        deletes=effects.deletes,
        protected=(*_asked_about(effects.protected, is_proven=proof.is_whole), *searched),
        outside=() if is_inside else effects.outside,
        command=args.command,
        is_read_only=proof.is_whole,
        proven=proven,
        containment=contained,
        is_git_asked=is_inside and is_changing and git.is_asked,
        rules=_rules(args.command, proven, contained),
        asked=_stands_in(args.command, ctx) if is_leaving else "",
        refusals=tuple(Rule("shell", p, is_deny=True) for p in classify.refusals(args.command)),
        fingerprint=_fingerprint(args, directory),
    )


def _stands_in(command: str, ctx: ToolContext) -> str:
    """Return why a command is asked about whose program is one that lies in the folder.

    What may run outside the sandbox was said of a program by its name. A folder whose `bin` is on
    the PATH can be given another of that name by anything that runs in the sandbox.
    """
    folders = (ctx.workspace.root, *ctx.workspace.write_roots)
    path = command_environment(ctx.environment).get("PATH", "").split(os.pathsep)
    for name in (simple.words[0] for simple in classify.words_of(command) if simple.words):
        if stood_in_for(name, path, folders):
            return (
                f"The folder has a “{name}” of its own, which would run in place of the system's."
            )
    return ""


def _fingerprint(args: ShellArguments, directory: str) -> str:
    said = f"{directory}\0{args.run_in_background}\0{args.command}"
    return digest(said.encode("utf-8", "replace"))


def _rules(
    command: str, proven: tuple[int, ...], contained: Containment | None
) -> tuple[Rule, ...]:
    """Return what *Allow always* may remember: it says for which way of running it was made."""
    if contained is not None and not contained.is_contained:
        return tuple(Rule(OUTSIDE_RULES, p) for p in classify.exact(command, proven))
    kind = "shell" if contained is None else SANDBOX_RULES
    return tuple(Rule(kind, p) for p in classify.offers(command, proven))


def _title(args: ShellArguments, *, is_leaving: bool) -> str:
    where = " outside the sandbox" if is_leaving else ""
    return f"Run a command{where}{' in the background' if args.run_in_background else ''}?"


def _asked_about(protected: tuple[str, ...], *, is_proven: bool) -> tuple[str, ...]:
    """What only looks is proven against the disk; a pattern may mean another file by then."""
    return tuple(p for p in protected if not is_proven or set(p) & set("*?["))


def _stakes(args: ShellArguments, ctx: ToolContext, deletes: bool) -> tuple[str, ...]:
    in_time = f"at most {args.seconds(ctx)} s"
    time_limit = "runs until it is ended" if args.run_in_background else in_time
    return (time_limit, "deletes files") if deletes else (time_limit,)


def _directory(args: ShellArguments, ctx: ToolContext) -> str:
    # Who may write nowhere only looks: what a command may do is the policy's to say.
    resolve = resolve_for_write if ctx.workspace.write_roots else resolve_for_read
    directory = resolve(ctx.workspace, args.directory)
    if not directory.is_dir():
        raise ToolError(f"the folder '{args.directory}' doesn't exist.")
    return str(directory)


async def _launch(run: _Run, mark: str) -> Launch:
    """Prepare the command; in the sandbox when that is how it was decided. Raises ToolError."""
    environment = command_environment(run.ctx.environment)
    args = run.args
    if run.boundary is None:
        return Launch(args.command, run.directory, environment, mark, args.run_in_background)
    if run.ctx.sandbox is None:
        raise ToolError("there is no sandbox any more; nothing was run.")
    enclosure = await run.ctx.sandbox.enclose(run.boundary, run.directory, environment)
    return Launch(args.command, "/", environment, mark, args.run_in_background, enclosure)


def _start(run: _Run, launch: Launch, live: LiveText | None) -> RunningCommand:
    ctx, watch = run.ctx, live.feed if live else _unseen
    if sys.platform != "linux" or launch.enclosure is not None:
        return RunningCommand(launch, Output(ctx.outputs), watch)
    # Through the open folder: what is put in its place meanwhile is not where it runs.
    with open_folder(ctx.workspace, Path(run.directory)) as descriptor:
        held = replace(launch, directory=f"/proc/self/fd/{descriptor}")
        return RunningCommand(held, Output(ctx.outputs), watch)


def _unseen(chunk: bytes) -> None:
    """Nobody watches a background command live; its output is asked for."""


async def _in_background(run: _Run, jobs: Jobs) -> ToolOutput:
    if not isinstance(run.ctx.jobs, Jobs):
        raise ToolError("commands can't run in the background here.")
    launch = await _launch(run, jobs.new_mark())
    command, contained = run.args.command, run.containment
    try:
        job = jobs.start(command, lambda: _start(run, launch, None), contained)
    finally:
        launch.close()
    if run.ctx.changes is not None and job.completion is not None:
        run.ctx.changes.goes_on(job.completion)
    text = (
        f"Started {job.id} (pid {job.running.pid}). Read its output, or end it, with "
        f'shell_job(job_id="{job.id}", action="output" or "kill"); it is ended with the session.'
    )
    display = OutputDisplay(f"Runs in the background as {job.id}.")
    return ToolOutput(text, display, facts=InBackground(job.id))


async def _in_foreground(run: _Run, jobs: Jobs) -> ToolOutput:
    limit_s = run.args.seconds(run.ctx)
    launch = await _launch(run, jobs.new_mark())
    live = LiveText(run.ctx.report)
    began = time.monotonic()
    running = _start(run, launch, live)
    notes: list[str] = []
    try:
        notes += await _over(running, run, limit_s)
    except BaseException as stopped:
        # Stopped by the user: nothing of it may go on, so this isn't cut short.
        for note in await asyncio.shield(_end(running)):
            stopped.add_note(note)
        raise
    finally:
        live.close()
    notes += await running.settle()
    if running.is_enclosed and classify.leaves_running(run.args.command):
        notes.append(_ENDED_WITH_IT)
    seen = run.ctx.workspace.read_roots
    if hint := sandbox_hint(running.output.text(), running.exit_code, run.containment, seen):
        notes.append(hint)
    output = _result(running, notes, time.monotonic() - began)
    if running.is_enclosed and running.exit_code != 0:
        args = run.args
        return replace(output, facts=FailedInside(args.command, _fingerprint(args, run.directory)))
    return output


async def _over(running: RunningCommand, run: _Run, limit_s: float) -> list[str]:
    """Wait for its end, or end it after so long; return what somebody should know of that."""
    try:
        await _exit(running, limit_s, run.ctx.waited_s)
    except TimeoutError:
        survivors = await running.end()
        return [f"[Ended after {limit_s} s: it was still running.]", *_survivors(survivors)]
    return await _left_behind(running)


async def _exit(running: RunningCommand, limit_s: float, waited_s: Callable[[], float]) -> None:
    """Wait for the exit. Raises TimeoutError after so long, without the time the user took."""
    began = time.monotonic()
    while (left := limit_s + waited_s() - (time.monotonic() - began)) > 0:
        with contextlib.suppress(TimeoutError):
            # While the user thinks `left` stays as it is, however little that is.
            async with asyncio.timeout(max(left, _LOOK_AGAIN_S) if waited_s() else left):
                await running.wait()
                return
    raise TimeoutError


async def _end(running: RunningCommand) -> list[str]:
    """End all of it; return a line for each thing that somebody should know."""
    survivors = await running.end()
    return list(dict.fromkeys((*_survivors(survivors), *await running.settle())))


async def _left_behind(running: RunningCommand) -> list[str]:
    """End what stayed in the command's own session; name what left it on purpose."""
    if running.is_enclosed:
        return []  # nothing outlives the sandbox
    left = await running.left()
    own = process_tree.in_session(left, running.pid)
    away = tuple(pid for pid in left if pid not in own)
    names = process_tree.names_of(own)
    survivors = await process_tree.end_left(own, running.mark)
    notes = _survivors(survivors)
    if own and not survivors:
        notes.append(
            f"[Ended what it left running: {names}. "
            "Set run_in_background to keep a command running.]"
        )
    if away:
        notes.append(f"[Still running apart from it: {process_tree.names_of(away)}.]")
    return notes


def _survivors(pids: tuple[int, ...]) -> list[str]:
    if not pids:
        return []
    return [f"[Could not be ended and still runs: {process_tree.names_of(pids)}.]"]


def _result(running: RunningCommand, notes: list[str], seconds: float) -> ToolOutput:
    printed = running.output.text()
    code = running.exit_code
    ending = [*notes] if code is None else [*notes, f"[Exit code {code}, {seconds:.1f} s]"]
    shown = printed if not printed or printed.endswith("\n") else printed + "\n"
    file = running.output.file
    display = OutputDisplay(
        text=shown + "\n".join(notes),
        exit_code=code,
        seconds=seconds,
        file=str(file) if file is not None else "",
    )
    return ToolOutput(shown + "\n".join(ending), display)
