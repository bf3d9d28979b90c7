"""Catches the focus of a control that goes away: the next words are for the message box."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication, QStackedWidget, QWidget

from desktop_agent.gui.composer.composer import Composer


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
        is_outside = now.window() is self._middle.window() and not self._middle.isAncestorOf(now)
        if is_outside and self._middle.isAncestorOf(old):
            self._catch()

    def _on_page_changed(self) -> None:
        """A page that comes for another takes its focus; who wants it there says so."""
        page, now = self._pages.currentWidget(), QApplication.focusWidget()
        if page is not None and now is not None and (now is page or page.isAncestorOf(now)):
            self._catch()

    def _catch(self) -> None:
        if self._composer.isVisible():
            self._composer.focus_text()
