"""Roles of subagents from Markdown files: their head says who they are, their body what to do."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import msgspec

from desktop_agent.core.tool import ToolError
from desktop_agent.engine.base.digests import sha256
from desktop_agent.engine.skills.files import is_utf8, read_text, warn_once
from desktop_agent.engine.skills.front_matter import FrontMatter, as_text, parse
from desktop_agent.engine.skills.roles import ROLES, Role
from desktop_agent.engine.skills.rules import visible

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


class RoleFile(msgspec.Struct, frozen=True):
    """A role as a file gives it; `digest` is there for what needs trust."""

    role: Role
    path: str
    digest: str


class RoleReader(msgspec.Struct):
    """Reads roles, and remembers what it read until the files change."""

    _kept: dict[str, tuple[os.stat_result, RoleFile | None]] = {}

    def find(self, folder: Path, bounds: Path | None = None) -> list[RoleFile]:
        """Return the roles of a folder's `.md` files, by file name; a bad file is logged."""
        try:
            names = sorted(entry.name for entry in os.scandir(folder))
        except OSError:
            return []
        names = [name for name in names if name.endswith(".md") and is_utf8(name)]
        bounds = bounds or Path(os.path.realpath(folder))
        found = (self._read(folder / name, bounds) for name in names[:_MOST])
        return [file for file in found if file is not None]

    def _read(self, path: Path, bounds: Path) -> RoleFile | None:
        try:
            mark = path.stat()
            kept = self._kept.get(str(path))
            if kept is None or _changed(kept[0], mark):
                kept = self._kept[str(path)] = (mark, _file(path, bounds))
        except (OSError, ToolError) as error:
            warn_once(f"the role {path} was not read: {error}")
            return None
        return kept[1]


def _changed(old: os.stat_result, new: os.stat_result) -> bool:
    return any(
        getattr(old, name) != getattr(new, name)
        for name in ("st_mtime_ns", "st_ctime_ns", "st_ino", "st_dev", "st_size")
    )


def _file(path: Path, bounds: Path) -> RoleFile | None:
    text = read_text(str(bounds), str(path), _LARGEST)[0].removeprefix("\ufeff")
    role = _role(parse(text), path.stem)
    if role is None:
        warn_once(f"the role {path} has no instructions, or the name of a built-in one")
        return None
    return RoleFile(role, str(path), sha256(text.encode("utf-8", "replace")).hexdigest())


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
