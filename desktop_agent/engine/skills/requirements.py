"""What skills say that they need, held against what this computer has. For a worker thread.

Scripts of skills run with the computer's Python, not with the app's own: it is asked, unless
it is a project's, which agents may have changed.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath

from desktop_agent.core.skills import Skill
from desktop_agent.engine.workspace.programs import find_program

_log = logging.getLogger(__name__)

# Names of metadata fields: `pypdf, python-docx (docx)` and `git, pandoc`.
PACKAGES, COMMANDS = "python-packages", "commands"

_PACKAGE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\s*\(\s*([A-Za-z_][A-Za-z0-9_.]*)\s*\))?")
_COMMAND = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_PYTHONS = ("python3", "python", "py")
_ASK = (
    "import importlib.util, sys\n"
    "print(*[n for n in sys.argv[1:] if importlib.util.find_spec(n) is None], sep='\\n')"
)
_KEPT = ("PATH", "HOME", "LANG", "VIRTUAL_ENV", "USERPROFILE", "APPDATA", "SYSTEMROOT", "TEMP")
_TIME_S = 20
_MOST = 20


@dataclass(frozen=True, slots=True)
class Needs:
    """What one skill needs: packages with the module by which each is known, and programs."""

    packages: tuple[tuple[str, str], ...] = ()
    commands: tuple[str, ...] = ()


def needs_of(skill: Skill) -> Needs:
    """Return what a skill's metadata declares; what is written in another way is passed by."""
    says = dict(skill.metadata)
    packages: list[tuple[str, str]] = []
    for entry in _entries(says.get(PACKAGES, "")):
        if (found := _PACKAGE.fullmatch(entry)) is not None:
            module = found[2] or found[1].replace("-", "_").lower()
            # Of a dotted name the first part alone: finding the others would import it.
            packages.append((found[1], module.split(".", 1)[0]))
    commands = [name for name in _entries(says.get(COMMANDS, "")) if _COMMAND.fullmatch(name)]
    return Needs(tuple(packages), tuple(commands))


def missing(skills: Iterable[Skill]) -> dict[str, tuple[str, ...]]:
    """Return sentences for what is missing, by the skill's directory."""
    wanted = {skill.directory: needs_of(skill) for skill in skills if skill.metadata}
    wanted = {directory: needs for directory, needs in wanted.items() if needs != Needs()}
    path = _safe_path()
    modules = sorted({module for needs in wanted.values() for _, module in needs.packages})
    pythons = (shutil.which(name, path=path) for name in _PYTHONS)
    python = next(filter(None, pythons), "") if modules else ""
    is_asked = python == find_program(PurePath(python).name)
    lacking = _lacking(python, modules, path) if is_asked else set[str]()
    if lacking is None:
        python, lacking = "", set[str]()
    found = {
        directory: (
            *_package_text(needs, lacking, has_python=bool(python)),
            *(
                f"It needs the program {name}, which this computer does not have."
                for name in needs.commands
                if shutil.which(name, path=path) is None
            ),
        )
        for directory, needs in wanted.items()
    }
    return {directory: words for directory, words in found.items() if words}


def _package_text(needs: Needs, lacking: set[str], *, has_python: bool) -> Iterable[str]:
    if needs.packages and not has_python:
        return ("Its scripts need Python 3, which this computer does not have.",)
    return [
        f"Its scripts need the Python package {package}, which this computer does not have."
        for package, module in needs.packages
        if module in lacking
    ]


def _entries(text: str) -> list[str]:
    return [entry.strip() for entry in text.split(",") if entry.strip()][:_MOST]


def _safe_path() -> str:
    # A relative entry would run whatever lies in the current folder.
    entries = os.environ.get("PATH", "").split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if os.path.isabs(entry))  # noqa: PTH117


def _lacking(python: str, modules: list[str], path: str) -> set[str] | None:
    """Return the modules that Python does not find; None when it can't be asked."""
    if not python:
        return None if modules else set()
    environment: Mapping[str, str] = {n: v for n, v in os.environ.items() if n.upper() in _KEPT}
    try:
        asked = subprocess.run(
            [python, "-c", _ASK, *modules],
            env={**environment, "PATH": path},
            cwd=os.path.abspath(os.sep),  # noqa: PTH100
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TIME_S,
            check=True,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError) as error:
        _log.info("%s could not be asked for packages: %s", python, error)
        return None
    return set(asked.stdout.split())
