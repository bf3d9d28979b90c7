"""Takes the pictures of the documents: the real window, played through the demo."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from PySide6.QtCore import QBuffer, QIODevice
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication, QWidget

from desktop_agent.core.approvals import AllowOnce
from desktop_agent.core.events import ApprovalRequested, Event, TurnEnded
from desktop_agent.core.ids import AgentId, RequestId
from desktop_agent.core.settings import Settings
from desktop_agent.paths import resource
from tests.bench.stage import Stage, pause, run

_WIDTH, _HEIGHT = 1280, 832
_FOLDER = "garden"
_SETTLE_S = 0.4
_PROBE_S = 2.0
_EARLIER = ("search for courgette", "list files", "read seeds.txt")


class _Story:
    """What has happened so far; `turns` counts those that are over."""

    def __init__(self) -> None:
        self.requests: list[RequestId] = []
        self.turns = 0

    def hear(self, event: Event) -> None:
        if isinstance(event, ApprovalRequested):
            self.requests.append(event.request.id)
        elif isinstance(event, TurnEnded):
            self.turns += 1


class _Camera:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def take(self, widget: QWidget, name: str) -> None:
        """Wait until layouts and fades have come to rest, then save the picture."""
        await pause(_SETTLE_S)
        image = widget.grab().toImage().convertToFormat(QImage.Format.Format_RGB888)
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        image.save(buffer, "PNG", 0)
        path = self._folder / f"{name}.png"
        path.write_bytes(bytes(buffer.data().data()))
        sys.stdout.write(f"{path}  {path.stat().st_size // 1024} kB\n")


def _look(stage: Stage, theme: str) -> None:
    stage.theme.configure(theme, 100, True)


async def _ask(stage: Stage, story: _Story, agent: AgentId, text: str) -> None:
    over = story.turns
    stage.send(agent, text)
    await stage.until(lambda: story.turns > over)


async def _in_both_looks(stage: Stage, camera: _Camera, name: str) -> None:
    for theme in ("dark", "light"):
        _look(stage, theme)
        await camera.take(stage.window, f"{name}-{theme}")


async def _play(stage: Stage, camera: _Camera) -> None:
    story = _Story()
    stage.heard.append(story.hear)
    window = stage.window
    window.resize(_WIDTH, _HEIGHT)
    _look(stage, "light")
    await pause(_PROBE_S)
    await camera.take(window, "welcome-light")
    for question in _EARLIER:
        await _ask(stage, story, await stage.new_session("demo"), question)
    agent = await stage.new_session("demo")
    window.frame.composer.focus_text()
    stage.send(agent, "Have a look around and write an overview.")
    await stage.until(lambda: bool(story.requests))
    await _in_both_looks(stage, camera, "approval")
    over = story.turns
    stage.bridge.post("decide", story.requests[0], AllowOnce())
    await stage.until(lambda: story.turns > over)
    await _ask(stage, story, agent, "read tools/water.py")
    await _in_both_looks(stage, camera, "main")
    window.commands.settings.trigger()
    await pause(_SETTLE_S)
    dialog = QApplication.activeModalWidget() or QApplication.activeWindow()
    if dialog is not None and dialog is not window:
        await camera.take(dialog, "settings-light")
        dialog.close()


def main() -> int:
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        # The folder's path is in the pictures, as a person's own would be: below the home.
        os.environ["DESKTOP_AGENT_HOME"] = os.environ["HOME"] = home
        shutil.copytree(resource("demo"), Path(home) / _FOLDER)
        camera = _Camera(target)
        run(lambda stage: _play(stage, camera), Settings(theme="light"), _FOLDER)
    return 0


if __name__ == "__main__":
    sys.exit(main())
