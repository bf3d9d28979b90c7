"""What a command's words give away about its effects: for cards and for what is always asked."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath

from desktop_agent.core.tool import ToolError
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.permissions.protected_files import is_protected, is_secret
from desktop_agent.engine.permissions.shell import classify
from desktop_agent.engine.workspace.containment import (
    is_within,
    relative_name,
    resolve_for_read,
    resolve_for_write,
)

_REMOVERS = {"rm", "rmdir", "unlink", "shred", "del", "erase", "rd", "remove-item", "trash"}
# Programs and devices that stand outside of any workspace and mean nothing by it.
_SYSTEM = ("/bin/", "/sbin/", "/usr/", "/opt/", "/dev/null", "/dev/stdin", "/dev/stdout")
_SYSTEM += ("/dev/stderr", "/dev/fd/", "/dev/tty", "/dev/zero", "/dev/urandom")
# One word of these says too little to allow everything behind it.
_TWO_WORDS = frozenset({
    "git", "npm", "pnpm", "yarn", "bun", "npx", "pip", "pip3", "uv", "cargo", "go", "make",
    "just", "docker", "podman", "kubectl", "dotnet", "gradle", "mvn", "poetry", "pdm", "hatch",
    "tox", "nox", "rails", "bundle", "gem", "composer", "php", "terraform", "helm", "systemctl",
    "brew", "apt", "apt-get", "dnf", "conda", "mamba", "python", "python3", "node", "deno",
    "ruby", "perl", "java",
})  # fmt: skip
_NEVER_WHOLE = frozenset({
    "sh", "bash", "dash", "zsh", "ksh", "fish", "ash", "env", "sudo", "doas", "su", "xargs",
    "timeout", "nohup", "nice", "time", "setsid", "watch", "eval", "exec", "source", ".",
    "command", "builtin", "rm", "rmdir", "unlink", "shred", "dd", "mkfs", "chmod", "chown", "mv",
    "curl", "wget", "ssh", "scp", "rsync", "nc", "awk", "gawk", "find", "kill", "pkill",
    "killall", "crontab", "at", "tee", "ln", "cmd", "powershell", "pwsh",
})  # fmt: skip


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


def is_proven_harmless(
    command: str, directory: str, workspace: Workspace, environment: Mapping[str, str]
) -> bool:
    """Whether it only looks, inside the workspace, with programs that are not from there."""
    paths = classify.paths_read(command)
    if paths is None:
        return False
    try:
        for path in paths:
            resolved = resolve_for_read(workspace, path, base=directory)
            if is_secret(relative_name(workspace, resolved)):
                return False
    except ToolError:
        return False
    return not any(
        _is_from_workspace(simple.words[0], workspace, environment)
        for simple in classify.words_of(command)
        if simple.words
    )


def rule_patterns(command: str) -> tuple[str, ...]:
    """Return the beginnings of the command that a rule may cover, the narrowest first."""
    parts = [simple.words for simple in classify.words_of(command) if simple.words]
    if not parts or any(not _is_word(words[0]) or words[0] in _NEVER_WHOLE for words in parts):
        return ()
    first = parts[0]
    candidates: list[str] = []
    if len(first) > 1 and _is_word(first[1]):
        candidates.append(" ".join(first[:2]))
    if first[0] in {"python", "python3"} and len(first) > 2 and first[1] == "-m":
        candidates.append(" ".join(first[:3]))
    if first[0] not in _TWO_WORDS:
        candidates.append(first[0])
    return tuple(pattern for pattern in candidates if classify.covers(pattern, command))


def _words(command: str) -> Iterator[tuple[list[str], list[str]]]:
    for simple in classify.words_of(command):
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


def _is_from_workspace(name: str, workspace: Workspace, environment: Mapping[str, str]) -> bool:
    program = shutil.which(name, path=environment.get("PATH", ""))
    if program is None:
        return False
    parents = (PurePath(program), PurePath(program).parent)
    return any(is_within(path, root) for path in parents for root in workspace.write_roots)


def _is_word(word: str) -> bool:
    plain = word.replace("-", "").replace("_", "").replace(".", "")
    return plain.isalnum() and not word.startswith("-")
