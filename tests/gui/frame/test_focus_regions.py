"""F6 goes round the parts of the window, and the window lives on whatever it went through."""

import argparse
import gc
from functools import partial

import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QApplication, QPlainTextEdit, QPushButton, QTextBrowser, QWidget
from shiboken6 import isValid

from desktop_agent.core.events import MessageAdded
from desktop_agent.core.ids import MessageId
from desktop_agent.core.messages import Message, TextPart
from desktop_agent.gui.frame.focus import first_focusable, focus_neighbour
from desktop_agent.gui.transcript.cards.approval_card import ApprovalCard
from desktop_agent.gui.transcript.document.document import TranscriptDocument
from desktop_agent.gui.transcript.document.styles import Styles
from desktop_agent.gui.transcript.state.items import AnswerItem
from desktop_agent.gui.transcript.view.browser import TranscriptBrowser
from tests import gallery
from tests.gui.frame.focus_rings import faults
from tests.gui.window.test_window import shown
from tests.helpers import spoken
from tests.helpers.wrappers import misplaced

WAIT = 60_000
ROUNDS = 20
# Whose controls are looked at for rings: to compare the pixels of every part takes minutes.
RINGED = ("first", "usage")
ENOUGH = 40
ANSWER = "All is well, {place}."


def press(qtbot, window, key, modifiers=Qt.KeyboardModifier.NoModifier):
    qtbot.keyClick(QApplication.focusWidget() or window, key, modifiers)


@pytest.mark.parametrize("rounds", [6, 7, 20])
def test_the_window_works_on_after_f6_went_through_a_card_that_is_gone(
    open_window, project, qtbot, rounds
):
    window = open_window(project, model="demo")
    qtbot.waitState(window.flow.agent_shown, lambda: window.flow.info is not None)
    box = window.findChild(QPlainTextEdit, "composerText")
    qtbot.keyClicks(box, "run touch x.txt")
    press(qtbot, window, Qt.Key.Key_Return)

    def is_armed():
        return any(one.is_armed and one.isVisible() for one in window.findChildren(ApprovalCard))

    qtbot.waitUntil(is_armed, timeout=WAIT)
    for _ in range(rounds):
        press(qtbot, window, Qt.Key.Key_F6)
    press(qtbot, window, Qt.Key.Key_A, Qt.KeyboardModifier.AltModifier)
    press(qtbot, window, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: (project / "x.txt").exists(), timeout=WAIT)
    qtbot.waitUntil(lambda: not window.findChildren(ApprovalCard), timeout=WAIT)
    gc.collect()
    box.setFocus()
    qtbot.keyClicks(box, "list files")
    press(qtbot, window, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "list files" in shown(window), timeout=WAIT)
    qtbot.waitUntil(lambda: "notes.txt" in shown(window), timeout=WAIT)
    assert box.toPlainText() == ""
    assert misplaced() == []


def test_what_f6_passes_stays_tied_to_its_own_parent(qtbot, theme):
    window = QWidget()
    qtbot.addWidget(window)
    text, card = QTextBrowser(window), QWidget(window)
    QPushButton(card)
    window.show()
    document = text.document()
    for step in (1, 1, -1):
        focus_neighbour([text, card], step)
    card.setParent(None)
    card.deleteLater()
    del card
    qtbot.waitUntil(lambda: not window.findChildren(QPushButton))
    gc.collect()
    assert isValid(document)
    assert misplaced() == []


def test_f6_comes_to_the_list_of_a_part_and_not_to_a_button_before_it(qtbot, theme):
    part = QWidget()
    qtbot.addWidget(part)
    QPushButton("New", part).setGeometry(0, 0, 40, 20)
    low, high = QPlainTextEdit(part), QPlainTextEdit(part)
    low.setGeometry(0, 60, 40, 20)
    high.setGeometry(0, 30, 40, 20)
    part.show()
    assert first_focusable(part) is high
    high.setEnabled(False)
    assert first_focusable(part) is low


