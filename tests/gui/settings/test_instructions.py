"""The field of the user's own instructions: looking at them changes nothing."""

import pytest

from desktop_agent.core.settings import LONGEST_INSTRUCTIONS
from desktop_agent.gui.settings.instructions_group import InstructionsBox, instructions_group


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


def test_all_that_was_written_is_kept_and_how_much_agents_are_given_is_said(qtbot, theme):
    text = "x" * LONGEST_INSTRUCTIONS + "\nNever push."
    box = InstructionsBox()
    group = instructions_group(theme, box)
    qtbot.addWidget(group)
    group.show()
    box.insertPlainText(text)
    with qtbot.waitSignal(box.chosen) as told:
        group.hide()
    assert told.args == [text]
    assert f"{LONGEST_INSTRUCTIONS:,}" in box.accessibleDescription()
