"""Kills a writing process at random moments and looks at what the store still has.

`python -m tests.adapters.store.crash_trial 200` does it 200 times and prints what was found.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import zlib
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.core.events import MessageAdded, PartDelta, ToolOutput
from tests.adapters.store.turns import SESSION, info, turn
from tests.helpers.stores import connection_of


@dataclass
class Tally:
    """What a series of kills came to; everything but `kills` and `acknowledged` must be 0."""

    kills: int = 0
    acknowledged: int = 0
    lost: int = 0
    changed: int = 0
    gaps: int = 0
    text_lost: int = 0
    set_aside: int = 0
    unreadable: int = 0
    moments: dict[str, int] = field(default_factory=dict)

    @property
    def is_clean(self) -> bool:
        return not any(
            (self.lost, self.changed, self.gaps, self.text_lost, self.set_aside, self.unreadable)
        )


def kill_many(path: Path, kills: int, seed: int) -> Tally:
    """Start, kill and check `kills` times over one growing file."""
    chance = random.Random(seed)
    tally = Tally()
    for _ in range(kills):
        events, texts = _written_until_killed(path, chance.randint(1, 400))
        tally.kills += 1
        tally.acknowledged += len(events)
        _check(path, events, texts, tally)
    return tally


def _written_until_killed(path: Path, lines: int) -> tuple[dict[int, int], dict[str, int]]:
    """Return what the writer said was on disk: checksums by number, text lengths by message."""
    command = [sys.executable, "-m", "tests.adapters.store.crash_trial", "--write", str(path)]
    writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    events: dict[int, int] = {}
    texts: dict[str, int] = {}
    with writer:
        assert writer.stdout is not None
        for number, line in enumerate(writer.stdout):
            if number == lines:
                # What it wrote since is still in the pipe, and is read too.
                writer.kill()
            if line.endswith("\n"):
                _note(line.split(), events, texts)
    return events, texts


def _note(words: list[str], events: dict[int, int], texts: dict[str, int]) -> None:
    if words[0] == "event":
        events[int(words[1])] = int(words[2])
    else:
        texts[words[1]] = int(words[2])


def _check(path: Path, events: dict[int, int], texts: dict[str, int], tally: Tally) -> None:
    with closing(SqliteStore(path)) as store:
        tally.set_aside += store.set_aside is not None
        rows = (
            connection_of(store).execute("SELECT seq, body, crc FROM event ORDER BY seq").fetchall()
        )
        kept = {seq: (body, crc) for seq, body, crc in rows}
        tally.gaps += list(kept) != list(range(1, len(kept) + 1))
        tally.unreadable += sum(zlib.crc32(body) != crc for body, crc in kept.values())
        page = store.page(SESSION, None, len(kept) + 100)
        tally.unreadable += len(page.events) != len(kept)
        for seq, crc in events.items():
            if seq not in kept:
                tally.lost += 1
            elif kept[seq][1] != crc:
                tally.changed += 1
        lengths = {
            event.message.id: len(event.message.text)
            for event in page.events
            if isinstance(event, MessageAdded)
        }
        tally.text_lost += sum(lengths.get(item, 0) < length for item, length in texts.items())
        if page.events:
            moment = type(page.events[-1]).__name__
            tally.moments[moment] = tally.moments.get(moment, 0) + 1


def write(path: Path) -> None:
    """Record turns for ever; say after each event that it is on disk."""
    store = SqliteStore(path)
    store.save_session(info())
    number = 0
    while True:
        number += 1
        text: dict[str, int] = {}
        for event in turn(number):
            store.record(SESSION, event)
            if isinstance(event, PartDelta):
                text[event.message_id] = text.get(event.message_id, 0) + len(event.text)
                if number % 2:
                    store.flush_pending()
                    print("text", event.message_id, text[event.message_id], flush=True)
            elif not isinstance(event, ToolOutput):
                row = "SELECT seq, crc FROM event ORDER BY number DESC LIMIT 1"
                print("event", *connection_of(store).execute(row).fetchone(), flush=True)
        store.save_session(info(updated_at=float(number)))


if __name__ == "__main__":
    if sys.argv[1] == "--write":
        write(Path(sys.argv[2]))
    with tempfile.TemporaryDirectory() as directory:
        print(kill_many(Path(directory, "sessions.sqlite"), int(sys.argv[1]), random.randrange(99)))
