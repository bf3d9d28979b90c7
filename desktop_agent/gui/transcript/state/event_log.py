"""The events of a transcript, kept as short as they can be reduced from anew."""

from __future__ import annotations

from desktop_agent.core.events import Event, MessageAdded, PartDelta, ToolEnded, ToolOutput

# In characters.
LIVE_OUTPUT_LIMIT = 20_000


class EventLog:
    """Events in order; deltas are joined, and dropped once the whole of it has come."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(self, event: Event) -> None:
        last = self.events[-1] if self.events else None
        match event, last:
            case PartDelta(), PartDelta() if _is_same_part(event, last):
                text = last.text + event.text
                self.events[-1] = PartDelta(event.agent_id, event.message_id, event.kind, text)
                return
            case ToolOutput(), ToolOutput() if event.call_id == last.call_id:
                text = (last.text + event.text)[-LIVE_OUTPUT_LIMIT:]
                self.events[-1] = ToolOutput(event.agent_id, event.call_id, text)
                return
            case MessageAdded(), _:
                self._drop_tail(PartDelta, "message_id", event.message.id)
            case ToolEnded(), _:
                self._drop_tail(ToolOutput, "call_id", event.result.call_id)
            case _:
                pass
        self.events.append(event)

    def _drop_tail(self, kind: type, field: str, wanted: str) -> None:
        while (
            self.events
            and isinstance(self.events[-1], kind)
            and getattr(self.events[-1], field) == wanted
        ):
            self.events.pop()


def _is_same_part(one: PartDelta, other: PartDelta) -> bool:
    return (one.message_id, one.kind) == (other.message_id, other.kind)
