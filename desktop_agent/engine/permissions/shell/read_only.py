"""The commands that are known to change nothing, with the options that keep it so."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from desktop_agent.engine.permissions.shell import git_looking

_NUMBER = re.compile(r"[+-]?\d{1,9}[kKMGb]?")
_PLAIN_TEXT = re.compile(r"[^/]*")


class Look(msgspec.Struct, frozen=True):
    """What a harmless command reads, relative to the folder it runs in.

    Of `paths` the file itself or the names in a folder; of `trees` the contents of every file
    below, through links too when it `follows` them. `git` tells what it reads of a repository.
    A `needs_binary` one is only harmless when its program isn't a script.
    """

    paths: tuple[str, ...] = ()
    trees: tuple[str, ...] = ()
    follows: bool = False
    git: Literal["", "names", "contents"] = ""
    needs_binary: bool = False


class _Form(msgspec.Struct, frozen=True):
    """Which options a command may have, and which of its words are paths.

    `flags` are single letters that take nothing, `valued` those whose value must match a
    pattern, `words` long options (`--name` or `--name=` with any value that has no slash).
    `skip` counts leading operands that are not paths; `paths` is False when none is. `spaced`
    are long options whose value is the next word.
    """

    flags: str = ""
    valued: str = ""
    words: tuple[str, ...] = ()
    value: re.Pattern[str] = _NUMBER
    skip: int = 0
    paths: bool = True
    most: int = 1000
    spaced: tuple[str, ...] = ()


_ANY = re.compile(r".*", re.DOTALL)
_FORMS: dict[str, _Form] = {
    "ls": _Form(
        "1AaBCcdFfGghiklmNnopQqRrSsTtuUvXx",
        words=("--all", "--almost-all", "--recursive", "--human-readable", "--color=", "--sort="),
    ),
    "cat": _Form("AbEenstTuv", words=("--number",)),
    "head": _Form("qv0123456789", "nc", ("--lines=", "--bytes=")),
    "tail": _Form("qv0123456789", "nc", ("--lines=", "--bytes=")),
    "wc": _Form("clmwL", words=("--lines", "--words", "--bytes", "--chars")),
    "pwd": _Form("LP", most=0),
    "echo": _Form("neE", value=_ANY, paths=False),
    "true": _Form(most=0),
    "false": _Form(most=0),
    "whoami": _Form(most=0),
    "id": _Form("ugnGr", most=0),
    "uname": _Form("asnrvmpio", most=0),
    "uptime": _Form("ps", most=0),
    "nproc": _Form(words=("--all",), most=0),
    "arch": _Form(most=0),
    "file": _Form("bhi", words=("--brief", "--mime", "--mime-type")),
    "stat": _Form("t", "c", ("--format=", "--printf=", "--terse"), value=_PLAIN_TEXT),
    "du": _Form("achksmS", "d", ("--max-depth=", "--summarize", "--human-readable")),
    "df": _Form("hHkTiP", words=("--human-readable",)),
    "tree": _Form("aAdfshpugDFrtvCn", "LI", ("--dirsfirst", "--noreport"), value=_PLAIN_TEXT),
    "which": _Form("a", paths=False),
    "basename": _Form("a", paths=False),
    "dirname": _Form(paths=False),
    "sort": _Form("bdfghinMRrVu", "kt", value=_PLAIN_TEXT),
    "uniq": _Form("cdiu", most=1),
    "cut": _Form("s", "dfcb", value=_PLAIN_TEXT),
    "tr": _Form("cdst", paths=False),
    "nl": _Form("p", "bw", value=_PLAIN_TEXT),
    "tac": _Form(),
    "rev": _Form(),
    "comm": _Form("123"),
    "column": _Form("tnx", "sc", value=_PLAIN_TEXT),
    "paste": _Form("s", "d", value=_PLAIN_TEXT),
    "fold": _Form("bs", "w"),
    "od": _Form("abcdfilosxv", "AtNjw", value=_PLAIN_TEXT),
    "hexdump": _Form("bcCdovx", "ns"),
    "realpath": _Form("emsqz"),
    "readlink": _Form("femnqsvz"),
    "seq": _Form("w", paths=False),
    "cmp": _Form("bls"),
    "md5sum": _Form("b"),
    "sha1sum": _Form("b"),
    "sha256sum": _Form("b"),
}
_DATE_FORMAT = re.compile(r"\+[^\0]*")
_PRINTF_SETS = re.compile(r"%[-+ #'0-9.*hjlLtz$]*n")
_SED_PRINT = re.compile(r"(\d{1,9}|\$)(,(\d{1,9}|\$))?p")
_FIND_TESTS = frozenset({
    "-name", "-iname", "-path", "-ipath", "-type", "-maxdepth", "-mindepth", "-size", "-newer",
    "-mtime", "-mmin", "-iregex", "-regex", "-perm", "-user", "-group", "-printf",
})  # fmt: skip
_FIND_WORDS = {"-print", "-print0", "-prune", "-ls", "-empty", "-not", "-o", "-or", "-a", "-and"}


_GREP = _Form(
    "EFGPivwxcLlmnohHsqaIry",
    "ABCme",
    (
        "--count", "--line-number", "--ignore-case", "--color=", "--color", "--colour=",
        "--include=", "--exclude=", "--exclude-dir=", "--recursive", "--files-with-matches",
        "--only-matching", "--word-regexp", "--extended-regexp", "--fixed-strings",
        "--no-messages", "--with-filename", "--no-filename", "--max-count=", "--context=",
        "--after-context=", "--before-context=", "--invert-match",
    ),
    value=_ANY,
    skip=1,
)  # fmt: skip
_RG = _Form(
    "nNilcovwxFsSHIuUa.0pP",
    "ABCmtTged",
    (
        "--line-number", "--no-line-number", "--ignore-case", "--smart-case", "--count",
        "--files", "--files-with-matches", "--files-without-match", "--hidden", "--no-heading",
        "--heading", "--color=", "--glob=", "--type=", "--type-not=", "--max-count=", "--stats",
        "--context=", "--after-context=", "--before-context=", "--word-regexp", "--no-ignore",
        "--fixed-strings", "--only-matching", "--sort=", "--max-depth=", "--json", "--vimgrep",
        "--type-list", "--trim", "--column", "--no-filename", "--with-filename", "--multiline",
        "--glob", "--type", "--max-depth", "--max-count", "--sort", "--color", "--context",
    ),
    value=_ANY,
    skip=1,
    spaced=("--glob", "--type", "--max-depth", "--max-count", "--sort", "--color", "--context"),
)  # fmt: skip
_RG_SEARCHES = ("--count", "--files-with-matches", "--files-without-match", "--json")
_DIFF = _Form(
    "abBcdeEiNnpqrstuTwyZ",
    "UWIx",
    (
        "--brief", "--unified", "--unified=", "--recursive", "--side-by-side", "--color=",
        "--color", "--ignore-all-space", "--ignore-case", "--report-identical-files", "--width=",
        "--suppress-common-lines", "--new-file", "--exclude=", "--minimal", "--normal",
    ),
    value=_ANY,
    most=2,
)  # fmt: skip
_JQ = _Form(
    "rcesnSMCjaR",
    "",
    (
        "--raw-output", "--compact-output", "--exit-status", "--slurp", "--null-input", "--tab",
        "--sort-keys", "--monochrome-output", "--color-output", "--join-output", "--raw-input",
        "--ascii-output", "--indent",
    ),
    skip=1,
    spaced=("--indent",),
)  # fmt: skip
# What reads modules, other files and the environment.
_JQ_REACHES_OUT = re.compile(r"\b(import|include|env|ENV|modulemeta|get_search_list)\b")
# Programs whose `--version` reads nothing from the folder; cargo, go and yarn do (a toolchain,
# a release), and start what is named there.
_VERSIONED = re.compile(
    r"python[0-9.]*|pypy[0-9.]*|node|git|bash|zsh|gcc|g\+\+|cc|clang|make|cmake|ninja|perl|ruby|php|"
    r"rg|jq|curl|wget|tar|sed|grep|find|sqlite3|pandoc|tree|ld|as|docker|uv|ruff"
)


def look_of(words: Sequence[str]) -> Look | None:
    """Return what a harmless command reads, or None when it isn't known to be harmless."""
    if not words:
        return None
    name, *arguments = words
    if _asks_version(name, arguments):
        return Look(needs_binary=True)
    if (special := _SPECIAL.get(name)) is not None:
        return special(arguments)
    if (form := _FORMS.get(name)) is None:
        return None
    read = _by_form(form, arguments)
    return None if read is None else _plainly(read[1][form.skip :] if form.paths else ())


