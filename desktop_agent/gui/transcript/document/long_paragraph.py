"""Paragraphs too long to be laid out at once: cut into pieces that are read and copied as one."""

from __future__ import annotations

from collections.abc import Iterator

from desktop_agent.gui.kit.safe_text import clean, without_direction_marks
from desktop_agent.gui.transcript.document.markdown import parse

# A paragraph this long is no prose: it is shown as it was written.
WALL = 12_000
_PIECE = 3_000
# A piece ends at a space if there is one this near.
_SLACK = 200
# A line is known for a paragraph by its beginning.
_BEGINNING = 200


def is_wall(text: str) -> bool:
    """Whether the text is one paragraph, and as long as that."""
    text = text.strip("\n")
    if len(text.strip()) <= WALL or "\n\n" in text:
        return False
    blocks = parse(text[:_BEGINNING] if "\n" not in text else text)
    # A definition of a link may stand before it: that is not shown.
    return [(block.kind, block.first_line) for block in blocks] == [("paragraph_open", 0)]


def pieces(text: str, start: int) -> Iterator[tuple[int, str]]:
    """Yield the pieces from the one that begins at `start`; more text changes only the last."""
    text = clean(without_direction_marks(text)).strip()
    while len(text) - start > _PIECE:
        end = start + _PIECE
        space = max(text.rfind(" ", end - _SLACK, end), text.rfind("\n", end - _SLACK, end))
        end = space + 1 if space >= 0 else end
        yield start, text[start:end]
        start = end
    yield start, text[start:]
