"""Gives Python its own `import` back, which Qt's bindings replace by one that reads sources.

They look for modules that want the spelling of names changed (`__feature__`): the source of
every module that is imported is read and kept: 8 MB, and a twentieth of a start.
Nothing here wants that.
"""

from __future__ import annotations

import builtins

import PySide6.QtCore  # noqa: F401 - what replaces it


def restore() -> None:
    """Import as ever from here on; harmless when repeated, or when nothing was replaced."""
    original = getattr(builtins, "__orig_import__", None)
    if original is not None:
        builtins.__import__ = original
