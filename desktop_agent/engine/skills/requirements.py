"""What skills say that they need, held against what this computer has. For a worker thread.

Scripts of skills run with the computer's Python; with the app's own where there is none, or one
without their packages. It is asked for them, unless it is a project's, which agents may have
changed.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import PurePath

import msgspec

from desktop_agent.core.pipes.no_window import NO_WINDOW
from desktop_agent.core.skills import Skill
from desktop_agent.engine.workspace.programs import find_program, is_stand_in

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


class Needs(msgspec.Struct, frozen=True):
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


class Setup(msgspec.Struct, frozen=True):
    """How skills stand on this computer, by their directories.

    `missing` are sentences for what is lacking. The scripts of those in `own_python` are to be
    run with the app's own Python: the computer has none, or one without their packages.
    """

    missing: Mapping[str, tuple[str, ...]] = {}
    own_python: frozenset[str] = frozenset()


def look(skills: Iterable[Skill], *, has_own: bool = False) -> Setup:
    """Hold skills against this computer; `has_own`: the app's own Python can run scripts."""
    wanted = {skill.directory: needs_of(skill) for skill in skills}
    modules = sorted({module for needs in wanted.values() for _, module in needs.packages})
    if not has_own:
        wanted = {directory: needs for directory, needs in wanted.items() if needs != Needs()}
    path = _safe_path()
    theirs = _lacking(modules, path) if modules or (wanted and has_own) else set[str]()
    ours = {module for module in modules if not _is_shipped(module)} if has_own else None
    missing: dict[str, tuple[str, ...]] = {}
    own: set[str] = set()
    for directory, needs in wanted.items():
        lacking = theirs
        if _is_better(ours, theirs, {module for _, module in needs.packages}):
            own.add(directory)
            lacking = ours
        if words := (*_package_words(needs, lacking), *_command_words(needs, path)):
            missing[directory] = words
    return Setup(missing, frozenset(own))


def _is_better(ours: set[str] | None, theirs: set[str] | None, modules: set[str]) -> bool:
    """Whether the app's own Python is to be used, by what each lacks; None: there is none."""
    if ours is None or theirs is None:
        return ours is not None
    return bool(modules & theirs) and not modules & ours


def _is_shipped(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ValueError:  # loaded by other means than an import
        return False


def _package_words(needs: Needs, lacking: set[str] | None) -> list[str]:
    if lacking is None:
        words = "Its scripts need Python 3, which this computer does not have."
        return [words] if needs.packages else []
    return [
        f"Its scripts need the Python package {package}, which this computer does not have."
        for package, module in needs.packages
        if module in lacking
    ]


def _command_words(needs: Needs, path: str) -> list[str]:
    return [
        f"It needs the program {name}, which this computer does not have."
        for name in needs.commands
        if shutil.which(name, path=path) is None
    ]


def _entries(text: str) -> list[str]:
    return [entry.strip() for entry in text.split(",") if entry.strip()][:_MOST]


def _safe_path() -> str:
    # A relative entry would run whatever lies in the current folder.
    entries = os.environ.get("PATH", "").split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if os.path.isabs(entry))  # noqa: PTH117


def _lacking(modules: list[str], path: str) -> set[str] | None:
    """Return the modules that the computer's Python does not find; None when there is none."""
    pythons = (shutil.which(name, path=path) for name in _PYTHONS)
    python = next(filter(None, pythons), "")
    if not python or is_stand_in(python):
        return None
    if python != find_program(PurePath(python).name):
        return set()
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
            creationflags=NO_WINDOW,
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError) as error:
        _log.info("%s could not be asked for packages: %s", python, error)
        return None
    return set(asked.stdout.split())
