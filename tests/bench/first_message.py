"""The app as people start it: tells its first paint, and when a first message is answered."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from desktop_agent.__main__ import main as start


def main(api_base: str) -> None:
    """Start the window on an empty folder, and say something once it is painted."""
    from desktop_agent.core.events import TurnEnded
    from desktop_agent.core.ids import new_note_id, new_session_id
    from desktop_agent.core.notes import Note
    from desktop_agent.core.workspace import Workspace
    from desktop_agent.gui.bridge.bridge import Bridge
    from desktop_agent.gui.window import app_windows
    from tests.bench.sessions import Opened

    session, opened = new_session_id(), Opened()
    folder = Path(os.environ["DESKTOP_AGENT_HOME"]) / "folder"
    folder.mkdir(parents=True)

    def tell() -> None:
        sys.stdout.write(f"{time.perf_counter()}\n")
        sys.stdout.flush()

    class Speaking(app_windows.MainWindow):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.engines: Bridge = args[2]
            self.painted.connect(tell)
            self.engines.started.connect(self.begin_session)
            self.engines.received.connect(self.hear_batch)

        def begin_session(self) -> None:
            self.engines.engine.new_session(
                session, Workspace(str(folder)), model="openai/plain", api_base=api_base
            )

        def hear_batch(self, batch: Any) -> None:
            is_new = session not in opened.agents
            for event in batch:
                opened.hear(event)
                if isinstance(event, TurnEnded):
                    tell()
            if is_new and session in opened.agents:
                self.flow.show_session(session)
                self.engines.engine.send(opened.agents[session], Note(new_note_id(), "Hello"))

    app_windows.MainWindow = Speaking
    sys.exit(start(["--demo", str(folder)]))
