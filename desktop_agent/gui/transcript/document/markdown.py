"""Markdown as blocks of tokens: what is final while text still comes, and what is not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from desktop_agent.gui.kit.safe_text import clean, without_direction_marks
from desktop_agent.gui.transcript.document.heavy_blocks import add_rule, as_written, is_heavy

if TYPE_CHECKING:  # the parser is loaded with the first text to parse
    from markdown_it.token import Token

_LINK_SCHEMES = frozenset({"http", "https", "mailto"})
# More than this nesting is a trick, not a text.
_MAX_NESTING = 24
# Of a longer list that still comes, only the end is written again and again.
_LONG_LIST = 12
# Lines of a table that is written again with each word of its last row.
_SHORT_TABLE = 5
# A definition of a link, and the line below a heading, change what stands before them.
_FAR_EFFECT = re.compile(r"\]:|(?<=[^\n])\n[ >\t]*(?:=+|-+)[ \t]*(?:\n|\Z)")
# A paragraph this long is no prose: it is shown as it was written.
LONG_PARAGRAPH = 12_000
_PIECE = 3_000
# A piece ends at a space if there is one this near.
_SLACK = 200
# A line is known for a paragraph by its beginning.
_BEGINNING = 200
_TASK = re.compile(r"\[([ xX])\]\s+")


class Block(msgspec.Struct, frozen=True):
    """One top-level block: its tokens, and the lines of the source it stands on.

    `is_continued`: it is the beginning of a long list whose rest comes as another block.
    """

    tokens: tuple[Token, ...]
    first_line: int
    last_line: int
    is_continued: bool = False

    @property
    def kind(self) -> str:
        """The type of the first token, such as `fence` or `paragraph_open`."""
        return self.tokens[0].type

    def end(self, text: str) -> int:
        """Return where the block ends in the text that was parsed."""
        at = 0
        for _ in range(self.last_line):
            at = text.find("\n", at) + 1
            if not at:
                return len(text)
        return at

    @property
    def signature(self) -> tuple[object, ...]:
        """Equal for blocks that look the same."""
        return (self.is_continued, *(_shape(token) for token in self.tokens))


class Split(msgspec.Struct, frozen=True):
    """Blocks that later text can't change, the rest of the source, and its blocks if known."""

    final: tuple[Block, ...]
    rest: str
    last: tuple[Block, ...] | None = None


def parse(text: str, *, is_whole: bool = True) -> tuple[Block, ...]:
    """Return the top-level blocks. Of a text that still comes, a last `-` makes no heading."""
    # To look for bare addresses takes a sixth of the time, and few texts have any.
    may_link = "//" in text or "mailto:" in text.lower()
    try:
        return tuple(_blocks(_parser(is_whole, may_link).parse(text), text))
    except RuntimeError:
        # Its rule for bare addresses stands still at some texts, such as `a[//b.c://`.
        return tuple(_blocks(_parser(is_whole, False).parse(text), text))


def get_ready() -> None:
    """Load the parser; may be called on another thread."""
    for is_whole in (True, False):
        parse("-", is_whole=is_whole)
        parse("//", is_whole=is_whole)


def split_open(text: str) -> Split:
    """Return what is final of a text that still comes, and what is not."""
    blocks = parse(text, is_whole=False)
    if not blocks:
        return Split((), text, ())
    line = _last_item_line(blocks[-1])
    if line:
        rest = _from_line(text, line)
        begun = parse(text[: len(text) - len(rest)], is_whole=False)
        return Split((*begun[:-1], replace(begun[-1], is_continued=True)), rest)
    if len(blocks) < 2:
        return Split((), text, blocks)
    return Split(blocks[:-1], _from_line(text, blocks[-1].first_line))


def has_far_effects(text: str) -> bool:
    """Whether something in the text may have changed blocks that were final before it came."""
    return _FAR_EFFECT.search(text) is not None


def closed(tail: str) -> str:
    """Return the text with unfinished emphasis, code and links closed, as they will likely be."""
    if open_fence(tail) is not None:
        return tail
    line_start = tail.rfind("\n\n") + 2 if "\n\n" in tail else 0
    last = tail[line_start:]
    if last.lstrip().startswith(("```", "~~~")):
        return tail
    return tail[:line_start] + _without_open_link(_with_closed_marks(last))


def open_fence(tail: str) -> tuple[str, str] | None:
    """Return the language and the code so far, when the tail is one fence without its end."""
    found = re.match(r" {0,3}(`{3,}+|~{3,}+)([^\n`]*)\n", tail)
    if found is None:
        return None
    mark, info, code = found[1], found[2].strip(), tail[found.end() :]
    ends = re.compile(rf"^ {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*$", re.MULTILINE)
    return None if ends.search(code) else (info, code)


