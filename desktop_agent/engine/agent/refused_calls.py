"""What a call that was refused or failed says to the model, and what a refusal may be made of."""

from __future__ import annotations

import msgspec

from desktop_agent.core.approvals import Deny, Rule
from desktop_agent.core.messages import ToolCall, ToolResult
from desktop_agent.core.parts.facts import Refused
from desktop_agent.core.tool import Preview


def as_error(text: str) -> str:
    """Mark a text as an error, for the model."""
    # Outcomes of steering have exact texts (RULES S1–S8).
    return text if text.startswith(("Error", "Cannot steer")) else f"Error: {text}"


def denial(call: ToolCall, deny: Deny) -> ToolResult:
    """Name the refusal's author: only a person's no reads `denied by the user`."""
    author = {
        "user": "was denied by the user",
        "rule": "was refused by a rule",
        "mode": "was refused by the mode",
        "unattended": "was refused: nobody is here to approve it",
        "withdrawn": "was not run: the request was withdrawn",
    }[deny.by]
    text = f"Error: {call.name} {author}."
    if deny.reason:
        said = f" They said: {deny.reason}" if deny.by == "user" else f" {deny.reason}"
        text += said
    return ToolResult(call.id, text, is_error=True, facts=Refused(deny.by, deny.reason))


def refusals(preview: Preview) -> tuple[Rule, ...]:
    """Return what a refusal may be made of: as an allowing rule, unless the tool knows better."""
    if preview.refusals:
        return preview.refusals
    return tuple(msgspec.structs.replace(rule, is_deny=True) for rule in preview.rules)
