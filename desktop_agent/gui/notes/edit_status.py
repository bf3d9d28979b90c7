"""What became of the person's edits of the task list, in one line. No Qt."""

from __future__ import annotations

from dataclasses import dataclass

from desktop_agent.core.events import (
    Event,
    NoteDelivered,
    NoteQueued,
    NoteReturned,
    NoteTaken,
    SessionOpened,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from desktop_agent.core.ids import AgentId, NoteId


@dataclass(slots=True)
class EditStatus:
    """Follows the newest note of edits of one agent.

    `state` is empty, `queued` (nobody runs), `waiting` (behind `behind`), `sending`,
    `delivered` (at `step`) or `returned`.
    """

    agent_id: AgentId | None = None
    note_id: NoteId | None = None
    state: str = ""
    step: int = 0
    behind: str = ""
    is_running: bool = False

    def apply(self, event: Event) -> bool:
        """Fold an event; tell whether the line may read otherwise now."""
        match event:
            case SessionOpened(info=info, agents=agents, events=events):
                self.__init__(info.main_agent)
                for one in events:
                    self.apply(one)
                running = {agent.id for agent in agents if agent.is_in_turn}
                self.is_running = self.agent_id in running
                if self.state in {"delivered", "returned"}:
                    self.state = ""
            case TurnStarted() | TurnEnded() | ToolStarted() | ToolEnded():
                return event.agent_id == self.agent_id and self._follow_turn(event)
            case NoteQueued() | NoteTaken() | NoteDelivered() | NoteReturned():
                return event.agent_id == self.agent_id and self._follow_note(event)
            case _:
                return False
        return True

    def _follow_turn(self, event: TurnStarted | TurnEnded | ToolStarted | ToolEnded) -> bool:
        match event:
            case TurnStarted():
                self.is_running = True
            case ToolStarted(doing=doing):
                self.behind = doing
            case ToolEnded():
                self.behind = ""
            case TurnEnded():
                self.is_running, self.behind = False, ""
        return bool(self.state)

    def _follow_note(self, event: NoteQueued | NoteTaken | NoteDelivered | NoteReturned) -> bool:
        if isinstance(event, NoteQueued):
            if event.note.kind != "task_edit":
                return False
            self.note_id, self.state = event.note.id, "queued"
            return True
        if event.note_id != self.note_id:
            return False
        match event:
            case NoteTaken():
                self.state = "sending"
            case NoteDelivered(step=step):
                self.state, self.step = "delivered", step
            case NoteReturned():
                self.state = ""
        return True
