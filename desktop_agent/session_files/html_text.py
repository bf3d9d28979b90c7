"""Words of people and models as HTML: Markdown, code and plain text, all of it escaped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from desktop_agent.core.prose.code_tokens import LONGEST_CODE, make_lexer, runs_of
from desktop_agent.session_files.words import clean

if TYPE_CHECKING:
    from markdown_it.token import Token

_lexer = lru_cache(maxsize=64)(make_lexer)
_SCHEMES = frozenset({"http", "https", "mailto"})
_MAX_NESTING = 24
# Longer texts are no prose.
_LONGEST = 200_000
_COLOURS = (
    ("Comment", "com"), ("String", "str"), ("Number", "num"), ("Keyword.Constant", "num"),
    ("Keyword", "kw"), ("Operator.Word", "kw"), ("Name.Tag", "kw"), ("Name.Function", "fn"),
    ("Name.Class", "cls"), ("Name.Decorator", "cls"), ("Name.Builtin", "cls"),
)  # fmt: skip


def plain(text: str) -> str:
    """Return text without keys, and without what steers a terminal or a line's direction."""
    return escape(clean(text))


def markdown(text: str) -> str:
    """Return Markdown as HTML: no HTML of its own, no picture from elsewhere, only safe links.

    Keys are taken out.
    """
    text = clean(text)
    if len(text) > _LONGEST:
        return f"<pre>{escape(text)}</pre>"
    may_link = "//" in text or "mailto:" in text.lower()
    try:
        return _rendered(_parser(may_link), text)
    except RuntimeError:
        # Its rule for bare addresses stands still at some texts.
        return _rendered(_parser(False), text)


def _rendered(parser: Any, text: str) -> str:
    tokens: Sequence[Token] = parser.parse(text)
    for token in tokens:
        for child in token.children or ():
            _make_safe(child)
    return parser.renderer.render(tokens, parser.options, {})


def _make_safe(token: Token) -> None:
    if token.type == "link_open":
        address = _safe_link(str(token.attrs.get("href", "")))
        token.attrs = {"href": address, "rel": "noopener noreferrer"} if address else {}
    elif token.type == "image":
        # A picture from elsewhere would tell who reads the file, and when.
        address = _safe_link(str(token.attrs.get("src", "")))
        said = " ".join(one for one in (token.content, f"({address})" if address else "") if one)
        token.type, token.content, token.children = "text", said, None


def _safe_link(address: str) -> str:
    try:
        scheme = urlsplit(address).scheme.lower()
    except ValueError:
        return ""
    if scheme == "mailto":
        address = re.split("[?#]", address, maxsplit=1)[0]
    return address if scheme in _SCHEMES else ""


@cache
def _parser(may_link: bool) -> Any:
    from markdown_it import MarkdownIt  # sixty modules: not before there is a text

    parser = MarkdownIt("commonmark", {"html": False, "linkify": True, "maxNesting": _MAX_NESTING})
    parser.enable(["table", "strikethrough"])
    if may_link:
        parser.enable("linkify")
        assert parser.linkify is not None
        no_guesses = {"fuzzy_link": False, "fuzzy_email": False}
        parser.linkify.set(no_guesses)
    # Every link is taken as one; which may be clicked is decided here.
    parser.validateLink = lambda url: True
    parser.add_render_rule("fence", _fence)
    return parser


def _fence(renderer: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    token = tokens[at]
    return f"<pre><code>{''.join(_coloured(token.content, token.info.strip()))}</code></pre>\n"


def _coloured(code: str, language: str) -> Iterator[str]:
    """Yield the code in runs."""
    lexer = _lexer(language) if language and len(code) <= LONGEST_CODE else None
    if lexer is None:
        yield escape(code)
        return
    for text, kind in runs_of(code, lexer):
        colour = _colour(str(kind))
        yield f'<span class="c-{colour}">{escape(text)}</span>' if colour else escape(text)


@lru_cache(maxsize=512)
def _colour(kind: str) -> str:
    name = kind.removeprefix("Token.").removeprefix("Literal.")
    return next((colour for parent, colour in _COLOURS if name.startswith(parent)), "")
