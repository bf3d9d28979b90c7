"""The app as people start it, which tells the moment of its first paint."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from desktop_agent.__main__ import main as start


def _tell() -> None:
    sys.stdout.write(f"{time.perf_counter()}\n")
    sys.stdout.flush()


def main() -> None:
    """Start the window on an empty folder, with a model chosen."""
    from desktop_agent.gui.window import app_windows

    class Watched(app_windows.MainWindow):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.painted.connect(_tell)

    app_windows.MainWindow = Watched
    folder = Path(os.environ["DESKTOP_AGENT_HOME"]) / "folder"
    folder.mkdir(parents=True)
    sys.exit(start(["--demo", str(folder)]))
