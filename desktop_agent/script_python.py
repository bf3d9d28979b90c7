"""Runs a Python script with what the app ships, where the computer has no Python for it."""

from __future__ import annotations

import builtins
import os
import runpy
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str]) -> int:
    """Run a script with its arguments, as `python3 SCRIPT …` does; return the exit code."""
    script = os.path.abspath(arguments[0]) if arguments else ""  # noqa: PTH100 - no links resolved
    if not os.path.isfile(script):  # noqa: PTH113
        sys.stderr.write(f"There is no script {script}.\n" if script else "Name a script.\n")
        return 2
    sys.argv[:] = [script, *arguments[1:]]
    sys.path.insert(0, os.path.dirname(script))  # noqa: PTH120
    # What Python writes beside a script of a trusted skill would be a change of that skill.
    sys.dont_write_bytecode = True
    # The frozen app starts without what else brings these two.
    for name in ("exit", "quit"):
        builtins.__dict__.setdefault(name, sys.exit)
    runpy.run_path(script, run_name="__main__")
    return 0
