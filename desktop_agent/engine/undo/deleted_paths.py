"""Which files the words of a command that deletes mean, where that is certain."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

# Whatever a shell may make something else of, and what begins in another folder than it ran in.
_UNCERTAIN = re.compile(r"[*?\[\]{}$`~\\\n]|^-")
_MOVES = re.compile(r"\b(cd|pushd|popd|chdir)\b|\$\(|`")


def deleted_paths(command: str, deletes: Sequence[str], directory: str) -> dict[str, bytes]:
    """Return absolute paths by the words of `deletes`; words that are uncertain are left out.

    `directory` is where the command starts; where it may go elsewhere all words are uncertain.
    """
    if _MOVES.search(command):
        return {}
    return {
        word: os.path.normpath(os.path.join(os.fsencode(directory), os.fsencode(word)))  # noqa: PTH118
        for word in deletes
        if word and not _UNCERTAIN.search(word) and "\0" not in word
    }
