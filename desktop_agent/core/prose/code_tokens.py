"""Code as the lexers of Pygments read it: in runs of a kind."""

from __future__ import annotations

from collections.abc import Iterator
from time import thread_time
from typing import Any

# Longer code is left as it is: a lexer may take seconds on it.
LONGEST_CODE = 60_000
# Lexers may take time with the square of the code: after this much the rest is left as it is.
_SECONDS = 0.2


# Any: many sessions show no code, so Pygments is imported with the first lexer.
def make_lexer(language: str) -> Any:
    """Return the lexer of a language, or None. To make the first one takes 0.1 s."""
    from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType] - its options have no types
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language.split()[0].lower(), stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def runs_of(code: str, lexer: Any) -> Iterator[tuple[str, Any]]:
    """Yield the code in runs, each with its token type; of what is left as it is that is None."""
    spent, at, tokens = 0.0, 0, lexer.get_tokens(code)
    while spent < _SECONDS:
        start = thread_time()
        kind, text = next(tokens, (None, ""))
        spent += thread_time() - start
        if kind is None:
            return
        at += len(text)
        yield text, kind
    yield code[at:], None
