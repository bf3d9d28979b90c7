"""A command as a person types it, and its words."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence

_IS_WINDOWS = sys.platform == "win32"
_PLAIN = re.compile(r"[^\s\"']+")


def words_of(command: str, *, is_windows: bool = _IS_WINDOWS) -> tuple[str, ...]:
    """Return the words of a command. Raises ValueError where a quotation mark is missing."""
    if not is_windows:
        return tuple(shlex.split(command))
    reader = shlex.shlex(command, posix=True, punctuation_chars=False)
    reader.whitespace_split = True
    reader.commenters = reader.escape = ""  # a backslash stands between folders there
    return tuple(reader)


def command_of(words: Sequence[str], *, is_windows: bool = _IS_WINDOWS) -> str:
    """Return the command that has these words."""
    if not is_windows:
        return shlex.join(words)
    return " ".join(word if _PLAIN.fullmatch(word) else _quoted(word) for word in words)


def _quoted(word: str) -> str:
    return '"{}"'.format(word.replace('"', '"\'"\'"'))
