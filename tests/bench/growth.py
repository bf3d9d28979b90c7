"""A session of 10,000 messages: from the wish to open it to its first paint, then scrolling."""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication, QScrollBar, QWidget

from desktop_agent.core.ids import SessionId
from desktop_agent.core.settings import Settings
from tests.bench.processes import rss_mb
from tests.bench.report import report
from tests.bench.stage import Stage, run
from tests.helpers.make_session import make_session

_MESSAGES = 10_000
_FRAMES = 150
_OPENINGS = 5


class _PaintWatch(QObject):
    """Notes when a page, or a part of it, is painted for the first time."""

    def __init__(self, stage: Stage, session: SessionId) -> None:
        super().__init__()
        self.painted_at = 0.0
        self._stage, self._session = stage, session

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint and not self.painted_at:
            page = _page(self._stage, self._session)
            if page is not None and isinstance(watched, QWidget) and page.isAncestorOf(watched):
                self.painted_at = time.perf_counter()
                self._stage.wake()
        return False


def _page(stage: Stage, session: SessionId) -> QWidget | None:
    return stage.window.pages.page(stage.agents[session]) if session in stage.agents else None


async def _open(stage: Stage, session: SessionId) -> float:
    """Open the session and return how long its first paint took."""
    watch = _PaintWatch(stage, session)
    QApplication.instance().installEventFilter(watch)
    start = time.perf_counter()
    stage.window.flow.show_session(session)
    await stage.until(lambda: watch.painted_at > 0)
    QApplication.instance().removeEventFilter(watch)
    return (watch.painted_at - start) * 1000


def _scroll(page: QWidget) -> list[float]:
    """Go up by most of a screen at a time; return how long each frame took."""
    bar = max(page.findChildren(QScrollBar), key=lambda one: one.maximum())
    frames: list[float] = []
    for _ in range(_FRAMES):
        start = time.perf_counter()
        bar.setValue(bar.value() - int(bar.pageStep() * 0.8))
        QApplication.processEvents()
        frames.append((time.perf_counter() - start) * 1000)
        if bar.value() <= bar.minimum():
            bar.setValue(bar.maximum())
    return frames


async def _play(stage: Stage) -> None:
    before = rss_mb()
    await stage.new_session("demo")
    delays: list[float] = []
    for _ in range(_OPENINGS):
        delays.append(await _open(stage, _SESSION))
        stage.window.pages.drop(stage.agents[_SESSION])
        stage.window.known.hide()
    await _open(stage, _SESSION)
    page = _page(stage, _SESSION)
    assert page is not None
    frames = _scroll(page)
    report("session_open", statistics.median(delays))
    report("session_scroll_frame", statistics.median(frames))
    report("session_scroll_frame_max", max(frames))
    report("session_rss_growth", rss_mb() - before)


if __name__ == "__main__":
    _DATA = Path(os.environ["DESKTOP_AGENT_HOME"], "data")
    _DATA.mkdir(parents=True)
    _SESSION = make_session(_DATA / "sessions.db", _MESSAGES)
    run(_play, Settings(model="demo"))
