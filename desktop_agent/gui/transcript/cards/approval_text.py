"""What is asked, what was decided and what a rule covers, as text."""

from __future__ import annotations

import time

import msgspec
from PySide6.QtCore import QCoreApplication

from desktop_agent.core.approvals import (
    AllowAlways,
    AllowOnce,
    ApprovalRequest,
    Decision,
    Deny,
    Edited,
    Rule,
    RuleScope,
)
from desktop_agent.core.messages import CommandDisplay, DiffDisplay, FilesDisplay, UrlDisplay
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.gui.kit.safe_text import path_text, with_marks
from desktop_agent.gui.transcript.cards.diff_view import spoken_change

translate = QCoreApplication.translate

SCOPES: tuple[RuleScope, ...] = ("session", "folder", "everywhere")
# For tools from elsewhere: what their effect is like.
_TOOLS: dict[type, str] = {
    CommandDisplay: "shell",
    UrlDisplay: "web_fetch",
    DiffDisplay: "write",
    FilesDisplay: "read",
}
# In characters: the longest command, and word of one, in the first line of a card.
_LINE, _WORD = 120, 32
# Where the text of a changed call may stand in its arguments.
_EDITABLE = ("command", "content", "new_text", "new_string", "new", "text", "url")


def decision_text(decision: Decision) -> str:
    """Return what became of a request."""
    match decision:
        case AllowOnce():
            return translate("Transcript", "Allowed once")
        case AllowAlways(rule=rule):
            words = translate("Transcript", "Allowed {scope}: {rule}")
            return words.format(scope=scope_text(rule.scope), rule=rule_text(rule))
        case Edited():
            return translate("Transcript", "Changed by you, then allowed")
        case Deny():
            return _refusal_text(decision)


def _refusal_text(denial: Deny) -> str:
    if denial.by == "user" and denial.rule is not None:
        words = translate("Transcript", "Refused {scope}: {rule}")
        kept = words.format(scope=scope_text(denial.rule.scope), rule=rule_text(denial.rule))
        return f"{kept} (“{with_marks(denial.reason)}”)" if denial.reason else kept
    if denial.by == "user" and denial.reason:
        words = translate("Transcript", "Refused: “{reason}”")
        return words.format(reason=with_marks(denial.reason))
    return {
        "user": translate("Transcript", "Refused"),
        "withdrawn": translate("Transcript", "Not decided: it was stopped"),
        "rule": translate("Transcript", "Refused by a rule"),
        "mode": translate("Transcript", "Refused: this session only looks"),
        "unattended": translate("Transcript", "Refused: nobody was there to ask"),
    }[denial.by]


def scope_text(scope: RuleScope) -> str:
    """Return where a rule holds."""
    return {
        "session": translate("Transcript", "for this session"),
        "folder": translate("Transcript", "in this folder"),
        "everywhere": translate("Transcript", "everywhere"),
    }[scope]


def rule_text(rule: Rule, display: object = None) -> str:
    """Return what a rule covers, such as commands that start with `pytest`."""
    pattern = path_text(rule.pattern)
    if not pattern:
        return translate("Transcript", "everything that “{tool}” does").format(tool=rule.tool)
    if pattern == "*" and rule.tool in {"write", "edit"}:
        return translate("Transcript", "every change that “{tool}” makes").format(tool=rule.tool)
    words = _covered(rule.tool) or _covered(_TOOLS.get(type(display), ""))
    words = words or translate("Transcript", "“{tool}” with “{pattern}”")
    return words.format(pattern=pattern, tool=rule.tool)


def _covered(tool: str) -> str:
    if tool in {"write", "edit"}:
        return translate("Transcript", "changes to files that match “{pattern}”")
    if tool in {"read", "glob", "grep"}:
        return translate("Transcript", "reading files that match “{pattern}”")
    return {
        "network": translate("Transcript", "connections to {pattern}"),
        "shell": translate("Transcript", "commands that start with “{pattern}”"),
        "shell_outside": translate(
            "Transcript", "commands outside the sandbox that start with “{pattern}”"
        ),
        "shell_sandboxed": translate("Transcript", "commands that start with “{pattern}”"),
        "web_fetch": translate("Transcript", "requests to {pattern}"),
        "spawn": translate("Transcript", "subagents on {pattern}"),
    }.get(tool, "")


def scopes_of(rule: Rule) -> tuple[RuleScope, ...]:
    """Return where a rule may hold: what lets anything out of the sandbox, nowhere unseen."""
    lets_out = rule.tool in {"network", "shell_outside"} and not rule.is_deny
    return SCOPES[:2] if lets_out else SCOPES


def bound_rule(rule: Rule, scope: RuleScope, session: SessionInfo | None) -> Rule:
    """Return the rule as it would be made with this scope."""
    where = ""
    if session is not None and scope != "everywhere":
        where = session.id if scope == "session" else session.workspace.root
    return msgspec.structs.replace(rule, scope=scope, where=where, created_at=time.time())


