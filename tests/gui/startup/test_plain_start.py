"""Every start imports as Python does: never under the hook of Qt's bindings, never pydantic.

And what is of Qt on the window's thread alone: two threads that make its classes end the process.
The start of the self-check is tested with it.
"""

import os
import shutil
import subprocess
import sys

import pytest

from desktop_agent import paths
from tests.helpers.noted_start import run_noting_imports
from tests.helpers.patience import HANG_S


def test_the_demo_does_its_job_in_the_real_window_without_a_person(tmp_path):
    folder = shutil.copytree(paths.resource("demo"), tmp_path / "garden")
    picture = tmp_path / "window.png"
    done, noted = run_noting_imports("--demo-run", str(folder), "--screenshot", str(picture))
    assert done.returncode == 0, done.stdout + done.stderr
    assert (folder / "OVERVIEW.md").exists()
    assert picture.stat().st_size > 10_000
    assert done.stderr == ""
    assert noted == {"hooked": [], "on other threads": [], "pydantic": [], "qt": True}


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of POSIX")
@pytest.mark.parametrize("option", ["--demo-run", "--help"])
def test_who_stops_reading_what_it_says_ends_nothing_and_holds_nothing_up(tmp_path, option):
    folder = shutil.copytree(paths.resource("demo"), tmp_path / "garden")
    reader, writer = os.pipe()
    os.close(reader)
    program = [sys.executable, "-m", "desktop_agent", option, str(folder)]
    done = subprocess.run(
        program, stdout=writer, stderr=subprocess.PIPE, timeout=HANG_S, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (folder / "OVERVIEW.md").exists() == (option == "--demo-run")


def test_a_run_without_a_window_imports_as_ever_and_brings_no_pydantic(tmp_path):
    folder = shutil.copytree(paths.resource("demo"), tmp_path / "garden")
    given = ("run", "Look around", "--workspace", str(folder), "--model", "demo")
    done, noted = run_noting_imports(*given)
    assert done.returncode == 0, done.stdout + done.stderr
    assert noted == {"hooked": [], "on other threads": [], "pydantic": [], "qt": False}
