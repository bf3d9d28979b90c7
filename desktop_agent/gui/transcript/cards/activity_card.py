"""One quiet line for calls that went as expected; it opens to their cards."""

from __future__ import annotations

from desktop_agent.gui.kit.safe_text import elapsed_text
from desktop_agent.gui.transcript.cards.activity_text import activity_text, running_text
from desktop_agent.gui.transcript.cards.card import CardHost, HeaderCard
from desktop_agent.gui.transcript.state.rows import ActivityRow

_ELAPSED_FROM_S = 2.0


class ActivityCard(HeaderCard):
    """The line of an activity. Its cards are rows of their own below it, while it is open."""

    def __init__(self, host: CardHost, row: ActivityRow) -> None:
        super().__init__(host.theme, host.ground, flat=True)
        self._host = host
        self._row = row
        self.setObjectName("activityCard")
        self.header.setObjectName("activityHeader")
        self.header.is_leading = True
        self.header.set_open(row.is_open)
        self.header.unfolded.connect(self._on_toggled)
        self.set_row(row)

    @property
    def is_live(self) -> bool:
        return any(call.state == "running" for call in self._row.calls)

    def set_row(self, row: ActivityRow) -> None:
        self._row = row
        header = self.header
        header.verb = activity_text(row)
        header.target = running_text(row)
        header.state = "running" if self.is_live else ""
        header.meta = header.meta if self.is_live else ""
        # Opened from elsewhere, such as for a task's place.
        header.blockSignals(True)
        header.set_open(row.is_open)
        header.blockSignals(False)
        self.set_name(f"{header.verb} {header.target}".strip())
        header.update()

    def tick(self, now: float) -> None:
        began = [call.started_at for call in self._row.calls if call.state == "running"]
        seconds = now - max(began, default=now)
        has_time = bool(began) and min(began) > 0 and seconds >= _ELAPSED_FROM_S
        self.header.meta = elapsed_text(seconds) if has_time else ""
        self.header.update()

    def _on_toggled(self, is_open: bool) -> None:
        self._host.unfolded[self._row.key] = is_open
        if is_open and len(self._row.calls) == 1:
            # Of a single call, what is looked for is what came of it.
            self._host.unfolded.setdefault(self._row.calls[0].key, True)
        self._host.activity_toggled.emit(self._row.key)
