"""Names the modules that a start imports, by importing them; run by the build's Python.

python packaging/first_imports.py ROOT     prints a JSON list, for the window and the model host
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

# Each in a process of its own, as they are in the app.
_STARTS = {
    "window": ("desktop_agent.app", "desktop_agent.compose", "desktop_agent.gui.shell"),
    "host": ("desktop_agent.model_host.host", "desktop_agent.model_host.litellm_model",
             "desktop_agent.model_host.demo_model", "desktop_agent.model_host.queries"),
}  # fmt: skip


def first_imports(root: Path) -> set[str]:
    """Return the names; fewer where something can't be imported here."""
    names: set[str] = set()
    for start in _STARTS:
        command = [sys.executable, __file__, str(root), start]
        told = subprocess.run(command, capture_output=True, text=True, check=False)
        names |= set(json.loads(told.stdout)) if told.returncode == 0 else set()
    return names


def _import(start: str) -> list[str]:
    for name in _STARTS[start]:
        import_module(name)
    if start == "host":
        setup = import_module("desktop_agent.model_host.litellm_setup")
        setup.prepare()
        setup.load()
    return sorted(sys.modules)


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    sys.stdout.write(json.dumps(_import(sys.argv[2])))
