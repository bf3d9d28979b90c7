"""Programs of a folder that would run in place of the system's, such as `.venv/bin/git`.

What may run outside the sandbox was said of a program by its name. A folder whose `bin` is on the
PATH can be given another of that name by anything that runs in the sandbox.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

from desktop_agent.engine.permissions.shell import classify
from desktop_agent.engine.workspace.containment import is_within

_PYTHON = re.compile(r"python[\d.]*")


def stand_ins(
    command: str, environment: Mapping[str, str], folders: Sequence[str]
) -> tuple[str, ...]:
    """Return which programs of a command lie in one of the folders, and others by its name not."""
    path = environment.get("PATH", "").split(os.pathsep)
    named = dict.fromkeys(simple.words[0] for simple in classify.words_of(command) if simple.words)
    return tuple(name for name in named if _is_stand_in(name, path, folders))


def _is_stand_in(name: str, path: Sequence[str], folders: Sequence[str]) -> bool:
    if PurePath(name).name != name:
        return False  # the path itself was what was allowed
    found = list(_found(name, path))
    others = [one for one in found if not _is_in(one, folders)]
    if not others or others[0] == found[0]:
        return False
    first, real = found[0], os.path.realpath(found[0])
    if real in map(os.path.realpath, others):
        return False
    # The Python of a virtual environment is a link to one that a tool may have installed.
    is_python = _PYTHON.fullmatch(name) and _PYTHON.fullmatch(os.path.basename(real))  # noqa: PTH119
    return not (is_python and os.path.islink(first) and not _is_in(real, folders))  # noqa: PTH114


def _found(name: str, path: Sequence[str]) -> Iterator[str]:
    for entry in path:
        found = shutil.which(name, path=entry) if entry else None
        if found is not None:
            yield found


def _is_in(program: str, folders: Sequence[str]) -> bool:
    places = (program, os.path.realpath(os.path.dirname(program)), os.path.realpath(program))  # noqa: PTH120
    return any(is_within(PurePath(place), folder) for place in places for folder in folders)
