"""Programs of a folder that would run in place of the system's, such as `.venv/bin/git`.

What may run outside the sandbox was said of a program by its name. A folder whose `bin` is on the
PATH can be given another of that name by anything that runs in the sandbox.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from desktop_agent.engine.permissions.shell import classify
from desktop_agent.engine.workspace.programs import stood_in_for


def stand_ins(
    command: str, environment: Mapping[str, str], folders: Sequence[str]
) -> tuple[str, ...]:
    """Return which programs of a command lie in one of the folders, and others by its name not."""
    path = environment.get("PATH", "").split(os.pathsep)
    named = dict.fromkeys(simple.words[0] for simple in classify.words_of(command) if simple.words)
    return tuple(name for name in named if stood_in_for(name, path, folders))
