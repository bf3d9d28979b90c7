"""The system prompt: a template filled with what holds for this agent now."""

from __future__ import annotations

import platform
import time
from collections.abc import Collection

from desktop_agent.core.agents import AgentSpec
from desktop_agent.core.approvals import MODE_TITLES
from desktop_agent.engine.roles import ROLES
from desktop_agent.engine.scope import Scope
from desktop_agent.paths import resource

# A section stands in the prompt only when the tool it speaks of is offered.
_SECTIONS = {"tasks.md": "TaskCreate", "subagents.md": "spawn", "subagent.md": "ask_parent"}


class Prompt:
    """Fills `resources/prompts/*.md`. The text is stable within a day, so that providers can
    cache it.
    """

    def __init__(self) -> None:
        self._template = _read("system.md")
        self._sections = {name: _read(name) for name in _SECTIONS}

    def text(self, scope: Scope, spec: AgentSpec | None, tool_names: Collection[str]) -> str:
        """Return the prompt for one request."""
        workspace = scope.workspace
        others = [f"{path} (read)" for path in workspace.readable]
        others += [f"{path} (read and write)" for path in workspace.writable]
        values = {
            "workspace": workspace.root,
            "read_folders": ", ".join(others) or "none",
            "mode": MODE_TITLES[scope.mode],
            "date": time.strftime("%Y-%m-%d"),
            "os": f"{platform.system()} {platform.release()}",
            "tool_names": ", ".join(tool_names) or "none",
        }
        text = self._template
        for name, value in values.items():
            text = text.replace("{{" + name + "}}", value)
        return "\n\n".join([text.rstrip(), *self._extra(spec, tool_names)])

    def _extra(self, spec: AgentSpec | None, tool_names: Collection[str]) -> list[str]:
        wanted = [name for name, tool in _SECTIONS.items() if tool in tool_names]
        if spec is None:
            wanted = [name for name in wanted if name != "subagent.md"]
            return [self._sections[name] for name in wanted]
        role = ROLES.get(spec.role, ROLES["general"])
        return [f"# Your role\n\n{role.instructions}", *(self._sections[name] for name in wanted)]


def _read(name: str) -> str:
    return resource(f"prompts/{name}").read_text(encoding="utf-8").strip()
