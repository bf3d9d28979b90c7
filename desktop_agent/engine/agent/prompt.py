"""What is sent to the model for one step: the request, and the prompt that is filled for it."""

from __future__ import annotations

import platform
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence

from desktop_agent.core.agents import AgentSpec
from desktop_agent.core.approvals import MODE_TITLES
from desktop_agent.core.ids import AgentId
from desktop_agent.core.messages import Message
from desktop_agent.core.prose.framing import attribute, escaped
from desktop_agent.core.requests import ModelRequest, ToolSpec
from desktop_agent.core.settings import LONGEST_INSTRUCTIONS, Settings
from desktop_agent.core.tool import Tool
from desktop_agent.engine.permissions.scope import Scope, offered
from desktop_agent.engine.skills.catalog import Catalog
from desktop_agent.engine.skills.instructions import Instructions
from desktop_agent.engine.skills.roles import ROLES, Role
from desktop_agent.paths import resource

# A section stands in the prompt only when the tool it speaks of is offered.
_SECTIONS = {"tasks.md": "TaskCreate", "subagents.md": "spawn", "subagent.md": "ask_parent"}

_ONLY_A_START = (
    "only where your relative paths start; you may use the folders below and nothing else, and "
    "a command needs one of them as its `directory`"
)


# How much is given of what holds in parts of the folder, in characters; the rest is named.
_NESTED_LENGTH = 16_000
_NESTED = (
    "# Instructions of parts of this folder\n\n"
    "The person trusts these too. Each holds for files in its own folder and below; where two "
    "differ, those nearest to the file count. What the person writes counts more."
)
_INSTRUCTIONS = re.compile(r"<(?=/?instructions\b)", re.IGNORECASE)


def request_for(
    agent_id: AgentId,
    scope: Scope,
    history: Sequence[Message],
    *,
    spec: AgentSpec | None,
    known: Mapping[str, Tool],
    catalog: Catalog,
    prompt: Prompt,
    settings: Settings,
) -> ModelRequest:
    """Return the request of an agent's next step; without `known` tools it is the last."""
    tools = offered(known, scope, has_subagents=settings.has_subagents)
    if not catalog.section:
        tools.pop("skill", None)
    return ModelRequest(
        agent_id=agent_id,
        model=scope.model,
        system=prompt.text(scope, spec, tools, catalog, settings.instructions),
        messages=tuple(history),
        tools=tuple(_tool_spec(tool, settings) for tool in tools.values()),
        api_base=scope.api_base,
        limits=settings.limits,
    )


def _tool_spec(tool: Tool, settings: Settings) -> ToolSpec:
    """Return how a tool is offered: places are spoken of only where the person has some."""
    schema = dict(tool.schema)
    properties = dict(schema.get("properties", {}))
    if (place := properties.pop("place", None)) is not None:
        if settings.places:
            names = ["", *(one.name for one in settings.places)]
            properties["place"] = {**place, "enum": names}
        schema["properties"] = properties
    return ToolSpec(tool.name, tool.description, schema)


