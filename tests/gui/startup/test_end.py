"""The process ends as a process should."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import PySide6
import pytest

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
