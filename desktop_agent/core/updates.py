"""Whether there is a newer version of the app."""

from __future__ import annotations

import re

from desktop_agent.core.messages import Value

_NUMBERS = re.compile(r"v?(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?$")


class UpdateAnswer(Value, frozen=True):
    """What was found. `problem` is one sentence when nothing could be found out.

    `newest` is empty when there is no newer version. `page` is where the user gets it.
    """

    newest: str = ""
    page: str = ""
    problem: str = ""


def is_newer(version: str, than: str) -> bool:
    """Compare two versions of numbers; what is no such version (1.0rc1) is never newer."""
    found, known = _NUMBERS.match(version), _NUMBERS.match(than)
    if found is None or known is None:
        return False
    return [int(n or 0) for n in found.groups()] > [int(n or 0) for n in known.groups()]
