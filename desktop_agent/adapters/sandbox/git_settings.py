"""Whether a repository's own files make git run a program."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePath

from desktop_agent.adapters.sandbox.mounts import is_in
from desktop_agent.adapters.sandbox.small_file import read_small
from desktop_agent.engine.permissions.shell.git_settings import plain_entries

# Sections all of whose keys are names, addresses, switches and numbers.
_PLAIN_SECTIONS = {
    "user", "push", "fetch", "rerere", "color", "column", "advice", "status", "log", "tag", "stash",
    "worktree", "feature", "index", "pack", "checkout", "apply", "i18n",
}  # fmt: skip
_PLAIN_KEYS = {
    "core": {
        "repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase",
        "precomposeunicode", "symlinks", "autocrlf", "eol", "safecrlf", "quotepath", "abbrev",
        "compression", "whitespace", "longpaths", "untrackedcache", "preloadindex",
        "sparsecheckout", "sparsecheckoutcone", "commitgraph", "multipackindex", "fscache",
        "worktree",
    },
    "branch": {
        "remote", "merge", "rebase", "description", "pushremote", "autosetuprebase",
        "autosetupmerge", "sort", "vscode-merge-base", "gh-merge-base", "github-pr-owner-number",
    },
    "init": {"defaultbranch"},
    "pull": {"rebase", "ff"},
    "rebase": {"autosquash", "autostash", "updaterefs", "stat"},
    "remote": {
        "url", "fetch", "pushurl", "push", "tagopt", "prune", "promisor", "partialclonefilter",
        "gh-resolved", "mirror", "skipfetchall",
    },
    "submodule": {"url", "active", "branch", "ignore", "fetchrecursesubmodules"},
    "commit": {"verbose", "gpgsign"},
    "merge": {"ff", "conflictstyle", "log", "renames"},
    "diff": {"renames", "algorithm", "context", "mnemonicprefix", "noprefix", "colormoved"},
    "gc": {"auto", "autodetach", "autopacklimit"},
    "maintenance": {"auto", "strategy"},
    "extensions": {"partialclone", "objectformat", "compatobjectformat", "refstorage", "noop"},
    "lfs": {"repositoryformatversion"},
}  # fmt: skip
_COMMENT = re.compile("[#;]")
# An address of this kind is a command.
_RUNS_AS_ADDRESS = re.compile(r"ext::|.*\bext::|-", re.DOTALL)


def hazards(folder: str) -> Iterator[str]:
    """Yield the files of a repository's folder that make git run a program, or look elsewhere."""
    for name in ("config.worktree", "commondir", "gitdir"):
        if os.path.lexists(f"{folder}/{name}"):
            yield f"{folder}/{name}"
    if os.path.lexists(f"{folder}/config") and not is_plain_config(f"{folder}/config"):
        yield f"{folder}/config"
    yield from _hooks_in(Path(folder, "hooks"))


def _hooks_in(hooks: Path) -> Iterator[str]:
    if hooks.is_symlink():
        yield str(hooks)
    elif hooks.is_dir():
        try:
            yield from (str(hook) for hook in sorted(hooks.iterdir()) if hook.suffix != ".sample")
        except PermissionError:  # git needs no list of them
            yield str(hooks)


def is_plain_config(path: str) -> bool:
    """Whether every line of a settings file is of a plain form, and every key a harmless one."""
    if os.path.islink(path) or not os.path.isfile(path):  # noqa: PTH113, PTH114
        return False
    text = read_small(path, follows=False)
    # Nothing is read of what is too large.
    return _is_plain(text) if text else os.path.getsize(path) == 0  # noqa: PTH202


def works_outside(folder: str, root: str) -> bool:
    """Whether a repository's settings name a work tree that is not below a folder for certain.

    There `git checkout` would write, and `git clean` delete.
    """
    for line in read_small(f"{folder}/config", follows=False).split("\n"):
        name, equals, value = line.partition("=")
        if not equals or name.strip().lower() != "worktree":
            continue
        named = _without_comment(value.strip(" \t\r"))
        path = os.path.join(folder, named)  # noqa: PTH118 - links count, before they are left
        meant = os.path.realpath(path)
        is_certain = '"' not in named and meant == os.path.normpath(path)
        if not is_certain or not is_in(meant, root):
            return True
    return False


def named_in(folder: str) -> Iterator[str]:
    """Yield the places that a repository's settings name as hooks, or as more settings."""
    text = read_small(f"{folder}/config")
    section = ""
    for line in text.splitlines():
        words = line.strip()
        if words.startswith("["):
            # An entry may follow on the same line.
            section, _, words = words[1:].partition("]")
            section, words = section.lower(), words.strip()
        name, _, value = (part.strip() for part in words.partition("="))
        value = _without_comment(value)
        if name.lower() == "hookspath" and value:
            # Git takes it relative to the work tree, settings relative to the file.
            yield os.path.normpath(PurePath(folder).parent / value)
        elif name.lower() == "path" and section.startswith("include") and value:
            yield os.path.normpath(PurePath(folder) / value)


def _without_comment(value: str) -> str:
    if value.startswith('"'):
        return value[1:].partition('"')[0]
    return _COMMENT.split(value, maxsplit=1)[0].rstrip()


def _is_plain(text: str) -> bool:
    try:
        return all(_is_plain_entry(*entry) for entry in plain_entries(text))
    except ValueError:
        return False


def _is_plain_entry(section: str, key: str, value: str) -> bool:
    if section not in _PLAIN_SECTIONS and key not in _PLAIN_KEYS.get(section, ()):
        return False
    is_address = key in ("url", "pushurl")
    return not (is_address and _RUNS_AS_ADDRESS.match(value.strip('"')))
