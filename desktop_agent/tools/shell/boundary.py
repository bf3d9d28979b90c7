"""How the sandbox is to keep one command: read off its arguments, its words and the workspace."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePath

import msgspec

from desktop_agent.core.parts.containment import Containment
from desktop_agent.core.sandbox import Boundary
from desktop_agent.core.tool import ToolContext
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.permissions.protected_files import is_protected
from desktop_agent.engine.permissions.shell.git_profile import GitUse
from desktop_agent.engine.workspace.containment import is_within

_LONGEST_REASON = 2000
# What git takes for a repository, whatever else is in the folder.
_REPOSITORY = ("HEAD", "objects", "refs")


def containment_of(
    ctx: ToolContext,
    *,
    outside: str,
    is_changing: bool,
    git: GitUse,
    environment: Mapping[str, str],
) -> Containment | None:
    """Return how the sandbox keeps a command; None where it doesn't hold, or can't.

    `outside` is the model's reason to leave it. A folder that is the whole disk has no outside.
    """
    sandbox = ctx.sandbox
    if sandbox is None or not sandbox.state.holds or ctx.workspace.has_whole_disk:
        return None
    if outside.strip():
        return Containment(is_contained=False, reason=outside.strip()[:_LONGEST_REASON])
    return Containment(
        is_changing=is_changing,
        is_git_writable=is_changing and git.is_writable and _is_trusted_git(ctx, environment),
        is_wide=_is_wide(ctx),
    )


def boundary_of(ctx: ToolContext, containment: Containment, directory: str) -> Boundary:
    """Return what a command in `directory` may reach: the call's boundary, as far as it is there.

    A folder that is gone, as with a disk, is left out, and so is one whose path leads elsewhere
    by now: a command may have put a link in its way. A protected one, which an agent may give its
    subagents, is only read unless the command runs there: that is asked about in every mode.
    """
    folders = ctx.boundary.folders
    found = filter(_is_there, folders.write_roots)
    return msgspec.structs.replace(
        ctx.boundary,
        folders=Workspace(
            folders.root,
            tuple(filter(_is_there, folders.read_roots)),
            tuple(root for root in found if _is_opened(ctx, root, directory)),
            has_root=False,
        ),
        call_id=ctx.call_id,
        is_changing=containment.is_changing,
        is_git_writable=containment.is_git_writable,
        named=containment.named,
    )


def _is_wide(ctx: ToolContext) -> bool:
    """Whether a home as a whole is within reach."""
    home = os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111 - never raises
    return any(is_within(PurePath(home), root) for root in ctx.workspace.read_roots)


def _is_trusted_git(ctx: ToolContext, environment: Mapping[str, str]) -> bool:
    """Whether `git` is not a program that the agent could have written."""
    program = shutil.which("git", path=environment.get("PATH", ""))
    if program is None:
        return False
    places = (PurePath(program), PurePath(os.path.realpath(program)))
    return not any(is_within(place, root) for place in places for root in ctx.workspace.write_roots)


def _is_there(root: str) -> bool:
    return os.path.isdir(root) and os.path.realpath(root) == root  # noqa: PTH112


def _is_opened(ctx: ToolContext, root: str, directory: str) -> bool:
    if is_protected(root, ctx.boundary.own) and not is_within(directory, root):
        return False
    above = (step for step in PurePath(root).parents if is_within(step, ctx.workspace.root))
    return not any(all(Path(step, name).exists() for name in _REPOSITORY) for step in above)
