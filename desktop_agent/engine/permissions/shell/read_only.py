"""The few commands that are known to change nothing, with the options that keep it so.

Git is not among them: a folder's own `.git/config` can make `git status`, `log`, `diff` and
`show` start programs (fsmonitor, filters, external diffs, signature checks, remote helpers).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_NUMBER = re.compile(r"[+-]?\d{1,9}[kKMGb]?")
_PLAIN_TEXT = re.compile(r"[^/]*")


@dataclass(frozen=True, slots=True)
class _Form:
    """Which options a command may have, and which of its words are paths.

    `flags` are single letters that take nothing, `valued` those whose value must match a
    pattern, `words` long options (`--name` or `--name=` with any value that has no slash).
    `skip` counts leading operands that are not paths; `paths` is False when none is.
    """

    flags: str = ""
    valued: str = ""
    words: tuple[str, ...] = ()
    value: re.Pattern[str] = _NUMBER
    skip: int = 0
    paths: bool = True
    most: int = 1000


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
    "file": _Form("bi", words=("--brief", "--mime", "--mime-type")),
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
    "grep": _Form(
        "EFGivwxcLlmnohHsqaI",
        "ABCm",
        ("--count", "--line-number", "--ignore-case", "--color=", "--include="),
        skip=1,
    ),
    "cmp": _Form("bls"),
    "md5sum": _Form("b"),
    "sha1sum": _Form("b"),
    "sha256sum": _Form("b"),
}
_DATE_FORMAT = re.compile(r"\+[^\0]*")
_SED_PRINT = re.compile(r"(\d{1,9}|\$)(,(\d{1,9}|\$))?p")
_FIND_TESTS = frozenset({
    "-name", "-iname", "-path", "-ipath", "-type", "-maxdepth", "-mindepth", "-size", "-newer",
    "-mtime", "-mmin",
})  # fmt: skip
_FIND_WORDS = {"-print", "-empty", "-not", "-o", "-or", "-a", "-and"}


def paths_of(words: Sequence[str]) -> tuple[str, ...] | None:
    """Return the paths a harmless command reads, or None when it isn't known to be harmless."""
    name, *arguments = words
    special = _SPECIAL.get(name)
    if special is not None:
        return special(arguments)
    form = _FORMS.get(name)
    return None if form is None else _by_form(form, arguments)


def _by_form(form: _Form, arguments: list[str]) -> tuple[str, ...] | None:
    operands: list[str] = []
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--" or not word.startswith("-") or word == "-":
            # An option behind an operand or `--` is not worth telling apart.
            if word == "--" or any(other.startswith("-") for other in rest):
                return None
            operands = [word, *rest]
            break
        if not _is_known_option(form, word, rest):
            return None
    if len(operands) > form.most:
        return None
    if not form.paths:
        return ()
    return tuple(word for word in operands[form.skip :] if word != "-")


def _is_known_option(form: _Form, word: str, rest: list[str]) -> bool:
    """Check one option, and take its value from `rest` when it has one."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        return name + equals in form.words and _PLAIN_TEXT.fullmatch(value) is not None
    for index, letter in enumerate(word[1:], start=1):
        if letter in form.valued:
            value = word[index + 1 :] or (rest.pop(0) if rest else "")
            return form.value.fullmatch(value) is not None
        if letter not in form.flags:
            return False
    return True


def _date(arguments: list[str]) -> tuple[str, ...] | None:
    plain = {"-u", "--utc", "-R", "-I", "--iso-8601"}
    harmless = all(a in plain or _DATE_FORMAT.fullmatch(a) for a in arguments)
    return () if harmless else None


def _sed(arguments: list[str]) -> tuple[str, ...] | None:
    if len(arguments) < 2 or arguments[0] != "-n" or not _SED_PRINT.fullmatch(arguments[1]):
        return None
    paths = arguments[2:]
    return None if any(path.startswith("-") for path in paths) else tuple(paths)


def _find(arguments: list[str]) -> tuple[str, ...] | None:
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
    return tuple(paths) or (".",)


def _echo(arguments: list[str]) -> tuple[str, ...] | None:
    return ()


_SPECIAL: dict[str, Callable[[list[str]], tuple[str, ...] | None]] = {
    "date": _date,
    "sed": _sed,
    "find": _find,
    "echo": _echo,
}
