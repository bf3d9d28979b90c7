"""What fills the context is one click, or key, from the message box; room can be made there."""

from PySide6.QtCore import QLocale, Qt
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton

from desktop_agent.core.events import CommandRefused, ContextCompacted
from tests.helpers.patience import HANG_MS as WAIT
from tests.helpers.providers import Counts, Say
from tests.helpers.windows import bridge_of, part


def said(window, text):
    """Hear of nothing but the answers to what the user writes."""

    def idle():
        page = window.pages.page(window.flow.agent)
        return page is not None and text in page.browser.toPlainText()

    return idle


def ask(qtbot, window, provider, question, answer, counts=()):
    qtbot.waitState(window.flow.agent_shown, lambda: window.flow.info is not None)
    provider.push([Say(answer), *counts])
    window.frame.composer.set_text(question)
    qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Return)
    qtbot.waitUntil(said(window, answer), timeout=WAIT)
    status = lambda: window.flow.info.status  # noqa: E731
    qtbot.waitUntil(lambda: status() == "idle", timeout=WAIT)


def open_popover(qtbot, window):
    meter = part(window, "contextMeter")
    qtbot.waitUntil(meter.isVisible, timeout=WAIT)
    meter.setFocus()
    qtbot.keyClick(meter, Qt.Key.Key_Space)
    popover = part(window, "contextPopover")
    total = popover.findChild(QLabel, "contextTotal")
    qtbot.waitUntil(lambda: "tokens" in total.text(), timeout=WAIT)
    return popover


def test_a_key_on_the_meter_opens_what_fills_the_context_and_a_screen_reader_hears_it(
    window, provider, qtbot
):
    ask(qtbot, window, provider, "What is the answer?", "Forty-two.")
    popover = open_popover(qtbot, window)
    names = ("system", "skills", "tools", "messages", "files")
    heard = [popover.findChild(QLabel, f"context-{name}").accessibleName() for name in names]
    assert [words.partition(":")[0] for words in heard] == [name.title() for name in names]
    assert QLocale().toInt(heard[2].partition(": ")[2])[0] > 1_000  # the tools it has
    assert heard[4] == "Files: 0"
    assert popover.accessibleName() == "Context"
    assert popover.accessibleDescription().startswith("The next request takes about ")
    qtbot.keyClick(popover, Qt.Key.Key_Escape)
    assert window.focusWidget() is part(window, "contextMeter")


def test_what_came_from_the_providers_cache_is_said_there(window, provider, qtbot):
    ask(qtbot, window, provider, "What is it?", "Forty-two.", [Counts(900, 810, 5)])
    words = open_popover(qtbot, window).findChild(QLabel, "contextCached").text()
    assert words == "Of the last request, 810 of 900 tokens came from the cache."


def test_what_was_used_up_by_all_sessions_is_a_press_away(window, provider, qtbot):
    ask(qtbot, window, provider, "What is the answer?", "Forty-two.")
    popover = open_popover(qtbot, window)
    button = popover.findChild(QPushButton, "openUsage")
    button.setFocus()
    qtbot.keyClick(button, Qt.Key.Key_Return)
    assert not popover.isVisible()
    qtbot.waitUntil(lambda: part(window, "usagePage").isVisible(), timeout=WAIT)


def test_what_must_be_kept_goes_into_the_request_for_the_summary(window, provider, qtbot):
    ask(qtbot, window, provider, "Paint it.", "First coat is on.")
    ask(qtbot, window, provider, "Again.", "Second coat is on.")
    ask(qtbot, window, provider, "And again.", "Third coat is on.")
    popover = open_popover(qtbot, window)
    provider.push(Say("They want it painted three times."))
    keep = popover.findChild(QLineEdit, "contextKeep")
    assert keep.accessibleName() == "What must be kept?"
    keep.setText("the colour is blue")
    heard = []
    bridge_of(window).received.connect(heard.extend)
    qtbot.keyClick(keep, Qt.Key.Key_Return)
    assert not popover.isVisible()

    def is_compacted():
        assert not [e for e in heard if isinstance(e, CommandRefused)]
        return any(isinstance(event, ContextCompacted) for event in heard)

    qtbot.waitUntil(is_compacted, timeout=WAIT)
    (request,) = [r for r in provider.requests if "the colour is blue" in str(r.user_texts)]
    assert "First coat is on." in str(request.user_texts)
    qtbot.waitUntil(lambda: part(window, "compactionHeader") is not None, timeout=WAIT)


def test_before_there_is_anything_to_summarise_the_button_says_so(window, provider, qtbot):
    ask(qtbot, window, provider, "What is the answer?", "Forty-two.")
    button = open_popover(qtbot, window).findChild(QPushButton, "compactNow")
    assert not button.isEnabled()
    assert button.accessibleDescription() == "There is nothing to summarise yet."
