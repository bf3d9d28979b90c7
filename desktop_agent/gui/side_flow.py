"""The panel beside the conversation: made when there is first something to show in it."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QObject

from desktop_agent.core.events import Event, ListChanged, SessionOpened
from desktop_agent.gui.bridge import Bridge
from desktop_agent.gui.session_flow import SessionFlow
from desktop_agent.gui.session_pages import SessionPages
from desktop_agent.gui.theme import Theme
from desktop_agent.gui.window_frame import WindowFrame
from desktop_agent.gui.window_state import WindowState


class SideFlow(QObject):
    """Feeds the panel with the session that is shown, and turns its wishes into commands."""

    def __init__(
        self,
        theme: Theme,
        frame: WindowFrame,
        bridge: Bridge,
        pages: SessionPages,
        flow: SessionFlow,
        state: WindowState,
    ) -> None:
        super().__init__(frame)
        self._theme = theme
        self._frame = frame
        self._bridge = bridge
        self._pages = pages
        self._flow = flow
        self._opened: SessionOpened | None = None
        self._panel: Any = None
        self._is_asked_for = False
        frame.set_side(has_content=False, is_wanted=state.has_side)
        frame.side_toggled.connect(state.remember_side)

    def apply(self, event: Event) -> None:
        """Follow the session that is shown."""
        if isinstance(event, SessionOpened):
            self._opened = event
            self._is_asked_for = False
        if self._panel is None and self._opened is not None and _has_content(event):
            self._make(self._opened)
        if self._panel is not None:
            self._panel.apply(event)
            self._show()

    def toggle(self) -> None:
        """Show or hide the panel; an empty one comes with its field for a first task."""
        if self._panel is None or not self._panel.has_content:
            self.add_task()
        else:
            self._frame.toggle_side()

    def add_task(self) -> None:
        """Show the panel and begin to add a task."""
        if self._opened is None:
            return
        if self._panel is None:
            self._make(self._opened)
        assert self._panel is not None
        self._is_asked_for = True
        self._show(is_wanted=True)
        self._panel.tasks.tasks.focus_add()

    def _make(self, opened: SessionOpened) -> None:
        # Lists, graph and tree are no part of the first paint.
        from desktop_agent.gui.right_panel import RightPanel

        self._panel = panel = RightPanel(self._theme, self._frame)
        self._frame.add_side(panel)
        panel.filled.connect(lambda _: self._show())
        panel.tasks.edited.connect(lambda edit: self._flow.tell("edit_tasks", edit))
        panel.tasks.jump_requested.connect(self._jump)
        panel.apply(opened)

    def _show(self, *, is_wanted: bool | None = None) -> None:
        has_content = self._panel.has_content or self._is_asked_for
        self._frame.set_side(has_content=has_content, is_wanted=is_wanted)

    def _jump(self, call_id: str) -> None:
        page = self._pages.page(self._flow.current)
        if page is not None and call_id:
            page.show_call(call_id)


def _has_content(event: Event) -> bool:
    if isinstance(event, SessionOpened):
        return any(one.tasks for one in event.lists)
    return isinstance(event, ListChanged) and bool(event.tasks)
