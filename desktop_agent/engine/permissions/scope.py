"""What one agent may use now: its own rights, never more than its session's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from desktop_agent.core.agents import AgentSpec
from desktop_agent.core.approvals import Mode
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.tool import Tool, ToolError
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.workspace.containment import (
    make_workspace,
    resolve_for_read,
    resolve_for_write,
)

# One group with one switch: the tools with which agents work together.
DELEGATION = frozenset(
    {"spawn", "wait", "agent_result", "steer", "probe", "ask_parent", "answer_child", "stop"}
)

_RANK: dict[Mode, int] = {"look": 0, "ask": 1, "free": 2}


@dataclass(frozen=True, slots=True)
class Scope:
    """Model, mode, folders and tools of one agent; `tools` None is all of them."""

    model: str
    api_base: str
    mode: Mode
    workspace: Workspace
    tools: tuple[str, ...] | None = None

    def allows(self, tool: Tool) -> bool:
        """Whether the agent has the tool."""
        return self.tools is None or tool.name in self.tools


def scope_of(info: SessionInfo, spec: AgentSpec | None) -> Scope:
    """Return the scope; a session whose rights shrank takes its subagents' along."""
    if spec is None:
        return Scope(info.model, info.api_base, info.mode, info.workspace)
    mode = narrower(info.mode, spec.mode)
    workspace = spec.workspace
    if not workspace.is_within(info.workspace):
        mode, workspace = "look", info.workspace
    model, api_base = (spec.model, spec.api_base) if spec.model else (info.model, info.api_base)
    return Scope(model, api_base, mode, workspace, spec.tools)


def narrower(first: Mode, second: Mode) -> Mode:
    """Return the mode that allows less."""
    return min(first, second, key=_RANK.__getitem__)


def narrowed(
    parent: Scope, read: Sequence[str], write: Sequence[str], role_mode: Mode
) -> tuple[Workspace, Mode]:
    """Return a child's folders and mode. Raises ToolError for what the parent may not use.

    Without paths the child has its parent's folders. With `write` it may write those alone
    (and read what `read`, or else the parent, may read); with `read` alone it only looks.
    """
    mode = narrower(parent.mode, role_mode)
    if not read and not write:
        return parent.workspace, mode
    workspace = parent.workspace
    readable = [_folder(resolve_for_read(workspace, path)) for path in read]
    writable = [_folder(resolve_for_write(workspace, path)) for path in write]
    if not writable:
        return make_workspace(readable[0], readable=readable[1:]), narrower(mode, "look")
    others = readable or list(workspace.read_roots)
    return make_workspace(writable[0], readable=others, writable=writable[1:]), mode


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
