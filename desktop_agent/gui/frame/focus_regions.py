"""F6: from one part of the window to the next."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QWidget


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
    """Return the first control of a region that Tab would reach, in the order of Tab."""
    if _takes_focus(region):
        return region
    widget = region.nextInFocusChain()
    while widget is not None and widget is not region:
        if region.isAncestorOf(widget) and _takes_focus(widget):
            return widget
        widget = widget.nextInFocusChain()
    return None


def _takes_focus(widget: QWidget) -> bool:
    wants = widget.focusPolicy() & Qt.FocusPolicy.TabFocus
    return bool(wants) and widget.isVisible() and widget.isEnabled()
