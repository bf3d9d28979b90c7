"""Commands that agents run in the background: their windows, one for each."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal

from desktop_agent.core.events import Event
from desktop_agent.core.ids import AgentId
from desktop_agent.gui.controllers.controller import Controller, WindowParts
from desktop_agent.gui.kit.links import open_local
from desktop_agent.gui.kit.widgets import ticker
from desktop_agent.gui.state.background_jobs import BackgroundJobs

if TYPE_CHECKING:
    from desktop_agent.gui.transcript.view.terminal import Terminal
    from desktop_agent.gui.transcript.view.view import TranscriptView

_Key = tuple[AgentId, str]
_EVERY_MS = 2_000


class TerminalsController(Controller):
    """Opens them from the cards of the commands, and from the list of those that run.

    Signals:
        changed(tuple[BackgroundJob]): these of the session that is shown run now
    """

    changed = Signal(object)

    def __init__(self, parts: WindowParts) -> None:
        super().__init__(parts)
        self._open: dict[_Key, Terminal] = {}
        self._asked: set[_Key] = set()
        self._jobs = BackgroundJobs()
        self._clock = ticker(self, _EVERY_MS, self._ask_all)
        self._pages.page_made.connect(self._on_page_made)
        self._session.followed.connect(self._on_followed)
        self._session.agent_shown.connect(self._tell)

    def _on_page_made(self, view: TranscriptView, agent_id: str) -> None:
        view.job_requested.connect(partial(self.open, agent_id))

    def open(self, agent_id: str, job_id: str) -> None:
        """Show the window of an agent's command."""
        key = (AgentId(agent_id), job_id)
        terminal = self._open.get(key) or self._make(key)
        terminal.show()
        terminal.raise_()
        terminal.activateWindow()

    def _make(self, key: _Key) -> Terminal:
        from desktop_agent.gui.transcript.view.terminal import Terminal  # rarely wanted

        agent_id, job_id = key
        terminal = self._open[key] = Terminal(self._theme, job_id, self._frame.window())
        terminal.output_wanted.connect(lambda: self._ask(key))
        terminal.typed.connect(partial(self._engine.type_into_job, agent_id, job_id))
        terminal.stop_requested.connect(partial(self._engine.stop_job, agent_id, job_id))
        terminal.port_requested.connect(partial(self._open_port, agent_id))
        terminal.destroyed.connect(lambda: self._open.pop(key, None))
        return terminal

    def _open_port(self, agent_id: AgentId, port: int) -> None:
        reached = self._queries.engine.share_port(agent_id, port)
        self._queries.ask(lambda port: open_local(f"http://localhost:{port}/", port), reached)

    def _ask(self, key: _Key) -> None:
        """Ask for the newest output, once at a time."""
        if key in self._asked:
            return
        self._asked.add(key)
        self._queries.run(self._look(key), "the output of a command")

    def _on_followed(self, events: tuple[Event, ...], _: object) -> None:
        if [event for event in events if self._jobs.apply(event)]:
            self._clock.start()
            self._ask_all()

    def _ask_all(self) -> None:
        """Ask what became of those that run; nobody says so."""
        if self._frame.isVisible():
            for job in self._jobs.running:
                self._ask((job.agent_id, job.job_id))

    def _tell(self, _: object = None) -> None:
        shown, known = self._known.session_id, self._known
        jobs = (job for job in self._jobs.running if known.session_of(job.agent_id) == shown)
        self.changed.emit(tuple(jobs))

    async def _look(self, key: _Key) -> None:
        try:
            output = await self._queries.engine.job_output(*key)
        finally:
            self._asked.discard(key)
        if key in self._open:
            self._open[key].show_output(output)
        if self._jobs.learn(*key, output):
            self._tell()
        if not self._jobs.running:
            self._clock.stop()
