"""A session's live state, and the one path by which its events reach disk and listener."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from desktop_agent.core.events import AgentEnded, AgentEvent, Event, PartDelta, ToolOutput
from desktop_agent.core.ids import AgentId, MessageId
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.usage import WindowSource
from desktop_agent.engine.base.ports import AgentRecord, Store, StoreError

_log = logging.getLogger(__name__)

Listener = Callable[[Event], None]
# Any: each is given events of the type that it is kept under.
Followers = Mapping[type[AgentEvent], Callable[[Any], None]]

# Of what an agent ended with; a report of it holds no more, and the store has the whole.
_KEPT_TEXT = 4_000


def with_short_text(end: AgentEnded) -> AgentEnded:
    """Return an end to be kept in memory; `has_whole_text` tells whether it lost something."""
    return msgspec.structs.replace(end, text=end.text[: _KEPT_TEXT + 1])


def has_whole_text(end: AgentEnded) -> bool:
    """Whether an end holds its text whole."""
    return len(end.text) <= _KEPT_TEXT


def tell(listener: Listener, event: Event) -> None:
    """Tell a listener; its failure neither undoes anything nor hides a tool's result."""
    try:
        listener(event)
    except Exception:  # noqa: BLE001 - a listener is outside the engine's control
        _log.exception("a listener failed on %s", type(event).__name__)


class Session:
    """What all agents of a session share: its info (mode, model, folder) and its events' path.

    `emit` is for what happens: first on disk, then in memory and told, or not at all. `conclude`
    is for what ends: it is told whatever the disk says, for nobody may wait for it for ever.
    What the disk refused of it is owed, and written before all else; until then the disk holds
    a beginning of what was told, as it does after a crash, and a restart closes the rest.
    `refused` hears that something is owed. `is_machine_sandbox` is the person's word that this
    machine is set apart for the session: it ends with the app, and is not part of the info.
    `followers` hear of events of their type, after the listener.
    """

    def __init__(
        self,
        info: SessionInfo,
        *,
        store: Store,
        listener: Listener,
        followers: Followers,
        changed: Callable[[], None],
        refused: Callable[[StoreError], None],
    ) -> None:
        self.is_machine_sandbox = False
        self._info = info
        self._is_saved = True
        self._owed: list[AgentEvent] = []
        self._store = store
        self._listener = listener
        self._followers = followers
        self._changed = changed
        self._refused = refused
        self._hear_model: list[Callable[[], None]] = []

    @property
    def info(self) -> SessionInfo:
        """The newest snapshot."""
        return self._info

    def load(self, agent_id: AgentId) -> AgentRecord:
        """Return what is known of one agent, its whole history included."""
        return self._store.load_agent(self._info.id, agent_id, self.owed_by(agent_id))

    @property
    def owed(self) -> tuple[AgentEvent, ...]:
        """Ends that were told and are not on disk yet, oldest first."""
        return tuple(self._owed)

    def owed_by(self, agent_id: AgentId) -> tuple[AgentEvent, ...]:
        """Return those of one agent."""
        return tuple(event for event in self._owed if event.agent_id == agent_id)

    def emit(self, *events: AgentEvent, **changes: object) -> None:
        """Put events on disk, all or none, then tell the listeners.

        `changes` are fields of the info, saved in the same transaction. Raises StoreError:
        nobody heard of them, and nothing changed.
        """
        self._write(events, self._with(changes, touch=bool(changes)))
        self._tell(events)

    def conclude(self, *events: AgentEvent, touch: bool = False, **changes: object) -> None:
        """Tell what ended, and put it on disk now or as soon as that is possible again."""
        self.keep(*events, touch=touch, **changes)
        self._tell(events)

    def keep(self, *events: AgentEvent, touch: bool = False, **changes: object) -> None:
        """Put on disk what ended, now or as soon as that is possible again; nobody is told."""
        info = self._with(changes, touch=touch)
        if not events and info == self._info:
            return
        try:
            self._write(events, info)
        except StoreError as error:
            self._owed.extend(e for e in events if not isinstance(e, PartDelta | ToolOutput))
            self._take(info, is_saved=self._is_saved and info == self._info)
            self._refused(error)

    def update(self, *, touch: bool = True, **changes: object) -> None:
        """Change fields of the info, save it and have the list of sessions sent out.

        Raises StoreError, and then nothing changed. `touch` moves the session to the top of
        the list.
        """
        info = self._with(changes, touch=touch)
        if info != self._info or not self._is_saved:
            self._write((), info)

    def set_model(self, model: str, api_base: str, context_limit: int | None) -> None:
        """Use this model, with what is known of its window. Raises as `update`."""
        source: WindowSource = "known" if context_limit is not None else ""
        limit = {"context_limit": context_limit, "context_source": source}
        self.update(model=model, api_base=api_base, touch=False, **limit)
        for hear in tuple(self._hear_model):
            hear()

    @contextmanager
    def hearing_model(self, hear: Callable[[], None]) -> Generator[None]:
        """Have somebody hear of each choice of a model while the block runs."""
        self._hear_model.append(hear)
        try:
            yield
        finally:
            self._hear_model.remove(hear)

    def begin_branch(self, before: MessageId, *events: AgentEvent, **changes: object) -> None:
        """Go on from right before a message, with these events; as `emit` for the rest.

        Raises LookupError where the branch that is shown has no such message.
        """
        self.write_owed()
        info = self._with(changes, touch=True)
        self._store.begin_branch(self._info.id, before, *events, info=info)
        self._take(info, is_saved=True)
        self._tell(events)

    def switch_branch(self, head: int, **changes: object) -> None:
        """Go on at the end of another branch. Raises StoreError, LookupError: nothing changed."""
        self.write_owed()
        info = self._with(changes, touch=False)
        self._store.switch_branch(self._info.id, head, info)
        self._take(info, is_saved=True)

    def write_owed(self) -> None:
        """Write what is owed; raises StoreError when the disk still refuses."""
        if self._owed or not self._is_saved:
            self._write((), self._info)

    def _tell(self, events: Sequence[AgentEvent]) -> None:
        for event in events:
            tell(self._listener, event)
            if (follow := self._followers.get(type(event))) is not None:
                follow(event)

    def _with(self, changes: dict[str, object], *, touch: bool) -> SessionInfo:
        if touch:
            changes["updated_at"] = time.time()
        return msgspec.structs.replace(self._info, **changes) if changes else self._info

    def _write(self, events: Sequence[AgentEvent], info: SessionInfo) -> None:
        if events and isinstance(events[0], PartDelta | ToolOutput):
            # Soon dropped for the whole they are a part of, and in no order with the rest.
            self._store.record(info.id, *events)
            return
        if info != self._info or not self._is_saved:
            self._store.record(info.id, *self._owed, *events, info=info)
        else:
            self._store.record(info.id, *self._owed, *events)
        self._owed.clear()
        self._take(info, is_saved=True)

    def _take(self, info: SessionInfo, *, is_saved: bool) -> None:
        self._is_saved = is_saved
        if info != self._info:
            self._info = info
            self._changed()
