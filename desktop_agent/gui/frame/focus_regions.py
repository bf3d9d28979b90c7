"""F6: from one part of the window to the next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QAbstractButton, QApplication, QScrollArea, QWidget


def focus_neighbour(regions: Sequence[QWidget], step: int) -> None:
    """Move the focus into the next region (`step` 1) or the one before (-1)."""
    if not regions:
        return
    now = QApplication.focusWidget()
    held = next(
        (n for n, one in enumerate(regions) if now is one or (now and one.isAncestorOf(now))), -1
    )
    for tried in range(1, len(regions) + 1):
        region = regions[(held + step * tried) % len(regions)]
        target = first_focusable(region)
        if target is not None:
            target.setFocus(Qt.FocusReason.TabFocusReason)
            return


def first_focusable(region: QWidget) -> QWidget | None:
    """Return where the work of a region is: its first list, text or field, else its first button.

    "First" is as it is read. Not `nextInFocusChain()`: PySide makes what that returns a child
    of the widget that was asked, and with the end of that widget the other one's document,
    viewport and actions are taken for deleted.
    """
    controls = list(_controls(region))
    if not controls:
        return None
    is_mirrored = region.layoutDirection() == Qt.LayoutDirection.RightToLeft

    def order(control: QWidget) -> tuple[bool, int, int]:
        at = control.mapTo(region, QPoint())
        across = region.width() - at.x() - control.width() if is_mirrored else at.x()
        return isinstance(control, QAbstractButton | QScrollArea), at.y(), across

    return min(controls, key=order)


def _controls(widget: QWidget) -> Iterator[QWidget]:
    """Yield what Tab reaches in a widget, and the widget itself if it is one of them."""
    if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.isEnabled():
        yield widget
    for child in widget.children():
        if isinstance(child, QWidget) and child.isVisible() and not child.isWindow():
            yield from _controls(child)
