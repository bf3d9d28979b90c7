"""Judging shell commands by their text: harmless, covered by a rule, or never to be run.

None of this is a wall. A wall is a sandbox; here whatever is not understood is asked about.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import PurePath

from desktop_agent.engine.permissions.shell.deny_list import why_never
from desktop_agent.engine.permissions.shell.parse import Script, SimpleCommand, parse
from desktop_agent.engine.permissions.shell.rule_forms import is_covered, offered, refusable
from desktop_agent.engine.permissions.shell.windows_deny_list import (
    block_in,
    name_of,
    why_never_on_windows,
)

_LONGEST = 10_000
_DEEPEST = 6
# More would make the menu unreadable.
_MOST_OFFERED = 6

_JOINS = {"&&", "||", "|", ";", "\n", "&", ""}
# Quotes by other characters, here-strings, and what is taken as it is up to the end of the line.
_POWERSHELL_QUOTES = re.compile(r"[\u2018-\u201f]|@['\"]|(?<!\S)--%(?!\S)")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029]")

# Commands that run the command behind them, with their options that take a word.
_WRAPPERS: dict[str, frozenset[str]] = {
    "env": frozenset({"-u", "-C", "--unset", "--chdir"}),
    "sudo": frozenset({
        "-u", "-g", "-h", "-p", "-C", "-T", "-U", "-r", "-t", "-D", "-R", "--user", "--group",
        "--host", "--prompt", "--close-from", "--command-timeout", "--other-user", "--role",
        "--type", "--chdir", "--chroot",
    }),
    "doas": frozenset({"-u", "-C"}),
    "xargs": frozenset({
        "-I", "-L", "-n", "-P", "-a", "-d", "-E", "-s", "--arg-file", "--delimiter", "--max-args",
        "--max-procs", "--max-chars",
    }),
    "timeout": frozenset({"-s", "-k", "--signal", "--kill-after"}),
    "nice": frozenset({"-n", "--adjustment"}),
    "ionice": frozenset({"-c", "-n", "--class", "--classdata"}),
    "stdbuf": frozenset({"-i", "-o", "-e", "--input", "--output", "--error"}),
    "exec": frozenset({"-a"}),
    "time": frozenset({"-f", "-o", "--format", "--output"}),
} | dict.fromkeys(
    ("nohup", "setsid", "command", "builtin", "watch", "busybox", "!", "{", "if", "then", "elif",
     "else", "while", "until", "do", "coproc", "unshare", "fakeroot", "caffeinate", "strace",
     "arch"),
    frozenset[str](),
)  # fmt: skip
# Options with a value that may stand before a subcommand.
_NO_OPTIONS = frozenset[str]()
_BEFORE_SUBCOMMAND: dict[str, frozenset[str]] = {
    "git": frozenset({
        "-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env",
        "--attr-source",
    }),
    "docker": frozenset({
        "-H", "--host", "-c", "--context", "--config", "-l", "--log-level", "--tlscacert",
        "--tlscert", "--tlskey",
    }),
    "kubectl": frozenset({
        "-n", "--namespace", "--context", "--kubeconfig", "-s", "--server", "--user", "--cluster",
        "--token", "--as",
    }),
    "npm": frozenset({
        "--prefix", "-C", "--registry", "--loglevel", "--userconfig", "--cache", "-w",
        "--workspace",
    }),
    "cargo": frozenset({"-C", "-Z", "--config", "--color"}),
}  # fmt: skip
_SHELLS = {"sh", "bash", "dash", "zsh", "ksh", "fish", "ash"}


def plain_script(command: str) -> Script | None:
    """Return the parsed command, or None when characters in it may mean more than they show."""
    if not command.strip() or _is_unsure(command):
        return None
    return parse(command)


def _is_unsure(command: str) -> bool:
    """Whether it is too long, or holds characters that may mean more than they show."""
    is_odd = _CONTROL.search(command) or (os.name == "nt" and is_quoted_otherwise(command))
    return len(command) > _LONGEST or bool(is_odd)


def is_quoted_otherwise(command: str) -> bool:
    """Whether PowerShell may end a quoted text elsewhere than the reading here does."""
    return _POWERSHELL_QUOTES.search(command) is not None


def split_parts(command: str) -> tuple[str, ...]:
    """Return the simple commands in it, also those inside wrappers and substitutions.

    Whatever can't be taken apart is one part.
    """
    parts = [simple.text for simple in _simple_commands(command)]
    return tuple(dict.fromkeys(parts)) or (command.strip(),)


def covers(pattern: str, command: str) -> bool:
    """Whether a rule with this pattern allows every part of the command."""
    return covering((pattern,), command) == (0,)


def covering(
    patterns: Sequence[str], command: str, proven: Collection[int] = ()
) -> tuple[int, ...]:
    """Return which patterns together allow every part; empty when a part is left over.

    Parts in `proven` need no rule.
    """
    script = plain_script(command)
    if script is None or not script.is_whole or script.nested:
        return ()
    if not set(script.operators) <= _JOINS:
        return ()
    split = [pattern.split() for pattern in patterns]
    used: dict[int, None] = {}
    for number, simple in enumerate(script.commands):
        if number in proven:
            continue
        place = next((i for i, words in enumerate(split) if is_covered(words, simple)), None)
        if place is None:
            return ()
        used[place] = None
    return tuple(used)


def offers(command: str, proven: Collection[int] = ()) -> tuple[str, ...]:
    """Return the patterns of rules that would allow a part of the command.

    None is offered for a command with a part that no rule may ever speak of.
    """
    script = plain_script(command)
    found: dict[str, None] = {}
    for number, simple in enumerate(script.commands if script else ()):
        if number in proven:
            continue
        fitting = [p for p in offered(simple.words) if is_covered(p.split(), simple)]
        if not fitting:
            return ()
        found |= dict.fromkeys(fitting)
    return tuple(found)[:_MOST_OFFERED] if covering(tuple(found), command, proven) else ()


def not_feeding(command: str, proven: Collection[int]) -> tuple[int, ...]:
    """Return the proven parts whose output goes to no other part: it may decide what that does."""
    script, known = plain_script(command), set(proven)
    operators = script.operators if script else []
    kept: list[int] = []
    feeds = False
    for number in reversed(range(len(operators))):
        feeds = operators[number] in {"|", "|&"} and (feeds or number + 1 not in known)
        if number in known and not feeds:
            kept.append(number)
    return tuple(reversed(kept))


def exact(command: str, proven: Collection[int] = ()) -> tuple[str, ...]:
    """Return a pattern for each part of the command that is all of its words.

    None when the words of a part can't be told by a pattern.
    """
    script = plain_script(command)
    parts = enumerate(script.commands if script else ())
    found = [" ".join(simple.words) for number, simple in parts if number not in proven]
    patterns = tuple(dict.fromkeys(found))[:_MOST_OFFERED]
    return patterns if covering(patterns, command, proven) else ()


def leaves_running(command: str) -> bool:
    """Whether it starts something with `&` and never waits for it, as far as its words tell."""
    if any(simple.words[:1] == ["wait"] for simple in _simple_commands(command)):
        return False
    return any("&" in script.operators for script in _scripts(command))


def _scripts(command: str, depth: int = 0) -> Iterator[Script]:
    if depth > _DEEPEST or len(command) > 10 * _LONGEST:
        return
    script = parse(command)
    yield script
    inner = [text for simple in script.commands if (text := _unwrapped(simple))]
    for nested in (*inner, *script.nested):
        yield from _scripts(nested, depth + 1)


def refusals(command: str) -> tuple[str, ...]:
    """Return the patterns of rules that would refuse a part of the command."""
    parts = [refusable(_named(simple.words)) for simple in _simple_commands(command)]
    return tuple(dict.fromkeys(pattern for part in parts for pattern in part))[:_MOST_OFFERED]


def mentions(pattern: str, command: str) -> bool:
    """Whether any part of the command starts with the pattern's words (for rules that refuse).

    The opposite care from `covers`: wrappers, prefixes and substitutions don't hide a part.
    """
    wanted = _folded(pattern.split())
    return bool(wanted) and any(
        wanted == _folded(spelling[: len(wanted)]) for spelling in _spellings(command)
    )


def may_mention(pattern: str, command: str) -> bool:
    """Whether a part may start with the pattern's words once the shell has replaced some of its."""
    wanted = _folded(pattern.split())
    for spelling in _spellings(command):
        pairs = zip(wanted, _folded(spelling), strict=False)
        other = next((word for wish, word in pairs if word != wish), "")
        if _REPLACED.search(other):
            return True
    return False