def editable_argument(request: ApprovalRequest) -> str:
    """Return the name of the argument that *Edit* changes; empty when there is none."""
    arguments = request.call.arguments
    texts = [name for name, value in arguments.items() if isinstance(value, str)]
    return next((name for name in _EDITABLE if name in texts), "")


def reach_words(display: object) -> str:
    """Return what a command can reach; nothing where no sandbox holds."""
    if not isinstance(display, CommandDisplay) or display.containment is None:
        return ""
    kept = display.containment
    if not kept.is_contained:
        return outside_words()
    if not kept.is_changing:
        return translate(
            "Transcript", "In the sandbox: can change nothing · new hosts are asked about"
        )
    if kept.is_wide:
        return translate(
            "Transcript", "In the sandbox: can change your home folder · new hosts are asked about"
        )
    if kept.is_git_writable:
        return translate(
            "Transcript",
            "In the sandbox: can change this folder and its repository · new hosts are asked about",
        )
    return translate(
        "Transcript", "In the sandbox: can change this folder · new hosts are asked about"
    )


def outside_words() -> str:
    """Return what a command can reach that is not in the sandbox."""
    return translate(
        "Transcript",
        "Not in the sandbox: can change any of your files, use the network and start programs.",
    )


def is_leaving(display: object) -> bool:
    """Whether it is a command that is to run outside a sandbox that holds."""
    if not isinstance(display, CommandDisplay) or display.containment is None:
        return False
    return not display.containment.is_contained


def is_host(request: ApprovalRequest) -> bool:
    """Whether it asks for a host that a command wants to reach; its reason says all of it."""
    return request.call.name == "network" and request.display is None


def headline(request: ApprovalRequest) -> tuple[str, str]:
    """Return a verb, and beside it the command where it is short; else the question alone."""
    display, arguments = request.display, request.call.arguments
    if request.lost:
        return translate("Transcript", "Delete"), _lost_text(request.lost)
    if isinstance(display, DiffDisplay):
        is_new = display.is_new
        verb = translate("Transcript", "Create") if is_new else translate("Transcript", "Change")
        return verb, path_text(display.path)
    if request.call.name != "shell" or has_effect(request):
        return with_marks(request.title), ""
    verb = translate("Transcript", "Run outside") if is_leaving(display) else ""
    if arguments.get("run_in_background"):
        verb = verb or translate("Transcript", "Run in the background")
    return verb or translate("Transcript", "Run"), request_text(request)


def once_text(request: ApprovalRequest) -> str:
    """Return what the button says that lets it happen this once."""
    display = request.display
    if request.lost:
        return translate("Transcript", "Delete for good")
    if is_leaving(display):
        return translate("Transcript", "Run outside once")
    if isinstance(display, DiffDisplay) and display.is_new:
        return translate("Transcript", "Create")
    return translate("Transcript", "Allow once")


def _lost_text(names: tuple[str, ...]) -> str:
    if len(names) == 1:
        return translate("Transcript", "{name} for good").format(name=path_text(names[0]))
    return translate("Transcript", "{n} things for good").format(n=f"{len(names):,}")


def has_effect(request: ApprovalRequest) -> bool:
    """Whether the effect is too long for the first line of the card, or no command."""
    if is_host(request):
        return False
    if not isinstance(request.display, CommandDisplay) or request.call.name != "shell":
        return True
    text = request_text(request)
    # A longer word could not be broken into lines.
    is_long = len(text) > _LINE or any(len(word) > _WORD for word in text.split(" "))
    return is_long or "\n" in text


def always_text(request: ApprovalRequest) -> str:
    """Return what the button says that opens the menu of rules."""
    if is_leaving(request.display):
        return translate("Transcript", "Always run outside…")
    if isinstance(request.display, DiffDisplay):
        name = path_text(request.display.path.rsplit("/", 1)[-1])
        if name and len(name) <= _WORD and any(rule.pattern != "*" for rule in request.rules):
            return translate("Transcript", "Always allow for “{name}”").format(name=name)
    patterns = {rule.pattern for rule in request.rules if rule.tool.startswith("shell")}
    pattern = with_marks(min(patterns, default=""))
    if len(patterns) != 1 or not pattern or len(pattern) > _WORD:
        return translate("Transcript", "Always allow…")
    return translate("Transcript", "Always allow “{pattern} …”").format(pattern=pattern)


def request_text(request: ApprovalRequest) -> str:
    """Return the exact effect of what is asked in words, every hidden character shown."""
    match request.display:
        case CommandDisplay(command=command):
            return with_marks(command)
        case UrlDisplay(url=url, method=method):
            return with_marks(f"{method} {url}")
        case FilesDisplay(paths=paths):
            return "\n".join(map(path_text, paths))
        case DiffDisplay():
            return spoken_change(request.display)
        case _ if is_host(request):
            return with_marks(request.reason)
        case _:
            lines = (f"{name}: {value}" for name, value in request.call.arguments.items())
            return with_marks("\n".join(lines) or request.call.raw or request.call.name)
