"""The focus: what happens when its control goes away, Tab in reading order, F6 between parts."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QAbstractButton, QApplication, QScrollArea, QStackedWidget, QWidget

from desktop_agent.gui.composer.composer import Composer
from desktop_agent.gui.kit.reading_order import tab_stops


class FocusGuard(QObject):
    """Without it, what hides in the middle hands its focus to the sidebar's first button.

    There a key that was meant for something else would open or begin something.
    """

    def __init__(self, middle: QWidget, pages: QStackedWidget, composer: Composer) -> None:
        super().__init__(middle)
        self._middle = middle
        self._pages = pages
        self._composer = composer
        pages.currentChanged.connect(self._on_page_changed)
        app = QApplication.instance()
        if isinstance(app, QApplication):
            app.focusChanged.connect(self._on_focus_changed)

    def _on_focus_changed(self, old: QWidget | None, now: QWidget | None) -> None:
        if now is None or old is None or (old.isVisible() and old.isEnabled()):
            return
        # What the message box puts in its own place keeps the focus in there.
        kept = self._composer if self._composer.isAncestorOf(old) else self._middle
        is_outside = now.window() is kept.window() and not kept.isAncestorOf(now)
        if is_outside and kept.isAncestorOf(old):
            self._catch()

    def _on_page_changed(self) -> None:
        """A page that comes for another takes its focus; who wants it there says so."""
        page, now = self._pages.currentWidget(), QApplication.focusWidget()
        if page is not None and now is not None and (now is page or page.isAncestorOf(now)):
            self._catch()

    def _catch(self) -> None:
        if self._composer.isVisible():
            self._composer.focus_text()


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

    "First" is as it is read.
    """
    controls = list(tab_stops(region))
    work = (one for one in controls if not isinstance(one, QAbstractButton | QScrollArea))
    return next(work, controls[0] if controls else None)
