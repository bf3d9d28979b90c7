"""What a command's words give away about its effects: for cards and for what is always asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath

from desktop_agent.core.tool import ToolError
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine import commands
from desktop_agent.engine.containment import resolve_for_write
from desktop_agent.engine.protected import is_protected

_REMOVERS = {"rm", "rmdir", "unlink", "shred", "del", "erase", "rd", "remove-item", "trash"}
# Programs and devices that stand outside of any workspace and mean nothing by it.
_SYSTEM = ("/bin/", "/sbin/", "/usr/", "/opt/", "/dev/null", "/dev/stdin", "/dev/stdout")
_SYSTEM += ("/dev/stderr", "/dev/fd/", "/dev/tty", "/dev/zero", "/dev/urandom")


@dataclass(frozen=True, slots=True)
class Effects:
    """What stands in a command: what it removes, and which named paths need a question."""

    deletes: tuple[str, ...]
    protected: tuple[str, ...]
    outside: tuple[str, ...]


def effects_of(command: str, directory: str, workspace: Workspace) -> Effects:
    """Read a command's words. What scripts do by themselves can't be read from them."""
    deletes: list[str] = []
    protected: list[str] = []
    outside: list[str] = []
    for words, targets in _words(command):
        deletes.extend(_deleted(words))
        for word in [*words[1:], *targets]:
            for path in _paths_in(word):
                # `.env*` means `.env` too.
                if is_protected(path) or is_protected(path.rstrip("*?") or "."):
                    protected.append(path)
                elif _is_outside(path, directory, workspace):
                    outside.append(path)
    return Effects(*(tuple(dict.fromkeys(found)) for found in (deletes, protected, outside)))


def _words(command: str) -> Iterator[tuple[list[str], list[str]]]:
    for simple in commands.words_of(command):
        yield simple.words, simple.targets


def _deleted(words: list[str]) -> list[str]:
    if not words:
        return []
    name = PurePath(words[0]).name.casefold()
    operands = [word for word in words[1:] if not word.startswith("-")]
    if name in _REMOVERS:
        return operands or [name]
    if name == "find" and "-delete" in words:
        return operands[:1] or ["."]
    if name == "git" and operands[:1] in (["clean"], ["rm"]):
        return [f"git {operands[0]}"]
    if name == "git" and operands[:1] == ["reset"] and "--hard" in words:
        return ["git reset --hard"]
    return []


def _paths_in(word: str) -> Iterator[str]:
    """Yield the path in a word, also behind `--option=`."""
    if "://" in word:
        return
    tail = word.partition("=")[2] if "=" in word else word
    for path in dict.fromkeys((word, tail)):
        if path and not path.startswith("-") and len(path) < 4096 and "\n" not in path:
            yield path


def _is_outside(path: str, directory: str, workspace: Workspace) -> bool:
    plain = path.replace("${HOME}", "~").replace("$HOME", "~")
    looks_out = plain.startswith(("/", "~")) or ".." in PurePath(plain).parts
    if not looks_out or plain.startswith(_SYSTEM):
        return False
    try:
        resolve_for_write(workspace, plain, base=directory)
    except ToolError:
        return True
    return False
