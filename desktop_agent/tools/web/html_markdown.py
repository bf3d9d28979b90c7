"""HTML to Markdown: what a reader sees, without scripts, styles and forms."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import urljoin

_HIDDEN = {"script", "style", "noscript", "template", "svg", "head", "iframe", "object", "select"}
_BLOCKS = {
    "p", "div", "section", "article", "main", "header", "footer", "nav", "aside", "form", "figure",
    "figcaption", "table", "tr", "dl", "dt", "dd", "address", "details", "summary", "ul", "ol",
    "body", "fieldset", "blockquote", "thead", "tbody",
}  # fmt: skip
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*", "del": "~~", "s": "~~"}
_DEEPEST_LIST = 8


def markdown_of(html: str, address: str) -> str:
    """Return the text of a page as Markdown, its links made whole."""
    reader = _Reader(address)
    reader.feed(html)
    reader.close()
    return reader.markdown()


class _Reader(HTMLParser):
    """Writes Markdown while it reads; unbalanced tags only cost their own formatting."""

    def __init__(self, address: str) -> None:
        super().__init__(convert_charrefs=True)
        self._address = address
        self._pieces: list[str] = []
        self._title: list[str] = []
        self._hidden = ""
        self._hidden_depth = 0
        self._in_title = False
        self._pre = 0
        self._lists: list[int] = []
        self._links: list[str] = []
        self._cells = 0

    def markdown(self) -> str:
        text = "".join(self._pieces)
        text = re.sub(r"[ \t]+\n", "\n", text)
        text = re.sub(r"\n{3,}", "\n\n", text).strip()
        title = " ".join("".join(self._title).split())
        has_heading = text.lstrip().startswith("# ")
        return f"# {title}\n\n{text}".strip() if title and not has_heading else text

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title" and not self._title:
            self._in_title = True
        if self._hidden:
            self._hidden_depth += tag == self._hidden
        elif tag in _HIDDEN:
            self._hidden, self._hidden_depth = tag, 1
        elif tag in {"a", "img"}:
            self._start_reference(tag, {name: value or "" for name, value in attrs})
        else:
            self._start(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        if self._hidden:
            self._hidden_depth -= tag == self._hidden
            if self._hidden_depth == 0:
                self._hidden = ""
        elif tag == "a":
            target = self._links.pop() if self._links else ""
            self._add(f"]({target})" if target else "")
        else:
            self._end(tag)

    def _start(self, tag: str) -> None:
        if tag in _HEADINGS:
            self._add(f"\n\n{_HEADINGS[tag]} ")
        elif tag in _MARKS and not self._pre:
            self._add(_MARKS[tag])
        elif tag in {"pre", "code"}:
            self._start_code(tag)
        elif tag in {"ul", "ol", "li", "td", "th"}:
            self._start_item(tag)
        elif tag in {"br", "hr"}:
            self._add("\n" if tag == "br" else "\n\n---\n\n")
        elif tag in _BLOCKS:
            self._cells = 0
            self._add("\n" if tag == "tr" else "\n\n")

    def _end(self, tag: str) -> None:
        if tag in _MARKS and not self._pre:
            self._add(_MARKS[tag])
        elif tag == "pre" and self._pre:
            self._pre -= 1
            self._add("\n```\n\n")
        elif tag == "code" and not self._pre:
            self._add("`")
        elif tag in {"ul", "ol"}:
            if self._lists:
                self._lists.pop()
            self._add("\n" if self._lists else "\n\n")
        elif tag in _HEADINGS or (tag in _BLOCKS and tag != "tr"):
            self._add("\n\n")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self._title.append(data)
        if self._hidden or self._in_title:
            return
        if self._pre:
            self._add(data)
            return
        text = re.sub(r"\s+", " ", data)
        if text == " " and (not self._pieces or self._pieces[-1].endswith(("\n", " "))):
            return
        if self._pieces and self._pieces[-1].endswith("\n"):
            text = text.lstrip()
        self._add(text)

    def _start_reference(self, tag: str, attributes: dict[str, str]) -> None:
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

    def _add(self, text: str) -> None:
        if text:
            self._pieces.append(text)


def _joined(address: str, target: str) -> str:
    try:
        return urljoin(address, target).replace(" ", "%20").replace(")", "%29") if target else ""
    except ValueError:
        return ""
