"""What is painted while text comes: no more than changed, and exactly what a whole paint gives."""

import pytest
from PySide6.QtGui import QGuiApplication

from tests.gui.transcript.conftest import wait_until_written
from tests.gui.transcript.story import (
    begins,
    call,
    delta,
    ends,
    gives,
    long_session,
    opened,
    runs,
    says,
    starts_to_say,
)
from tests.helpers.panels import open_page
from tests.helpers.windows import Painted

TEXT = """First words of an answer that goes on for a while, so that its lines fill the width of
the view and are broken more than once, which is what long answers do.

1. one **bold** thing
2. two

> a quote with `code` in it

| Name | Size |
|------|-----:|
| a    |    1 |

```python
def total(rows):
    return sum(row.amount for row in rows)
```

And the end, [with a link](https://example.org) and a few more words to it.
"""


def on_screen(view):
    """Return what stands on the screen, painted piece by piece as it was."""
    QGuiApplication.processEvents()
    return view.screen().grabWindow(view.winId()).toImage()


@pytest.mark.parametrize("step", [3, 40])
def test_what_is_painted_piece_by_piece_is_what_a_whole_paint_gives(view, qtbot, step):
    one = call(1, "shell", command="make")
    open_page(view, opened(*long_session(3), begins(20), says(2, "Look:", one), status="running"))
    view.apply([runs(one), gives(one), starts_to_say(50)])
    wait_until_written(qtbot, view)
    for at in range(0, len(TEXT) * 2, step):
        view.apply([delta(50, (TEXT * 2)[at : at + step])])
        # Colours, and the first line of what may become a table, come in a moment.
        wait_until_written(qtbot, view)
        pieces = on_screen(view)
        view.browser.viewport().repaint()
        assert pieces == on_screen(view), (TEXT * 2)[:at][-80:]


@pytest.mark.parametrize("is_whole", [True, False])
def test_the_mark_of_where_words_come_goes_with_the_end_of_an_answer(view, qtbot, is_whole):
    open_page(view, opened(*long_session(3), begins(20), status="running"))
    view.apply([starts_to_say(50), delta(50, "All that is to be said.")])
    wait_until_written(qtbot, view)
    on_screen(view)
    whole = [says(50, "All that is to be said.")] if is_whole else []
    view.apply([*whole, ends()])
    wait_until_written(qtbot, view)
    pieces = on_screen(view)
    view.browser.viewport().repaint()
    assert pieces == on_screen(view)


def test_more_words_paint_only_the_paragraph_they_belong_to(view, qtbot):
    open_page(view, opened(*long_session(10), begins(20), status="running"))
    view.apply([starts_to_say(50), delta(50, "First paragraph.\n\nSecond")])
    wait_until_written(qtbot, view)
    on_screen(view)
    paints = Painted(view.browser.viewport())
    for _ in range(40):
        view.apply([delta(50, " word")])
        QGuiApplication.processEvents()
    assert len(paints.heights) >= 40
    assert max(paints.heights) < view.browser.viewport().height() / 3


def test_words_out_of_sight_paint_nothing(view, qtbot):
    open_page(view, opened(*long_session(10), begins(20), status="running"))
    view.apply([starts_to_say(50), delta(50, "Some words")])
    wait_until_written(qtbot, view)
    view.browser.verticalScrollBar().setValue(0)
    on_screen(view)
    paints = Painted(view.browser.viewport())
    for _ in range(40):
        view.apply([delta(50, " word and another")])
        QGuiApplication.processEvents()
    assert not paints.heights


def columns_of(view, theme, token):
    """Return where from left to right a colour is on the screen."""
    image, wanted = on_screen(view), theme.color(token)
    height = range(image.height())
    return [
        x for x in range(image.width()) if any(image.pixelColor(x, y) == wanted for y in height)
    ]


def test_the_box_of_a_task_that_reads_from_the_right_stands_before_its_words(view, theme, qtbot):
    open_page(view, opened(says(1, "- [x] שלום"), ends()))
    wait_until_written(qtbot, view)
    words = view.browser.document().find("שלום")
    words.setPosition(words.selectionStart())
    assert min(columns_of(view, theme, "accentFill")) > view.browser.cursorRect(words).left()


def test_the_bar_of_a_quote_that_reads_from_the_right_stands_before_its_words(view, theme, qtbot):
    open_page(view, opened(says(1, "> שלום"), ends()))
    wait_until_written(qtbot, view)
    words = view.browser.document().find("שלום")
    words.setPosition(words.selectionStart())
    assert min(columns_of(view, theme, "line2")) > view.browser.cursorRect(words).left()