def _asks_version(name: str, arguments: list[str]) -> bool:
    if arguments == ["--version"]:
        return _VERSIONED.fullmatch(name) is not None
    is_python = name.startswith("python") and _VERSIONED.fullmatch(name) is not None
    return (is_python and arguments == ["-V"]) or (name == "node" and arguments == ["-v"])


def _plainly(paths: Sequence[str]) -> Look:
    return Look(tuple(path for path in paths if path != "-"))


def _by_form(form: _Form, arguments: list[str]) -> tuple[list[str], list[str]] | None:
    """Return the options without their values and the operands, or None for unknown options."""
    options: list[str] = []
    operands: list[str] = []
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--":
            if any(other.startswith("-") for other in rest):
                return None
            operands.extend(rest)
            break
        if not word.startswith("-") or word == "-":
            operands.append(word)
            continue
        # Only GNU's programs take an option behind an operand for one.
        if (operands and sys.platform != "linux") or not _is_known_option(form, word, rest):
            return None
        options.append(word)
    return (options, operands) if len(operands) <= form.most else None


def _is_known_option(form: _Form, word: str, rest: list[str]) -> bool:
    """Check one option, and take its value from `rest` when it has one."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        if word in form.spaced:
            return bool(rest) and _PLAIN_TEXT.fullmatch(rest.pop(0)) is not None
        return name + equals in form.words and _PLAIN_TEXT.fullmatch(value) is not None
    for index, letter in enumerate(word[1:], start=1):
        if letter in form.valued:
            value = word[index + 1 :] or (rest.pop(0) if rest else "")
            return form.value.fullmatch(value) is not None
        if letter not in form.flags:
            return False
    return True


def _has(options: list[str], letters: str, *names: str) -> bool:
    """Whether one of the options is there, also in a cluster such as `-rn`."""
    return any(
        option.partition("=")[0] in names
        if option.startswith("--")
        else bool(set(option[1:]) & set(letters))
        for option in options
    )


def _date(arguments: list[str]) -> Look | None:
    plain = {"-u", "--utc", "-R", "-I", "--iso-8601"}
    harmless = all(a in plain or _DATE_FORMAT.fullmatch(a) for a in arguments)
    return Look() if harmless else None


def _sed(arguments: list[str]) -> Look | None:
    if len(arguments) < 2 or arguments[0] != "-n" or not _SED_PRINT.fullmatch(arguments[1]):
        return None
    paths = arguments[2:]
    return None if any(path.startswith("-") for path in paths) else _plainly(paths)


def _find(arguments: list[str]) -> Look | None:
    paths: list[str] = []
    rest = list(arguments)
    while rest and not rest[0].startswith(("-", "!", "(")):
        paths.append(rest.pop(0))
    while rest:
        word = rest.pop(0)
        if word in _FIND_TESTS and rest:
            value = rest.pop(0)
            if word == "-newer":
                paths.append(value)
        elif word not in _FIND_WORDS:
            return None
    return _plainly(paths or ["."])


def _grep(arguments: list[str]) -> Look | None:
    read = _by_form(_GREP, arguments)
    if read is None:
        return None
    options, operands = read
    # Behind an `-e` every operand is a path; that it may stand in a value does no harm.
    paths = operands if _has(options, "e") else operands[1:]
    if _has(options, "r", "--recursive"):
        return Look(trees=tuple(paths) or (".",))
    return _plainly(paths)


def _rg(arguments: list[str]) -> Look | None:
    read = _by_form(_RG, arguments)
    if read is None:
        return None
    options, operands = read
    if "--files" in options or "--type-list" in options:
        # Since version 14 a kind of search that is asked for as well is what it does.
        return None if _has(options, "cl", *_RG_SEARCHES) else _plainly(operands or ["."])
    paths = operands if _has(options, "e") else operands[1:]
    return Look(trees=tuple(paths) or (".",))


def _diff(arguments: list[str]) -> Look | None:
    read = _by_form(_DIFF, arguments)
    if read is None:
        return None
    # Of two folders it reads the files in both, and goes through links.
    return Look(trees=tuple(read[1]), follows=True)


def _jq(arguments: list[str]) -> Look | None:
    read = _by_form(_JQ, arguments)
    if read is None or not read[1] or _JQ_REACHES_OUT.search(read[1][0]):
        return None
    return _plainly(read[1][1:])


def _strings(arguments: list[str]) -> Look | None:
    """Refuse `@file`: binutils read more options and names from there."""
    read = _by_form(_Form("a", "n"), arguments)
    if read is None or any(operand.startswith("@") for operand in read[1]):
        return None
    return _plainly(read[1])


def jq_reaches_out(arguments: Sequence[str]) -> bool:
    """Whether its program, or one in a file, may read files that the words don't name."""
    from_files = ("--from-file", "--library-path", "--run-tests")
    options = [word for word in arguments if word.startswith("-")]
    return _has(options, "fL", *from_files) or any(map(_JQ_REACHES_OUT.search, arguments))


