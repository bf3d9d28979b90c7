"""What is shown opens nothing: no file, no connection, wherever a model's words may appear."""

from __future__ import annotations

import ctypes
import os
import socket
import sys
import threading

import pytest
import shiboken6
from PySide6.QtCore import Qt
from PySide6.QtGui import QHelpEvent, QPixmap
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractItemView, QApplication, QToolTip, QWidget

from desktop_agent.core.requests import Limits
from desktop_agent.gui.transcript.cards.card import CardHeader
from tests.e2e.test_window import KEYS, Person
from tests.helpers.providers import Calls, Fail, Say, Think

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sees opened files by inotify")

IN_OPEN = 0x20


class Trap:
    """A picture, a pipe and an address; `sprung` says which of them were opened."""

    def __init__(self, place):
        place.mkdir()
        self.picture, self.pipe = place / "picture.png", place / "pipe.png"
        image = QPixmap(4, 4)
        image.fill(Qt.GlobalColor.red)
        assert image.save(str(self.picture))
        os.mkfifo(self.pipe)
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._watch = self._libc.inotify_init1(os.O_NONBLOCK)
        assert self._libc.inotify_add_watch(self._watch, os.fsencode(place), IN_OPEN) >= 0
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.setblocking(False)
        self._is_over = False
        # Whoever opens the pipe must not hang: the test is to fail, not to stand still.
        self._writer = threading.Thread(target=self._write, daemon=True)
        self._writer.start()

    @property
    def address(self):
        return f"http://127.0.0.1:{self._server.getsockname()[1]}/picture.png"

    @property
    def words(self):
        """Everything that could make a viewer fetch or open something, as one line of text."""
        sources = (str(self.picture), f"file://{self.pipe}", str(self.pipe), self.address)
        html = "".join(f'<img src="{source}"/>' for source in sources)
        marks = "".join(f"![a picture]({source})" for source in sources)
        style = f'<b style="background-image: url({self.picture})">bold</b>'
        return f"{html}{marks}{style}[link]({self.address}) {self.address} file://{self.picture}"

    def sprung(self):
        found = []
        try:
            os.read(self._watch, 65536)
            found.append("a file was opened")
        except BlockingIOError:
            pass
        try:
            self._server.accept()[0].close()
            found.append("a connection was made")
        except BlockingIOError:
            pass
        return found

    def _write(self):
        while not self._is_over:
            os.close(os.open(self.pipe, os.O_WRONLY))

    def close(self):
        self._is_over = True
        os.close(os.open(self.pipe, os.O_RDONLY | os.O_NONBLOCK))
        self._writer.join()
        os.close(self._watch)
        self._server.close()


@pytest.fixture
def trap(qapp, tmp_path):
    trap = Trap(tmp_path / "trap")
    trap.sprung()
    # The pipe's own writer waits in `open`, which is seen when it is let go, at the end.
    yield trap
    trap.close()


def hover_over_everything(person):
    """Show every tooltip there is: of widgets, of rows in lists."""
    for one in person.window.findChildren(QWidget):
        if not shiboken6.isValid(one) or not one.isVisible():
            continue
        place = one.rect().center()
        QApplication.sendEvent(
            one, QHelpEvent(QHelpEvent.Type.ToolTip, place, one.mapToGlobal(place))
        )
        if isinstance(one.parent(), QAbstractItemView):
            hover_over_rows(one.parent())
        paint_tip()


def hover_over_rows(view):
    model = view.model()
    for number in range(model.rowCount() if model is not None else 0):
        place = view.visualRect(model.index(number, 0)).center()
        at = view.viewport().mapToGlobal(place)
        QApplication.sendEvent(view.viewport(), QHelpEvent(QHelpEvent.Type.ToolTip, place, at))
        paint_tip()


def paint_tip():
    for tip in QApplication.topLevelWidgets():
        if tip.inherits("QTipLabel") and tip.isVisible():
            tip.grab()
    QToolTip.hideText()


def check_all_shown(person, trap, state):
    person.window.grab()
    hover_over_everything(person)
    assert not trap.sprung(), state


def test_nothing_shown_opens_a_file_or_a_connection(
    qtbot, open_window, provide, shop, trap, monkeypatch
):
    for name in KEYS:
        monkeypatch.setenv(name, "sk-test-loopback")
    words = trap.words
    (shop / "harmless.txt").write_text(words)
    script = [
        [
            Think(words),
            Say(f"# {words}\n\n{words}\n\n| a |\n|---|\n| {words} |\n\n```html\n{words}\n```\n"),
            Calls(
                ("read", {"path": "harmless.txt"}),
                ("read", {"path": words}),
                ("grep", {"pattern": words}),
                (words, {"path": words}),
            ),
        ],
        Calls(("shell", {"command": f"./no-such-program '{words}'"})),
        Calls(("write", {"path": "made.html", "content": words})),
        Calls(("ask_user", {"question": words, "options": [words, "no"]})),
        Fail(401, message=words[:300]),
    ]
    provider = provide("openai", script)
    settings = {"model": provider.model, "api_base": provider.api_base}
    me = Person(qtbot, open_window(shop, limits=Limits(max_retries=0), **settings))
    me.ready()
    me.window.frame.composer.set_text(words)
    QTest.keyClick(me.box, Qt.Key.Key_Return)
    me.asked()
    check_all_shown(me, trap, "a command is asked")
    me.allow()
    me.until(lambda: len(provider.requests) == 3)
    me.asked()
    check_all_shown(me, trap, "a change is asked")
    me.allow()
    me.until(lambda: me.find(QWidget, "questionCard"))
    check_all_shown(me, trap, "a question is asked")
    me.click("skipQuestion")
    me.until(lambda: me.find(QWidget, "faultCard"))
    me.idle()
    for header in me.page.findChildren(CardHeader):
        if header.can_unfold and header.isVisible():
            header.set_open(True)
    check_all_shown(me, trap, "a fault is told")
    me.window.commands.palette.trigger()
    check_all_shown(me, trap, "the palette lists the session")
