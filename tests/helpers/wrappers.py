"""What the bindings hold of Qt's objects: a wrapper may hang only on an ancestor of its object.

PySide makes what some calls return a child of the object that was asked. When that object goes,
all that hangs on it is taken for deleted, though it lives.
"""

from __future__ import annotations

import gc
import re

import shiboken6
from PySide6.QtCore import QObject
from PySide6.QtGui import QActionGroup, QScreen
from PySide6.QtWidgets import QButtonGroup

_HOLDER = re.compile(r"^parent\.+ <.* at 0x([0-9a-f]+)>", re.MULTILINE)


def misplaced() -> list[str]:
    """Return the wrappers that hang on an object which is none of their object's ancestors."""
    living = {id(one): one for one in gc.get_objects() if isinstance(one, QObject)}
    found = []
    for one in living.values():
        holder = _holder(one, living)
        if holder is not None and shiboken6.isValid(one) and not _may_hold(holder, one):
            found.append(f"{one!r} hangs on {holder!r}")
    return found


def _holder(one: QObject, living: dict[int, QObject]) -> QObject | None:
    told = _HOLDER.search(shiboken6.dump(one))
    return living.get(int(told[1], 16)) if told else None


def _may_hold(holder: QObject, one: QObject) -> bool:
    if isinstance(one, QScreen):  # nothing keeps one; each call gives another wrapper
        return True
    if isinstance(holder, QButtonGroup | QActionGroup):
        return True  # both are made in one form, and go with it
    above = QObject.parent(one)  # an item model has a `parent` of its own
    while above is not None and above is not holder:
        above = QObject.parent(above)
    return above is holder
