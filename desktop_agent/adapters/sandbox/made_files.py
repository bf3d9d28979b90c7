"""Settings that a command sees in place of the person's: the same, without what is secret."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from desktop_agent.adapters.files.private_file import write_private
from desktop_agent.adapters.sandbox.keeper import PROGRAMS
from desktop_agent.adapters.sandbox.small_file import read_small
from desktop_agent.core.keys.redaction import is_secret_name, redact

# Settings of lines `name = value`.
_COPIED = (".npmrc", ".config/pip/pip.conf", ".pip/pip.conf", ".cargo/config.toml")
_GIT_SOURCES = (".gitconfig", ".config/git/config")
# What git needs to know to make a commit as the person does; no program is among it.
_GIT_KEYS = re.compile(
    r"user\.(name|email|signingkey|useconfigonly)|init\.defaultbranch|core\.(autocrlf|eol|quotepath"
    r"|excludesfile)|commit\.gpgsign|tag\.gpgsign|pull\.(rebase|ff)|push\.default|merge\.(ff"
    r"|conflictstyle)|rebase\.(autosquash|autostash)|safe\.directory|diff\.algorithm"
)
# Not shown: the person's hooks are not for what commands do.
_HOOKS = "core.hookspath"
_WITH_PASSWORD = re.compile(r"://[^/\s]*@")
_GIT_S = 5.0


class MadeFiles:
    """Keeps the files in a folder of ours, under the digest of what they hold."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._git: dict[tuple[object, ...], list[tuple[str, str]]] = {}

    def of(self, home: str, root: str) -> dict[str, str]:
        """Return what to show in a home: the path there, and the file of ours.

        `root` is the folder worked in: a person may be somebody else in some of them.
        """
        found = {f"{home}/{name}": _without_secrets(Path(home, name)) for name in _COPIED}
        found[f"{home}/.gitconfig"] = _written(self._git_settings(home, root))
        return {target: self._kept(content) for target, content in found.items() if content}

    def ignored(self, home: str, root: str) -> str:
        """Return the person's own list of what git ignores, nothing if there is none."""
        said = dict(self._git_settings(home, root)).get("core.excludesfile", "")
        return os.path.realpath(said.replace("~", home, 1)) if said else ""

    def hooks(self, home: str, root: str) -> str:
        """Return where in each of their repositories a person keeps hooks, nothing if in none."""
        said = dict(self._git_settings(home, root)).get(_HOOKS, "")
        return "" if said.startswith(("/", "~")) or "\0" in said else said

    def _kept(self, content: bytes) -> str:
        path = self._folder / hashlib.sha256(content).hexdigest()[:24]
        if not path.exists():
            write_private(path, content)
        return str(path)

    def _git_settings(self, home: str, root: str) -> list[tuple[str, str]]:
        stamps = tuple(_stamp(Path(home, name)) for name in _GIT_SOURCES)
        key = (home, root, stamps)
        if key not in self._git:
            try:
                self._git[key] = _git_says(home, root) if any(stamps) else []
            except subprocess.TimeoutExpired:
                return []  # a busy machine: the next command asks again
        return self._git[key]


def _git_says(home: str, root: str) -> list[tuple[str, str]]:
    """Ask git, which follows includes; nothing when there is no git, or it doesn't like them.

    Raises TimeoutExpired.
    """
    program = shutil.which("git", path=PROGRAMS)
    if program is None:
        return []
    words = [program, "-C", root, "config", "--global", "--includes", "-z", "--list"]
    environment = {"HOME": home, "PATH": os.environ.get("PATH", os.defpath)}
    try:
        done = subprocess.run(
            words, env=environment, capture_output=True, check=False, timeout=_GIT_S
        )
    except OSError:
        return []
    pairs = (entry.partition("\n") for entry in done.stdout.decode(errors="replace").split("\0"))
    return [(name, value) for name, _, value in pairs if _is_of_use(name.lower())]


def _is_of_use(name: str) -> bool:
    return name == _HOOKS or _GIT_KEYS.fullmatch(name) is not None


def _written(pairs: Iterable[tuple[str, str]]) -> bytes:
    lines: list[str] = []
    for name, value in pairs:
        if name == _HOOKS:
            continue
        section, _, key = name.partition(".")
        quoted = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        lines.append(f'[{section}]\n\t{key} = "{quoted}"\n')
    return "".join(lines).encode()


def _without_secrets(path: Path) -> bytes:
    """Return the lines that hold no secret."""
    lines = read_small(str(path)).splitlines(keepends=True)
    return os.fsencode("".join(line for line in lines if _is_open(line)))


def _is_open(line: str) -> bool:
    name, _, _ = line.partition("=")
    name = name.strip()
    if name.startswith("//") or name in ("key", "cert") or name.startswith("_"):
        return False
    return not (is_secret_name(name) or _WITH_PASSWORD.search(line) or redact(line) != line)


def _stamp(path: Path) -> tuple[int, int]:
    try:
        state = path.stat()
    except OSError:
        return (0, 0)
    return state.st_mtime_ns, state.st_size
