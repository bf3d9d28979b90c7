"""What went wrong with a model request, in words for a user, with one thing to do about it."""

from __future__ import annotations

from typing import Literal

from desktop_agent.core.messages import Value

FaultKind = Literal[
    "auth",  # 401, 403: the key
    "billing",  # 402: the account's money
    "not_found",  # 404: no such model or address
    "too_large",  # 413, or the context window is full
    "rate_limit",  # 429
    "overloaded",  # 503, 529
    "server",  # other 5xx
    "refused",  # nothing listens at the address, or its name is unknown
    "reset",  # the connection broke in the middle
    "timeout",  # connect, first byte or silence took too long
    "protocol",  # the answer is not in the dialect's form
    "filtered",  # the provider withheld the answer
    "cut_off",  # the answer hit its length limit
    "bad_request",  # 400 and other 4xx
    "host_died",  # our model host process ended
    "storage",  # our own disk refused a write
    "internal",  # a defect of ours
]

# One action each: what the error card's button does.
FaultAction = Literal["retry", "edit_key", "switch_model", "continue", "settings"]


class Fault(Value, frozen=True):
    """One failure. `message` is one sentence; `details` is for *Copy details* and the log.

    Neither holds a key. `retry_after` is in seconds, when the provider named it.
    """

    kind: FaultKind
    message: str
    action: FaultAction = "retry"
    details: str = ""
    status: int | None = None
    retry_after: float | None = None


class ModelError(Exception):
    """A model request failed for good; `fault` says how."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault
