"""Every start imports as Python does: never under the hook of Qt's bindings, never pydantic.

And what is of Qt on the window's thread alone: two threads that make its classes end the process.
"""

import json
import os
import shutil
import subprocess
import sys

import pytest

from desktop_agent import paths
from tests.helpers.patience import HANG_S

# Says at the end of what others do: modules imported under Qt's hook while there were several
# threads (its one flag for all of them makes such an import fail now and then), modules that
# name Qt's classes and were imported on another thread than the window's, and pydantic.
PROGRAM = """
import atexit, builtins, json, sys, threading

hooked, elsewhere = [], []
def note(event, arguments):
    if event != "import":
        return
    if threading.current_thread() is not threading.main_thread():
        elsewhere.append(arguments[0])
    if threading.active_count() > 1:
        if builtins.__import__ is not getattr(builtins, "__orig_import__", plain):
            hooked.append(arguments[0])
plain = builtins.__import__
sys.addaudithook(note)

def names_qt(name):
    held = vars(sys.modules[name]).values() if name in sys.modules else ()
    origins = [name, *(str(getattr(each, "__module__", "")) for each in held)]
    return any(each.startswith(("PySide6", "shiboken6")) for each in origins)

def tell():
    print(json.dumps({
        "hooked": hooked,
        "on other threads": [name for name in elsewhere if names_qt(name)],
        "pydantic": [name for name in sys.modules if name.startswith("pydantic")],
        "qt": "PySide6" in sys.modules,
    }))
atexit.register(tell)

from desktop_agent.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("arguments", "has_window"),
    [
        (["--demo-run", "GARDEN"], True),
        (["--self-check"], True),
        (["run", "Look around", "--workspace", "GARDEN", "--model", "demo"], False),
    ],
    ids=["window", "self-check", "headless"],
)
def test_a_whole_run_imports_as_ever_and_brings_no_pydantic(tmp_path, arguments, has_window):
    folder = shutil.copytree(paths.resource("demo"), tmp_path / "garden")
    given = [str(folder) if each == "GARDEN" else each for each in arguments]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *given],
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert said == {"hooked": [], "on other threads": [], "pydantic": [], "qt": has_window}
