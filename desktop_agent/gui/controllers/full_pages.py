"""Pages that take the room of the conversation, header and message box: one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

from desktop_agent.gui.controllers.controller import Controller, WindowParts

if TYPE_CHECKING:
    from desktop_agent.gui.kit.lists.list_page import FullPage


class FullPages(Controller):
    """Shows such a page, and leads back to what was there before."""

    def __init__(self, parts: WindowParts) -> None:
        super().__init__(parts)
        self._pages_known: list[QWidget] = []
        self._before: QWidget | None = None
        self._frame.stack.currentChanged.connect(self._on_page_changed)
        # A session that is on screen already is not shown anew by choosing it.
        self._frame.sidebar.sessions.session_chosen.connect(self.leave)
        self._frame.sidebar.new_session.clicked.connect(self.leave)

    @property
    def _is_open(self) -> bool:
        return self._frame.stack.currentWidget() in self._pages_known

    def is_shown(self, page: QWidget | None) -> bool:
        """Whether a page is in front."""
        return page is not None and self._frame.stack.currentWidget() is page

    def add(self, page: FullPage) -> None:
        """Take in a page; once."""
        page.left.connect(self.leave)
        self._pages_known.append(page)
        self._frame.stack.addWidget(page)

    def show(self, page: QWidget) -> None:
        """Bring a page that was added to the front."""
        self._frame.close_drawer()
        if not self._is_open:
            self._before = self._frame.stack.currentWidget()
        self._frame.stack.setCurrentWidget(page)

    def leave(self) -> None:
        """Go back to the conversation."""
        if not self._is_open:
            return
        self._pages.is_held = False
        before = self._before
        if before is not None and self._frame.stack.indexOf(before) >= 0:
            self._frame.stack.setCurrentWidget(before)
        # Something may have been said meanwhile, in a session that had no transcript.
        self._pages.bring(self._session.agent)
        if not self._is_open:
            self._frame.composer.focus_text()

    def _on_page_changed(self) -> None:
        is_open = self._is_open
        self._pages.is_held = is_open
        self._frame.set_full(is_open)
