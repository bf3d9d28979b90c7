"""Looks by pixels whether a control with the keyboard's focus is ringed: wholly, and it alone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import (
    QAbstractItemView,
    QAbstractSpinBox,
    QApplication,
    QTextBrowser,
    QWidget,
)
from shiboken6 import isValid

from desktop_agent.gui.kit.reading_order import bring_into_sight, tab_stops
from desktop_agent.gui.transcript.cards.card import CardHeader

# Around a control, for a ring that its parent draws.
_AROUND = 4
# So much of the middle of each side is there at least: something may stand before it.
_SIDE = 0.4
# What is left of a list that is not ringed as a whole.
_REST = 8
_FRAMES = 3


@dataclass(frozen=True, slots=True)
class _Ring:
    """What changes on screen when a control gets the focus; of its box, what is drawn a side."""

    box: QRect
    sides: tuple[float, float, float, float]


def kind_of(widget: QWidget) -> str:
    """Return by what a control is known: those of one kind are drawn alike."""
    parent = widget.parent()
    inside = parent.objectName() or type(parent).__name__ if parent is not None else ""
    drawn = f"{widget.property('kind') or ''} {widget.objectName() or inside}"
    return f"{type(widget).__name__} {drawn}"


async def faults(
    window: QWidget, settle: Callable[[], Awaitable[None]], known: set[str]
) -> list[str]:
    """Give each control of a window the focus as Tab does; say which shows that badly, and how.

    One of each kind that is not `known` yet is looked at.
    """
    found: list[str] = []
    for one in tab_stops(window):
        if not isValid(one) or kind_of(one) in known or not one.isVisible():
            continue
        known.add(kind_of(one))
        # What changes by itself meanwhile, such as a clock, does so once.
        if await _fault(one, settle) and (fault := await _fault(one, settle)):
            found.append(f"{kind_of(one)} “{one.accessibleName()}”: {fault}")
    return found


async def _fault(widget: QWidget, settle: Callable[[], Awaitable[None]]) -> str:
    if isinstance(widget, QAbstractItemView) and not _row_count(widget):
        return ""
    if isinstance(widget, CardHeader):
        return ""  # it is placed anew while the conversation is laid out
    bring_into_sight(widget)
    await _without_focus(settle)
    window, place = widget.window(), _seen(widget)
    before = window.grab().toImage()
    widget.setFocus(Qt.FocusReason.TabFocusReason)
    await settle()
    if not isValid(widget) or not widget.hasFocus() or _seen(widget) != place:
        return ""  # it has gone, or it passed the focus on
    after = window.grab().toImage()
    around = place.adjusted(-_AROUND, -_AROUND, _AROUND, _AROUND) & window.rect()
    rings = [_ring(before, after, box) for box in (place, around, *_frames(widget))]
    drawn = [ring for ring in rings if ring is not None]
    if not drawn:
        return "nothing is drawn"
    if isinstance(widget, QTextBrowser):
        return "" if max(drawn[0].sides[2:]) >= _SIDE else "no line is drawn"
    closed = next((ring for ring in drawn if min(ring.sides) >= _SIDE), None)
    if closed is None:
        return f"cut off: {[[round(side, 2) for side in ring.sides] for ring in drawn]}"
    is_whole = closed.box.height() >= place.height() - _REST
    if isinstance(widget, QAbstractItemView) and _row_count(widget) > 1 and is_whole:
        return "all rows are ringed together"
    return ""


def _frames(widget: QWidget) -> Iterator[QRect]:
    """Yield what a control lies in: the message box rings all that belongs to it."""
    part = widget.parentWidget()
    for _ in range(_FRAMES):
        if part is None or part.isWindow():
            return
        yield _seen(part)
        part = part.parentWidget()


async def _without_focus(settle: Callable[[], Awaitable[None]]) -> None:
    last = QApplication.focusWidget()
    if last is not None:
        last.clearFocus()
    await settle()


def _row_count(view: QAbstractItemView) -> int:
    model = view.model()
    return model.rowCount() if model is not None else 0


def _seen(widget: QWidget) -> QRect:
    """Return the part of a widget that nothing it lies in cuts off, in its window."""
    whole = widget.parentWidget()
    if isinstance(whole, QAbstractSpinBox):
        widget = whole
    top = widget.window()
    box = QRect(widget.mapTo(top, QPoint()), widget.size())
    part = widget.parentWidget()
    while part is not None and part is not top:
        box &= QRect(part.mapTo(top, QPoint()), part.size())
        part = part.parentWidget()
    return box & top.rect()


def _ring(before: QImage, after: QImage, where: QRect) -> _Ring | None:
    changed = [
        (x, y)
        for y in range(where.top(), where.bottom() + 1)
        if _line(before, where, y) != _line(after, where, y)
        for x in range(where.left(), where.right() + 1)
        if before.pixel(x, y) != after.pixel(x, y)
    ]
    if not changed:
        return None
    left, right = min(x for x, _ in changed), max(x for x, _ in changed)
    top, bottom = changed[0][1], changed[-1][1]
    box = QRect(QPoint(left, top), QPoint(right, bottom))
    # Each side two pixels deep: of a smooth line the outer one may be too faint to differ.
    across, down = _middle(left, right), _middle(top, bottom)
    sides = (
        len({x for x, y in changed if y <= top + 1 and x in across}) / len(across),
        len({x for x, y in changed if y >= bottom - 1 and x in across}) / len(across),
        len({y for x, y in changed if x <= left + 1 and y in down}) / len(down),
        len({y for x, y in changed if x >= right - 1 and y in down}) / len(down),
    )
    return _Ring(box, sides)


def _line(image: QImage, where: QRect, y: int) -> bytes:
    line = image.copy(where.left(), y, where.width(), 1)
    return bytes(line.constBits())  # they are gone with it


def _middle(first: int, last: int) -> range:
    """Return a side without its ends, which may be round."""
    end = (last - first) // 4
    return range(first + end, last - end + 1)
