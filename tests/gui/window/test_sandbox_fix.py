"""*Fix* of a sandbox that is missing a package, in the whole window, up to the next check."""

import os
import shlex
import sys

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel, QPushButton

from desktop_agent.adapters.sandbox import sandbox as module
from desktop_agent.adapters.sandbox.sandbox import Programs
from tests.helpers.patience import HANG_MS as WAIT
from tests.helpers.stand_in_programs import StandInPrograms
from tests.helpers.windows import part

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is Linux's")
MISSING = "bubblewrap is not installed."


@pytest.fixture
def programs(tmp_path, monkeypatch):
    real = Programs.find()
    made = StandInPrograms(
        tmp_path / "programs", real.bwrap or "/bin/false", real.nsenter or "/bin/false"
    )
    made.add_pkexec()
    monkeypatch.setattr(module, "PROGRAMS", str(made.folder))
    return made


def press(qtbot, window, place, name):
    button = part(window, place).findChild(QPushButton, name)
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def open_fix(qtbot, window):
    qtbot.mouseClick(part(window, "sandboxButton"), Qt.MouseButton.LeftButton)
    press(qtbot, window, "sandboxPopover", "fixSandbox")
    return part(window, "sandboxFix")


def said(popover):
    return popover.findChild(QLabel, "checkWords").text()


def test_what_is_missing_is_installed_once_the_command_was_seen_and_agreed_to(
    open_window, project, programs, qtbot
):
    window = open_window(project)
    sandbox = part(window, "sandboxButton")
    qtbot.waitUntil(lambda: sandbox.accessibleDescription().startswith(MISSING), timeout=WAIT)
    fix = open_fix(qtbot, window)
    assert fix.findChild(QLabel, "fixCommand").text() == shlex.join(programs.command)
    assert QApplication.focusWidget().text() == "Cancel"
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Return)
    assert fix.isHidden()
    assert programs.ran == []

    programs.refuse(126)
    fix = open_fix(qtbot, window)
    press(qtbot, window, "sandboxFix", "installSandbox")
    qtbot.waitUntil(lambda: "password was not given" in said(fix), timeout=WAIT)
    assert sandbox.accessibleDescription().startswith(MISSING)

    programs.refuse(None)
    press(qtbot, window, "sandboxFix", "installSandbox")
    qtbot.waitUntil(lambda: not sandbox.accessibleDescription().startswith(MISSING), timeout=WAIT)
    assert len(programs.ran) == 2


def test_who_closed_the_question_hears_of_a_failure_as_a_notice(
    open_window, project, programs, qtbot
):
    gate = programs.folder / "gate"
    begun = programs.folder / "begun"
    os.mkfifo(gate)
    programs.add("pkexec", f"#!/bin/sh\n: > {begun}\nread _ < {gate}\nexit 126\n")
    window = open_window(project)
    sandbox = part(window, "sandboxButton")
    qtbot.waitUntil(lambda: sandbox.accessibleDescription().startswith(MISSING), timeout=WAIT)
    fix = open_fix(qtbot, window)
    press(qtbot, window, "sandboxFix", "installSandbox")
    assert "Installing" in said(fix)
    qtbot.keyClick(fix, Qt.Key.Key_Escape)
    qtbot.waitUntil(begun.exists, timeout=WAIT)
    with qtbot.waitSignal(window.queries.failed, timeout=WAIT) as told:
        gate.write_text("go\n")
    assert "password was not given" in told.args[0]
