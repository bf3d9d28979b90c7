"""What an allowing rule may speak of.

A whole program only when it can't run another one, write or send. Besides those, the few
subcommands with which people test, build and commit, without the options that make them write
elsewhere, send, or run what is named in them. A rule for anything else covers only exactly its
own words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from desktop_agent.engine.permissions.shell.parse import SimpleCommand
from desktop_agent.engine.permissions.shell.read_only import jq_reaches_out, look_of

# None of their options makes them do more than print.
_PRINTERS = frozenset({
    "ls", "cat", "head", "tail", "wc", "cut", "tr", "nl", "tac", "rev", "grep", "egrep", "fgrep",
    "cmp", "comm", "paste", "fold", "column", "stat", "du", "df", "md5sum", "sha1sum", "sha256sum",
    "sha512sum", "b2sum", "cksum", "basename", "dirname", "realpath", "readlink", "pwd", "echo",
    "true", "false", "sleep", "whoami", "id", "uname", "uptime", "nproc", "seq", "od",
})  # fmt: skip
# Of these a rule covers only the forms that are known to look. On macOS `arch` runs programs.
_LOOKERS = frozenset(
    {"sort", "uniq", "find", "tree", "file", "date", "diff", "rg", "strings", "arch"}
)

_GIT_SHOWS = frozenset({"--output", "--ext-diff", "--textconv", "-O", "--open-files-in-pager"})
_NPM = frozenset({
    "--script-shell", "--prefix", "-C", "--userconfig", "--globalconfig", "--node-options",
    "--registry", "--cwd", "--use-yarnrc", "--config", "--dir", "--shell-emulator",
})  # fmt: skip
_CARGO = frozenset({"--config", "--manifest-path", "--target-dir", "-Z", "-C", "--artifact-dir"})
_GO = frozenset({
    "-o", "-exec", "-toolexec", "-overlay", "-C", "-modfile", "-vettool", "-pkgdir", "-outputdir",
    "-coverprofile", "-cpuprofile", "-memprofile", "-blockprofile", "-mutexprofile", "-trace",
    "-ldflags", "-gcflags", "-asmflags", "-gccgoflags", "-compiler", "-mod",
})  # fmt: skip
_PYTEST = frozenset({
    "-p", "-c", "-o", "--config-file", "--rootdir", "--confcutdir", "--basetemp", "--pastebin",
    "--override-ini", "--pdb", "--pdbcls", "--junitxml", "--junit-xml", "--log-file",
    "--import-mode", "--debug", "--report-log", "--html", "--cov-report", "--cov-config",
    "--resultlog", "--tx", "--rsyncdir", "--dist", "--cache-clear",
})  # fmt: skip
_RUFF = frozenset({"--config", "--output-file", "-o", "--cache-dir", "--add-noqa"})
_MYPY = frozenset({
    "--config-file", "--cache-dir", "--python-executable", "--junit-xml", "--install-types",
    "--any-exprs-report", "--cobertura-xml-report", "--html-report", "--linecount-report",
    "--linecoverage-report", "--lineprecision-report", "--txt-report", "--xml-report",
    "--xslt-html-report", "--xslt-txt-report", "--shadow-file", "--custom-typeshed-dir",
    "--custom-typing-module", "--timing-stats", "--line-checking-stats", "--memory-xml-report",
    "--cache-map",
})  # fmt: skip
_NONE = frozenset[str]()

# These take more options from a file that is named behind `@`.
_TAKE_FILES = frozenset({"pytest", "mypy", "ruff"})

# The words a command begins with, and the options a rule for it doesn't cover.
_WORKING: dict[tuple[str, ...], frozenset[str]] = {
    ("pytest",): _PYTEST,
    ("python", "-m", "pytest"): _PYTEST,
    ("uv", "run", "pytest"): _PYTEST,
    ("poetry", "run", "pytest"): _PYTEST,
    ("python", "-m", "unittest"): _NONE,
    ("ruff", "check"): _RUFF,
    ("ruff", "format"): _RUFF,
    ("mypy",): _MYPY,
    ("python", "-m", "mypy"): _MYPY,
    ("npm", "test"): _NPM,
    ("pnpm", "test"): _NPM,
    ("yarn", "test"): _NPM,
    ("bun", "test"): _NPM | {"--preload", "-r", "--config", "-c"},
    ("cargo", "test"): _CARGO,
    ("cargo", "build"): _CARGO,
    ("cargo", "check"): _CARGO,
    ("cargo", "clippy"): _CARGO,
    ("cargo", "fmt"): _CARGO,
    ("go", "test"): _GO,
    ("go", "build"): _GO,
    ("go", "vet"): _GO,
    ("git", "status"): _NONE,
    ("git", "add"): frozenset({"-e", "--edit", "-i", "--interactive", "-p", "--patch"}),
    ("git", "commit"): frozenset({"-e", "--edit", "-S", "--gpg-sign", "--template", "-t"}),
    ("git", "log"): _GIT_SHOWS,
    ("git", "diff"): _GIT_SHOWS | {"--no-index"},
    ("git", "show"): _GIT_SHOWS,
    ("git", "blame"): frozenset({"--contents"}),
    ("git", "ls-files"): _NONE,
}
# Named by what follows: `npm run build`, `make test`.
_NAMED_SCRIPTS: dict[tuple[str, ...], frozenset[str]] = {
    ("npm", "run"): _NPM,
    ("pnpm", "run"): _NPM,
    ("yarn", "run"): _NPM,
}
# Of these a rule covers exactly the two words: another word could be a second target.
_TARGETS = frozenset({"test", "tests", "check", "lint", "build", "typecheck"})
_GIT_STATE = re.compile(r"@\{[\w.-]+\}")  # `HEAD@{1}`
_PYTHON = re.compile(r"python3?(\.\d{1,3})?")
_NAME = re.compile(r"[A-Za-z0-9][\w.:-]*")
_PLAIN_WORD = re.compile(r"[A-Za-z0-9][\w.-]*")


def is_covered(pattern: Sequence[str], simple: SimpleCommand) -> bool:
    """Whether a rule with these words allows this simple command, in just this form."""
    wanted, words = list(pattern), simple.words
    if not wanted or words[: len(wanted)] != wanted or not simple.features <= {"glob"}:
        return False
    if not all(_is_plain_pattern(words[place], place) for place in simple.globs):
        return False
    if words == wanted:
        return True
    if wanted[0] in _PRINTERS:
        return True
    if wanted[0] == "jq":
        return not jq_reaches_out(words[1:])
    if wanted[0] in _LOOKERS:
        return not simple.globs and look_of(words) is not None
    prefix = _working_prefix(words)
    if not prefix or len(wanted) < len(prefix):
        return False
    return not _has_any(words[len(prefix) :], prefix)


def _is_plain_pattern(word: str, place: int) -> bool:
    """Whether all that the shell makes of a word are operands: a name could be an option.

    Braces make several words of one, and in PowerShell they hold commands.
    """
    return place > 0 and word[:1] not in "-*?[{~" and "{" not in _GIT_STATE.sub("", word)


def offered(words: Sequence[str]) -> tuple[str, ...]:
    """Return the patterns a rule for these words may have, the narrowest first."""
    if not words:
        return ()
    name = words[0]
    if prefix := _working_prefix(words):
        whole = " ".join(words[: len(prefix)])
        following = words[len(prefix) : len(prefix) + 1]
        is_narrower = len(prefix) == 1 and following and _PLAIN_WORD.fullmatch(following[0])
        return (f"{whole} {following[0]}", whole) if is_narrower else (whole,)
    if name in {"make", "just"} and len(words) == 2 and words[1] in _TARGETS:
        return (" ".join(words),)
    return (name,) if name in _PRINTERS or name in _LOOKERS or name == "jq" else ()


def refusable(words: Sequence[str]) -> tuple[str, ...]:
    """Return the patterns a refusing rule for these words may have, the narrowest first.

    A refusal may speak of anything, so it is not bound to the forms above.
    """
    if not words or not words[0].strip() or any(c.isspace() for c in words[0]):
        return ()
    following = words[1] if len(words) > 1 else ""
    if _PLAIN_WORD.fullmatch(following):
        return (f"{words[0]} {following}", words[0])
    return (words[0],)


def _working_prefix(words: Sequence[str]) -> tuple[str, ...]:
    """Return as many of the words as name one known way of working, or none."""
    plain = ["python" if _PYTHON.fullmatch(word) else word for word in words[:1]]
    plain += words[1:3]
    for length in (3, 2, 1):
        if tuple(plain[:length]) in _WORKING:
            return tuple(plain[:length])
    if tuple(plain[:2]) in _NAMED_SCRIPTS and len(plain) > 2 and _NAME.fullmatch(plain[2]):
        return tuple(plain)
    return ()


def _barred(prefix: tuple[str, ...]) -> frozenset[str]:
    return _WORKING[prefix] if prefix in _WORKING else _NAMED_SCRIPTS[prefix[:2]]


def _has_any(words: Sequence[str], prefix: tuple[str, ...]) -> bool:
    """Whether one of the options a rule doesn't cover is there, shortened or in a cluster."""
    names = {option.lstrip("-") for option in _barred(prefix)}
    letters = {name for name in names if len(name) == 1}
    if _TAKE_FILES & set(prefix) and any(word.startswith("@") for word in words):
        return True
    for word, following in zip(words, (*words[1:], ""), strict=True):
        name = word.lstrip("-").partition("=")[0].removeprefix("test." if prefix[0] == "go" else "")
        if not word.startswith("-") or not name or (word == "-p" and following[:3] == "no:"):
            continue  # `-p no:x` only takes something away
        if name in names:
            return True
        if word.startswith("--"):
            if prefix[-1] != "pytest" and any(option.startswith(name) for option in names):
                return True  # most programs take a shortened name; pytest doesn't
        elif prefix[0] != "go" and letters & set(name):
            return True
    return False
