"""Colours of code: runs of text, each with the colour token it is painted in."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import lru_cache
from time import thread_time
from typing import Any

# Longer code is shown in one colour: a lexer may take seconds on it.
_LIMIT = 60_000
# Lexers may take time with the square of the code: after this much the rest is in one colour.
_SECONDS = 0.2

# By language; none for one that can't be made. To make the first one takes 0.1 s.
_lexers: dict[str, Any] = {}
_loading: set[str] = set()


def spans(code: str, language: str) -> Iterator[tuple[str, str]]:
    """Yield the code in runs with a colour token; an empty token is the text's own colour."""
    lexer = _lexer(language) if language and len(code) <= _LIMIT else None
    if lexer is None:
        yield code, ""
        return
    spent, at = 0.0, 0
    tokens = lexer.get_tokens(code)
    while spent < _SECONDS:
        start = thread_time()
        kind, text = next(tokens, (None, ""))
        spent += thread_time() - start
        if kind is None:
            return
        at += len(text)
        yield text, _color(kind)
    yield code[at:], ""


def spans_by_line(code: str, language: str) -> Iterator[list[tuple[str, str]]]:
    """Yield the runs of each line, as the lexer comes to it."""
    line: list[tuple[str, str]] = []
    for text, token in spans(code, language):
        for number, part in enumerate(text.split("\n")):
            if number:
                yield line
                line = []
            if part:
                line.append((part, token))
    yield line


def is_ready(language: str) -> bool:
    """Whether the colours of a language cost nothing to begin with."""
    return not language or language in _lexers


def load(language: str) -> None:
    """Make a language ready on another thread."""
    if language not in _loading:
        _loading.add(language)
        threading.Thread(target=_lexer, args=(language,), name="lexer", daemon=True).start()


def _lexer(language: str) -> Any:
    if language not in _lexers:
        try:
            _lexers[language] = _make_lexer(language)
        finally:
            # A lexer that can't be made is not asked for again.
            _lexers.setdefault(language, None)
    return _lexers[language]


def _make_lexer(language: str) -> Any:
    # Many sessions show no code.
    from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType] - its options have no types
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language.split()[0].lower(), stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@lru_cache(maxsize=512)
def _color(kind: Any) -> str:
    from pygments.token import Token  # as above

    for parents, color in (
        ((Token.Comment,), "c_com"),
        ((Token.Literal.String,), "c_str"),
        ((Token.Literal.Number, Token.Keyword.Constant), "c_num"),
        ((Token.Keyword, Token.Operator.Word, Token.Name.Tag), "c_kw"),
        ((Token.Name.Function,), "c_fn"),
        ((Token.Name.Class, Token.Name.Decorator, Token.Name.Builtin), "c_cls"),
        ((Token.Generic.Inserted,), "addFg"),
        ((Token.Generic.Deleted,), "delFg"),
    ):
        if any(kind in parent for parent in parents):
            return color
    return ""
