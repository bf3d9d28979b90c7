"""What a model reads of a user message."""

from __future__ import annotations

from desktop_agent.core.messages import Message
from desktop_agent.core.prose.framing import for_model


def prose(message: Message) -> str:
    """Return the message's text as it is sent."""
    return "\n\n".join(one for one in for_model(message) if isinstance(one, str))
