"""What would take longer than a frame to lay out is shown as it was written, and whole."""

import pytest

from desktop_agent.gui.transcript.document.answer import SHOWN_LIMIT
from desktop_agent.gui.transcript.document.heavy_blocks import MOST_CELLS, MOST_TOKENS
from desktop_agent.gui.transcript.document.markdown import parse
from tests.gui.transcript.test_markdown import Answer


@pytest.fixture
def answer(theme):
    return Answer(theme)


def table(columns, rows):
    head = "|".join(f"h{column}" for column in range(columns))
    lines = [f"|{head}|", "|" + "---|" * columns]
    lines += ["|".join(["", *(f"r{r}c{c}" for c in range(columns)), ""]) for r in range(rows)]
    return "\n".join(lines) + "\n"


def shown(answer, text, step=0):
    for end in range(step, len(text), step) if step else ():
        answer.text.grow(text[:end])
    answer.text.finish(text)
    return "\n".join(answer.lines)


@pytest.mark.parametrize(("columns", "rows"), [(20, 500), (8, 200), (400, 2)])
def test_a_large_table_loses_no_cell_and_is_no_table_to_lay_out(answer, columns, rows):
    text = table(columns, rows)
    seen = shown(answer, text)
    assert not answer.frames("table")
    said = "".join(text[: SHOWN_LIMIT - 100].split())
    assert "".join(seen.replace("\u200b", "").split()).startswith(said)


@pytest.mark.parametrize(("columns", "rows"), [(3, 3), (5, 30), (8, 25)])
def test_an_ordinary_table_stays_one(answer, columns, rows):
    assert (rows + 2) * columns <= MOST_CELLS
    seen = shown(answer, table(columns, rows))
    assert len(answer.frames("table")) == 1
    assert "|" not in seen


@pytest.mark.parametrize("prefix", ["", "> ", "- "])
def test_text_around_a_large_table_is_what_it_was(answer, theme, prefix):
    inside = "\n".join(f"{prefix if not n or prefix != '- ' else '  '}{line}"
                       for n, line in enumerate(table(8, 60).splitlines()))  # fmt: skip
    text = f"Before **it**.\n\n{inside}\n\nAfter _it_."
    streamed = Answer(theme)
    assert shown(answer, text) == shown(streamed, text, step=37)
    assert answer.dump() == streamed.dump()
    assert answer.lines[0] == "Before it."
    assert answer.lines[-1] == "After it."


def test_a_text_with_many_bars_that_is_no_table_is_text():
    for text in ("a | b\nc | d\n" * 300, "a | b | c\n---|---\n" + "d | e | f\n" * 300):
        assert {block.kind for block in parse(text)} == {"paragraph_open"}


@pytest.mark.parametrize(
    "text",
    [
        "\n".join("> " * (n % 10 + 1) + f"quote {n}\n>" for n in range(500)),
        "\n".join("  " * (n % 11) + f"- item {n}" for n in range(900)),
        "".join(f"> line {n}\n>\n" for n in range(MOST_TOKENS)),
        "- one\n\n"
        + "\n".join(f"  {line}" for line in (table(3, 3) + "\nx\n\n").splitlines() * 30),
    ],
    ids=["quotes", "lists", "one quote", "tables"],
)
def test_a_large_block_that_is_nested_deeply_is_shown_as_it_was_written(answer, text):
    shown(answer, text)
    assert not answer.frames("quote")
    said = "".join("".join(answer.lines).split())
    assert said == "".join(text.split())


@pytest.mark.parametrize(
    "text",
    ["> one\n> > two\n> > > three", "\n".join(f"- item {n}" for n in range(900))],
    ids=["quote", "list"],
)
def test_ordinary_nesting_and_long_lists_stay_as_they_are(text):
    assert {block.kind for block in parse(text)} <= {"blockquote_open", "bullet_list_open"}