class Prompt:
    """Fills `resources/prompts/*.md`. The text is stable within a day, so that providers can
    cache it.
    """

    def __init__(self, is_contained: Callable[[], bool] = lambda: False) -> None:
        """`is_contained` tells whether commands run in a sandbox now."""
        self._is_contained = is_contained
        self._sandbox = _read("sandbox.md")
        self._template = _read("system.md")
        self._skills = _read("skills.md")
        self._sections = {name: _read(name) for name in _SECTIONS}

    def text(
        self,
        scope: Scope,
        spec: AgentSpec | None,
        tool_names: Collection[str],
        catalog: Catalog,
        own: str = "",
    ) -> str:
        """Return the prompt for one request; `own` are the person's instructions for all work."""
        workspace = scope.workspace
        others = [f"{_on_one_line(path)} (read)" for path in workspace.readable]
        others += [f"{_on_one_line(path)} (read and write)" for path in workspace.writable]
        root = _on_one_line(workspace.root)
        values = {
            "workspace": root if workspace.has_root else f"{root} ({_ONLY_A_START})",
            "read_folders": ", ".join(others) or "none",
            "mode": MODE_TITLES[scope.mode],
            "date": time.strftime("%Y-%m-%d"),
            "os": f"{platform.system()} {platform.release()}",
            "tool_names": ", ".join(tool_names) or "none",
        }
        text = self._template
        for name, value in values.items():
            text = text.replace("{{" + name + "}}", value)
        has_sandbox = self._is_contained() and not workspace.has_whole_disk
        contained = [self._sandbox] if "shell" in tool_names and has_sandbox else []
        sections = [text.rstrip(), *contained, *self._extra(spec, tool_names, catalog.roles)]
        if "skill" in tool_names:
            sections.append(f"{self._skills}\n\n{catalog.section}")
        if own.strip():
            sections.append(_own(own.strip()))
        return "\n\n".join([*sections, *_folder_instructions(catalog.instructions)])

    def _extra(
        self, spec: AgentSpec | None, tool_names: Collection[str], roles: Mapping[str, Role]
    ) -> list[str]:
        wanted = [name for name, tool in _SECTIONS.items() if tool in tool_names]
        if spec is None:
            wanted = [name for name in wanted if name != "subagent.md"]
            own = []
        else:
            role = {**roles, **ROLES}.get(spec.role, ROLES["general"])
            own = [f"# Your role\n\n{role.instructions}"]
        sections = [self._sections[name] for name in wanted]
        return [*own, *sections, *(_more_roles(roles) if "spawn" in tool_names else [])]


def _own(text: str) -> str:
    if len(text) > LONGEST_INSTRUCTIONS:
        text = f"{text[:LONGEST_INSTRUCTIONS]}\n\n[They go on; only their beginning is given.]"
    return (
        "# The person's own instructions\n\n"
        "They hold for all work, in every folder. What the person writes in a message counts more."
        f"\n\n<instructions>\n{_INSTRUCTIONS.sub('&lt;', escaped(text))}\n</instructions>"
    )


def _folder_instructions(files: Sequence[Instructions]) -> list[str]:
    """Return what holds in the whole folder, then what holds in parts of it, as far as it fits."""
    sections = [_of_root(file) for file in files if not file.folder]
    parts: list[str] = []
    left: list[str] = []
    room = _NESTED_LENGTH
    for file in files:
        if file.folder and len(file.text) <= room:
            room -= len(file.text)
            parts.append(_framed(file))
        elif file.folder:
            left.append(f"- {_on_one_line(file.path)} (for {_on_one_line(file.folder)}/)")
    if left:
        parts.append("\n".join(["Read these before you work in their folder:", "", *left]))
    return [*sections, *(["\n\n".join([_NESTED, *parts])] if parts else [])]


def _of_root(file: Instructions) -> str:
    return (
        "# Instructions of this folder\n\n"
        f"The person trusts what {_on_one_line(file.path)} says for work in this folder. "
        f"What the person writes counts more.\n\n{_framed(file)}"
    )


def _framed(file: Instructions) -> str:
    text = _INSTRUCTIONS.sub("&lt;", escaped(file.text))
    place = f' for="{attribute(file.folder)}/"' if file.folder else ""
    return f'<instructions path="{attribute(file.path)}"{place}>\n{text}\n</instructions>'


def _more_roles(roles: Mapping[str, Role]) -> list[str]:
    lines = [f"- {name}: {role.about or 'no description'}" for name, role in sorted(roles.items())]
    return ["\n".join(["# More roles of subagents", "", *lines])] if lines else []


def _on_one_line(path: str) -> str:
    """Return a path that can't begin a line of its own: folders are named by anybody."""
    return "".join(one if one.isprintable() else "\ufffd" for one in path)


def _read(name: str) -> str:
    return resource(f"prompts/{name}").read_text(encoding="utf-8").strip()
