"""The app itself, where the folder that is worked in holds it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from desktop_agent import paths
from desktop_agent.compose import _own_places  # pyright: ignore[reportPrivateUsage]
from desktop_agent.core.workspace import OwnPlaces
from desktop_agent.engine.permissions.protected_files import is_program
from desktop_agent.tools.files.writing import write
from tests.tools.conftest import Bench, bench

__all__ = ["bench"]


async def test_a_write_into_the_app_itself_is_asked_about_where_a_folder_holds_it(
    bench: Bench,
) -> None:
    """In an environment of the project, say; what stands beside it is the person's project."""
    own = OwnPlaces(program=(str(bench.root / ".venv"),))
    bench.bound(own=own)
    inside = await bench.preview(write, path=".venv/lib/app.py", content="x = 1\n")
    beside = await bench.preview(write, path="app.py", content="x = 1\n")
    assert (inside.protected, beside.protected) == ((".venv/lib/app.py",), ())


def test_the_environment_that_the_app_runs_in_is_part_of_the_app() -> None:
    own = _own_places(paths.data_dir(), paths.config_dir())
    is_environment = sys.prefix != sys.base_prefix
    assert is_program(Path(os.path.realpath(sys.prefix)) / "bin" / "python", own) == is_environment
