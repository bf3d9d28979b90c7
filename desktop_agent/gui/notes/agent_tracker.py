"""Where each note to one subagent stands. No Qt."""

from __future__ import annotations

from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.events import AgentOpened, AgentsChanged, Event, SessionOpened
from desktop_agent.core.ids import AgentId
from desktop_agent.gui.notes.tracker import NoteRow, NoteTracker

# So many settled notes are kept in sight; older ones stand in the transcript.
SETTLED_SHOWN = 3


class AgentNoteTracker(NoteTracker):
    """A ledger that stays with one subagent, whatever session is opened."""

    def __init__(self, agent_id: AgentId) -> None:
        super().__init__()
        self.agent_id = agent_id

    @property
    def rows(self) -> tuple[NoteRow, ...]:
        """What waits, and the newest of what is settled, in the order they were sent."""
        everything = [row for row in self._rows.values() if row.is_written]
        settled = [row for row in everything if row.state not in ("queued", "taken")]
        old = {row.note.id for row in settled[:-SETTLED_SHOWN]}
        return tuple(row for row in everything if row.note.id not in old)

    def apply(self, event: Event) -> None:
        """Fold one event; those of other agents are passed over."""
        match event:
            case SessionOpened():
                self.follow(event.agents)
            case AgentsChanged():
                self.follow(event.agents)
            case AgentOpened() if event.info.id == self.agent_id:
                agents = self._agents
                self._reset(self.agent_id)
                self._agents = agents
                for one in event.events:
                    self.apply(one)
                self.follow((event.info,))
            case AgentOpened():
                return
            case _:
                super().apply(event)

    def follow(self, agents: tuple[AgentInfo, ...]) -> None:
        """Take over how the agent stands."""
        if len(agents) > 1:  # one alone is the agent itself, as its transcript was opened
            self._agents = agents
        for agent in agents:
            if agent.id == self.agent_id:
                self.status = agent.status
                self.step = max(self.step, agent.step)
                self._in_turn = agent.is_in_turn
                if not self._in_turn:
                    self._tools.clear()
