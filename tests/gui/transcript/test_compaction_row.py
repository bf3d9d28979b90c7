"""A compaction is one row that tells what the agent gets instead, and takes it back."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QWidget

from desktop_agent.core.events import (
    CommandRefused,
    CompactionUndone,
    ContextCleared,
    ContextCompacted,
    MessageAdded,
)
from desktop_agent.core.messages import Message, PutAside, TextPart
from desktop_agent.core.parts.origins import ContextSummary
from desktop_agent.gui.transcript.cards.output_view import OutputView
from desktop_agent.gui.transcript.state.items import CompactionItem, FailureItem
from desktop_agent.gui.transcript.view.view import TranscriptView
from tests.gui.transcript.story import AGENT, begins, opened
from tests.helpers.panels import open_page, transcript_of
from tests.helpers.patience import HANG_MS as WAIT

SUMMARY = Message("me_s", "user", (TextPart("They want it blue.", ContextSummary()),))
COMPACTED = ContextCompacted(
    AGENT, "co_1", summary=SUMMARY, count=41, tokens_before=120_000, tokens_after=9_000
)
ASIDE = ContextCompacted(AGENT, "co_2", aside=(PutAside("c1", "[This output was put aside]"),))
FOLLOWS = MessageAdded(AGENT, Message("me_2", "assistant", (TextPart("Blue it is."),)))


@pytest.fixture
def view(qtbot, theme):
    one = TranscriptView(theme)
    qtbot.addWidget(one)
    one.resize(800, 600)
    one.show()
    qtbot.waitExposed(one)
    return one


def rows(*events):
    items = transcript_of(opened(begins(), *events)).items
    return [item for item in items if isinstance(item, CompactionItem)]


def shown(view, name):
    return next((w for w in view.findChildren(QWidget, name) if w.isVisible()), None)


def test_it_can_be_undone_until_something_follows():
    assert [row.is_current for row in rows(COMPACTED)] == [True]
    assert [row.is_current for row in rows(COMPACTED, FOLLOWS)] == [False]
    assert [row.is_current for row in rows(COMPACTED, ASIDE)] == [False, True]
    (undone,) = rows(COMPACTED, CompactionUndone(AGENT, "co_1"))
    assert (undone.is_current, undone.is_undone) == (False, True)


def test_what_cannot_be_done_now_is_no_failure_of_the_app():
    refused = CommandRefused("compact", "There is nothing to summarise yet.", AGENT)
    items = transcript_of(opened(begins(), COMPACTED, refused)).items
    assert not [item for item in items if isinstance(item, FailureItem)]


def test_the_row_says_what_was_left_out_opens_to_the_summary_and_offers_undo(view, qtbot):
    open_page(view, opened(begins(), COMPACTED))
    qtbot.waitUntil(lambda: shown(view, "compactionHeader") is not None)
    header = shown(view, "compactionHeader")
    assert header.accessibleName() == "Earlier work summarised, 41 messages, 120k → 9k tokens"
    qtbot.mouseClick(header, Qt.MouseButton.LeftButton)
    card = shown(view, "compactionCard")
    assert "They want it blue." in [view.toPlainText() for view in card.findChildren(OutputView)]
    undo = card.findChild(QAbstractButton, "undoCompaction")
    with qtbot.waitSignal(view.command_requested) as asked:
        qtbot.mouseClick(undo, Qt.MouseButton.LeftButton)
    assert asked.args == ["", "undo_compaction", "co_1"]


def test_outputs_that_were_put_aside_and_a_cleared_context_have_a_row_too(view, qtbot):
    open_page(view, opened(begins(), ASIDE, FOLLOWS, ContextCleared(AGENT, 2.0)))
    qtbot.waitUntil(lambda: shown(view, "compactionHeader") is not None)
    name = shown(view, "compactionHeader").accessibleName()
    assert name.startswith("Older outputs put aside, 1 output,")
    qtbot.waitUntil(lambda: shown(view, "lineCard") is not None)
    assert "Context cleared" in shown(view, "lineCard").accessibleName()


def test_the_original_of_a_summary_is_one_click_away(view, qtbot):
    said = [
        MessageAdded(AGENT, Message(f"an_{n}", "assistant", (TextPart("More.\n\n" * 20),)))
        for n in range(5)
    ]
    open_page(view, opened(begins(), *said, COMPACTED))
    qtbot.waitUntil(lambda: shown(view, "compactionHeader") is not None, timeout=WAIT)
    bar = view.browser.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 600 and bar.value() == bar.maximum(), timeout=WAIT)
    qtbot.mouseClick(shown(view, "compactionHeader"), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: shown(view, "showOriginal") is not None, timeout=WAIT)
    qtbot.mouseClick(shown(view, "showOriginal"), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: bar.value() < 200, timeout=WAIT)
    assert shown(view, "compactionHeader") is None, "it stays at the summary"
