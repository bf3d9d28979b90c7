"""The binding must not wear out None: at zero references the interpreter aborts."""

import sys

from PySide6.QtWidgets import QLabel


def test_the_app_does_not_die_of_five_hundred_label_changes(qtbot):
    label = QLabel()
    qtbot.addWidget(label)
    before = sys.getrefcount(None)
    for number in range(500):
        label.setText(str(number))
    assert abs(sys.getrefcount(None) - before) < 50
