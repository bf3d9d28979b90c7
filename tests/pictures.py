"""Takes the pictures of the documents: the real window, played through the demo."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from PySide6.QtCore import QBuffer, QIODevice, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPlainTextEdit, QWidget

from desktop_agent.core.approvals import AllowOnce
from desktop_agent.core.events import (
    AgentSpawned,
    ApprovalRequested,
    Event,
    QuestionAsked,
    TurnEnded,
)
from desktop_agent.core.ids import AgentId, RequestId
from desktop_agent.core.settings import Settings
from desktop_agent.gui.agents.note_input import SteerInput
from desktop_agent.gui.agents.panel import AgentPanel
from desktop_agent.paths import resource
from tests.bench.stage import Stage, pause, run
from tests.helpers.recording import Recorder
from tests.helpers.windows import words_in

_WIDTH, _HEIGHT = 1280, 848
_FOLDER = "garden"
_SETTLE_S = 0.4
_PROBE_S = 2.0
_WORD_S = 0.12
_READ_S = 1.5
_EARLIER = ("search for courgette", "list files", "read seeds.txt")


class _Story:
    """What has happened so far; `over` are the agents of the turns that ended."""

    def __init__(self) -> None:
        self.requests: list[RequestId] = []
        self.over: list[AgentId] = []
        self.children: list[AgentId] = []
        self.is_asked = False

    def hear(self, event: Event) -> None:
        if isinstance(event, ApprovalRequested):
            self.requests.append(event.request.id)
        elif isinstance(event, TurnEnded):
            self.over.append(event.agent_id)
        elif isinstance(event, AgentSpawned):
            self.children.append(event.agent_id)
        elif isinstance(event, QuestionAsked):
            self.is_asked = True


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

    def keep(self, recorder: Recorder) -> None:
        """Save what was recorded."""
        path = self._folder / "demo.webp"
        sys.stdout.write(f"{path}  {recorder.save(path) // 1024} kB\n")


def _look(stage: Stage, theme: str) -> None:
    stage.theme.configure(theme, 100, True)


async def _ask(stage: Stage, story: _Story, agent: AgentId, text: str) -> None:
    over = story.over.count(agent)
    stage.send(agent, text)
    await stage.until(lambda: story.over.count(agent) > over)


async def _in_both_looks(stage: Stage, camera: _Camera, name: str) -> None:
    is_dark = stage.theme.is_dark
    for theme in ("dark", "light") if is_dark else ("light", "dark"):
        _look(stage, theme)
        await camera.take(stage.window, f"{name}-{theme}")


async def _type(stage: Stage, recorder: Recorder, text: str) -> None:
    """Write a message as a person does, and send it."""
    composer = stage.window.frame.composer
    composer.focus_text()
    recorder.start()
    entry = stage.window.findChild(QPlainTextEdit, "composerText")
    assert entry is not None
    for word in text.split(" "):
        entry.insertPlainText(word if word == text.split(" ")[0] else f" {word}")
        await pause(_WORD_S)
    QTest.keyClick(entry, Qt.Key.Key_Return)


async def _go_on(stage: Stage, recorder: Recorder) -> None:
    """Record again, in the look that it began with."""
    _look(stage, "light")
    await pause(_SETTLE_S)
    recorder.start()


async def _steer(stage: Stage, story: _Story) -> None:
    """Tell the first subagent something, as a person does."""
    await stage.until(lambda: len(story.children) > 1)
    panel = stage.window.findChild(AgentPanel)
    assert panel is not None
    panel.select(story.children[0])
    entry = panel.findChild(SteerInput)
    assert entry is not None
    entry.field.setText("Look at seeds.txt as well.")
    entry.button.click()


async def _play(stage: Stage, camera: _Camera) -> None:
    story = _Story()
    stage.heard.append(story.hear)
    window = stage.window
    window.resize(_WIDTH, _HEIGHT)
    _look(stage, "light")
    await pause(_PROBE_S)
    while "keyring" not in words_in(window):  # where a key would be kept is looked up
        await pause(_SETTLE_S)
    await camera.take(window, "welcome-light")
    for question in _EARLIER:
        await _ask(stage, story, await stage.new_session("demo"), question)
    agent = await stage.new_session("demo")
    recorder = Recorder(window)
    await _type(stage, recorder, "Have a look around and write an overview.")
    await _steer(stage, story)
    await stage.until(lambda: story.is_asked)
    await pause(_SETTLE_S)
    recorder.stop()
    await _in_both_looks(stage, camera, "main")
    await _go_on(stage, recorder)
    await stage.until(lambda: bool(story.requests))
    await pause(_READ_S)
    recorder.stop()
    await _in_both_looks(stage, camera, "approval")
    await _go_on(stage, recorder)
    stage.bridge.engine.decide(story.requests[0], AllowOnce())
    await stage.until(lambda: agent in story.over)
    await pause(_READ_S)
    recorder.stop()
    camera.keep(recorder)
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
        # As a person sees it; quick, it would be over between two pictures.
        os.environ["DESKTOP_AGENT_DEMO_PACE"] = "slow"
        shutil.copytree(resource("demo"), Path(home) / _FOLDER)
        camera = _Camera(target)
        run(lambda stage: _play(stage, camera), Settings(theme="light"), _FOLDER)
    return 0


if __name__ == "__main__":
    sys.exit(main())
