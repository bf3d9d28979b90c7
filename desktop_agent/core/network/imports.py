"""Imports of what the network needs, without what comes along and is not used."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any


def import_without(name: str, *absent: str) -> Any:
    """Import a module as if others were not installed, and return it.

    Those are found again afterwards. What is loaded already is left as it is.
    """
    hidden = [other for other in absent if other not in sys.modules]
    if name in sys.modules or len(hidden) < len(absent):
        return import_module(name)
    loaded: dict[str, Any] = sys.modules
    for other in hidden:
        loaded[other] = None  # what makes an import fail
    try:
        return import_module(name)
    finally:
        for other in hidden:
            # Another thread that imported the same may have done it.
            if loaded.get(other) is None:
                loaded.pop(other, None)


def import_httpx() -> None:
    """Import httpx as a library.

    Its command line takes rich, click and Pygments along, and HTTP/2, which nothing here speaks,
    a parser: 7 MB and 40 ms.
    """
    import_without("httpcore", "h2")
    import_without("httpx", "httpx._main")
