"""What comes and goes by itself moves nothing that a person reads, types into or aims at."""

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QTextBrowser, QWidget

from desktop_agent.core.mcp import McpArgument, McpPrompt
from desktop_agent.gui.composer.server_offers import ServerPrompt
from desktop_agent.gui.frame.notice_bar import Notice
from desktop_agent.gui.transcript.cards.card import Card
from tests import gallery_story as story
from tests.bench.stage import pause

LONG = "The folder can’t be read. " * 30


def places(window):
    frame = window.frame
    parts = (frame.header, frame.stack, frame.composer, frame.sidebar)
    return [(one.mapTo(window, QPoint()), one.size()) for one in parts]


def first_line(window):
    """The text at the top of what is seen of the transcript."""
    page = window.pages.page(window.flow.agent).findChild(QTextBrowser)
    middle = page.viewport().width() // 2
    return page.cursorForPosition(QPoint(middle, 40)).block().text()


async def shown(window):
    """Wait until a transcript with something to scroll is on screen."""
    await until(lambda: window.pages.page(window.flow.agent) is not None)
    bar = window.pages.page(window.flow.agent).findChild(QTextBrowser).verticalScrollBar()
    await until(lambda: bar.maximum() > 0)
    await settled()
    return bar


async def settled():
    """Let everything that was asked for be laid out."""
    for _ in range(10):
        await pause(0)


async def until(holds):
    while not holds():
        await pause(0.01)


def prose(document):
    """Return where the paragraphs stand that are no items of a list."""
    found, block = [], document.begin()
    while block.isValid():
        if block.text().strip() and not block.textList():
            found.append(document.documentLayout().blockBoundingRect(block))
        block = block.next()
    return found


def test_a_notice_lies_over_the_page_and_moves_nothing(stage):
    async def step(gallery, window):
        gallery.show(story.working())
        await shown(window)
        before = places(window), first_line(window)
        notices = window.frame.notices
        for text in ("Short.", LONG):
            notices.put("x", Notice(text))
            await settled()
            assert (places(window), first_line(window)) == before
            assert notices.geometry().topLeft() == window.frame.stack.geometry().topLeft()
            assert notices.width() == window.frame.stack.width()
            assert notices.height() >= notices.heightForWidth(notices.width())
        window.resize(900, 700)
        await settled()
        assert notices.width() == window.frame.stack.width()
        window.frame.set_full(True)
        await settled()
        # Another page has buttons at its foot: none is covered.
        assert notices.geometry().top() > window.frame.stack.geometry().bottom()
        window.frame.set_full(False)
        await settled()
        notices.remove("x")

    stage(step)


def test_the_message_box_keeps_its_height_whatever_the_agent_does(stage):
    async def step(gallery, window):
        seen = set()
        for opened in (story.empty, story.working, story.asked, story.stopped, story.failed):
            gallery.show(opened())
            await until(lambda opened=opened: window.known.info is not None)
            await settled()
            composer = window.frame.composer
            seen.add((composer.mapTo(window, QPoint()).y(), composer.height()))
        assert len(seen) == 1

    stage(step)


def test_a_page_that_is_hidden_takes_no_room_from_the_message_box(stage):
    """In a small window with large text the lines of a server's prompt were a few pixels high."""
    asked = McpPrompt(name="triage", arguments=(McpArgument("project"), McpArgument("since")))

    async def step(gallery, window):
        gallery.show(story.working())
        await shown(window)
        window.frame.composer.box.fill_in(ServerPrompt("/r", "tracker", asked))
        tall = QWidget()
        tall.setMinimumHeight(400)
        window.resize(700, 420)
        window.frame.stack.addWidget(tall)
        await settled()
        form = window.findChild(QWidget, "promptForm")
        assert form.height() >= form.minimumSizeHint().height()

    stage(step)


def test_the_text_one_reads_stays_as_the_side_panel_opens_and_closes(stage):
    async def step(gallery, window):
        gallery.show(story.working())
        bar = await shown(window)
        bar.setValue(bar.maximum() // 2)
        await settled()
        before = first_line(window)
        for _ in range(4):
            window.frame.toggle_side()
            await settled()
            await until(lambda: first_line(window) == before)
            assert bar.value() < bar.maximum(), "the page jumped to its end"

    stage(step)


@pytest.mark.parametrize("width", [900, 1280, 1800])
def test_prose_and_cards_stand_in_one_column_at_any_width(stage, width):
    """A narrower card beside wider prose has the eye look for each line's beginning."""

    async def step(gallery, window):
        window.resize(width, 900)
        gallery.show(story.working())
        await shown(window)
        page = window.pages.page(window.flow.agent)
        text = page.findChild(QTextBrowser)
        viewport, bar = text.viewport(), text.verticalScrollBar()
        seen = set()

        def stands_in_one_column():
            cards = [one for one in viewport.findChildren(Card) if one.isVisible()]
            edges = {(one.x(), one.x() + one.width()) for one in cards}
            seen.update(edges)
            if len(edges) > 1:
                return False
            boxes = prose(text.document())
            return all(
                any(round(box.left()) == left for box in boxes)
                and all(box.right() <= right + 1 for box in boxes)
                for left, right in edges
            )

        # The column moves once more when the side panel has come.
        for at in range(bar.minimum(), bar.maximum() + 1, max(1, viewport.height() // 2)):
            bar.setValue(at)
            await settled()
            await until(stands_in_one_column)
        assert seen

    stage(step)


def test_another_theme_changes_colours_and_no_place_of_anything(window, theme, qtbot):
    qtbot.waitState(window.flow.agent_shown, lambda: window.flow.info is not None)

    def named_places():
        seen = (one for one in window.findChildren(QWidget) if one.isVisible() and one.objectName())
        return {one.objectName(): (one.mapTo(window, QPoint()), one.size()) for one in seen}

    before = named_places()
    assert "newSession" in before
    for scheme in ("dark", "light"):
        theme.configure(scheme)
        assert named_places() == before
