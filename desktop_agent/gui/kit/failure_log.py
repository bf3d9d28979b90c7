"""One text may fail to be shown, the window goes on: the log says where, without the text."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from typing import TypeVar

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


def attempt(what: str, act: Callable[[], _T], instead: Callable[[], _T]) -> _T:
    """Do the first; if it fails, log that and do the second. `what` holds no words of a text."""
    try:
        return act()
    except Exception as error:  # noqa: BLE001 - whatever a text does, the rest is shown
        log_failure(what, error)
        return instead()


def log_failure(what: str, error: Exception) -> None:
    """Log what could not be shown and where that failed: no word of a text, nor the error's own."""
    place = "".join(traceback.format_tb(error.__traceback__))
    _log.error("%s could not be shown: %s\n%s", what, type(error).__name__, place)
