"""What a command does to a repository: whether git's own files are opened for it in the sandbox.

They are only for a command whose every part is git, or proven to look: whatever ran beside it
could plant something there that a later `git status` starts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import PurePath

import msgspec

from desktop_agent.engine.permissions.shell import classify
from desktop_agent.engine.permissions.shell.parse import SimpleCommand

_JOINS = {"&&", "||", "|", ";", "\n", ""}
_EDITS = frozenset({"-e", "--edit", "-i", "--interactive", "-p", "--patch"})
_SIGNS = frozenset({"-S", "--gpg-sign"})
_STRATEGY = frozenset({"-s", "--strategy"})  # a program by the name of git-merge-NAME
_FORCE = frozenset({"-f", "--force"})
# What runs unasked, with the options that open an editor, start a program or lose something.
_UNASKED: dict[str, frozenset[str]] = {
    "add": _EDITS,
    "commit": (_EDITS - {"-i"}) | _SIGNS | {"-t", "--template"},
    "stash": _EDITS - {"-e", "-i"},
    "switch": _FORCE | {"--discard-changes", "-C", "--force-create"},
    "checkout": _FORCE | {"-p", "--patch", "-B"},
    "restore": frozenset({"-p", "--patch"}),
    "merge": _EDITS | _SIGNS | _STRATEGY,
    "rebase": (_EDITS - {"-p", "--patch"}) | _SIGNS | _STRATEGY | {"-x", "--exec", "--edit-todo"},
    "cherry-pick": (_EDITS - {"-i", "-p"}) | _SIGNS | {"--strategy"},
    "revert": (_EDITS - {"-i", "-p"}) | _SIGNS | {"--strategy"},
    "mv": _FORCE,
    "tag": _FORCE | {"-d", "--delete", "-s", "--sign", "-u", "--local-user", "-e", "--edit"},
    "branch": _FORCE | {"-d", "-D", "--delete", "-M", "-C", "--edit-description"},
    "init": frozenset({"--template", "--separate-git-dir"}),
    "clone": frozenset({"-u", "--upload-pack", "-c", "--config", "--template", "--separate-git-dir",
                        "--recurse-submodules", "--recursive"}),
}  # fmt: skip
_WITH_MESSAGE = {"commit", "merge", "tag", "stash", "cherry-pick", "revert"}
_LOSING_STASH = {"drop", "clear"}
# What is asked; all other subcommands run, and find git's own files read-only.
_ASKED = frozenset({
    "push", "reset", "clean", "rm", "gc", "prune", "reflog", "config", "remote", "submodule",
    "worktree", "update-ref", "symbolic-ref", "filter-branch", "replace", "bisect", "maintenance",
    "sparse-checkout", "read-tree", "update-index", "repack", "pack-refs", "hook", "credential",
})  # fmt: skip
# Words that braces make several of, one of which may be an option; and a pattern for one.
_OPENS_WITH_BRACE = re.compile(r"-*\{")
_AS_OPTION = re.compile(r"-.*|(?=[*?\[]).*[*?\]][A-Za-z-]*")


class GitUse(msgspec.Struct, frozen=True):
    """Whether git's own files are to be opened, and whether the person is asked."""

    is_writable: bool = False
    is_asked: bool = False


def git_use(command: str, proven: Collection[int] = ()) -> GitUse:
    """Return what a command does to repositories; parts in `proven` only look."""
    script = classify.plain_script(command)
    if script is None or not script.is_whole or script.nested:
        return GitUse(is_asked=any(map(_is_asked, classify.words_of(command))))
    rest = [one for number, one in enumerate(script.commands) if number not in proven]
    is_asked = any(map(_is_asked, classify.words_of("\n".join(one.text for one in rest))))
    is_git = bool(rest) and set(script.operators) <= _JOINS and all(map(_is_git, rest))
    return GitUse(is_git and any(map(_is_changing, rest)), is_asked)


