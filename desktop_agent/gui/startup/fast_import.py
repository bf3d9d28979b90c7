"""Gives Python its own `import` back, which Qt's bindings replace by one that reads sources.

They look for modules that want the spelling of names changed (`__feature__`); nothing here
does. The source of every module that is imported is read and kept: 8 MB, and a twentieth of a
start. And it is not safe with threads: the hook inspects what the module that imports holds,
which may import more, and one flag for all threads says whether that is going on. A module
with a `__getattr__` of its own then fails with an ImportError (*partially initialized module*).
"""

from __future__ import annotations

import builtins
from importlib import import_module


def restore() -> None:
    """Restore the built-in import; harmless when repeated, or when nothing was replaced."""
    try:
        import_module("PySide6.QtCore")  # what replaces it
    except ImportError:
        # A system library is missing: whoever opens a window says so.
        return
    original = getattr(builtins, "__orig_import__", None)
    if original is not None:
        builtins.__import__ = original
