"""macOS tells an app by events: of a folder, at its start and while it is open, and to quit."""

from __future__ import annotations

import subprocess
import sys

# The app object is one for each process, and that of the tests is made without ours.
_OPENED = """
import sys
from PySide6.QtCore import QCoreApplication, QEvent, QUrl
from PySide6.QtGui import QFileOpenEvent
from desktop_agent.gui.startup.run import make_application
app = make_application()
for address in (sys.argv[1], "https://example.com/"):
    QCoreApplication.postEvent(app, QFileOpenEvent(QUrl(address)))
app.processEvents()  # before anybody listens, as at a start
app.opened.connect(print)
app.tell_opened()
QCoreApplication.sendEvent(app, QFileOpenEvent(QUrl("file:///tmp/later")))
quit_windows = [True, False]
app.quit_by(lambda: quit_windows.pop(0))
for _ in list(quit_windows):
    ending = QEvent(QEvent.Type.Quit)
    QCoreApplication.sendEvent(app, ending)
    print(ending.isAccepted())
"""


def test_what_the_system_wants_is_told_a_folder_also_when_it_came_before_the_window() -> None:
    start = [sys.executable, "-c", _OPENED, "file:///tmp/b%C3%BCro%20notes"]
    ended = subprocess.run(start, capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines() == ["/tmp/büro notes", "/tmp/later", "False", "True"]
