"""A session's live state, and the one road by which its events reach disk and listeners."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from desktop_agent.core.events import Event, Happening
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.engine.base.ports import Store


class Session:
    """What all agents of a session share: its info (mode, model, folder) and `emit`."""

    def __init__(
        self,
        info: SessionInfo,
        *,
        store: Store,
        listener: Callable[[Event], None],
        changed: Callable[[], None],
    ) -> None:
        self._info = info
        self._is_saved = True
        self._store = store
        self._listener = listener
        self._changed = changed

    @property
    def info(self) -> SessionInfo:
        """The newest snapshot."""
        return self._info

    def emit(self, event: Happening) -> None:
        """Put the event on disk, then tell the listeners. Raises StoreError: nobody heard it."""
        self._store.record(self._info.id, event)
        self._listener(event)

    def update(self, *, touch: bool = True, **changes: object) -> None:
        """Change fields of the info, save it and have the list of sessions sent out.

        Raises StoreError, and saves again with the next change. A session is not called running
        before that is on disk, for a crash must find it; all else is true whatever the disk says.
        `touch` moves the session to the top of the list.
        """
        if touch:
            changes["updated_at"] = time.time()
        info = msgspec.structs.replace(self._info, **changes)
        if info == self._info and self._is_saved:
            return
        self._is_saved = False
        try:
            self._store.save_session(info)
            self._is_saved = True
        finally:
            is_beginning = info.status == "running" != self._info.status
            if self._is_saved or not is_beginning:
                self._info = info
                self._changed()
