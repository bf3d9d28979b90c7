"""Whether what a user set for all repositories is out of the reach of agents.

Whoever keeps such settings in a folder of their own ("dotfiles") and links to them may have that
folder open: what a file there says, git would do at the next look.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from desktop_agent.core.workspace import OwnPlaces
from desktop_agent.engine.permissions.protected_files import is_protected
from desktop_agent.engine.workspace.containment import is_within

_LARGEST = 256 * 1024
_MOST_FILES = 20
_HARMLESS_KEYS = frozenset({"directory"})  # safe.directory: which folders the user trusts


def is_apart(environment: Mapping[str, str], roots: Sequence[str], own: OwnPlaces) -> bool:
    """Whether no settings of the user's lie in these folders, or name anything there.

    What is asked about before it is changed may lie there.
    """
    home = environment.get("HOME", "")
    elsewhere = environment.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")  # noqa: PTH118
    files = [
        os.path.join(home, ".gitconfig"),  # noqa: PTH118
        os.path.join(elsewhere, "git", "config"),  # noqa: PTH118
        "/etc/gitconfig",
    ]
    for file in files:
        if len(files) > _MOST_FILES or _is_reached(file, roots, own):
            return False
        for key, path in _named_in(file, home):
            if key not in _HARMLESS_KEYS and _is_reached(path, roots, own):
                return False
            if key == "path" and path not in files:  # more settings
                files.append(path)
    return True


def _is_reached(path: str, roots: Sequence[str], own: OwnPlaces) -> bool:
    real = os.path.realpath(path)
    return any(is_within(real, root) for root in roots) and not is_protected(real, own)


def _named_in(file: str, home: str) -> Iterator[tuple[str, str]]:
    """Yield the key of each setting with what its value may name as a path."""
    try:
        with Path(file).open("rb") as opened:
            text = opened.read(_LARGEST).decode("utf-8", "replace")
    except (OSError, ValueError):
        return
    for line in text.split("\n"):
        head, _, value = line.partition("=")
        key = head.rpartition("]")[2].strip().lower()
        for word in value.replace('"', " ").replace("'", " ").split():
            plain = home + word[1:] if word.startswith("~/") else word
            if "/" in plain or key == "path":
                yield key, os.path.join(os.path.dirname(file), plain)  # noqa: PTH118, PTH120
