"""The verdict on a tool call (RULES P2): the first match decides, and deny beats allow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from desktop_agent.core.approvals import Mode, Rule
from desktop_agent.core.parts.containment import LEAVES, MAY_CHANGE
from desktop_agent.core.prose.markdown import listed
from desktop_agent.core.tool import Access, Preview, Tool
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.permissions.file_rules import CHANGING, matches, refuses
from desktop_agent.engine.permissions.host_rules import NETWORK, covers_host
from desktop_agent.engine.permissions.shell import classify

# Rules of this kind, and no others, let a command run outside the sandbox unasked.
OUTSIDE_RULES = "shell_outside"
# Those made while the sandbox kept the command: they say nothing of it where none does. Rules for
# `shell` itself speak of both.
SANDBOX_RULES = "shell_sandboxed"
_SHELL = "shell"


class Allowed(msgspec.Struct, frozen=True):
    """Run it; `rules` are those that together allowed it, if any did."""

    rules: tuple[Rule, ...] = ()


class Refused(msgspec.Struct, frozen=True):
    """Don't run it; `reason` goes to the model. `rules` are those that refuse it, if any do."""

    reason: str
    by: Literal["rule", "mode"]
    rules: tuple[Rule, ...] = ()


class Asked(msgspec.Struct, frozen=True):
    """The user decides; `reason` stands on the card."""

    reason: str


Verdict = Allowed | Refused | Asked


class Situation(msgspec.Struct, frozen=True):
    """What a verdict depends on besides the call: the mode, the rules, the folder, repetition.

    `is_machine_sandbox` tells that the person has set this machine apart for the agent,
    `is_let_out` that they let exactly this command out of the sandbox, this once. `restorable`
    is what of the call's deletions an undo could bring back.
    """

    mode: Mode
    rules: Sequence[Rule]
    workspace: Workspace
    is_repeated: bool = False
    is_machine_sandbox: bool = False
    is_let_out: bool = False
    restorable: frozenset[str] = frozenset()


def verdict(tool: Tool, preview: Preview, situation: Situation) -> Verdict:
    """Decide about one call whose effect is `preview`."""
    if preview.command and (floor := classify.is_forbidden(preview.command)):
        return Refused(f"This is never run: {floor}.", "rule")
    rules = [rule for rule in situation.rules if speaks_of_tool(rule, tool)]
    refusing = tuple(rule for rule in rules if rule.is_deny and covers(rule, preview, situation))
    if refusing:
        return Refused("A rule of the person's refuses this.", "rule", refusing)
    if situation.mode == "look" and not _only_looks(tool, preview):
        return Refused(
            "The mode is “Look only”: nothing may be changed, run or fetched. "
            "Tell the user what you would do.",
            "mode",
        )
    if tool.access is not Access.INTERNAL and (reason := _always_asked(preview, situation)):
        return Asked(reason)
    if any(rule.is_deny and _may_cover(rule, preview, situation) for rule in rules):
        return Asked("A rule of yours may refuse it: what it runs is only known when it does.")
    if leaves(preview):
        return _outside(rules, preview, situation)
    if allowing := _allowing(rules, preview, situation):
        return Allowed(allowing)
    return _by_kind(tool, preview, situation)


def offered(tool: Tool, preview: Preview, situation: Situation) -> tuple[Rule, ...]:
    """Return the rules that may be offered: none where this would be asked about all the same.

    A server's tool that is described otherwise is not asked about again once it was allowed.
    """
    anew = msgspec.structs.replace(situation, is_repeated=False)
    if situation.is_repeated and isinstance(verdict(tool, preview, anew), Allowed):
        return ()  # only that it is the third time is asked about, and always will be
    if tool.access is Access.SERVER:
        return preview.rules
    after = msgspec.structs.replace(anew, rules=(*situation.rules, *preview.rules))
    return preview.rules if isinstance(verdict(tool, preview, after), Allowed) else ()


def leaves(preview: Preview) -> bool:
    """Whether it is a command that is to run outside of a sandbox that holds."""
    return preview.containment is not None and not preview.containment.is_contained


def _outside(rules: Sequence[Rule], preview: Preview, situation: Situation) -> Verdict:
    if situation.is_let_out:
        return Allowed()
    named = [rule for rule in rules if rule.pattern]
    if allowing := _allowing(named, preview, situation):
        return Allowed(allowing)
    return Asked(LEAVES)


def _by_kind(tool: Tool, preview: Preview, situation: Situation) -> Verdict:
    if tool.access is Access.INTERNAL and preview.host:
        return Asked(f"It sends what the agent has read to {preview.host}.")
    if _only_looks(tool, preview):
        return Allowed()
    if situation.mode == "free" and tool.access is Access.WRITE:
        return Allowed()
    if tool.access is Access.EXECUTE and _runs_freely(preview, situation):
        return Allowed()
    return Asked(_reason(tool, preview))


def _reason(tool: Tool, preview: Preview) -> str:
    contained = preview.containment
    if tool.access is Access.EXECUTE and contained is not None:
        if contained.is_wide:
            return "What it may use includes your whole home folder."
        if preview.is_git_asked:
            return "It changes the repository in a way that may not come back."
        return MAY_CHANGE
    reasons = {
        Access.EXECUTE: "This command is not on the list of those that only look.",
        Access.NETWORK: "It reaches the network.",
        Access.SERVER: "What a server does with it is not known here.",
    }
    return reasons.get(tool.access, "It changes files.")


