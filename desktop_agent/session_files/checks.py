"""What holds for every value in a file that anybody may have written."""

from __future__ import annotations

from typing import Any

from desktop_agent.core.sessions import SessionFileError
from desktop_agent.session_files.document import ID_SHAPE

# Nothing counted is larger, and no calendar knows later dates.
LARGEST_NUMBER = 1 << 53
_LATEST = 2e11
_DEEPEST = 64
# Names that end with `_id`, and hold none of ours.
_FOREIGN_IDS = frozenset({"call_id", "job_id", "set_id"})
# Values whose `id` is one of ours.
_WITH_ID = frozenset({"Message", "Note", "ApprovalRequest", "Question", "ChangeSet"})


def check_id(text: str, prefix: str = "") -> None:
    """Raise SessionFileError for what is no id of the app's."""
    if not text.startswith(prefix) or ID_SHAPE.fullmatch(text) is None:
        raise SessionFileError("The file has an id that is none of Desktop Agent’s.")


def check_value(value: Any, name: str = "", depth: int = 0, *, is_ours: bool = True) -> None:
    """Check numbers, how deep it goes and, where a value `is_ours`, the ids in it.

    Raises SessionFileError.
    """
    if depth > _DEEPEST:
        raise SessionFileError("The file is nested too deeply.")
    if isinstance(value, dict):
        named: dict[str, Any] = value
        if is_ours and named.get("type") in _WITH_ID:
            check_id(str(named.get("id")))
        for key, one in named.items():
            # What a model calls its arguments is its own affair.
            check_value(one, key, depth + 1, is_ours=is_ours and key != "arguments")
    elif isinstance(value, list):
        items: list[Any] = value
        for one in items:
            check_value(one, name.removesuffix("s"), depth + 1, is_ours=is_ours)
    elif isinstance(value, str):
        if is_ours and value and name.endswith("_id") and name not in _FOREIGN_IDS:
            check_id(value)
    else:
        _check_number(value)


def _check_number(value: object) -> None:
    is_late = isinstance(value, float) and not abs(value) <= _LATEST
    if is_late or (isinstance(value, int) and abs(value) > LARGEST_NUMBER):
        raise SessionFileError("The file has a number that is too large.")
