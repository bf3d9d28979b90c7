"""Starts the app as its program does, and notes how it imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from tests.helpers.patience import HANG_S

# Says at the end of what others do: modules imported under Qt's hook while there were several
# threads (its one flag for all of them makes such an import fail now and then), modules that
# name Qt's classes and were imported on another thread than the window's, and pydantic.
_PROGRAM = """
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


def run_noting_imports(
    *arguments: str, **changes: str
) -> tuple[subprocess.CompletedProcess[str], Any]:
    """Run the app to its end; return how it ended and the note, which its output has no more."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *arguments],
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen", **changes},
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert lines, done.stderr
    done.stdout = "\n".join(lines[:-1])
    return done, json.loads(lines[-1])
