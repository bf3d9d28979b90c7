"""What the app says when it can't open its window: who starts it from a menu sees no terminal."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from typing import TextIO

from desktop_agent.core.pipes.no_window import NO_WINDOW
from desktop_agent.gui.startup.display import display_problem

_TITLE = "Desktop Agent"
# What desktops have at hand for a message, where Qt can't be loaded; the text comes behind it.
_PROGRAMS = (
    ("zenity", "--error", "--no-markup", "--title", _TITLE, "--text"),
    ("kdialog", "--title", _TITLE, "--error"),
    ("xmessage", "-center", "-title", _TITLE),
)


def tell_refusal(problem: str) -> None:
    """Say on the desktop why no window opens, where no terminal does."""
    if is_told_on_desktop(sys.stderr, os.environ):
        _show(problem)


def is_told_on_desktop(terminal: TextIO | None, environment: Mapping[str, str]) -> bool:
    """Whether a desktop is there, and nobody who reads what is printed."""
    if terminal is not None and terminal.isatty():
        return False
    platform = environment.get("QT_QPA_PLATFORM", "")
    if platform and not platform.startswith(("xcb", "wayland", "windows", "cocoa")):
        return False
    has_display = environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY")
    return sys.platform != "linux" or bool(has_display)


def _show(problem: str) -> None:
    if display_problem():
        _have_shown(problem)
        return
    try:
        show_message(problem)
    except ImportError:
        _have_shown(problem)


def show_message(problem: str) -> None:
    """Show it in a window of its own, and wait until that is closed."""
    from PySide6.QtCore import Qt
    from PySide6.QtWidgets import QApplication, QMessageBox

    app = QApplication.instance() or QApplication([_TITLE])
    box = QMessageBox(QMessageBox.Icon.Critical, _TITLE, problem)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setObjectName("refusal")
    box.exec()
    del app  # not before


def _have_shown(problem: str) -> None:
    """Have a program of the desktop show it, if there is one."""
    for name, *options in _PROGRAMS:
        if path := shutil.which(name):
            subprocess.run(
                [path, *options, problem],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=False,
                creationflags=NO_WINDOW,
            )
            return
