"""Paths as text: relative to a root, readable, and each text stands for one path."""

from __future__ import annotations

import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable

# In bytes: a path that is as long or longer can't be used as a whole.
LONGEST = os.pathconf("/", "PC_PATH_MAX") if hasattr(os, "pathconf") else 1 << 15
# A backslash that would read like an escaped byte is escaped itself.
_LOOKS_ESCAPED = re.compile(rb"\\(?=x[0-9a-f]{2})")
_IS_WINDOWS = os.name == "nt"
_SEP = os.sep.encode("ascii")
_SEPS = b"/\\" if _IS_WINDOWS else b"/"
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def shown(path: bytes, root: bytes) -> str:
    """Return how a path is called: relative to the root where it lies within, else absolute."""
    within = below(path, root)
    if within is not None:
        path = within
    elif _IS_WINDOWS:
        path = path.replace(b"\\", b"/")
    text = _LOOKS_ESCAPED.sub(rb"\\x5c", path).decode("utf-8", "surrogateescape")
    return _CONTROL.sub(_escaped, text)


def is_below(path: bytes, root: bytes) -> bool:
    """Whether a path lies in the folder `root`."""
    return path.startswith(root.rstrip(_SEPS) + _SEP)


def below(path: bytes, root: bytes) -> bytes | None:
    """Return a real absolute path as one with slashes below `root`, None if it is not below."""
    if not is_below(path, root):
        return None
    path = path[len(root.rstrip(_SEPS)) + 1 :]
    return path.replace(b"\\", b"/") if _IS_WINDOWS else path


def absolute(root: bytes, path: bytes) -> bytes:
    """Return the whole path of one with slashes below `root`; empty is the root itself."""
    if _IS_WINDOWS:
        path = path.replace(b"/", b"\\")
    return root.rstrip(_SEPS) + _SEP + path if path else root


def is_git(path: bytes) -> bool:
    """Whether a path is a repository's own, which is never touched."""
    return b".git" in re.split(rb"[/\\]" if _IS_WINDOWS else b"/", path.lower())


def parted(path: bytes) -> tuple[bytes, bytes]:
    """Return the folder and the name of a path with slashes."""
    folder, _, name = path.rpartition(b"/")
    return folder, name


def joined(folder: bytes, name: bytes) -> bytes:
    """Return the path of a name in a folder, which is empty at the top."""
    return folder + b"/" + name if folder else name


def folded(path: bytes) -> str:
    """Return what is equal for paths that some file systems take for one."""
    text = os.fsdecode(path)
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", text).casefold())


def parents(path: bytes) -> list[bytes]:
    """Return the folders above a path, the nearest first."""
    found: list[bytes] = []
    while (above := os.path.dirname(path)) != path:  # noqa: PTH120 - bytes
        found.append(above)
        path = above
    return found


def renamed(
    gone: Iterable[tuple[bytes, str]], made: Iterable[tuple[bytes, str]]
) -> dict[bytes, bytes]:
    """Return for each new path the one that is gone and held the same: paths with digests.

    Of several with one content those of the same name belong together, else they go in order.
    """
    by_digest: dict[str, list[bytes]] = defaultdict(list)
    for path, digest in sorted(gone):
        by_digest[digest].append(path)
    found: dict[bytes, bytes] = {}
    for is_same_name in (True, False):
        for path, digest in sorted(made):
            name = os.path.basename(path)  # noqa: PTH119 - bytes
            for old in by_digest[digest] if path not in found else ():
                if not is_same_name or os.path.basename(old) == name:  # noqa: PTH119
                    found[path] = old
                    by_digest[digest].remove(old)
                    break
    return found


def _escaped(match: re.Match[str]) -> str:
    raw = match[0].encode("utf-8", "surrogateescape")
    return "".join(f"\\x{byte:02x}" for byte in raw)
