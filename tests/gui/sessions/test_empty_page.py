"""The page before the first message gives room to the message box below it."""

from PySide6.QtWidgets import QApplication, QPushButton, QVBoxLayout, QWidget

from desktop_agent.core.models import DEMO_MODEL
from desktop_agent.gui.sessions.empty_page import EmptySession


def test_in_large_text_a_form_below_keeps_its_height(theme, qtbot, tmp_path):
    theme.configure("light", 200, True)
    host = QWidget()
    qtbot.addWidget(host)
    page = EmptySession(theme, host, DEMO_MODEL)
    form = QWidget(host, minimumHeight=300)
    layout = QVBoxLayout(host)
    layout.setSizeConstraint(QVBoxLayout.SizeConstraint.SetNoConstraint)
    layout.addWidget(page, 1)
    layout.addWidget(form)
    with qtbot.waitExposed(host):
        host.show()
    page.set_folder(str(tmp_path))
    qtbot.waitUntil(page.findChildren(QPushButton)[-1].isVisible)
    host.resize(600, 460)
    QApplication.processEvents()
    assert page.geometry().bottom() < form.geometry().top()
    assert host.rect().contains(form.geometry())
