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


def _tell_opened() -> None:
    """Tell when it is, and what processor time the process has taken."""
    sys.stdout.write(f"{time.perf_counter()} {time.process_time()}\n")
    sys.stdout.flush()


def main(*, tells_work: bool = False) -> None:
    """Start the window on an empty folder, with a model chosen.

    With `tells_work` moment and processor time stand on a second line, and on a third those when
    the sessions are listed and the first one is open.
    """
    from desktop_agent.core.events import SessionOpened
    from desktop_agent.gui.bridge.bridge import Bridge
    from desktop_agent.gui.window import app_windows

    class Watched(app_windows.MainWindow):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.painted.connect(_tell)
            if tells_work:
                self.painted.connect(_tell_opened)
                self._hear = self._take_first
                bridge: Bridge = args[2]
                bridge.received.connect(self._hear)

        def _take_first(self, batch: Any) -> None:
            if any(isinstance(event, SessionOpened) for event in batch):
                _tell_opened()

    app_windows.MainWindow = Watched
    folder = Path(os.environ["DESKTOP_AGENT_HOME"]) / "folder"
    folder.mkdir(parents=True)
    sys.exit(start(["--demo", str(folder)]))
