"""The field of the user's own instructions: looking at them changes nothing."""

import pytest

from desktop_agent.core.settings import LONGEST_INSTRUCTIONS
from desktop_agent.gui.settings.instructions_group import InstructionsBox


@pytest.mark.parametrize(
    "text", ["Bonjour\u00a0!\n", "one\r\ntwo\r\n", "x" * (LONGEST_INSTRUCTIONS + 9)]
)
def test_instructions_that_were_only_looked_at_stay_as_they_are(qtbot, text):
    box = InstructionsBox()
    qtbot.addWidget(box)
    box.set_value(text)
    with qtbot.assertNotEmitted(box.chosen):
        box.show()
        box.hide()
    box.insertPlainText("New. ")
    box.show()
    with qtbot.waitSignal(box.chosen):
        box.hide()
