"""Texts that are too long for one layout: in bounded steps, with nothing lost."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtGui import QGuiApplication, QTextCursor

from desktop_agent.gui.transcript.document import answer as answer_module
from desktop_agent.gui.transcript.document import markdown
from desktop_agent.gui.transcript.document.answer import SHOWN_LIMIT, STEP
from desktop_agent.gui.transcript.document.copy_selection import selection_text
from desktop_agent.gui.transcript.document.markdown import LONG_PARAGRAPH, pieces
from tests.gui.transcript.story import begins, delta, long_session, opened, says, starts_to_say
from tests.gui.transcript.test_markdown import FULL, Answer
from tests.helpers.panels import open_page

# One block is written again with each step, beside what is new.
MOST_AT_ONCE = 2 * STEP
WORDS = "The quick brown fox jumps over the lazy dog, and then it sleeps. "
LINE = "".join(f"{start:08d}".ljust(4096, "x") for start in range(0, 1_000_000, 4096))[:1_000_000]


@pytest.fixture
def answer(theme):
    return Answer(theme)


def written_at_once(answer, text, *, is_live=False):
    """Show a text to its end; return how many characters each step put into the document."""
    sizes, steps = [], []
    answer.document.contentsChange.connect(lambda _at, _gone, new: sizes.append(new))
    while not steps or answer.text.is_behind:
        answer.text.show(text, is_live=is_live)
        steps.append(sum(sizes))
        sizes.clear()
    return steps


@pytest.mark.parametrize(
    "text",
    [
        LINE,
        WORDS * 800,
        f"Begin.\n\n{WORDS * 800}\n\nEnd.",
        FULL * 100,
        "```python\n" + "x = 1\n" * 2_000,
    ],
    ids=["line", "prose", "between", "mixed", "code"],
)
def test_no_answer_is_written_at_once_for_longer_than_a_frame(answer, theme, text):
    whole = Answer(theme)
    whole.text.finish(text)
    steps = written_at_once(answer, text)
    assert max(steps) < MOST_AT_ONCE
    assert answer.dump() == whole.dump()


def test_the_end_of_a_line_of_a_megabyte_writes_only_its_last_piece(answer):
    steps = written_at_once(answer, LINE, is_live=True)
    assert max(steps) < MOST_AT_ONCE
    assert sum(written_at_once(answer, LINE)) < MOST_AT_ONCE


def test_a_paragraph_after_a_line_of_any_length_leaves_that_line_alone(answer):
    written_at_once(answer, LINE[:20_000], is_live=True)
    steps = written_at_once(answer, LINE[:20_000] + "\n\nThe **end**.", is_live=True)
    assert sum(steps) < MOST_AT_ONCE
    assert answer.lines[-1] == "The end."


def test_the_end_of_a_long_answer_parses_only_what_is_new(answer, monkeypatch):
    part = "## Part\n\nSome **words** here.\n- one\n- two\n\n"
    for end in range(100, len(part) * 100, 100):
        answer.text.grow((part * 100)[:end])
    parsed = []

    def parse(text, **how):
        parsed.append(len(text))
        return markdown.parse(text, **how)

    monkeypatch.setattr(answer_module, "parse", parse)
    answer.text.finish(part * 100)
    assert 0 < sum(parsed) < len(part) * 3


@pytest.mark.parametrize("end", ["[a]: http://x.y\n", "Word\n---\n"])
def test_what_changes_earlier_text_has_all_of_it_parsed(answer, theme, end):
    whole = Answer(theme)
    text = "See [a].\n\nMore of it.\n\n" * 10 + end
    for reach in range(1, len(text) + 1):
        answer.text.grow(text[:reach])
    answer.text.finish(text)
    whole.text.finish(text)
    assert answer.dump() == whole.dump()


@pytest.mark.parametrize("text", [LINE[:30_000], WORDS * 300, "a line\nand another\n" * 1_000])
def test_a_long_paragraph_is_copied_as_it_was_written(answer, text):
    answer.text.finish(text)
    assert len(answer.lines) > 3
    cursor = QTextCursor(answer.document)
    cursor.select(QTextCursor.SelectionType.Document)
    plain, markdown = selection_text(cursor)
    assert plain.strip() == text.strip()
    assert markdown.replace("\\\n", "\n").strip() == text.strip()


@settings(max_examples=60)
@given(st.lists(st.sampled_from(["word ", "x" * 700, "\n", " ", "ä\u202e", "\r\n"]), max_size=60))
def test_pieces_of_a_text_make_the_text_and_only_the_last_one_changes(parts):
    text, before = "", []
    for part in parts:
        text += part * 20
        found = list(pieces(text, 0))
        assert found[: len(before[:-1])] == before[:-1]
        assert all(len(piece) <= 3_000 for _, piece in found)
        before = found
    whole = "".join(piece for _, piece in before)
    assert whole == text.replace("\r\n", "\n").replace("\u202e", "").strip()


def test_a_long_answer_comes_in_while_the_window_breathes(view, qtbot):
    text = WORDS * 500
    open_page(view, opened(*long_session(3), says(50, text)))
    assert view.page.is_behind
    qtbot.waitUntil(lambda: not view.page.is_behind)
    assert "".join(text.split()) in "".join(view.browser.toPlainText().split())
    assert view.browser.verticalScrollBar().value() == view.browser.verticalScrollBar().maximum()


def test_a_line_of_a_megabyte_is_copied_whole(view, qtbot):
    open_page(view, opened(begins(), status="running"))
    view.apply([starts_to_say(1), delta(1, LINE)])
    view.apply([says(1, LINE)])
    qtbot.waitUntil(lambda: not view.page.is_behind)
    assert len(view.browser.toPlainText()) < SHOWN_LIMIT * 1.1
    view.copy_last_answer()
    assert QGuiApplication.clipboard().text() == LINE


def test_what_is_still_to_come_of_a_long_answer_is_found(view):
    open_page(view, opened(says(1, WORDS * 300 + "needle")))
    assert view.page.is_behind
    assert view.find("needle") == 1


def test_a_short_paragraph_keeps_its_marks_and_a_wall_does_not(answer):
    answer.text.finish("**bold** " * 100)
    assert "**" not in "".join(answer.lines)
    answer.text.finish("**bold** " * (LONG_PARAGRAPH // 8))
    assert "**" in "".join(answer.lines)


def test_nothing_is_laid_out_again_when_there_is_first_something_to_scroll(view, qtbot):
    open_page(view, opened(*long_session(1)))
    width = view.browser.viewport().width()
    resized = []
    view.browser.resized.connect(lambda: resized.append(True))
    open_page(view, opened(*long_session(30)))
    assert view.browser.verticalScrollBar().maximum() > 0
    assert view.browser.viewport().width() == width
    assert not resized


def test_the_bar_is_not_painted_while_everything_is_in_sight(view):
    open_page(view, opened(says(1, "Hello.")))
    bar = view.browser.verticalScrollBar()
    assert bar.isVisible()
    assert bar.maximum() == 0
    empty = view.grab(bar.geometry()).toImage()
    assert (
        len({empty.pixel(x, y) for x in range(empty.width()) for y in range(empty.height())}) == 1
    )


@pytest.mark.parametrize("end", ["```\n\nDone.", "```", "\n\n\n```\n", ""])
def test_long_code_that_ends_stands_as_it_was_written(answer, theme, end):
    whole = Answer(theme)
    text = "Here:\n\n```python\n" + 'text = """more\nthan a line"""\n' * 400 + end
    for reach in range(300, len(text), 300):
        answer.text.show(text[:reach], is_live=True)
    sizes = []
    answer.document.contentsChange.connect(lambda _at, _gone, new: sizes.append(new))
    answer.text.show(text, is_live=True)
    answer.text.show(text, is_live=False)
    assert sum(sizes) < 1_000
    whole.text.finish(text)
    assert answer.dump() == whole.dump()
