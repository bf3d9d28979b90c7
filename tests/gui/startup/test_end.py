"""The process ends as a process should."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

import PySide6
import pytest
from PySide6.QtCore import QObject

from desktop_agent.gui.startup.run import SignalEnder

_QT = Path(PySide6.__file__).parent / "Qt" / "lib" / "libQt6Core.so.6"
# A function of Qt's that takes nothing and warns, called when Python has ended.
_LATE = f"""
import ctypes
from desktop_agent.gui.startup.run import make_application
app = make_application()
warns = ctypes.CDLL({str(_QT)!r})._ZN16QCoreApplication4execEv
ctypes.pythonapi.Py_AtExit(ctypes.cast(warns, ctypes.c_void_p))
"""


@pytest.mark.skipif(not _QT.exists(), reason="Qt lies elsewhere, or under other names")
def test_what_qt_says_when_python_has_ended_does_not_crash_the_end() -> None:
    ended = subprocess.run([sys.executable, "-c", _LATE], capture_output=True, text=True)
    assert "instantiate the QApplication" in ended.stderr
    assert ended.returncode == 0


def test_the_end_needs_nothing_that_ended_before(qapp: QObject) -> None:
    """On Windows the loop hears of signals too, and has closed what it heard them by."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    heard, other = socket.socketpair()
    heard.setblocking(False)
    before = signal.set_wakeup_fd(heard.fileno())
    try:
        ender = SignalEnder(qapp)
        heard.close()
        ender.close()
        assert signal.set_wakeup_fd(before) == -1
    finally:
        other.close()
        for number, handler in kept.items():
            signal.signal(number, handler)
