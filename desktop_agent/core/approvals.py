"""Approvals: what is asked of the user, and what they decide."""

from __future__ import annotations

from typing import Literal

from desktop_agent.core.ids import AgentId, RequestId
from desktop_agent.core.messages import CommandDisplay, Display, ToolCall, Value

Mode = Literal["look", "ask", "free"]
RuleScope = Literal["session", "folder", "everywhere"]

MODE_TITLES: dict[Mode, str] = {
    "look": "Look only",
    "ask": "Ask before changes",
    "free": "Work without asking in this folder",
}


class Rule(Value, frozen=True):
    """`tool(pattern)`: calls it covers are allowed, or with `is_deny` refused, unasked.

    `pattern` is a prefix of words for commands (`pytest`), a glob relative to the folder for
    files, a host for addresses; empty covers the whole tool. `where` is the folder or the
    session the scope is bound to.
    """

    tool: str
    pattern: str
    scope: RuleScope = "session"
    where: str = ""
    is_deny: bool = False
    origin: str = ""
    created_at: float = 0.0
    uses: int = 0


class ApprovalRequest(Value, frozen=True):
    """One tool call that waits for the user.

    `title` is a plain question, `display` the exact effect, `stakes` short chips such as
    `writes 1 file`, `reason` why it is asked, `rules` what *Allow* may remember, `refusals`
    what *Refuse* may, `lost` what it deletes that no undo brings back. `together` are rules that
    *Allow* may remember all at once, the request's own among them. `there` is its id at the place
    where its agent works.
    """

    id: RequestId
    agent_id: AgentId
    call: ToolCall
    title: str
    display: Display | None
    reason: str = ""
    stakes: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    refusals: tuple[Rule, ...] = ()
    created_at: float = 0.0
    lost: tuple[str, ...] = ()
    together: tuple[Rule, ...] = ()
    there: str = ""

    @property
    def kind(self) -> str:
        """Those of one kind may be allowed together, at one glance."""
        display = self.display
        kept = display.containment if isinstance(display, CommandDisplay) else None
        is_leaving = kept is not None and not kept.is_contained
        return f"{self.call.name} outside" if is_leaving else self.call.name


class AllowOnce(Value, frozen=True):
    """Run it this time."""


class AllowAlways(Value, frozen=True):
    """Run it, and allow whatever the rule covers from now on.

    Of a command with several parts the rule may cover only some. `others` are kept with it.
    """

    rule: Rule
    others: tuple[Rule, ...] = ()


class Edited(Value, frozen=True):
    """Run it with these arguments in place of the model's; the model is informed."""

    arguments: dict[str, object]


class Deny(Value, frozen=True):
    """Don't run it. `by` says who refused: only a user's no reads *denied by the user*.

    A `rule` refuses whatever it speaks of from now on.
    """

    reason: str = ""
    by: Literal["user", "rule", "mode", "unattended", "withdrawn"] = "user"
    rule: Rule | None = None


Decision = AllowOnce | AllowAlways | Edited | Deny
