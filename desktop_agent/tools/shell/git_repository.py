"""Whether looking at a Git repository starts no program and shows nothing from elsewhere.

A folder's `.git` is as hostile as the folder: its configuration, hooks and links can make even
`git status` start programs. So every part that git would use has to be of a known, plain kind.
What the user configured for all repositories is the user's own: `user_git_settings.py`.
"""

from __future__ import annotations

import os
import re
import struct
from pathlib import Path

from desktop_agent.engine.permissions.protected_files import is_secret
from desktop_agent.engine.permissions.shell.git_settings import plain_entries

_LARGEST_CONFIG = 64 * 1024
_LARGEST_INDEX = 32 * 1024 * 1024
_HEAD = re.compile(rb"ref: refs/[^\0\n]+\n?|[0-9a-f]{40,64}\n?")
# Keys that neither name a program nor a place; of others it isn't known.
_KEYS = {
    "core": {
        "repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase",
        "precomposeunicode", "symlinks", "autocrlf", "eol", "safecrlf", "quotepath", "abbrev",
        "compression", "whitespace", "longpaths",
    },
    "remote": {"url", "fetch", "pushurl", "tagopt", "prune", "gh-resolved"},
    "branch": {
        "remote", "merge", "rebase", "description", "vscode-merge-base", "gh-merge-base",
        "github-pr-owner-number", "pushremote", "autosetuprebase", "autosetupmerge",
    },
    "user": {"name", "email"},
    "init": {"defaultbranch"},
    "pull": {"rebase", "ff"},
    "push": {"default", "autosetupremote", "followtags"},
    "fetch": {"prune", "prunetags"},
    "merge": {"ff", "conflictstyle"},
    "rebase": {"autosquash", "autostash"},
    "commit": {"verbose"},
    "gc": {"auto"},
    "lfs": {"repositoryformatversion"},
}  # fmt: skip
_FALSE_ONLY = {"core.bare": {"false", "no", "off", "0"}}
_FORMAT = {"core.repositoryformatversion": {"0"}}
# What sends git elsewhere, or is run or shown by a look.
_MUST_BE_ABSENT = (
    "commondir", "config.worktree", "gitdir", "objects/info/alternates",
    "objects/info/http-alternates", "hooks/post-index-change", "info/attributes",
)  # fmt: skip
_BARE = ("HEAD", "objects", "refs")
_LINKLESS = ("", "info", "objects", "objects/info", "refs", "rebase-merge", "rebase-apply", "logs")
_GITLINK = 0o160000


def is_inert(folder: Path, root: Path, *, shows_contents: bool) -> bool:
    """Whether git, run in a folder below `root`, uses one plain repository below it.

    With `shows_contents` no tracked file may be a secret one.
    """
    try:
        home = _home_of(folder, root)
        return home is not None and _is_plain(home, shows_contents)
    except (OSError, ValueError, struct.error):
        return False


def bare_at(folder: Path, root: Path) -> Path | None:
    """Return the folder, from `folder` up to `root`, that git takes for a repository by its form.

    Its settings are files of any name, and may start programs.
    """
    for step in (folder, *folder.parents):
        if not step.is_relative_to(root) or os.path.lexists(step / ".git"):
            return None
        if all(os.path.lexists(step / name) for name in _BARE):
            return step
    return None


def _home_of(folder: Path, root: Path) -> Path | None:
    """Return the `.git` folder that git finds, or None when there is anything odd on the way."""
    for step in (folder, *folder.parents):
        if not step.is_relative_to(root):
            return None
        home = step / ".git"
        if os.path.lexists(home):
            return home if _is_folder(home) else None
        # A folder that looks like a bare repository is one to git.
        if os.path.lexists(step / "HEAD"):
            return None
    return None


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _is_plain(home: Path, shows_contents: bool) -> bool:
    if not all(_is_folder(home / name) for name in ("objects", "refs")):
        return False  # git would go on to look further up
    if any(os.path.lexists(home / name) for name in _MUST_BE_ABSENT):
        return False
    if any(entry.is_symlink() for name in _LINKLESS for entry in _listed(home / name)):
        return False
    if not _HEAD.fullmatch(_read(home / "HEAD", 4096)):
        return False
    config = home / "config"
    if config.exists() and not _is_plain_config(_read(config, _LARGEST_CONFIG).decode("utf-8")):
        return False
    index = home / "index"
    return not index.exists() or _is_plain_index(_read(index, _LARGEST_INDEX), shows_contents)


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    if not os.path.lexists(folder):
        return []
    with os.scandir(folder) as entries:
        return list(entries)


def _read(path: Path, limit: int) -> bytes:
    """Return a plain file's bytes; raises ValueError when there are more than the limit."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        held = file.read(limit + 1)
    if len(held) > limit:
        raise ValueError(f"{path} is too large")
    return held


def _is_plain_config(text: str) -> bool:
    """Whether every line is of a plain form and every key a harmless one."""
    try:
        return all(_is_harmless(*entry) for entry in plain_entries(text))
    except ValueError:
        return False


def _is_harmless(section: str, key: str, value: str) -> bool:
    allowed = (_FALSE_ONLY | _FORMAT).get(f"{section}.{key}", {value})
    return key in _KEYS.get(section, ()) and value in allowed


def _is_plain_index(held: bytes, shows_contents: bool) -> bool:
    """Whether the index (versions 2 and 3) has no submodule, no part elsewhere, and no secret."""
    signature, version, count = struct.unpack_from(">4sII", held)
    if signature != b"DIRC" or version not in {2, 3}:
        return False
    at = 12
    for _ in range(count):
        (mode,) = struct.unpack_from(">I", held, at + 24)
        (flags,) = struct.unpack_from(">H", held, at + 60)
        name_at = at + (64 if version == 3 and flags & 0x4000 else 62)
        end = held.index(b"\0", name_at)
        if mode & 0o170000 == _GITLINK:
            return False
        if shows_contents and is_secret(os.fsdecode(held[name_at:end])):
            return False
        at += (end - at + 8) // 8 * 8
    return _has_plain_extensions(held, at)


def _has_plain_extensions(held: bytes, at: int) -> bool:
    """Whether none is of those git has to understand: they put entries elsewhere."""
    while at + 8 <= len(held) - 20:
        signature, size = struct.unpack_from(">4sI", held, at)
        if not signature[:1].isupper():
            return False
        at += 8 + size
    return True
