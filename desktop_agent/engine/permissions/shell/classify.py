"""Judging shell commands by their text: harmless, covered by a rule, or never to be run.

None of this is a wall. A wall is a sandbox; here whatever is not understood is asked about.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import PurePath

from desktop_agent.engine.permissions.protected_files import is_secret
from desktop_agent.engine.permissions.shell import read_only
from desktop_agent.engine.permissions.shell.deny_list import why_never
from desktop_agent.engine.permissions.shell.parse import Feature, Script, SimpleCommand, parse

_LONGEST = 10_000
_DEEPEST = 6

# A rule for `pytest` still speaks of `pytest tests/*.py`; nothing else may be in there.
_COVERABLE: frozenset[Feature] = frozenset({"glob"})
_JOINS = {"&&", "||", "|", ";", "\n", "&", ""}
_POWERSHELL_QUOTES = re.compile(r"[\u2018-\u201f]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029]")

# Commands that run the command behind them, with their options that take a word.
_WRAPPERS: dict[str, frozenset[str]] = {
    "env": frozenset({"-u", "-C"}),
    "sudo": frozenset({"-u", "-g", "-h", "-p", "-C", "-T", "-U", "-r", "-t", "-D"}),
    "doas": frozenset({"-u", "-C"}),
    "xargs": frozenset({"-I", "-L", "-n", "-P", "-a", "-d", "-E", "-s"}),
    "timeout": frozenset({"-s", "-k"}),
    "nice": frozenset({"-n"}),
    "ionice": frozenset({"-c", "-n"}),
    "stdbuf": frozenset({"-i", "-o", "-e"}),
    "exec": frozenset({"-a"}),
} | dict.fromkeys(
    ("nohup", "time", "setsid", "command", "builtin", "watch", "busybox", "!", "{", "if", "then",
     "elif", "else", "while", "until", "do", "coproc"),
    frozenset[str](),
)  # fmt: skip
_SHELLS = {"sh", "bash", "dash", "zsh", "ksh", "fish", "ash"}


def is_read_only(command: str) -> bool:
    """Whether the command is proven to change nothing and to read only plain relative paths."""
    return paths_read(command) is not None


def paths_read(command: str) -> tuple[str, ...] | None:
    """Return every path a proven read-only command names, or None when it isn't proven.

    The paths are relative to where the command starts, also behind a leading `cd folder &&`.
    Where links lead is for the caller to check.
    """
    script = _plain_script(command)
    if script is None:
        return None
    commands, start = list(script.commands), PurePath()
    found: list[str] = []
    if commands[0].words[0] == "cd":
        if len(commands[0].words) != 2 or script.operators[0] != "&&" or len(commands) < 2:
            return None
        found.append(commands[0].words[1])
        start = PurePath(commands[0].words[1])
        commands = commands[1:]
    for simple in commands:
        paths = read_only.paths_of(simple.words)
        if paths is None:
            return None
        found.extend(str(start / path) if path else "" for path in paths)
    return tuple(found) if all(map(_is_tame, found)) else None


def _plain_script(command: str) -> Script | None:
    if os.name == "nt" or not command.strip() or _is_unsure(command):
        return None  # PowerShell gives the same words other meanings
    script = parse(command)
    is_plain = script.is_whole and not script.nested and bool(script.commands)
    if not is_plain or any(simple.features or not simple.words for simple in script.commands):
        return None
    # In the background nothing waits for it, so nothing bounds it.
    return script if set(script.operators) <= _JOINS - {"&"} else None


def _is_unsure(command: str) -> bool:
    """Whether it is too long, or holds characters that may mean more than they show."""
    is_odd = _CONTROL.search(command) or (os.name == "nt" and _POWERSHELL_QUOTES.search(command))
    return len(command) > _LONGEST or bool(is_odd)


def _is_tame(path: str) -> bool:
    pure = PurePath(path)
    return bool(path) and not (
        pure.is_absolute()
        or path.startswith(("~", "-", "\\"))
        or ".." in pure.parts
        or is_secret(pure)
        or "\\" in path
        or ":" in path
    )


def split_parts(command: str) -> tuple[str, ...]:
    """Return the simple commands in it, also those inside wrappers and substitutions.

    Whatever can't be taken apart is one part.
    """
    parts = [simple.text for simple in _simple_commands(command)]
    return tuple(dict.fromkeys(parts)) or (command.strip(),)


def covers(pattern: str, command: str) -> bool:
    """Whether every part of the command starts with the pattern's words, and nothing hides."""
    wanted = pattern.split()
    if not wanted or _is_unsure(command):
        return False
    script = parse(command)
    if not script.is_whole or script.nested or not script.commands:
        return False
    if not set(script.operators) <= _JOINS:
        return False
    return all(
        simple.words[: len(wanted)] == wanted and simple.features <= _COVERABLE
        for simple in script.commands
    )


