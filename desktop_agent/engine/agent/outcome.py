"""What the exception that ended a turn means for the person."""

from __future__ import annotations

import asyncio
import logging

from desktop_agent.core.agents import StopReason
from desktop_agent.core.faults import Fault, ModelError
from desktop_agent.engine.base.ports import StoreError

_log = logging.getLogger(__name__)


class StepLimitReached(Exception):
    """The turn took as many steps as the settings allow."""


def outcome_of(error: BaseException) -> tuple[StopReason, Fault | None]:
    """Return the reason and the fault; `details` are set for a defect of ours alone."""
    match error:
        case asyncio.CancelledError():
            return "cancelled", None
        case StepLimitReached():
            return "step_limit", None
        case ModelError(fault=fault):
            return "error", fault
        case StoreError():
            return "error", Fault("internal", str(error), "retry")
        case _:
            _log.error("a turn failed", exc_info=error)
            what = f"{type(error).__name__}: {error}"
            return "error", Fault("internal", "Something went wrong here.", details=what)
