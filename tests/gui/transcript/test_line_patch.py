"""Text that still comes: only what is new is written, and it reads as if written anew."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from desktop_agent.gui.transcript.document import answer as answer_module
from tests.gui.transcript.test_markdown import Answer

PROSE = "The quick brown fox 🦊 jumps over the **lazy** dog – and `sleeps` then, "
LIST = """1. first of all
2. a **bold** one, with `code`
   - inner
   - [x] done
   - [ ] open

     more of it
3. [a link](https://example.org) and https://example.com/x

# A heading
"""
_PIECES = st.sampled_from(
    [
        *("\n", "\n\n", " ", "word", "wor", "ds ", "🦊", "é", "w\u0301"),
        *("# h", "- a", "  - b", "1. c", "12", "- [x] d", "- [ ] ", "> q", "```py\n", "```\n"),
        *("**", "*", "`", "~~", "[x](http://a.b)", "[x](", "http://c.d", "| a |\n|---|\n", "---\n"),
    ]
)


class Writes:
    """Counts the characters that go into a document."""

    def __init__(self, answer):
        self.count = 0
        answer.document.contentsChange.connect(self._add)

    def _add(self, _at, _gone, new):
        self.count += new


@pytest.fixture
def answer(theme):
    return Answer(theme)


def reads_as_written_anew(theme, answer, text):
    anew = Answer(theme)
    anew.text.grow(text)
    return answer.dump() == anew.dump()


@pytest.mark.parametrize("text", [PROSE * 2, LIST], ids=["prose", "lists"])
def test_each_moment_of_an_answer_reads_as_if_it_were_written_at_once(theme, text):
    answer = Answer(theme)
    for end in range(1, len(text)):
        answer.text.grow(text[:end])
        assert reads_as_written_anew(theme, answer, text[:end]), text[:end][-60:]


@settings(max_examples=80)
@given(st.lists(_PIECES, max_size=25))
def test_whatever_comes_reads_as_if_its_end_were_written_anew_each_time(theme, pieces):
    answer, anew, text = Answer(theme), Answer(theme), ""
    for piece in pieces:
        text += piece
        answer.text.grow(text)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(answer_module, "planned", lambda *_: [])
            anew.text.grow(text)
        assert answer.dump() == anew.dump(), text


@pytest.mark.parametrize("text", [PROSE * 6, "- one\n- **two**\n  1. three\n     " + PROSE * 3])
def test_more_words_write_little_beside_themselves(answer, text):
    answer.text.grow(text)
    writes = Writes(answer)
    for end in range(20):
        text += "word "[end % 5]
        answer.text.grow(text)
    assert writes.count < 20 * 8


def test_what_is_told_to_have_changed_is_all_that_has(theme):
    """Only that is painted again."""
    answer, text = Answer(theme), PROSE * 2 + "\n\n" + LIST
    before = answer.document.toRawText()
    for end in range(1, len(text)):
        answer.text.grow(text[:end])
        after = answer.document.toRawText()
        at = answer.text.changed_from
        assert after.encode("utf-16-le")[: 2 * at] == before.encode("utf-16-le")[: 2 * at]
        before = after


TABLE = "| Name | Size |\n|---|---:|\n" + "".join(
    f"| file{number}.py | {number * 100} bytes |\n" for number in range(12)
)


def test_a_longer_table_is_written_a_row_at_a_time(theme, answer):
    writes = []
    answer.document.contentsChange.connect(lambda *change: writes.append(change))
    rows = []
    for end in range(1, len(TABLE), 3):
        before = len(writes)
        answer.text.grow(TABLE[:end])
        rows.append(len(writes) > before)
    assert sum(rows[len(rows) // 2 :]) < 12, "not for each word"
    assert "bytes" in answer.lines[-1]
    answer.text.finish(TABLE)
    whole = Answer(theme)
    whole.text.finish(TABLE)
    assert answer.dump() == whole.dump()


def test_a_row_that_stops_in_the_middle_is_shown_and_goes_on_from_there(answer):
    text = TABLE + "| last"
    answer.text.grow(text)
    assert answer.text.is_held
    assert "last" not in answer.lines
    answer.text.grow(text, hold=False)
    assert "last" in answer.lines
    answer.text.grow(text + " one")
    assert "last one" in answer.lines, "what was shown does not go away"
    answer.text.grow(text + " one | 1 |\n| next")
    assert answer.lines[-1] == "1"
    assert answer.text.is_held