def mentions(pattern: str, command: str) -> bool:
    """Whether any part of the command starts with the pattern's words (for rules that refuse).

    The opposite care from `covers`: wrappers, prefixes and substitutions don't hide a part.
    """
    wanted = pattern.split()
    return bool(wanted) and any(
        wanted in (simple.words[: len(wanted)], _named(simple.words)[: len(wanted)])
        for simple in _simple_commands(command)
    )


def _named(words: list[str]) -> list[str]:
    """The words with the command by its bare name: `/bin/rm` is `rm`."""
    return [PurePath(words[0]).name, *words[1:]] if words else []


def is_forbidden(command: str) -> str | None:
    """Return why this is never run, whatever anybody allowed, or None."""
    for simple in _simple_commands(command):
        if reason := why_never(simple):
            return reason
    compact = re.sub(r"\s+", "", command)
    if re.search(r"([\w:.]+)\(\)\{\1\|\1&\};?\1", compact):
        return "it starts copies of itself without end"
    return None


def words_of(command: str) -> Iterator[SimpleCommand]:
    """Yield every simple command in it, for what a card has to warn about."""
    yield from _simple_commands(command)


def _simple_commands(command: str, depth: int = 0) -> Iterator[SimpleCommand]:
    if depth > _DEEPEST or len(command) > 10 * _LONGEST:
        return
    script = parse(command)
    if not script.is_whole:
        yield SimpleCommand(text=command.strip(), words=command.split())
    for simple in script.commands:
        yield simple
        if inner := _unwrapped(simple):
            yield from _simple_commands(inner, depth + 1)
    for nested in script.nested:
        yield from _simple_commands(nested, depth + 1)


def _unwrapped(simple: SimpleCommand) -> str:
    """Return the command inside a wrapper's words, or nothing."""
    if not simple.words:
        return ""
    name, rest = PurePath(simple.words[0]).name, simple.words[1:]
    if name in _SHELLS:
        return next(iter(_after(rest, lambda word: bool(_INLINE.fullmatch(word)))), "")
    if name == "eval":
        return " ".join(rest)
    if name == "find":
        inner = _after(rest, lambda word: word in {"-exec", "-execdir", "-ok", "-okdir"})
        return " ".join(map(_quoted, inner))
    if name not in _WRAPPERS:
        return ""
    return " ".join(map(_quoted, _behind_options(rest, _WRAPPERS[name])))


_INLINE = re.compile(r"-[a-z]*c[a-z]*")
_DURATION = re.compile(r"\d+(\.\d+)?[smhd]?")


def _after(words: list[str], is_marker: Callable[[str], bool]) -> list[str]:
    for index, word in enumerate(words):
        if is_marker(word):
            return words[index + 1 :]
    return []


def _behind_options(words: list[str], valued: frozenset[str]) -> list[str]:
    """Skip the options, `NAME=value` and durations between a wrapper and its command."""
    rest = list(words)
    while rest:
        word = rest[0]
        is_assignment = "=" in word and word.partition("=")[0].isidentifier()
        if word in valued:
            rest = rest[2:]
        elif word.startswith("-") or is_assignment or _DURATION.fullmatch(word):
            rest = rest[1:]
        else:
            break
    return rest


def _quoted(word: str) -> str:
    if re.fullmatch(r"[\w./,:=@%+*?~-]+", word):
        return word
    return "'" + word.replace("'", "'\\''") + "'"