def _spellings(command: str) -> Iterator[list[str]]:
    for simple in _simple_commands(command):
        yield from (simple.words, _named(simple.words), _without_options(simple.words))


def _folded(words: list[str]) -> list[str]:
    """The words with the command as Windows and macOS find it: `GIT` and `git.exe` are `git`."""
    return [_PROGRAM.sub("", words[0].casefold()), *words[1:]] if words else []


def _without_options(words: list[str]) -> list[str]:
    """The words with the command by its bare name and no options before its subcommand."""
    if not words:
        return []
    name = PurePath(words[0]).name
    return [name, *_behind_options(words[1:], _BEFORE_SUBCOMMAND.get(name, _NO_OPTIONS))]


def _named(words: list[str]) -> list[str]:
    """The words with the command by its bare name: `/bin/rm` is `rm`."""
    return [PurePath(words[0]).name, *words[1:]] if words else []


def is_forbidden(command: str) -> str | None:
    """Return why this is never run, whatever anybody allowed, or None."""
    for simple in _simple_commands(command):
        if reason := why_never(simple) or (os.name == "nt" and why_never_on_windows(simple)):
            return reason
    compact = re.sub(r"\s+", "", command)
    for found in re.finditer(r"\(\)\{([\w:.]+)\|\1&\};?\1", compact):
        if compact.endswith(found[1], 0, found.start()):
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
    if "{" in rest[:2] and ("group" in simple.features or name in {"function", "coproc"}):
        return _joined(rest[rest.index("{") + 1 :])  # the body of a function
    if os.name == "nt" and (text := _unwrapped_on_windows(simple)):
        return text
    if (read := _TEXTS.get(name)) is not None:
        return read(rest) or "\n".join(simple.inputs if name in _SHELLS else ())
    if name == "find":
        return _joined(_after(rest, lambda word: word in {"-exec", "-execdir", "-ok", "-okdir"}))
    if name not in _WRAPPERS:
        return ""
    if name == "env" and (text := _split_string(rest)):
        return text
    return _joined(_behind_options(rest, _WRAPPERS[name]))


