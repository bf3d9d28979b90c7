"""What the controllers of a window have in common: its parts, at hand."""

from __future__ import annotations

import msgspec
from PySide6.QtCore import QObject

from desktop_agent.gui.bridge.bridge import Queries
from desktop_agent.gui.bridge.window_bridge import WindowBridge
from desktop_agent.gui.controllers.session import SessionController
from desktop_agent.gui.frame.layout import WindowFrame
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.state.session_state import SessionState


class WindowParts(msgspec.Struct, frozen=True):
    """The parts of one window. `known` is what it knows of sessions, `session` gives commands."""

    theme: Theme
    frame: WindowFrame
    bridge: WindowBridge
    queries: Queries
    known: SessionState
    session: SessionController


class Controller(QObject):
    """Joins panels to commands; lives as long as the window's frame."""

    def __init__(self, parts: WindowParts) -> None:
        super().__init__(parts.frame)
        self._theme = parts.theme
        self._frame = parts.frame
        self._engine = parts.bridge.engine
        self._queries = parts.queries
        self._known = parts.known
        self._session = parts.session
        self._pages = parts.session.pages

    @property
    def root(self) -> str:
        """The folder that is worked in; empty without one."""
        workspace = self._session.workspace
        return workspace.root if workspace is not None else ""
