"""A session of 10,000 messages: from the wish to open it to its first paint, then scrolling."""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication, QScrollBar, QWidget

from desktop_agent.adapters.sqlite_store import SqliteStore
from desktop_agent.core.events import Happening, MessageAdded, ToolEnded, ToolStarted
from desktop_agent.core.ids import SessionId, new_agent_id, new_message_id, new_session_id
from desktop_agent.core.messages import Message, OutputDisplay, TextPart, ToolCall, ToolResult
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.settings import Settings
from desktop_agent.core.workspace import Workspace
from tests.bench.processes import rss_mb
from tests.bench.report import report
from tests.bench.stage import Stage, run

_MESSAGES = 10_000
_FRAMES = 150
_OPENINGS = 5
_ANSWER = """## Part {number}

The beds in the **north** row get their water from `tools/water.py`, and the rest by hand.

| bed | cans |
|---|---|
| 1 | 4 |
| 2 | 3 |

```python
def cans(area: float) -> int:
    return round(area * 1.5)
```

- first the seedlings, then the roots
- the gate is closed at night
"""


def _happenings(info: SessionInfo) -> list[Happening]:
    """Return a conversation of questions, tool calls and formatted answers."""
    agent, events = info.main_agent, list[Happening]()

    def say(role: str, *parts: object) -> None:
        events.append(MessageAdded(agent, Message(new_message_id(), role, parts)))  # type: ignore[arg-type]

    for number in range(_MESSAGES // 4):
        call = ToolCall(f"call_{number}", "shell", {"command": f"ls part-{number}"})
        shown = OutputDisplay("a.txt\nb.txt\n", 0, 0.01)
        result = ToolResult(call.id, "a.txt\nb.txt\n", display=shown)
        say("user", TextPart(f"What about part {number} of the garden?"))
        say("assistant", TextPart("I'll look."), call)
        events += [ToolStarted(agent, call), ToolEnded(agent, result)]
        say("tool", result)
        say("assistant", TextPart(_ANSWER.format(number=number)))
    return events


def _write_session(path: Path, folder: Path) -> SessionId:
    path.parent.mkdir(parents=True, exist_ok=True)
    store = SqliteStore(path)
    where = Workspace(str(folder))
    info = SessionInfo(new_session_id(), new_agent_id(), "A long one", where, "demo", updated_at=1)
    store.save_session(info)
    for event in _happenings(info):
        store.record(info.id, event)
    store.close()
    return info.id


class _PaintWatch(QObject):
    """Notes when a page, or a part of it, is painted for the first time."""

    def __init__(self, stage: Stage, session: SessionId) -> None:
        super().__init__()
        self.painted_at = 0.0
        self._stage, self._session = stage, session

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint and not self.painted_at:
            page = self._stage.window.pages.page(self._session)
            if page is not None and isinstance(watched, QWidget) and page.isAncestorOf(watched):
                self.painted_at = time.perf_counter()
                self._stage.wake()
        return False


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
        stage.window.pages.drop(_SESSION)
        stage.window.flow.current = None
    await _open(stage, _SESSION)
    page = stage.window.pages.page(_SESSION)
    assert page is not None
    frames = _scroll(page)
    report("session_open", statistics.median(delays))
    report("session_scroll_frame", statistics.median(frames))
    report("session_scroll_frame_max", max(frames))
    report("session_rss_growth", rss_mb() - before)


if __name__ == "__main__":
    _HOME = Path(os.environ["DESKTOP_AGENT_HOME"])
    _SESSION = _write_session(_HOME / "data" / "sessions.db", _HOME)
    run(_play, Settings(model="demo"))
