"""The app as people start it, which tells the moment of its first paint, and a first answer's."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from desktop_agent.app import _window  # pyright: ignore[reportPrivateUsage]
from desktop_agent.core.settings import Settings


def _tell() -> None:
    sys.stdout.write(f"{time.perf_counter()}\n")
    sys.stdout.flush()


def _tell_opened() -> None:
    """Tell when it is, and what processor time the process has taken."""
    sys.stdout.write(f"{time.perf_counter()} {time.process_time()}\n")
    sys.stdout.flush()


def main(*, tells_work: bool = False, server: str = "") -> None:
    """Start the window on an empty folder, with a model chosen.

    With `tells_work` moment and processor time stand on a second line, and on a third those when
    the sessions are listed and the first one is open. With a `server` something is said to it,
    and the moment of the answer is on the second line.
    """
    from desktop_agent.core.events import SessionOpened
    from desktop_agent.gui.bridge.bridge import Bridge
    from desktop_agent.gui.window import app_windows

    folder = Path(os.environ["DESKTOP_AGENT_HOME"]) / "folder"
    folder.mkdir(parents=True)

    class Watched(app_windows.MainWindow):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.painted.connect(_tell)
            bridge: Bridge = args[2]
            if tells_work:
                self.painted.connect(_tell_opened)
                self._hear = self._take_first
                bridge.received.connect(self._hear)
            if server:
                _speak(self, bridge, server, folder)

        def _take_first(self, batch: Any) -> None:
            if any(isinstance(event, SessionOpened) for event in batch):
                _tell_opened()

    app_windows.MainWindow = Watched
    sys.exit(_window(str(folder), Settings(model="demo")))


def _speak(window: Any, bridge: Any, server: str, folder: Path) -> None:
    """Say something in a session of its own once the engine is there, and tell of the answer."""
    from desktop_agent.core.events import TurnEnded
    from desktop_agent.core.ids import new_note_id, new_session_id
    from desktop_agent.core.notes import Note
    from desktop_agent.core.workspace import Workspace
    from tests.bench.sessions import Opened

    session, opened = new_session_id(), Opened()

    def begin() -> None:
        where = Workspace(str(folder))
        bridge.engine.new_session(session, where, model="openai/plain", api_base=server)

    def hear(batch: Any) -> None:
        is_new = session not in opened.agents
        for event in batch:
            opened.hear(event)
            if isinstance(event, TurnEnded):
                _tell()
        if is_new and session in opened.agents:
            window.flow.show_session(session)
            bridge.engine.send(opened.agents[session], Note(new_note_id(), "Hello"))

    bridge.started.connect(begin)
    bridge.received.connect(hear)