def _test(arguments: list[str]) -> Look | None:
    """Accept one plain question; `-v` and numbers evaluate what they are given."""
    match arguments:
        case ["-e" | "-f" | "-d" | "-s" | "-L" | "-r" | "-w" | "-x", path]:
            return _plainly([path])
        case ["-n" | "-z", _] | [_, "=" | "!=", _]:
            return Look()
        case _:
            return None


def _command(arguments: list[str]) -> Look | None:
    is_question = arguments[:1] in (["-v"], ["-V"])
    return Look() if is_question and not any(a.startswith("-") for a in arguments[1:]) else None


def _type(arguments: list[str]) -> Look | None:
    return Look() if not any(a.startswith("-") for a in arguments) else None


def _printf(arguments: list[str]) -> Look | None:
    """Refuse `%n`: what follows is the name of a variable that is set, such as `PATH`."""
    if not arguments or arguments[0].startswith("-"):
        return None
    return None if any(map(_PRINTF_SETS.search, arguments)) else Look()


def _echo(arguments: list[str]) -> Look | None:
    return Look()


def _git(arguments: list[str]) -> Look | None:
    read = git_looking.look_of(arguments)
    return None if read is None else Look(read.paths, git=read.reads)


_SPECIAL: dict[str, Callable[[list[str]], Look | None]] = {
    "command": _command,
    "date": _date,
    "diff": _diff,
    "echo": _echo,
    "find": _find,
    "git": _git,
    "grep": _grep,
    "jq": _jq,
    "printf": _printf,
    "rg": _rg,
    "sed": _sed,
    "strings": _strings,
    "test": _test,
    "type": _type,
}