def _is_git(simple: SimpleCommand) -> bool:
    """Whether it is git, in words that mean only what they show."""
    words = simple.words
    if not simple.features <= {"glob"} or any(place < 2 for place in simple.globs):
        return False
    return _subcommand(words) != "" and _name(words) == words[0]


def _is_changing(simple: SimpleCommand) -> bool:
    return _subcommand(simple.words) in {*_UNASKED, *_ASKED}


def _is_asked(simple: SimpleCommand) -> bool:
    """Whether it is a git command that is asked about, also behind options we don't know."""
    if not simple.words or _name(simple.words) != "git":
        return False
    subcommand = _subcommand(simple.words)
    if not subcommand:
        # `git -C elsewhere push`, `git -c alias.x=… x`.
        return len(simple.words) > 1 and simple.words[1] not in {"--version", "--help", "-h"}
    if subcommand in _ASKED or not _is_plain(subcommand, _behind(simple.words)):
        return True
    return subcommand in _UNASKED and _may_become_option(subcommand, simple)


def _may_become_option(subcommand: str, simple: SimpleCommand) -> bool:
    """Whether what the shell makes of a pattern may be an option, or what `stash` is to do.

    By braces, or by the name of a file. Of those of `add` and `restore` none loses anything.
    """
    words = simple.words
    first = words.index(subcommand) + 1
    end = words.index("--") if "--" in words[first:] else len(words)
    if words[end - 1].startswith("-"):  # which may take it for its value
        end = len(words)
    patterns = [words[place] for place in simple.globs if first <= place < end]
    if subcommand == "stash":
        return first in simple.globs or any(map(_OPENS_WITH_BRACE.match, patterns))
    if subcommand in {"add", "restore"}:
        return any(map(_OPENS_WITH_BRACE.match, patterns))
    return any(_OPENS_WITH_BRACE.match(p) or _AS_OPTION.fullmatch(p) for p in patterns)


def _is_plain(subcommand: str, words: Sequence[str]) -> bool:
    if subcommand not in _UNASKED:
        return True
    if subcommand == "stash" and _LOSING_STASH & set(words[:1]):
        return False
    return not _has_any(words, _UNASKED[subcommand], has_message=subcommand in _WITH_MESSAGE)


def _has_any(words: Sequence[str], options: frozenset[str], *, has_message: bool) -> bool:
    """Whether one of the options is there, shortened or in a cluster; a value may look like it.

    With `has_message` the word behind `-m` is a text.
    """
    names = [option[2:] for option in options if option.startswith("--")]
    letters = {option[1] for option in options if len(option) == 2}
    is_text = False
    for word in words:
        if is_text or not word.startswith("-"):
            is_text = False
            continue
        is_text = has_message and (word == "--message" or _ends_in_message(word))
        name = word[2:].partition("=")[0]
        if word.startswith("--"):
            if name and any(option.startswith(name) for option in names):
                return True
        elif letters & set(word[1:].partition("m")[0] if has_message else word[1:]):
            return True
    return False


def _ends_in_message(word: str) -> bool:
    """Whether it is `-m` or a cluster such as `-am`: the first `m` takes all behind it."""
    return not word.startswith("--") and word.find("m") == len(word) - 1


def _name(words: Sequence[str]) -> str:
    return PurePath(words[0]).name if words else ""


def _subcommand(words: Sequence[str]) -> str:
    """Return the word behind `git`; nothing where an unknown option stands before it."""
    behind = _without_pager(words)
    return behind[0] if behind and not behind[0].startswith("-") else ""


def _behind(words: Sequence[str]) -> Sequence[str]:
    return _without_pager(words)[1:]


def _without_pager(words: Sequence[str]) -> Sequence[str]:
    if _name(words) != "git":
        return ()
    rest = words[1:]
    while rest and rest[0] in {"--no-pager", "--no-optional-locks"}:
        rest = rest[1:]
    return rest
