"""On a Mac texts name the keys that it has."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QCoreApplication, QObject

from desktop_agent.gui.startup.keys_of_macs import KeysOfMacs


@pytest.fixture
def mac(qapp):
    keys = KeysOfMacs()
    assert qapp.installTranslator(keys)
    yield
    qapp.removeTranslator(keys)


def test_texts_name_the_command_key_and_are_else_as_they_are(mac: None) -> None:
    panel = QObject()
    said = panel.tr("Stops it and %n subagent(s) (Ctrl+.)", "", 3)
    assert said == "Stops it and 3 subagent(s) (⌘.)"
    assert panel.tr("Changes (Ctrl+Shift+D), %n") == "Changes (⇧⌘D), %n"
    assert QCoreApplication.translate("KeyWords", "Shift+Enter") == "Shift+Enter"
