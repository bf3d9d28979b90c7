"""Roles of subagents from Markdown files: their head says who they are, their body what to do."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from desktop_agent.core.digests import sha256
from desktop_agent.core.tool import ToolError
from desktop_agent.engine.front_matter import FrontMatter, as_text, parse
from desktop_agent.engine.roles import ROLES, Role
from desktop_agent.engine.skill_files import is_utf8, read_text
from desktop_agent.engine.skill_rules import visible

_log = logging.getLogger(__name__)

_LARGEST = 100_000
_LONGEST_NAME = 64
_LONGEST_ABOUT = 500
_MOST = 200
# Names of one provider's models, which mean nothing to others.
_FOREIGN_MODELS = frozenset({"", "inherit", "default", "sonnet", "opus", "haiku"})
# What other apps call our tools.
_OTHER_NAMES = {
    "bash": "shell",
    "multiedit": "edit",
    "webfetch": "web_fetch",
    "task": "spawn",
    "agent": "spawn",
    "ls": "glob",
    "askuserquestion": "ask_user",
}


@dataclass(frozen=True, slots=True)
class RoleFile:
    """A role as a file gives it; `digest` is there for what needs trust."""

    role: Role
    path: str
    digest: str


def find(folder: Path, bounds: Path | None = None) -> list[RoleFile]:
    """Return the roles of a folder's `.md` files, by file name; a bad file is logged."""
    if bounds is None:
        bounds = Path(os.path.realpath(folder))
    try:
        names = sorted(entry.name for entry in os.scandir(folder))
    except OSError:
        return []
    names = [name for name in names if name.endswith(".md") and is_utf8(name)]
    found: list[RoleFile] = []
    for name in names[:_MOST]:
        path = folder / name
        try:
            text = read_text(str(bounds), str(path), _LARGEST)[0]
        except (OSError, ToolError) as error:
            _log.warning("the role %s was not read: %s", path, error)
            continue
        digest = sha256(text.encode("utf-8", "replace")).hexdigest()
        role = _role(parse(text), path.stem)
        if role is None:
            _log.warning("the role %s has no instructions, or the name of a built-in one", path)
        else:
            found.append(RoleFile(role, str(path), digest))
    return found


def _role(front: FrontMatter, stem: str) -> Role | None:
    name = " ".join(visible(front.text("name") or stem).split())[:_LONGEST_NAME]
    body = visible(front.body).strip()
    if not body or not name or name in ROLES:
        return None
    model = visible(front.text("model"))
    tools = _tool_names(front.fields["tools"]) if front.text("tools") else None
    return Role(
        name=name,
        about=" ".join(visible(front.text("description")).split())[:_LONGEST_ABOUT],
        instructions=body,
        model="" if model.lower() in _FOREIGN_MODELS else model,
        tool_names=tools,
    )


def _tool_names(raw: object) -> tuple[str, ...]:
    """Read `a, b`, `a b` or a list; `Bash(git:*)` names the tool only."""
    if isinstance(raw, Mapping):
        switches = cast(Mapping[str, object], raw)
        words = [key for key, wanted in switches.items() if as_text(wanted).lower() != "false"]
    else:
        words = as_text(raw).replace(",", " ").split()
    plain = [word.split("(", 1)[0].strip() for word in words]
    return tuple(_OTHER_NAMES.get(word.lower(), word) for word in plain if word)