def _unwrapped_on_windows(simple: SimpleCommand) -> str:
    """Return what PowerShell runs of these words: a text, or a block in braces; or nothing."""
    words, name = simple.words, name_of(simple.words)
    if name in {"iex", "invoke-expression"}:
        return " ".join(word for word in words[1:] if not word.startswith("-"))
    if name in {"cmd", "powershell", "pwsh"}:
        return _inline_on_windows(words[1:])
    return "" if name in _WRAPPERS else _joined(block_in(simple))


def _inline(words: list[str]) -> str:
    """Return the text that a shell is given with `-c`; more options may stand before it."""
    rest = _after(words, lambda word: bool(_INLINE.fullmatch(word)))
    at = 0
    while at < len(rest) and rest[at].startswith(("-", "+")):
        at += 2 if rest[at] in _SHELL_OPTIONS else 1
    return rest[at] if at < len(rest) else ""


def _inline_on_windows(words: list[str]) -> str:
    """Return what `cmd /c` or `powershell -Command` is to run."""
    return " ".join(_after(words, lambda word: word.casefold() in {"/c", "/k", "-c", "-command"}))


def _trapped(words: list[str]) -> str:
    return next((word for word in words if not word.startswith("-")), "")


def _split_string(words: list[str]) -> str:
    """Return the command that `env` takes apart itself, with what follows it."""
    for at, word in enumerate(words):
        if found := _SPLIT.match(word):
            tail = [word[found.end() :], *words[at + 1 :]]
            first, *rest = tail if tail[0] else [*tail[1:], ""]
            return f"{first} {_joined(rest)}"
        if not word.startswith("-"):
            break
    return ""


def _joined(words: list[str]) -> str:
    return " ".join(map(_quoted, words))


_SHELL_OPTIONS = frozenset({"-o", "-O", "+o", "+O"})
_SPLIT = re.compile(r"--split-string=?|-[a-zA-Z0]*S")
_TEXTS: dict[str, Callable[[list[str]], str]] = {
    **dict.fromkeys(_SHELLS, _inline),
    "eval": " ".join,
    "trap": _trapped,
    **dict.fromkeys(("cmd", "cmd.exe", "powershell", "powershell.exe", "pwsh"), _inline_on_windows),
}
# A variable, which may be empty, or what stands for names of files or several words.
_REPLACED = re.compile(r"[$`*?]|\[[^\[]|\{[^}]")
_PROGRAM = re.compile(r"\.(exe|cmd|bat|com)$")
_INLINE = re.compile(r"-[abd-z]*c[a-z]*")
_DURATION = re.compile(r"\d+(\.\d+)?[smhd]?")


def _after(words: list[str], is_marker: Callable[[str], bool]) -> list[str]:
    for index, word in enumerate(words):
        if is_marker(word):
            return words[index + 1 :]
    return []


def _behind_options(words: list[str], valued: frozenset[str]) -> list[str]:
    """Skip the options, `NAME=value` and durations between a wrapper and its command."""
    at = 0
    while at < len(words):
        word = words[at]
        is_assignment = "=" in word and word.partition("=")[0].isidentifier()
        if word in valued:
            at += 2
        elif word.startswith(("-", "+")) or is_assignment or _DURATION.fullmatch(word):
            at += 1
        else:
            break
    return words[at:]


def _quoted(word: str) -> str:
    if re.fullmatch(r"[\w./,:=@%+*?~-]+", word):
        return word
    return "'" + word.replace("'", "'\\''") + "'"
