"""HTML to Markdown: what a reader sees, without scripts, styles and forms."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from urllib.parse import urljoin

_HIDDEN = {"script", "style", "noscript", "template", "svg", "iframe", "object", "select"}
_BLOCKS = {
    "p", "div", "section", "article", "main", "header", "footer", "nav", "aside", "form", "figure",
    "figcaption", "table", "tr", "dl", "dt", "dd", "address", "details", "summary", "ul", "ol",
    "body", "fieldset", "blockquote", "thead", "tbody",
}  # fmt: skip
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*", "del": "~~", "s": "~~"}
_DEEPEST_LIST = 8
# Browsers go on at half of it as if nothing were nested any more.
_DEEPEST = 1_000
_PIECE = 4_096


def markdown_of(html: str, address: str) -> str:
    """Return the text of a page as Markdown, its links made whole."""
    from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]  # 5 MB: not before

    reader = _Reader(address)
    parser = etree.HTMLParser(target=reader, encoding="utf-8")
    content = html.encode("utf-8", "replace")
    with contextlib.suppress(_TooDeep):
        # The parser reads all that it was fed, also when it was told to stop.
        for at in range(0, len(content) or 1, _PIECE):
            parser.feed(content[at : at + _PIECE])
        parser.close()
    return reader.markdown()


class _TooDeep(Exception):
    """To find what an end tag closes, the parser goes through all that is open."""


class _Reader:
    """Writes Markdown of the tags as the parser balances them: each start has its end."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._pieces: list[str] = []
        self._title: list[str] = []
        self._depth = 0
        self._hidden_at = 0
        self._in_title = False
        self._pre = 0
        self._lists: list[int] = []
        self._links: list[str] = []
        self._cells = 0
        self._cell_starts: list[int] = []

    def markdown(self) -> str:
        lines = "".join(self._pieces).split("\n")
        text = re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip(" \t") for line in lines)).strip()
        title = " ".join("".join(self._title).split())
        has_heading = text.startswith("# ")
        return f"# {title}\n\n{text}".strip() if title and not has_heading else text

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            self._add("\n\n[The page is nested too deep; the rest is left out.]")
            raise _TooDeep
        if self._hidden_at:
            return
        if tag in _HIDDEN:
            self._hidden_at = self._depth
        elif tag == "title":
            self._in_title = not self._title
        elif tag in {"a", "img"}:
            self._start_reference(tag, attributes)
        elif tag == "base":
            self._address = _joined(self._address, attributes.get("href", "")) or self._address
        else:
            self._start(tag)
            self._count_from(tag, attributes)

    def end(self, tag: str) -> None:
        self._depth -= 1
        if self._hidden_at:
            if self._depth < self._hidden_at:
                self._hidden_at = 0
        elif tag == "title":
            self._in_title = False
        elif tag == "a":
            target = self._links.pop()
            self._add(f"]({target})" if target else "")
        else:
            self._end(tag)

    def _count_from(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Take the number with which a list begins: others speak of its items by number."""
        start = attributes.get("start", "").strip()
        if tag == "ol" and start.isascii() and start.isdigit():
            self._lists[-1] = int(start[:9]) or 1

    def close(self) -> None:
        """Called by the parser at the end of the page."""

    def _start(self, tag: str) -> None:
        if tag in _HEADINGS:
            self._add(f"\n\n{_HEADINGS[tag]} ")
        elif tag in _MARKS and not self._pre:
            self._add(_MARKS[tag])
        elif tag == "sup":
            self._add("^")  # 10 to the 6th is not 106
        elif tag in {"pre", "code"}:
            self._start_code(tag)
        elif tag in {"ul", "ol", "li", "td", "th"}:
            self._start_item(tag)
        elif tag in {"br", "hr"}:
            self._add("\n" if tag == "br" else "\n\n---\n\n")
        elif tag in _BLOCKS:
            if tag in {"table", "tr"}:
                self._cells = 0
            self._add("\n" if tag == "tr" else "\n\n")

    def _end(self, tag: str) -> None:
        if tag in _MARKS and not self._pre:
            self._add(_MARKS[tag])
        elif tag == "pre":
            self._pre -= 1
            self._add("\n```\n\n")
        elif tag == "code" and not self._pre:
            self._add("`")
        elif tag in {"td", "th"}:
            self._end_cell()
        elif tag in {"ul", "ol"}:
            self._lists.pop()
            self._add("\n" if self._lists else "\n\n")
        elif tag in _HEADINGS or (tag in _BLOCKS and tag != "tr"):
            self._add("\n\n")

    def data(self, text: str) -> None:
        if self._hidden_at:
            return
        if self._in_title:
            self._title.append(text)
        elif self._pre:
            self._add(text)
        else:
            text = re.sub(r"\s+", " ", text)
            # The parser may cut a text anywhere.
            is_apart = not self._pieces or self._pieces[-1].endswith(("\n", " "))
            self._add(text.lstrip() if is_apart else text)

    def _start_reference(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "img":
            if words := " ".join(attributes.get("alt", "").split()):
                self._add(f"[image: {words}]")
            return
        target = attributes.get("href", "").strip()
        if target.startswith(("#", "javascript:", "data:")):
            target = ""
        whole = _joined(self._address, target)
        self._links.append(whole)
        self._add("[" if whole else "")

    def _start_code(self, tag: str) -> None:
        if tag == "pre":
            self._pre += 1
            self._add("\n\n```\n")
        elif not self._pre:
            self._add("`")

    def _start_item(self, tag: str) -> None:
        if tag in {"ul", "ol"}:
            self._lists.append(0 if tag == "ul" else 1)
            self._add("\n" if len(self._lists) > 1 else "\n\n")
        elif tag == "li":
            indent = "  " * min(len(self._lists) - 1, _DEEPEST_LIST)
            number = self._lists[-1] if self._lists else 0
            if number:
                self._lists[-1] += 1
            self._add(f"\n{indent}{f'{number}.' if number else '-'} ")
        else:
            self._add(" | " if self._cells else "")
            self._cells += 1
            self._cell_starts.append(len(self._pieces))

    def _end_cell(self) -> None:
        """Keep a cell of one paragraph in its row; what lays out a page in cells stays as it is."""
        start = self._cell_starts.pop()
        text = "".join(self._pieces[start:]).strip()
        if "\n" not in text:
            self._pieces[start:] = [text] if text else []

    def _add(self, text: str) -> None:
        if text:
            self._pieces.append(text)


def _joined(address: str, target: str) -> str:
    try:
        return urljoin(address, target).replace(" ", "%20").replace(")", "%29") if target else ""
    except ValueError:
        return ""
