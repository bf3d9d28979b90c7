"""Markdown in the document: what it becomes, also while it still comes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtGui import QTextBlockFormat, QTextCursor, QTextDocument, QTextFormat, QTextTable

from desktop_agent.gui.transcript.document.answer import SHOWN_LIMIT, AnswerText
from desktop_agent.gui.transcript.document.copy_selection import selection_text
from desktop_agent.gui.transcript.document.highlighting import color_frame
from desktop_agent.gui.transcript.document.styles import FRAME_KIND, Styles

FULL = """# Title

A **bold** word, *slanted*, ~~gone~~ and `code`.

1. one
2. two
   - inner
   - other

     more of other

- [x] done
- [ ] open

> quoted
> text

| Name | Size |
|:-----|-----:|
| a    | 1    |
| b    | 2    |

```python
def f(x):
    return "x"
```

    indented

---

See https://example.com/x?y=1 and [words](https://example.org).
"""


class Answer:
    """One answer in a document of its own."""

    def __init__(self, theme):
        self.document = QTextDocument()
        self.document.setUndoRedoEnabled(False)
        self.styles = Styles(theme)
        self.frame = QTextCursor(self.document).insertFrame(self.styles.frame("answer"))
        self.text = AnswerText(self.frame, self.styles)

    def color(self):
        frames, self.styles.uncolored = self.styles.uncolored, []
        for frame in frames:
            color_frame(frame, self.styles)

    @property
    def blocks(self):
        found = []
        block = self.document.begin()
        while block.isValid():
            found.append(block)
            block = block.next()
        return found

    @property
    def lines(self):
        return [block.text() for block in self.blocks if block.text()]

    def block(self, text):
        return next(block for block in self.blocks if text in block.text())

    def formats(self, text):
        """Return the formats of the pieces that hold the text."""
        place, found = self.block(text).begin(), []
        while not place.atEnd():
            if text in place.fragment().text():
                found.append(place.fragment().charFormat())
            place += 1
        return found

    def frames(self, kind):
        to_visit, found = [self.document.rootFrame()], []
        while to_visit:
            frame = to_visit.pop()
            to_visit += frame.childFrames()
            if frame.frameFormat().property(FRAME_KIND) == kind:
                found.append(frame)
        return found

    def dump(self):
        """Return all that can be told of the document: texts, formats and frames."""
        self.color()
        shape = []
        for block in self.blocks:
            place, pieces = block.begin(), []
            while not place.atEnd():
                piece = place.fragment()
                char = piece.charFormat()
                pieces.append(
                    (
                        piece.text(),
                        char.font().key(),
                        char.foreground().color().name(),
                        char.anchorHref(),
                    )
                )
                place += 1
            form, listed = block.blockFormat(), block.textList()
            shape.append(
                (
                    pieces,
                    form.topMargin(),
                    form.bottomMargin(),
                    form.leftMargin(),
                    form.lineHeight(),
                    form.marker(),
                    form.headingLevel(),
                    (listed.format().style(), listed.itemNumber(block)) if listed else None,
                    _depth(QTextCursor(block).currentFrame()),
                )
            )
        return shape


def _depth(frame):
    kinds = []
    while frame is not None:
        kinds.append(frame.frameFormat().property(FRAME_KIND))
        frame = frame.parentFrame()
    return kinds


@pytest.fixture
def answer(theme):
    return Answer(theme)


@pytest.fixture
def full(answer):
    answer.text.finish(FULL)
    answer.color()
    return answer


def test_headings_and_emphasis_look_like_what_they_mean(full):
    assert full.block("Title").blockFormat().headingLevel() == 1
    assert full.formats("bold")[0].fontWeight() == 600
    assert full.formats("slanted")[0].fontItalic()
    assert full.formats("gone")[0].fontStrikeOut()
    assert full.formats("code")[0].fontFixedPitch()


def test_lists_nest_and_number(full):
    outer, inner = full.block("two"), full.block("inner")
    assert outer.textList().itemText(outer) == "2."
    assert inner.textList().format().indent() == outer.textList().format().indent() + 1
    more = full.block("more of other")
    assert more.textList() is None
    assert more.blockFormat().leftMargin() > 0


def test_tasks_have_boxes(full):
    marks = QTextBlockFormat.MarkerType
    assert full.block("done").blockFormat().marker() == marks.Checked
    assert full.block("open").blockFormat().marker() == marks.Unchecked
    assert "[x]" not in "".join(full.lines)


def test_a_quote_a_rule_and_code_have_frames_of_their_own(full):
    assert len(full.frames("quote")) == 1
    assert len(full.frames("rule")) == 1
    assert len(full.frames("code")) == 2


def test_code_is_coloured_and_reads_from_left_to_right(full, theme):
    block = full.block("def f(x)")
    assert block.blockFormat().property(QTextFormat.Property.BlockCodeLanguage) == "python"
    assert full.formats("def")[0].foreground().color() == theme.color("c_kw")
    assert full.formats("def")[0].fontFamilies()[0] == "JetBrains Mono"


def test_a_table_has_cells(full):
    tables = [f for f in full.frames("table") if isinstance(f, QTextTable)]
    assert (tables[0].rows(), tables[0].columns()) == (3, 2)
    assert tables[0].cellAt(2, 1).firstCursorPosition().block().text() == "2"


def test_bare_addresses_become_links(full):
    assert full.formats("https://example.com")[0].anchorHref() == "https://example.com/x?y=1"
    assert full.formats("words")[0].anchorHref() == "https://example.org"


def test_signs_in_cells_and_in_code_are_copied_so_that_they_stay_there(answer):
    answer.text.finish(
        "| a \\| b | c |\n|---|---|\n| `x \\| y` | z |\n\nSay `` a`b `` and `` `c` ``.\n\n"
        "````md\n```\ninner\n```\n````\n"
    )
    cursor = QTextCursor(answer.document)
    cursor.select(QTextCursor.SelectionType.Document)
    _, markdown = selection_text(cursor)
    assert "| a \\| b | c |\n| --- | --- |\n| `x \\| y` | z |" in markdown
    assert "Say ``a`b`` and `` `c` ``." in markdown
    assert "````md\n```\ninner\n```\n````" in markdown


def test_copied_markdown_says_the_same_again(full):
    cursor = QTextCursor(full.document)
    cursor.select(QTextCursor.SelectionType.Document)
    plain, markdown = selection_text(cursor)
    assert "# Title" in markdown
    assert "**bold** word, *slanted*, ~~gone~~ and `code`" in markdown
    assert "2. two\n   - inner" in markdown
    assert "- [x] done\n- [ ] open" in markdown
    assert "> quoted text" in markdown
    assert "| Name | Size |\n| --- | --- |\n| a | 1 |\n| b | 2 |" in markdown
    assert '```python\ndef f(x):\n    return "x"\n```' in markdown
    assert "See https://example.com/x?y=1 and [words](https://example.org)" in markdown
    assert "def f(x):\n    return" in plain
    assert not set(plain) & set("\ufdd0\ufdd1\u2009\u200b\u2029")


@pytest.mark.parametrize("step", [1, 3, 7, 50])
def test_streamed_text_ends_up_the_same_as_whole_text(theme, step):
    streamed, whole = Answer(theme), Answer(theme)
    for end in range(step, len(FULL) + step, step):
        streamed.text.grow(FULL[:end])
    streamed.text.finish(FULL)
    whole.text.finish(FULL)
    assert streamed.dump() == whole.dump()


_PIECES = st.sampled_from(
    [
        *("\n", "\n\n", " ", "word", "# h", "- a", "  - b", "1. c", "> q", "```py\n", "```\n"),
        *("**", "*", "`", "~~", "[x](http://a.b)", "[x](", "| a | b |\n|---|---|\n", "| 1 | 2 |\n"),
        *(
            "---\n",
            "===\n",
            "-",
            "    ",
            "![i](u)",
            "[r]: http://x.y\n",
            "[r]",
            "<b>",
            "\\",
            "\u202e",
        ),
    ]
)


@settings(max_examples=120)
@given(st.lists(_PIECES, max_size=25))
def test_any_text_streams_to_the_same_document(theme, pieces):
    streamed, whole = Answer(theme), Answer(theme)
    text = ""
    for piece in pieces:
        text += piece
        streamed.text.grow(text)
    streamed.text.finish(text)
    whole.text.finish(text)
    assert streamed.dump() == whole.dump()


def test_a_dash_under_a_line_does_not_flash_a_heading(answer):
    answer.text.grow("Some text\n-")
    assert answer.block("Some text").blockFormat().headingLevel() == 0


@pytest.mark.parametrize(
    ("text", "word"), [("say **bold", "bold"), ("say `code", "code"), ("a [link](http://x", "link")]
)
def test_unfinished_marks_are_not_shown_as_signs(answer, text, word):
    answer.text.grow(text)
    shown = "".join(answer.lines)
    assert word in shown
    assert not set("*`[](") & set(shown)


def test_the_first_line_of_a_table_is_held_back_for_a_moment(answer):
    answer.text.grow("Sizes:\n\n| a | b |")
    assert answer.text.is_held
    assert answer.lines == ["Sizes:"]
    answer.text.grow("Sizes:\n\n| a | b |", hold=False)
    assert answer.lines == ["Sizes:", "| a | b |"]


def test_long_code_grows_line_by_line(answer, theme):
    code = "\n".join(f"line {number} = {number}" for number in range(300))
    text = ""
    for line in code.split("\n"):
        text += line + "\n" if text else f"```python\n{line}\n"
        answer.text.grow(text)
    assert len(answer.frames("code")) == 1
    assert [line for line in answer.lines if line.startswith("line ")] == code.split("\n")


def test_a_long_list_streams_to_the_same_document(theme):
    streamed, whole = Answer(theme), Answer(theme)
    text = "".join(f"{n}. item {n}\n" for n in range(1, 60))
    for end in range(10, len(text), 10):
        streamed.text.grow(text[:end])
    assert streamed.lines[:50] == [f"item {n}" for n in range(1, 51)]
    first = streamed.block("item 40")
    assert first.textList().itemText(first) == "40."
    streamed.text.finish(text)
    whole.text.finish(text)
    assert streamed.dump() == whole.dump()


@pytest.mark.parametrize("word", ["word ", "**bold** and `code` ", "x", "line\n"])
def test_a_huge_paragraph_streams_to_the_same_document(theme, word):
    streamed, whole = Answer(theme), Answer(theme)
    text = f"Begin.\n\n{word * (20_000 // len(word))}"
    for end in range(500, len(text), 500):
        streamed.text.grow(text[:end])
        assert max(len(line) for line in streamed.lines) < 8_000
    text += "\n\nThe end."
    streamed.text.grow(text)
    assert streamed.lines[-1] == "The end."
    streamed.text.finish(text)
    whole.text.finish(text)
    assert streamed.dump() == whole.dump()


def test_a_finished_answer_is_not_written_twice(answer):
    text = "One.\n\n- [x] done\n- [ ] open\n\n> said\n\n```python\nx = 1\n```\n"
    for end in range(1, len(text) + 1):
        answer.text.grow(text[:end])
    changes = []
    answer.document.contentsChange.connect(lambda *change: changes.append(change))
    answer.text.finish(text)
    assert changes == []


def test_a_message_of_a_megabyte_is_cut_with_a_way_to_the_rest(answer):
    answer.text.finish("x" * 1_000_000)
    assert len("".join(answer.lines)) < SHOWN_LIMIT * 1.1
    assert any(form.anchorHref() == "app:show-all" for form in answer.formats("Show all"))


def test_endless_words_can_be_broken(answer):
    answer.text.finish("y" * 5_000)
    assert max(len(part) for part in answer.lines[0].split("\u200b")) <= 1_000
