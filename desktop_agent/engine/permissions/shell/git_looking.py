"""The git commands that show and change nothing, by their words.

A repository's configuration can still make them start programs (fsmonitor, filters, external
diffs, remote helpers): whether it does is for the caller to look at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

Reads = Literal["names", "contents"]


class GitLook(msgspec.Struct, frozen=True):
    """The paths a git command names, and whether it shows what stands in tracked files.

    `contents` are those of the files that are tracked now; of older ones none is shown.
    """

    reads: Reads
    paths: tuple[str, ...] = ()


# A pretty format with `%G` has signatures checked, by a program.
_VALUE = re.compile(r"(?!.*%G)(?!.*%\().*", re.DOTALL)
_COUNT = re.compile(r"-\d{1,6}")
# A commit; blobs and trees would be shown whole.
_COMMIT = re.compile(r"(HEAD|@)([~^]\d{0,4})*")
_NAMES_ONLY = ("--stat", "--name-only", "--name-status", "--shortstat", "--numstat", "--summary")
_STATUS = (
    "-s", "--short", "-b", "--branch", "-sb", "-bs", "--porcelain", "--porcelain=", "-u", "-uno",
    "-uall", "-unormal", "--untracked-files=", "--ignored", "-z", "--long", "--show-stash",
    "--ahead-behind",
)  # fmt: skip
_LOG = (
    *_NAMES_ONLY, "--oneline", "--graph", "--decorate", "--decorate=", "--all", "--branches",
    "--tags", "--since=", "--until=", "--after=", "--before=", "--author=", "--grep=", "--format=",
    "--pretty=", "--abbrev-commit", "--no-merges", "--merges", "--reverse", "--date=", "--follow",
    "--first-parent", "--no-color", "--color=", "--max-count=", "-i", "--no-patch", "-s",
    "--no-decorate", "--left-right", "--cherry-pick", "--date-order", "--topo-order",
)  # fmt: skip
_DIFF = (
    *_NAMES_ONLY, "--cached", "--staged", "-w", "-b", "--ignore-all-space", "--ignore-space-change",
    "--word-diff", "--word-diff=", "--color=", "--no-color", "--color-words", "--minimal",
    "--patience", "--histogram", "-M", "--check", "--no-prefix", "--unified=", "-U0", "-U1", "-U2",
    "-U3", "-U5", "-U10", "--quiet", "--exit-code", "-p", "-u", "--patch", "--no-ext-diff",
    "--no-textconv",
)  # fmt: skip
_BRANCH = (
    "-a", "-r", "-v", "-vv", "-av", "-avv", "-rv", "--all", "--remotes", "--list", "-l",
    "--show-current", "--no-color", "--verbose",
)  # fmt: skip
_REV_PARSE = (
    "--abbrev-ref", "--show-toplevel", "--short", "--is-inside-work-tree", "--show-prefix",
    "--verify", "--git-dir", "--show-cdup",
)  # fmt: skip
_LS_FILES = (
    "-m", "-d", "-o", "-c", "--modified", "--deleted", "--others", "--cached",
    "--exclude-standard", "-z", "--ignored", "-i",
)  # fmt: skip


def look_of(arguments: Sequence[str]) -> GitLook | None:
    """Return what `git …` reads, or None when it isn't known to only look."""
    rest = list(arguments)
    while rest[:1] in (["--no-pager"], ["--no-optional-locks"]):
        rest = rest[1:]
    if rest == ["--version"]:
        return None  # needs no repository; evaluated as a program's version
    if not rest or (evaluate := _COMMANDS.get(rest[0])) is None:
        return None
    return evaluate(rest[1:])


class _Words(msgspec.Struct, frozen=True):
    options: list[str]
    operands: list[str]
    paths: list[str]  # behind `--`


def _taken_apart(
    words: list[str], known: Sequence[str], valued: Sequence[str] = (), *, counts: bool = False
) -> _Words | None:
    """Return the words by kind, or None when an option is unknown; `counts` are `-5`."""
    taken = _Words([], [], [])
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            taken.paths.extend(rest)
            break
        if not word.startswith("-"):
            taken.operands.append(word)
        elif word in valued and rest:
            if not _VALUE.fullmatch(rest.pop(0)):
                return None
        elif _is_known(word, known) or (counts and _COUNT.fullmatch(word)):
            taken.options.append(word)
        else:
            return None
    return taken


def _is_known(word: str, known: Sequence[str]) -> bool:
    name, equals, value = word.partition("=")
    return name + equals in known and _VALUE.fullmatch(value) is not None


def _named(reads: Reads, taken: _Words) -> GitLook:
    # An operand may be a path: of two outside the folder `git diff` shows the difference.
    return GitLook(reads, (*taken.operands, *taken.paths))


def _status(words: list[str]) -> GitLook | None:
    taken = _taken_apart(words, _STATUS)
    return taken and _named("names", taken)


def _log(words: list[str]) -> GitLook | None:
    valued = ("-n", "--author", "--since", "--until", "--grep")
    taken = _taken_apart(words, _LOG, valued, counts=True)
    return taken and _named("names", taken)


def _diff(words: list[str]) -> GitLook | None:
    taken = _taken_apart(words, _DIFF)
    if taken is None:
        return None
    if set(taken.options) & set(_NAMES_ONLY) and not set(taken.options) & {"-p", "-u", "--patch"}:
        return _named("names", taken)
    # Against an older state it would show what is no longer tracked.
    if taken.operands or {"--cached", "--staged"} & set(taken.options):
        return None
    return GitLook("contents", tuple(taken.paths))


def _show(words: list[str]) -> GitLook | None:
    taken = _taken_apart(words, _LOG)
    if taken is None or not {*_NAMES_ONLY, "-s", "--no-patch"} & set(taken.options):
        return None
    is_commit = all(map(_COMMIT.fullmatch, taken.operands))
    return GitLook("names", tuple(taken.paths)) if is_commit else None


def _blame(words: list[str]) -> GitLook | None:
    taken = _taken_apart(words, ("-w", "-e", "-s", "--date="), ("-L",))
    if taken is None:
        return None
    paths = (*taken.operands, *taken.paths)
    return GitLook("contents", paths) if len(paths) == 1 else None


def _without_operands(known: Sequence[str]) -> Callable[[list[str]], GitLook | None]:
    def evaluate(words: list[str]) -> GitLook | None:
        taken = _taken_apart(words, known)
        return GitLook("names") if taken and not taken.operands and not taken.paths else None

    return evaluate


def _rev_parse(words: list[str]) -> GitLook | None:
    taken = _taken_apart(words, _REV_PARSE)
    is_plain = taken is not None and all(map(_COMMIT.fullmatch, taken.operands))
    return GitLook("names") if is_plain else None


def _ls_files(words: list[str]) -> GitLook | None:
    taken = _taken_apart(words, _LS_FILES)
    return taken and _named("names", taken)


def _stash(words: list[str]) -> GitLook | None:
    return GitLook("names") if words == ["list"] else None


_COMMANDS: dict[str, Callable[[list[str]], GitLook | None]] = {
    "blame": _blame,
    "branch": _without_operands(_BRANCH),
    "diff": _diff,
    "log": _log,
    "ls-files": _ls_files,
    "remote": _without_operands(("-v", "--verbose")),
    "rev-parse": _rev_parse,
    "show": _show,
    "stash": _stash,
    "status": _status,
    "tag": _without_operands(("-l", "--list", "-n")),
}
