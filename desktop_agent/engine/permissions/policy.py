"""The verdict on a tool call (RULES P2): the first match decides, and deny beats allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Literal

from desktop_agent.core.approvals import Mode, Rule
from desktop_agent.core.tool import Access, Preview, Tool
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.permissions.shell import classify


@dataclass(frozen=True, slots=True)
class Allowed:
    """Run it; `rule` is the one that allowed it, if one did."""

    rule: Rule | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """Don't run it; `reason` goes to the model."""

    reason: str
    by: Literal["rule", "mode"]


@dataclass(frozen=True, slots=True)
class Asked:
    """The person decides; `reason` stands on the card."""

    reason: str


Verdict = Allowed | Refused | Asked


@dataclass(frozen=True, slots=True)
class Situation:
    """What a verdict depends on besides the call: the mode, the rules, the folder, repetition.

    `is_contained` tells that commands run behind an OS sandbox.
    """

    mode: Mode
    rules: Sequence[Rule]
    workspace: Workspace
    is_repeated: bool = False
    is_contained: bool = False


def verdict(tool: Tool, preview: Preview, situation: Situation) -> Verdict:
    """Decide about one call whose effect is `preview`."""
    if preview.command and (floor := classify.is_forbidden(preview.command)):
        return Refused(f"This is never run: {floor}.", "rule")
    matching = [r for r in situation.rules if r.tool == tool.name and covers(r, preview, situation)]
    if any(rule.is_deny for rule in matching):
        return Refused("A rule of the person's refuses this.", "rule")
    if situation.mode == "look" and not _only_looks(tool, preview):
        return Refused(
            "The mode is “Look only”: nothing may be changed, run or fetched. "
            "Tell the user what you would do.",
            "mode",
        )
    if tool.access is not Access.INTERNAL and (reason := _always_asked(preview, situation)):
        return Asked(reason)
    if matching:
        return Allowed(matching[0])
    return _by_kind(tool, preview, situation)


def _by_kind(tool: Tool, preview: Preview, situation: Situation) -> Verdict:
    if tool.access in {Access.INTERNAL, Access.READ} or preview.is_read_only:
        return Allowed()
    if situation.mode == "free" and tool.access is Access.WRITE:
        return Allowed()
    if situation.mode == "free" and tool.access is Access.EXECUTE and situation.is_contained:
        return Allowed()
    reasons = {
        Access.EXECUTE: "This command is not on the list of those that only look.",
        Access.NETWORK: "It reaches the network.",
    }
    return Asked(reasons.get(tool.access, "It changes files."))


def _only_looks(tool: Tool, preview: Preview) -> bool:
    return tool.access in {Access.INTERNAL, Access.READ} or preview.is_read_only


def _always_asked(preview: Preview, situation: Situation) -> str:
    if preview.protected:
        return f"It touches {_listed(preview.protected)}, which is asked about in every mode."
    if preview.outside:
        return f"It reaches outside the folder: {_listed(preview.outside)}."
    if preview.deletes:
        return f"It deletes {_listed(preview.deletes)}."
    if situation.is_repeated:
        return "It is the third time in a row with the same arguments."
    return ""


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"


def covers(rule: Rule, preview: Preview, situation: Situation) -> bool:
    """Whether the rule speaks of this effect: every part of a command, every path, the host.

    An allow rule has to cover all of it; a deny rule already holds when it covers a part.
    """
    if rule.scope == "folder" and rule.where != situation.workspace.root:
        return False
    if not rule.pattern:
        return True
    if preview.command:
        if rule.is_deny:
            return classify.mentions(rule.pattern, preview.command)
        return classify.covers(rule.pattern, preview.command)
    if preview.host:
        return preview.host == rule.pattern
    matches = [_path_matches(path, rule.pattern, situation.workspace) for path in preview.paths]
    return any(matches) if rule.is_deny else bool(matches) and all(matches)


def _path_matches(path: str, pattern: str, workspace: Workspace) -> bool:
    pure = PurePath(path)
    if not pure.is_relative_to(workspace.root):
        return fnmatchcase(path, pattern)
    return fnmatchcase(pure.relative_to(workspace.root).as_posix(), pattern)
