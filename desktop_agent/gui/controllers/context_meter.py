"""The context meter of the message box: what fills the context, and making room by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from desktop_agent.core.events import CompactionUndone, ContextCompacted, Event, StepEnded
from desktop_agent.core.usage import ContextUse
from desktop_agent.gui.controllers.controller import Controller, WindowParts

if TYPE_CHECKING:
    from desktop_agent.gui.composer.context_popover import ContextPopover


class ContextController(Controller):
    """Asks the engine what the shown agent's next request takes, while the popover is open."""

    def __init__(self, parts: WindowParts, show_usage: Callable[[], None]) -> None:
        super().__init__(parts)
        self._show_usage = show_usage
        self._popover: ContextPopover | None = None
        self._frame.composer.bar.meter.clicked.connect(self.open)
        self._session.followed.connect(self._on_followed)
        self._session.agent_shown.connect(self._close)

    def open(self) -> None:
        from desktop_agent.gui.composer.context_popover import ContextPopover

        self._popover = popover = ContextPopover(self._theme, self._frame.window())
        popover.compact_requested.connect(self._compact)
        popover.usage_requested.connect(self._open_usage)
        popover.closed.connect(self._forget)
        popover.open_below(self._frame.composer.bar.meter, above=True)
        self._ask()

    def _open_usage(self) -> None:
        self._close()
        self._show_usage()

    def _compact(self, keep: str) -> None:
        self._session.tell(self._engine.compact, keep)

    def _on_followed(self, events: tuple[Event, ...]) -> None:
        if self._popover is not None and any(
            isinstance(event, StepEnded | ContextCompacted | CompactionUndone)
            and event.agent_id == self._session.agent
            for event in events
        ):
            self._ask()

    def _ask(self) -> None:
        agent_id, asking = self._session.agent, self._popover
        if agent_id is None:
            return

        def show(use: ContextUse) -> None:
            if asking is not None and asking is self._popover:
                asking.show_use(use)

        self._queries.ask(show, self._queries.engine.context_use(agent_id))

    def _close(self) -> None:
        if self._popover is not None:
            self._popover.close()

    def _forget(self) -> None:
        if self._popover is not None:
            self._popover.deleteLater()
            self._popover = None
