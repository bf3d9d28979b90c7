"""What one agent may use now: its own rights, never more than its session's."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from desktop_agent.core.agents import AgentSpec
from desktop_agent.core.approvals import Mode
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.tool import Tool, ToolError
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.workspace.containment import resolve_for_read, resolve_for_write

# One group with one switch: the tools with which agents work together.
DELEGATION = frozenset(
    {"spawn", "wait", "agent_result", "steer", "probe", "ask_parent", "answer_child", "stop"}
)

_RANK: dict[Mode, int] = {"look": 0, "ask": 1, "free": 2}


class Scope(msgspec.Struct, frozen=True):
    """Model, mode, folders and tools of one agent; `tools` None is all of them.

    `is_machine_sandbox` tells that the person has set this machine apart for the session.
    """

    model: str
    api_base: str
    mode: Mode
    workspace: Workspace
    tools: tuple[str, ...] | None = None
    is_machine_sandbox: bool = False

    def allows(self, tool: Tool) -> bool:
        """Whether the agent has the tool."""
        return self.is_here(tool) and (self.tools is None or tool.name in self.tools)

    def is_here(self, tool: Tool) -> bool:
        """Whether the tool is for the agent's folder."""
        return tool.where in ("", self.workspace.root)


def scope_of(
    info: SessionInfo, spec: AgentSpec | None, *, is_machine_sandbox: bool = False
) -> Scope:
    """Return the scope; a session whose rights shrank takes its subagents' along."""
    given = _with_disk(info.workspace) if is_machine_sandbox else info.workspace
    if spec is None:
        return Scope(info.model, info.api_base, info.mode, given, None, is_machine_sandbox)
    mode = narrower(info.mode, spec.mode)
    workspace, is_whole = _shared(spec.workspace, given)
    if not is_whole:
        mode = "look"
    model, api_base = info.model, info.api_base
    if spec.has_own_model:
        model, api_base = spec.model, spec.api_base
    return Scope(model, api_base, mode, workspace, spec.tools, is_machine_sandbox)


# Asked some forty times a step, and of few folders; what they are compared by is slow to make.
@functools.lru_cache(1024)
def _shared(own: Workspace, given: Workspace) -> tuple[Workspace, bool]:
    """Return the rights that both give, and whether those are all that the first gives."""
    if own.has_whole_disk and not given.has_whole_disk:
        # It was given while the machine was the sandbox: only that is over.
        own = _without_disk(own)
    return own.limited_to(given), own.is_within(given)


@functools.lru_cache(256)
def _with_disk(workspace: Workspace) -> Workspace:
    if workspace.has_whole_disk:
        return workspace
    return msgspec.structs.replace(workspace, writable=(*workspace.writable, workspace.disk))


def _without_disk(workspace: Workspace) -> Workspace:
    kept = tuple(path for path in workspace.writable if path != workspace.disk)
    return msgspec.structs.replace(workspace, writable=kept)


def narrower(first: Mode, second: Mode) -> Mode:
    """Return the mode that allows less."""
    return min(first, second, key=_RANK.__getitem__)


def narrowed(
    parent: Scope, read: Sequence[str], write: Sequence[str], role_mode: Mode
) -> tuple[Workspace, Mode]:
    """Return a child's folders and mode. Raises ToolError for what the parent may not use.

    Without paths the child has its parent's folders. With `write` it may write those alone
    (and read what `read`, or else the parent, may read); with `read` alone it only looks. The
    root stays its parent's: a relative path means the same file to both.
    """
    mode = narrower(parent.mode, role_mode)
    if not read and not write:
        return parent.workspace, mode
    workspace = parent.workspace
    readable = [_folder(resolve_for_read(workspace, path)) for path in read]
    writable = [_folder(resolve_for_write(workspace, path)) for path in write]
    if not writable:
        mode = narrower(mode, "look")
    others = readable or workspace.read_roots
    return Workspace(workspace.root, tuple(others), tuple(writable), has_root=False), mode


def offered(
    tools: Mapping[str, Tool], scope: Scope, *, has_subagents: bool = True
) -> dict[str, Tool]:
    """Return the tools of a scope by name; without subagents none of delegation's."""
    return {
        name: tool
        for name, tool in tools.items()
        if scope.allows(tool) and (has_subagents or name not in DELEGATION)
    }


def _folder(path: Path) -> str:
    if not path.is_dir():
        raise ToolError(f"'{path}' is not a folder; a subagent is given folders")
    return str(path)
