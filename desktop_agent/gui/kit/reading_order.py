"""Tab in the order in which the controls are read, whichever was made first.

Qt's own chain is in the order of making, and `QWidget.setTabOrder` cuts parts off from it that
then can't be reached. Nor are `nextInFocusChain()` and `focusProxy()` of use: PySide makes what
they return a child of the widget that was asked, and with the end of that widget the other one's
document, viewport and actions are taken for deleted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QScrollArea,
    QScrollBar,
    QTextEdit,
    QWidget,
)

_Placed = tuple[QRect, list[QWidget]]
# So much is seen of what is around a control.
_MARGIN = 50


def focus_next(window: QWidget, *, is_forward: bool) -> bool:
    """Move the focus to the control that is read next, or before; round at the ends."""
    now = QApplication.focusWidget()
    stops = tab_stops(window, now)
    if not stops or stops == [now]:
        return False
    step = 1 if is_forward else -1
    start = -1 if is_forward else 0
    place = stops.index(now) if now is not None and now in stops else start
    reason = Qt.FocusReason.TabFocusReason if is_forward else Qt.FocusReason.BacktabFocusReason
    target = stops[(place + step) % len(stops)]
    target.setFocus(reason)
    bring_into_sight(target)
    return True


def bring_into_sight(target: QWidget) -> None:
    """Scroll the areas that a control is in until all of it can be seen.

    `ensureWidgetVisible` would be content with a box of numbers whose caret is seen.
    """
    part = target.parentWidget()
    while part is not None and not part.isWindow():
        if isinstance(part, QScrollArea | QTextEdit):
            view = part.viewport()
            box = QRect(target.mapTo(view, QPoint()), target.size())
            _scroll(part.horizontalScrollBar(), box.left(), box.right(), view.width())
            _scroll(part.verticalScrollBar(), box.top(), box.bottom(), view.height())
        part = part.parentWidget()


def _scroll(bar: QScrollBar, first: int, last: int, room: int) -> None:
    """Move by no more than is needed; of what is too large the beginning is seen."""
    beyond = max(0, last + _MARGIN - room)
    bar.setValue(bar.value() + min(beyond, max(0, first - _MARGIN)) - max(0, _MARGIN - first))


def tab_stops(widget: QWidget, now: QWidget | None = None) -> list[QWidget]:
    """Return what Tab reaches in a widget that is shown, as it is read; `now` in any case."""
    is_stop = widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.isEnabled()
    stops = [widget] if widget is now or (is_stop and not _is_inner(widget)) else []
    parts: list[_Placed] = []
    for child in widget.children():
        if isinstance(child, QWidget) and child.isVisible() and not child.isWindow():
            inside = tab_stops(child, now)
            if inside:
                parts.append((child.geometry(), inside))
    if widget.layoutDirection() == Qt.LayoutDirection.RightToLeft:
        parts = [(_mirrored(box, widget.width()), inside) for box, inside in parts]
    for inside in _read(parts):
        stops += inside
    return stops


def _is_inner(widget: QWidget) -> bool:
    """Whether it passes the focus on to what it is in. Not `focusProxy()`: see the top."""
    whole = widget.parent()
    if isinstance(whole, QAbstractScrollArea):
        return whole.viewport() is widget
    return isinstance(whole, QAbstractSpinBox | QComboBox)


def _mirrored(box: QRect, width: int) -> QRect:
    return QRect(width - box.x() - box.width(), box.y(), box.width(), box.height())


def _read(parts: Sequence[_Placed]) -> Iterator[list[QWidget]]:
    """Yield the parts by lines from the top, and a line by its columns from its beginning."""
    if len(parts) < 2:
        yield from (inside for _, inside in parts)
        return
    for is_line in (True, False):
        groups = _split(parts, is_line=is_line)
        if len(groups) > 1:
            for group in groups:
                yield from _read(group)
            return
    # They overlap: by where they begin.
    for _, inside in sorted(parts, key=lambda part: (part[0].x(), part[0].y())):
        yield inside


def _split(parts: Sequence[_Placed], *, is_line: bool) -> list[list[_Placed]]:
    """Divide the parts where nothing stands across, from the top or from the beginning."""

    def span(part: _Placed) -> tuple[int, int]:
        box = part[0]
        return (box.top(), box.bottom()) if is_line else (box.left(), box.right())

    groups: list[list[_Placed]] = []
    end = 0
    for part in sorted(parts, key=span):
        first, last = span(part)
        if groups and first <= end:
            groups[-1].append(part)
            end = max(end, last)
        else:
            groups.append([part])
            end = last
    return groups
