"""The start: what the first paint does not need comes after it."""

import json
import os
import subprocess
import sys

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtWidgets import QStyle, QWidget

from desktop_agent.gui.kit.rtl import at_trailing_edge, placed
from desktop_agent.gui.kit.widgets import IconButton, IconLabel, TextButton
from desktop_agent.gui.startup import fast_import
from tests.helpers.patience import HANG_S

PROGRAM = """
import builtins, json, linecache, os, sys
from desktop_agent.__main__ import main
from desktop_agent.gui.window import app_windows

made = []
import enum
make = enum.EnumType._create_
def note(cls, *given, **named):
    made.append(named.get("class_name") or given[0])
    return make(cls, *given, **named)
enum.EnumType._create_ = note

class Watched(app_windows.MainWindow):
    def __init__(self, *args):
        super().__init__(*args)
        self.painted.connect(tell)

def tell():
    import gc
    is_plain = builtins.__import__ is builtins.__orig_import__
    sources = sorted(name for name in linecache.cache if "desktop_agent" in name)
    print(json.dumps([sorted(sys.modules), made, gc.isenabled(), is_plain, sources]), flush=True)
    os._exit(0)

app_windows.MainWindow = Watched
main(["--demo", sys.argv[1]])
"""
# Each takes from 3 to 100 ms to load, or brings what does.
LATER = {
    "argparse",
    "asyncio",
    "ctypes",
    "desktop_agent.compose",
    "desktop_agent.gui.bridge.engine_thread",
    "desktop_agent.gui.composer.file_popup",
    "desktop_agent.gui.frame.side_panel",
    "desktop_agent.gui.settings.dialog",
    "desktop_agent.gui.transcript.view.view",
    "desktop_agent.gui.welcome.page",
    "markdown_it",
    "pydantic",
    "pygments",
    "qasync",
    "sqlite3",
    "ssl",
}


def test_the_first_paint_waits_for_nothing_that_it_does_not_show(tmp_path):
    home = {"DESKTOP_AGENT_HOME": str(tmp_path), "QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        env={**os.environ, **home},
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=True,
    )
    modules, kinds, collects, is_plain, sources = json.loads(done.stdout)
    assert not LATER & set(modules)
    # Qt makes its numbers when a class is first named: those of QStyle, or of every widget that
    # there is, cost as much as ten of our own modules.
    assert not {"PixelMetric", "WizardButton"} & set(kinds)
    assert not collects
    # Qt's bindings would read the source of each module, and keep it: 8 MB.
    assert is_plain
    assert set(sources) <= {fast_import.__file__}


def test_an_icon_is_drawn_when_it_can_first_be_seen_and_has_its_room_before(qtbot, theme):
    parent = QWidget()
    qtbot.addWidget(parent)
    button, words = IconButton(theme, "copy", "Copy", parent), TextButton(theme, "Go", "x", parent)
    label = IconLabel(theme, "copy", parent=parent)
    hints = [widget.sizeHint() for widget in (button, words)]
    blank = [icon.pixmap(16).toImage() for icon in (button.icon(), words.icon())]
    assert label.pixmap().isNull()
    with qtbot.waitExposed(parent):
        parent.show()
    assert [widget.sizeHint() for widget in (button, words)] == hints
    drawn = [icon.pixmap(16).toImage() for icon in (button.icon(), words.icon())]
    assert all(one != other for one, other in zip(blank, drawn, strict=True))
    assert not label.pixmap().isNull()
    words.hide()
    words.set_icon("copy")
    words.show()
    assert words.icon().pixmap(16).toImage() != drawn[1]


def test_places_are_mirrored_as_qt_mirrors_them():
    whole = QRect(3, 5, 201, 40)
    for direction in (Qt.LayoutDirection.LeftToRight, Qt.LayoutDirection.RightToLeft):
        for rect in (QRect(3, 5, 10, 10), QRect(50, 9, 31, 2), QRect(-4, 0, 400, 9)):
            assert placed(direction, whole, rect) == QStyle.visualRect(direction, whole, rect)
        far = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        for size in (QSize(12, 12), QSize(7, 39)):
            wanted = QStyle.alignedRect(direction, far, size, whole)
            assert at_trailing_edge(direction, size, whole) == wanted