def hidden_part(focused):
    """Say what of the control with the focus can't be used or seen, if anything."""
    if focused is None:
        return ["nothing has the focus"]
    said = f"{type(focused).__name__} {focused.objectName()}"
    if not focused.isVisible() or not focused.isEnabled():
        return [f"{said} is hidden or switched off"]
    seen, part = focused.rect(), focused
    while not part.isWindow():
        seen.translate(part.pos())
        part = part.parentWidget()
        seen &= part.rect()
    # Of what is larger than its part of the window, a beginning is enough.
    wanted = focused.size().boundedTo(QSize(ENOUGH, ENOUGH))
    if seen.width() < wanted.width() or seen.height() < wanted.height():
        return [f"{said}: only {seen.width()} x {seen.height()} can be seen"]
    return []


class _Walked(gallery.Gallery):
    """Takes no pictures: goes round by F6 in each state, and tries the window out."""

    qtbot = None
    has_rings = False
    states = 0

    def __init__(self, *given):
        super().__init__(*given)
        self.clipped, self.unsaid = set(), set()
        self.ringed, self.unringed = set(), set()

    async def take(self, name, widget=None):
        await gallery.pause(0.01)
        while QApplication.activeWindow() is None:
            self.window.activateWindow()  # as a desktop does when a dialog has gone
            await gallery.pause(0.01)
        self.states += 1
        window = self.window
        before = self._focus()
        visited = []
        for _ in range(ROUNDS):
            press(self.qtbot, window, Qt.Key.Key_F6)
            visited.append(self._focus())
            self.clipped |= {f"{name}: {why}" for why in hidden_part(visited[-1])}
        assert misplaced() == [], name
        assert visited[0] in visited[1:], name
        self.unsaid |= {f"{name}: {one}" for one in spoken.faults()}
        await self._look_at_rings(name)
        self._hear_answer(name)
        if before is not None and isValid(before):
            before.setFocus()

    async def _look_at_rings(self, name):
        if self.has_rings and QApplication.activePopupWidget() is None:
            active = QApplication.activeWindow() or self.window
            settle = partial(gallery.pause, 0)
            self.unringed |= {f"{name}: {one}" for one in await faults(active, settle, self.ringed)}

    def _focus(self):
        return QApplication.focusWidget()

    def _hear_answer(self, name):
        """What is typed is sent, and an answer that comes is on screen."""
        window = self.window
        page = window.pages.page(window.flow.agent) if window.flow.info is not None else None
        if page is None:
            return
        told = ANSWER.format(place=name)
        message = Message(MessageId(f"ms_{name}"), "assistant", (TextPart(told),))
        self.hear(MessageAdded(window.flow.agent, message))
        assert told in shown(window), name
        sent = []
        box = window.findChild(QPlainTextEdit, "composerText")
        if not box.isVisible() or not box.isEnabled() or box.toPlainText():
            return
        window.frame.composer.submitted.connect(sent.append)
        box.setFocus()
        self.qtbot.keyClicks(box, name)
        self.qtbot.keyClick(box, Qt.Key.Key_Return)
        window.frame.composer.submitted.disconnect(sent.append)
        assert [note.text for note in sent] == [name]


@pytest.mark.parametrize("part", list(gallery.PARTS))
def test_in_every_state_f6_goes_round_in_sight_and_all_is_said_and_ringed_as_what_it_is(
    qapp, qtbot, theme, run_on_window, monkeypatch, tmp_path, part
):
    monkeypatch.setattr(_Walked, "qtbot", qtbot)
    monkeypatch.setattr(_Walked, "has_rings", part in RINGED)
    given = argparse.Namespace(theme="light", width=1440, text=100, folder=tmp_path, only=[])

    async def play():
        walked = _Walked(qapp, given)
        try:
            await gallery.PARTS[part](walked)
        finally:
            walked.window.quit_now()
            walked.window.deleteLater()
        return walked

    walked = run_on_window(play())
    assert walked.states > 1
    assert not walked.clipped
    assert not walked.unsaid
    assert sorted(walked.unringed) == []


def test_a_text_that_leaves_the_transcript_takes_no_document_along(qtbot, theme):
    browser = TranscriptBrowser(theme)
    qtbot.addWidget(browser)
    document = browser.document()
    page = TranscriptDocument(document, Styles(theme), lambda _: 0, lambda _: "")
    page.clear()
    page.insert(0, AnswerItem("one", "Words and\n\n```py\ncode = 1\n", is_live=True))
    page.update(0, AnswerItem("one", "Words and\n\n```py\ncode = 1\nmore = 2\n```\n\nafter"))
    assert misplaced() == []
    page.remove(0)
    gc.collect()
    assert isValid(document)
