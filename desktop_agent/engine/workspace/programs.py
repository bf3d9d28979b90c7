"""Finding programs that the app runs itself, with all the rights of the person.

An agent may write in a folder whose `bin` is on the PATH, such as an activated virtual
environment's: what it puts there must not be taken for the program of that name.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from desktop_agent.core.pipes.no_window import NO_WINDOW
from desktop_agent.engine.workspace.containment import is_within

# Of the many in macOS those that the app runs by itself.
_OFFERED_BY_APPLE = frozenset({"/usr/bin/git", "/usr/bin/python3"})
_LIMIT_S = 5.0
_PYTHON = re.compile(r"python[\d.]*")
_OF_PROJECTS = frozenset({"node_modules", "vendor", ".direnv"})


def find_program(name: str, folders: Iterable[str] = ()) -> str:
    """Return the path of a program that belongs to no project; nothing if there is none.

    PATH is searched without what is relative, what lies in `folders`, and virtual environments.
    """
    for entry in os.environ.get("PATH", "").split(os.pathsep):
        if not os.path.isabs(entry) or _is_of_project(entry):  # noqa: PTH117
            continue
        found = program_in(entry, name)
        if not found or is_stand_in(found):
            continue
        real = PurePath(os.path.realpath(entry), os.path.basename(found))  # noqa: PTH119
        places = (PurePath(found), real, PurePath(os.path.realpath(found)))
        if not any(is_within(place, folder) for place in places for folder in folders):
            return found
    return ""


def program_in(folder: str, name: str) -> str:
    """Return the path of a program in this folder; nothing if there is none.

    On Windows `shutil.which` looks in the current folder first, whatever it is told.
    """
    path = os.path.join(folder, name)  # noqa: PTH118
    endings = [""]
    if os.name == "nt":
        known = os.environ.get("PATHEXT", ".COM;.EXE;.BAT;.CMD").split(os.pathsep)
        endings = [""] if path.casefold().endswith(tuple(map(str.casefold, known))) else known
    return next(filter(None, (shutil.which(path + ending) for ending in endings)), None) or ""


def is_stand_in(program: str, selector: str = "/usr/bin/xcode-select") -> bool:
    """Whether macOS has no such program yet: this one opens a window that offers to install it."""
    if sys.platform != "darwin" or program not in _OFFERED_BY_APPLE:
        return False
    try:
        asked = subprocess.run(
            [selector, "-p"],
            capture_output=True,
            check=False,
            timeout=_LIMIT_S,
            creationflags=NO_WINDOW,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return asked.returncode != 0


def _is_of_project(entry: str) -> bool:
    for path in dict.fromkeys((os.path.normpath(entry), os.path.realpath(entry))):
        if _OF_PROJECTS.intersection(PurePath(path).parts):
            return True
        if os.path.lexists(os.path.join(os.path.dirname(path), "pyvenv.cfg")):  # noqa: PTH118, PTH120
            return True
    return False


def stood_in_for(name: str, path: Sequence[str], folders: Sequence[str]) -> str:
    """Return the program in whose place one in these folders would run; nothing if none would."""
    if PurePath(name).name != name:
        return ""  # the path itself was what was allowed
    found = [program for entry in path if entry and (program := program_in(entry, name))]
    others = [program for program in found if not _is_in(program, folders)]
    if not others or others[0] == found[0]:
        return ""
    first, real = found[0], os.path.realpath(found[0])
    if real in map(os.path.realpath, others):
        return ""
    # The Python of a virtual environment is a link to one that a tool may have installed.
    is_python = _PYTHON.fullmatch(name) and _PYTHON.fullmatch(os.path.basename(real))  # noqa: PTH119
    if is_python and os.path.islink(first) and not _is_in(real, folders):  # noqa: PTH114
        return ""
    return others[0]


def _is_in(program: str, folders: Sequence[str]) -> bool:
    places = (program, os.path.realpath(os.path.dirname(program)), os.path.realpath(program))  # noqa: PTH120
    return any(is_within(PurePath(place), folder) for place in places for folder in folders)