def is_undecided(tail: str) -> bool:
    """Whether the tail may be the first line of a table: better held back for a moment."""
    return tail.lstrip().startswith("|") and "\n" not in tail.strip()


def whole_rows(tail: str) -> str:
    """Return a table that still comes without its last row, unless that is complete.

    A table is laid out and painted as a whole: a short one for each word, a longer one for
    each row. Anything else is returned as it is.
    """
    if not tail.startswith("|") or tail.count("\n") < _SHORT_TABLE:
        return tail
    return tail[: tail.rfind("\n") + 1]


def safe_link(address: object) -> str:
    """Return the address if it may be clickable, else nothing.

    One for mail loses its query: there are mail programs that attach the files it names.
    """
    if not isinstance(address, str):
        return ""
    plain = address.strip()
    try:
        scheme = urlsplit(plain).scheme.lower()
    except ValueError:
        return ""
    if scheme == "mailto":
        plain = re.split("[?#]", plain, maxsplit=1)[0]
    return plain if scheme in _LINK_SCHEMES else ""


def task_mark(text: str) -> tuple[bool | None, str]:
    """Return whether a list item is a done or an open task (None: no task), and its text."""
    found = _TASK.match(text)
    if found is None:
        return None, text
    return found[1] != " ", text[found.end() :]


def is_long_paragraph(text: str) -> bool:
    """Whether the text is one paragraph, and as long as that."""
    text = text.strip("\n")
    if len(text.strip()) <= LONG_PARAGRAPH or "\n\n" in text:
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


@cache
def _parser(is_whole: bool, may_link: bool) -> Any:  # of the module that is imported here
    from markdown_it import MarkdownIt  # sixty modules: not before there is a text

    parser = MarkdownIt("commonmark", {"html": False, "linkify": True, "maxNesting": _MAX_NESTING})
    parser.enable(["table", "strikethrough", "linkify"])
    assert parser.linkify is not None
    no_guesses = {"fuzzy_link": False, "fuzzy_email": False}
    parser.linkify.set(no_guesses)  # pyright: ignore[reportUnknownMemberType] - it has no types
    # Every link is taken as one; the writer decides which may be clicked.
    parser.validateLink = lambda url: True
    add_rule(parser)
    if not is_whole:
        parser.disable("lheading")
    if not may_link:
        parser.disable("linkify")
    return parser


def _last_item_line(block: Block) -> int:
    """Return where the last item of a long list begins; 0 for anything else."""
    items = [
        token.map[0]
        for token in block.tokens
        if token.type == "list_item_open" and token.level == 1 and token.map
    ]
    return items[-1] if len(items) > _LONG_LIST else 0


def _blocks(tokens: list[Token], text: str) -> Iterator[Block]:
    run: list[Token] = []
    for token in tokens:
        run.append(token)
        if token.level == 0 and token.nesting <= 0 and not token.hidden:
            lines = run[0].map or [0, 0]
            if is_heavy(run):
                run = [as_written(run, text)]
            yield Block(tuple(run), lines[0], lines[1])
            run = []


def _from_line(text: str, line: int) -> str:
    at = 0
    for _ in range(line):
        at = text.index("\n", at) + 1
    return text[at:]


def _shape(token: Token) -> tuple[object, ...]:
    children = tuple(_shape(child) for child in token.children or ())
    attributes = tuple(token.attrs.items())
    content = "" if children else token.content
    return (token.type, token.tag, token.hidden, token.info, content, attributes, children)


def _with_closed_marks(text: str) -> str:
    ticks = re.findall(r"(?<!`)`(?!`)", text)
    if len(ticks) % 2:
        return text.rstrip("`") if text.endswith("`") else text + "`"
    plain = re.sub(r"`[^`]*`", "", text)
    endings = ""
    for mark in ("**", "__", "~~"):
        if plain.count(mark) % 2:
            if text.rstrip().endswith(mark):
                return text.rstrip()[: -len(mark)]
            endings = mark + endings
            plain = plain.replace(mark, "", 1)
    single = re.findall(r"(?<![\*\w\s])\*(?!\*)|(?<!\*)\*(?=[^\s\*])", plain.replace("**", ""))
    if len(single) % 2 and not endings:
        endings = "*"
    return text.rstrip() + endings if endings else text


def _without_open_link(text: str) -> str:
    """Show a link whose address still comes as its words alone."""
    found = re.search(r"!?\[([^\[\]\n]*)\]\([^()\s]*$", text)
    return text if found is None else text[: found.start()] + found[1]