def _runs_freely(preview: Preview, situation: Situation) -> bool:
    """Whether mode free runs this command: the sandbox keeps it, or the machine is one."""
    if situation.mode != "free":
        return False
    contained = preview.containment
    if contained is None:
        return situation.is_machine_sandbox
    return not contained.is_wide and not preview.is_git_asked


def _only_looks(tool: Tool, preview: Preview) -> bool:
    if tool.access in {Access.INTERNAL, Access.READ}:
        return True
    if leaves(preview):
        return False
    return preview.is_read_only or _cannot_write(preview)


def _cannot_write(preview: Preview) -> bool:
    """Whether the kernel keeps a command from writing anything, and from what is the person's."""
    contained = preview.containment
    return (
        contained is not None
        and contained.is_contained
        and not contained.is_changing
        and not contained.is_wide
    )


def _always_asked(preview: Preview, situation: Situation) -> str:
    if preview.asked:
        return preview.asked
    if preview.protected:
        return f"It touches {listed(preview.protected, 3)}, which is asked about in every mode."
    if preview.outside and not (situation.is_machine_sandbox or situation.is_let_out):
        return f"It reaches outside the folder: {listed(preview.outside, 3)}."
    if reason := _deletes(preview, situation):
        return reason
    if situation.is_repeated:
        return "It is the third time in a row with the same arguments."
    return ""


def _deletes(preview: Preview, situation: Situation) -> str:
    """Why a deletion is asked about; not what undo brings back, if commands are contained."""
    contained = preview.containment
    is_inside = contained is not None and contained.is_contained
    if situation.mode != "free" or not is_inside:
        return f"It deletes {listed(preview.deletes, 3)}." if preview.deletes else ""
    lost = [name for name in preview.deletes if name not in situation.restorable]
    return f"It deletes {listed(lost, 3)}: that can't be undone." if lost else ""


def _allowing(rules: Sequence[Rule], preview: Preview, situation: Situation) -> tuple[Rule, ...]:
    """Return the rules that allow it: one of them, or for a command one for each part."""
    allows = [rule for rule in rules if not rule.is_deny]
    if one := next((rule for rule in allows if covers(rule, preview, situation)), None):
        return (one,)
    if not preview.command:
        return ()
    holding = [rule for rule in allows if _holds_here(rule, situation) and _fits(rule, preview)]
    patterns = [rule.pattern for rule in holding]
    used = classify.covering(patterns, preview.command, preview.proven)
    return tuple(holding[place] for place in used)


def speaks_of(rule: Rule, preview: Preview, situation: Situation) -> bool:
    """Whether the rule covers this effect, or of a command at least one part."""
    if covers(rule, preview, situation):
        return True
    if rule.is_deny or not _holds_here(rule, situation) or not _fits(rule, preview):
        return False
    offered = classify.exact if leaves(preview) else classify.offers
    return rule.pattern in offered(preview.command, preview.proven)


def speaks_of_tool(rule: Rule, tool: Tool) -> bool:
    """Whether a rule is the tool's own, or about hosts, as a tool for the network follows.

    A file that one tool may not change no other tool for files may.
    """
    if rule.is_deny and rule.tool in CHANGING and tool.name in CHANGING:
        return True
    if rule.tool in (OUTSIDE_RULES, SANDBOX_RULES):
        return tool.name == _SHELL
    return rule.tool == tool.name or (tool.access is Access.NETWORK and rule.tool == NETWORK)


def _fits(rule: Rule, preview: Preview) -> bool:
    """Whether the rule speaks of how the command is kept.

    What is allowed in the sandbox is not for that allowed outside, nor where none holds.
    """
    if leaves(preview):
        return rule.tool == OUTSIDE_RULES or (rule.is_deny and rule.tool != SANDBOX_RULES)
    if rule.tool == SANDBOX_RULES:
        return preview.containment is not None
    return rule.tool != OUTSIDE_RULES


def _holds_here(rule: Rule, situation: Situation) -> bool:
    return _is_of(rule, situation.workspace)


def _is_of(rule: Rule, workspace: Workspace) -> bool:
    return rule.scope != "folder" or rule.where == workspace.root


def covers(rule: Rule, preview: Preview, situation: Situation) -> bool:
    """Whether the rule speaks of this effect: every part of a command, every path, the host.

    An allow rule has to cover all of it; a deny rule already holds when it covers a part.
    """
    if not _holds_here(rule, situation) or not _fits(rule, preview):
        return False
    if rule.tool == NETWORK:
        return bool(preview.host) and covers_host(rule.pattern, preview.host, preview.port)
    if not rule.pattern:
        return True
    if preview.command:
        if rule.is_deny:
            return classify.mentions(rule.pattern, preview.command)
        return bool(classify.covering((rule.pattern,), preview.command, preview.proven))
    if preview.host:
        return preview.host == rule.pattern
    root = situation.workspace.root
    if rule.is_deny:
        return refuses(rule.pattern, (*preview.paths, *preview.called), root)
    return bool(preview.paths) and all(matches(p, rule.pattern, root) for p in preview.paths)


def _may_cover(rule: Rule, preview: Preview, situation: Situation) -> bool:
    """Whether a refusing rule may speak of a command of which the shell replaces something."""
    if not (rule.pattern and preview.command and _holds_here(rule, situation)):
        return False
    return _fits(rule, preview) and classify.may_mention(rule.pattern, preview.command)


def refusing(rules: Sequence[Rule], workspace: Workspace) -> tuple[Rule, ...]:
    """Return the deny rules that hold in a session's folder."""
    return tuple(rule for rule in rules if rule.is_deny and _is_of(rule, workspace))
