"""Loads Qt's bindings without what they bring along and nothing here uses.

They replace Python's own `import` by one that reads sources, to look for modules that want the
spelling of names changed (`__feature__`). The source of every module that is imported is read
and kept: 8 MB, and a twentieth of a start. And it is not safe with threads: the hook inspects
what the module that imports holds, which may import more, and one flag for all threads says
whether that is going on. A module with a `__getattr__` of its own then fails with an
ImportError (*partially initialized module*).
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

# Writes type stubs, for a command line that nothing here calls. With argparse and the patterns
# that it compiles it takes 10 ms of each start.
_STUB_WRITER = "shibokensupport.signature.lib.pyi_generator"


class _EmptyStubWriter:
    """Finds that module, and finds it empty.

    A finder and not an entry in `sys.modules`: the bindings empty that while they are loaded.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        # A package without a place of its own needs no loader.
        return ModuleSpec(fullname, None, is_package=True) if fullname == _STUB_WRITER else None


def restore() -> None:
    """Load Qt, and restore the built-in import; harmless when repeated."""
    finder = _EmptyStubWriter()
    sys.meta_path.insert(0, finder)
    try:
        import_module("PySide6.QtCore")  # what replaces it
    except ImportError:
        # A system library is missing: whoever opens a window says so.
        return
    finally:
        sys.meta_path.remove(finder)
    original = getattr(builtins, "__orig_import__", None)
    if original is not None:
        builtins.__import__ = original
