"""Text of twice the size, and long text: nothing is cut, and nothing covers the words."""

import pytest
from PySide6.QtCore import QRect, QUrl
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QApplication, QLabel, QPushButton

from desktop_agent.core.faults import Fault
from desktop_agent.gui.transcript.view.text_dialogs import ask_to_open
from tests.gui.transcript.story import asks, begins, ends, opened, says
from tests.helpers.panels import open_page
from tests.helpers.windows import part

WORDS = "The retry test fails about once in forty runs. Find out why, and mend it, please. "


@pytest.fixture
def large(theme):
    theme.configure("light", 200)
    yield theme
    theme.configure("light", 100)


def test_the_question_before_a_link_shows_its_address_and_its_buttons_whole(view, large):
    address = "http://localhost:5173/login?next=/settings/profile&from=the-start-page&try=2"
    dialog = ask_to_open(large, QUrl(address), view, lambda _: None)
    QApplication.processEvents()
    for label in dialog.findChildren(QLabel):
        needed = label.heightForWidth(label.width()) if label.wordWrap() else label.sizeHint()
        assert label.height() >= (needed if label.wordWrap() else needed.height()), label.text()
    for button in dialog.findChildren(QPushButton):
        assert button.width() >= button.sizeHint().width(), button.text()
        assert button.height() >= button.fontMetrics().height(), button.text()
    dialog.reject()


def assert_buttons_are_whole(holder):
    QApplication.processEvents()
    for one in holder.findChildren(QPushButton):
        room = holder.rect().adjusted(0, 0, 0, 1)
        assert one.width() >= one.sizeHint().width(), one.text()
        assert room.contains(QRect(one.mapTo(holder, one.rect().topLeft()), one.size())), one.text()


def test_the_buttons_of_a_failure_are_whole_in_a_narrow_window(view, large):
    view.resize(560, 700)
    fault = Fault("auth", "No key.", "edit_key", "HTTP 401")
    open_page(view, opened(begins(), *asks(1, WORDS), ends("error", fault=fault)))
    card = part(view, "faultCard")
    assert_buttons_are_whole(card)
    assert card.height() == card.height_for(card.width())


@pytest.mark.parametrize(("wide", "scale"), [(800, 200), (1400, 200), (420, 100), (800, 100)])
def test_what_can_be_done_with_a_message_never_stands_over_its_words(view, theme, wide, scale):
    theme.configure("light", scale)
    view.resize(wide, 700)
    open_page(view, opened(*asks(1, WORDS * 3), says(1, "It was the clock.")))
    view.activateWindow()
    view.browser.setFocus()
    view.browser.message_wanted.emit(-1)
    bar = part(view, "messageActions")
    assert bar.isVisible()
    where = QRect(view.browser.viewport().mapFrom(bar.parentWidget(), bar.pos()), bar.size())
    cursor = view.browser.document().find(WORDS[:20])
    cursor.setPosition(cursor.selectionStart())
    for _ in WORDS * 3:
        seen = view.browser.cursorRect(cursor).adjusted(0, 2, 0, -2)
        assert not where.intersects(seen), cursor.position()
        cursor.movePosition(QTextCursor.MoveOperation.Right)
    assert view.browser.viewport().rect().contains(where)
    theme.configure("light", 100)
