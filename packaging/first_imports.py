"""Names the modules that a start imports, by importing them; run by the build's Python.

python packaging/first_imports.py ROOT START FILE     writes them as a JSON list; START is one below
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

# Each in a process of its own, as they are in the app.
_STARTS = {
    "window": ("desktop_agent.app", "desktop_agent.compose", "desktop_agent.gui.startup.run"),
    "host": ("desktop_agent.model_host.host", "desktop_agent.model_host.demo.model",
             "desktop_agent.model_host.litellm_client.model",
             "desktop_agent.model_host.litellm_client.queries"),
}  # fmt: skip


def first_imports(root: Path) -> set[str]:
    """Return the names. Raises CalledProcessError when a start can't be imported."""
    names: set[str] = set()
    for start in _STARTS:
        # A folder: Windows lets nobody else write a file that is held open here.
        with tempfile.TemporaryDirectory() as place:
            report = Path(place, "names.json")
            command = [sys.executable, __file__, str(root), start, str(report)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            names |= set(json.loads(report.read_text("utf-8")))
    return names


def _import(start: str) -> list[str]:
    for name in _STARTS[start]:
        import_module(name)
    if start == "host":
        setup = import_module("desktop_agent.model_host.litellm_client.setup")
        setup.prepare()
        setup.load()
    return sorted(sys.modules)


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    Path(sys.argv[3]).write_text(json.dumps(_import(sys.argv[2])))
