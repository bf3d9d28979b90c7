"""A window's own line over the bridge: what another window has for writing is not changed by it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from PySide6.QtCore import QObject, Qt, Signal

from desktop_agent.core.changes import UndoError
from desktop_agent.core.commands import ChangeRequests, EngineCommands, EngineQueries
from desktop_agent.core.events import CommandRefused
from desktop_agent.core.ids import SessionId
from desktop_agent.core.notes import Note
from desktop_agent.gui.bridge.backend import Part
from desktop_agent.gui.bridge.bridge import Asked, Bridge, Posted

# What is asked of these is the session of their scope.
_OF_SCOPE = frozenset({"plan_undo", "undo"})
# And of these the one that comes first.
_OF_SESSION = frozenset({"plan_result", "apply_result", "apply_fitting"})


class ReadOnly(Exception):
    """A question that would change a session which another window has for writing."""


class WindowBridge(QObject):
    """Has what a Bridge has. `received` is the window's alone: it also tells what was refused.

    `changed_by(name, arguments)` returns the session that a command would change, `is_elsewhere`
    whether another window has it.
    """

    received = Signal(object)
    _refused = Signal(object)

    def __init__(
        self,
        bridge: Bridge,
        changed_by: Callable[[str, Sequence[object]], SessionId | None],
        is_elsewhere: Callable[[SessionId], bool],
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._changed_by, self._is_elsewhere = changed_by, is_elsewhere
        bridge.received.connect(self.received)
        # Whoever gave the command goes on first, as with the engine.
        self._refused.connect(self._tell, Qt.ConnectionType.QueuedConnection)
        self.engine = cast(EngineCommands, Posted(self._post, lambda backend: backend.engine))
        self.queries = cast(EngineQueries, Asked(self._ask, lambda backend: backend.engine))
        self.changes = cast(ChangeRequests, Asked(self._ask_changes, lambda one: one.engine))
        self.settings, self.skills = bridge.settings, bridge.skills
        self.keys, self.catalog = bridge.keys, bridge.catalog
        self.files, self.updates = bridge.files, bridge.updates
        self.places = bridge.places

    def _post(self, part: Part, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self._is_refused(name, args):
            note = next((one.id for one in args if isinstance(one, Note)), "")
            about = note or str(args[0])
            self._refused.emit(CommandRefused(name, self._words(), about=about))
        else:
            getattr(self._bridge.engine, name)(*args, **kwargs)

    async def _ask(
        self, part: Part, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if self._is_refused(name, args):
            raise ReadOnly(self._words())
        return await getattr(self._bridge.queries, name)(*args, **kwargs)

    async def _ask_changes(
        self, part: Part, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        is_of = name in _OF_SCOPE and self._is_elsewhere(args[0].session_id)
        if is_of or (name in _OF_SESSION and self._is_elsewhere(args[0])):
            raise UndoError(self._words())
        return await getattr(self._bridge.changes, name)(*args, **kwargs)

    def _is_refused(self, name: str, args: tuple[Any, ...]) -> bool:
        session_id = self._changed_by(name, args)
        return session_id is not None and self._is_elsewhere(session_id)

    def _words(self) -> str:
        return self.tr("Another window has this session for writing. Here it can only be read.")

    def _tell(self, refused: CommandRefused) -> None:
        self.received.emit((refused,))
