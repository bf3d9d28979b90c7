"""The page before the first message gives room to the message box below it."""

from PySide6.QtWidgets import QApplication, QLineEdit, QPushButton, QVBoxLayout, QWidget

from desktop_agent.core.models import DEMO_MODEL
from desktop_agent.gui.sessions.empty_page import EmptySession


def test_in_large_text_a_form_below_keeps_its_lines(new_theme, qtbot, tmp_path):
    theme = new_theme()
    theme.configure("light", 200)
    host = QWidget()
    qtbot.addWidget(host)
    page = EmptySession(theme, host, DEMO_MODEL)
    lines = [QLineEdit(host) for _ in range(3)]
    layout = QVBoxLayout(host)
    layout.setSizeConstraint(QVBoxLayout.SizeConstraint.SetNoConstraint)
    layout.addWidget(page, 1)
    for line in lines:
        layout.addWidget(line)
    with qtbot.waitExposed(host):
        host.show()
    page.set_folder(str(tmp_path))
    last = page.findChildren(QPushButton)[-1]
    qtbot.waitUntil(last.isVisible)
    host.resize(600, 300)
    QApplication.processEvents()
    for line in lines:
        assert line.height() >= line.minimumSizeHint().height()
