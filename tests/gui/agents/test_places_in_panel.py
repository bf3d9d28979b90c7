"""A subagent at a place: the row and the card say where, and never more than was heard of it."""

import time
from datetime import datetime

import pytest
from PySide6.QtWidgets import QAbstractButton

from desktop_agent.core.events import (
    NoteDelivered,
    NoteQueued,
    NoteTaken,
    StepStarted,
    TurnStarted,
)
from desktop_agent.core.ids import MessageId, NoteId
from desktop_agent.core.notes import NoteArrived
from tests.gui.agents.test_panel import ONE, agent, label, note, opened, panel, show, spoken, states
from tests.helpers.panels import follow

__all__ = ["panel"]
CUT = datetime(2026, 11, 23, 12, 3).timestamp()


def test_row_and_card_name_the_place(panel) -> None:
    follow(panel, opened(agent(ONE, "explorer", doing="reading deliver.py", place="box")))
    panel.select(ONE)
    assert panel.tree.rows[0].doing == "on box · reading deliver.py"
    assert spoken(panel, ONE).startswith("explorer, on box, running, reading deliver.py")
    assert not label(panel, "steerAway").isVisible()


def test_until_its_place_has_begun_it_is_on_its_way_and_nothing_says_that_it_is_there(
    panel,
) -> None:
    new = {"status": "queued", "place": "box"}
    follow(panel, opened(agent(ONE, "explorer", is_under_way=True, **new)))
    assert panel.tree.rows[0].chip == "On its way"
    assert spoken(panel, ONE).startswith("explorer, on box, on its way")
    show(panel, agent(ONE, "explorer", **new))
    assert panel.tree.rows[0].chip == "Queued there"


@pytest.mark.parametrize(
    ("status", "words"), [("running", "No word since 12:03"), ("stopping", "Stop on its way")]
)
def test_while_nothing_is_heard_of_it_the_row_and_the_card_say_so(panel, status, words) -> None:
    follow(panel, opened(agent(ONE, "explorer", place="box")))
    panel.select(ONE)
    long_ago = time.time() - 900
    show(panel, agent(ONE, "explorer", status, place="box", away_since=CUT, active_at=long_ago))
    assert panel.tree.rows[0].chip == words
    assert words.lower() in spoken(panel, ONE).lower()
    assert "silent" not in spoken(panel, ONE)
    assert (label(panel, "steerAway").isVisible(), label(panel, "steerAway").text()) == (
        True,
        words,
    )
    show(panel, agent(ONE, "explorer", place="box"))
    assert panel.tree.rows[0].chip == ""
    assert not label(panel, "steerAway").isVisible()


def test_a_note_is_on_its_way_until_the_place_has_it(panel) -> None:
    follow(panel, opened(agent(ONE, "a", place="box")))
    panel.select(ONE)
    follow(panel, TurnStarted(ONE))
    follow(panel, NoteQueued(ONE, note()))
    assert states(panel) == ["On its way to box"]
    changes = ("steerNoteEdit", "steerNoteWithdraw")
    buttons = [one for name in changes for one in panel.findChildren(QAbstractButton, name)]
    assert [one.isVisible() for one in buttons] == [False, False], "it is beyond reach"
    follow(panel, NoteArrived(ONE, NoteId("no_1")))
    assert states(panel) == ["Queued there – reads it at its next step"]
    follow(panel, StepStarted(ONE, 4))
    follow(panel, NoteTaken(ONE, NoteId("no_1"), MessageId("m")))
    follow(panel, NoteDelivered(ONE, NoteId("no_1"), 4, time.time()))
    assert states(panel)[0].startswith("Delivered at step 4 · ")


def test_a_name_of_a_place_is_shown_as_plain_text_on_one_line(panel) -> None:
    follow(panel, opened(agent(ONE, "a", place="b\u202eox\n<b>")))
    assert panel.tree.rows[0].where == "on box <b>"
