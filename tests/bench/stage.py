"""The real window over the real engine, in this process, and a meter of how it keeps up."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import qasync
from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication

from desktop_agent.adapters.config import settings_file
from desktop_agent.compose import Backend, compose
from desktop_agent.core.events import Event, SessionOpened
from desktop_agent.core.ids import AgentId, SessionId, new_note_id, new_session_id
from desktop_agent.core.notes import Note
from desktop_agent.core.settings import Settings
from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.bridge.bridge import Bridge
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.startup.gc_timer import GcTimer
from desktop_agent.gui.startup.run import make_application
from desktop_agent.gui.window.app_windows import AppWindows
from desktop_agent.gui.window.main_window import MainWindow

_TICK_MS = 16
_SETTLED_S = 6


class GapMeter(QObject):
    """Ticks each 16 ms; what lies between two ticks is how long the window could not paint."""

    def __init__(self) -> None:
        super().__init__()
        self.gaps_ms: list[float] = []
        self._last = 0.0
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(_TICK_MS)
        self._timer.timeout.connect(self._on_tick)

    def start(self) -> None:
        """Forget what was measured and begin anew."""
        self.gaps_ms = []
        self._last = time.perf_counter()
        self._timer.start()

    def stop(self) -> None:
        """End the measurement."""
        self._timer.stop()

    def percentile(self, share: float) -> float:
        """Return the gap that this share of gaps stays below."""
        ordered = sorted(self.gaps_ms)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]

    def _on_tick(self) -> None:
        now = time.perf_counter()
        self.gaps_ms.append((now - self._last) * 1000)
        self._last = now


async def settled() -> None:
    """Wait until the start is over, with its model host and its check of the sandbox."""
    await pause(_SETTLED_S)


async def pause(seconds: float) -> None:
    """Let the window run for a measured time: here time itself is what is wanted."""
    over = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_later(seconds, over.set_result, None)
    await over


class Stage:
    """A window with its engine. Hears all events; `agents` maps a session to its main agent."""

    def __init__(self, app: QApplication, settings: Settings, folder_name: str) -> None:
        home = Path(os.environ["DESKTOP_AGENT_HOME"])
        self.folder = home / folder_name
        self.folder.mkdir(parents=True, exist_ok=True)
        for part in ("config", "data"):
            (home / part).mkdir(exist_ok=True)
        settings_file.save(home / "config" / "settings.json", settings)
        self._home = home
        self.agents: dict[SessionId, AgentId] = {}
        self.heard: list[Callable[[Event], None]] = []
        self.meter = GapMeter()
        self.bridge = Bridge()
        self.theme = Theme(app)
        self.theme.configure(settings.theme, settings.text_scale, settings.reduce_motion)
        self.windows = AppWindows(self.theme, self.bridge, settings, self.bridge)
        self._shown = self.windows.open_first(str(self.folder))
        self._arrived = asyncio.Event()
        self.bridge.received.connect(self._on_received)
        self.bridge.received.connect(GcTimer(self.bridge).check)
        self.bridge.started.connect(gc.freeze)
        self.window.show()
        self.bridge.start(self._compose)

    @property
    def window(self) -> MainWindow:
        """The first of the windows; the last that there was, once all are closed."""
        self._shown = next(iter(self.windows.windows), self._shown)
        return self._shown

    async def _compose(self, emit: Callable[[Event], None]) -> Backend:
        data, config = self._home / "data", self._home / "config"
        return await compose(emit, data_dir=data, config_dir=config)

    async def new_session(self, model: str, api_base: str = "") -> AgentId:
        """Begin a session in the stage's folder, bring it on screen, return its agent."""
        session = new_session_id()
        where = Workspace(str(self.folder.resolve()))
        self.bridge.engine.new_session(session, where, model=model, api_base=api_base)
        await self.until(lambda: session in self.agents)
        self.window.flow.show_session(session)
        await self.until(lambda: self.window.flow.current == session)
        return self.agents[session]

    def send(self, agent: AgentId, text: str) -> None:
        """Say something to an agent."""
        self.bridge.engine.send(agent, Note(new_note_id(), text))

    def wake(self) -> None:
        """Let `until` look again."""
        self._arrived.set()

    async def until(self, holds: Callable[[], bool], timeout_s: float = 120) -> None:
        """Wait, from one batch of events to the next, until something holds."""
        async with asyncio.timeout(timeout_s):
            while not holds():
                self._arrived.clear()
                await self._arrived.wait()

    def _on_received(self, batch: Sequence[Event]) -> None:
        for event in batch:
            if isinstance(event, SessionOpened):
                self.agents[event.info.id] = event.info.main_agent
            for hear in self.heard:
                hear(event)
        self.wake()


def run(
    play: Callable[[Stage], Awaitable[None]],
    settings: Settings | None = None,
    folder_name: str = "folder",
) -> None:
    """Open the window, play, and close it."""
    # The offscreen platform warns of each thing that only a window manager could do.
    logging.getLogger("desktop_agent.gui.startup.run").setLevel(logging.ERROR)
    app = make_application()
    loop = qasync.QEventLoop(app)
    asyncio.set_event_loop(loop)

    async def whole() -> None:
        stage = Stage(app, settings or Settings(), folder_name)
        try:
            await play(stage)
        finally:
            stage.window.quit_now()
            stage.bridge.close()

    with loop:
        loop.run_until_complete(whole())
