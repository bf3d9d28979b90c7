"""Why no window opens is told on the desktop where nobody reads a terminal."""

import io
import os
import sys

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QMessageBox

from desktop_agent.app import main
from desktop_agent.gui.startup.refusal import is_told_on_desktop, show_message


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is always a desktop")
@pytest.mark.parametrize(
    ("terminal", "environment", "is_told"),
    [
        (io.StringIO(), {"DISPLAY": ":0"}, True),
        (None, {"WAYLAND_DISPLAY": "wayland-0", "QT_QPA_PLATFORM": "wayland;xcb"}, True),
        (Terminal(), {"DISPLAY": ":0"}, False),
        (io.StringIO(), {}, False),
        (io.StringIO(), {"DISPLAY": ":0", "QT_QPA_PLATFORM": "offscreen"}, False),
    ],
)
def test_it_is_told_on_the_desktop_where_there_is_one_and_no_terminal(
    terminal, environment, is_told
):
    assert is_told_on_desktop(terminal, environment) is is_told


def test_a_message_shows_the_words_as_they_are(qtbot):
    seen = []

    def close():
        box = QApplication.activeModalWidget()
        assert isinstance(box, QMessageBox)
        seen.append((box.text(), box.textFormat().name))
        box.accept()

    QTimer.singleShot(0, close)
    show_message("The folder <b>x</b> can't be used.")
    assert seen == [("The folder <b>x</b> can't be used.", "PlainText")]


@pytest.mark.skipif(sys.platform != "linux", reason="names programs of Linux")
def test_a_start_that_qt_can_not_show_anything_of_is_told_by_a_program_of_the_desktop(
    tmp_path, monkeypatch, capsys
):
    program, told = tmp_path / "zenity", tmp_path / "told"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > "{told}"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("QT_QPA_PLATFORM", "xcb")
    monkeypatch.setenv("DISPLAY", ":987")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert main([]) == 1
    (said,) = capsys.readouterr().err.splitlines()
    assert said.removeprefix("desktop-agent: ") == told.read_text().splitlines()[-1]
