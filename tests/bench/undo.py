"""What undo costs in large folders: looks at 10,000 files, and work while 100,000 are read.

The looks are processor time in this process: other work on the machine does not count. So are
calls while 100,000 files are looked at for the first time. Then the real window: while the
history's process looks at 100,000 files for the first time, an answer is streamed on screen,
somebody types, and another session runs commands in the same folder. What a command waits for is
from its start in the engine to its own first word, beside the same command in an empty folder.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPlainTextEdit

from desktop_agent.core.changes import ChangeSet
from desktop_agent.core.events import Event, PartDelta, ToolEnded, ToolStarted, TurnEnded
from desktop_agent.core.ids import AgentId, SessionId, new_change_set_id
from desktop_agent.core.pipes.file_capture import CallBegun
from desktop_agent.core.settings import Settings
from desktop_agent.file_history.capture import Capture
from desktop_agent.file_history.history import History
from tests.bench.provider import ProviderProcess
from tests.bench.report import report
from tests.bench.stage import Stage, pause, run

_LARGE, _HUGE = 10_000, 100_000
_COMMANDS, _LOOKS = 12, 5
_RATE, _SECONDS = 100, 60
_KEY_MS = 50
_FLOOR_S = 5
# What only looks would not be looked at, and the same three times would be asked about.
_COMMAND = "date +%s.%N; echo {n} >> changed"
_SESSION = SessionId("se_bench")


def fill(folder: Path, count: int) -> None:
    """Make so many small files, a hundred in each folder."""
    text = random.Random(7).randbytes(3000).hex().encode()
    for number in range(count):
        path = folder / f"part{number // 100:04}" / f"file{number}.txt"
        if number % 100 == 0:
            path.parent.mkdir(parents=True)
        path.write_bytes(b"%d\n" % number + text[: 200 + number % 5000])


# -- looks, in processor time


class _Looks:
    """Calls that change files of a folder, without the process in between."""

    def __init__(self, root: Path, kept: Path) -> None:
        self._root = str(root)
        self._history = History(kept)
        self._capture = Capture(self._history)

    def first(self) -> None:
        """List the folder and read all of it."""
        self._capture.watch(_SESSION, self._root)
        while self._capture.has_work:
            self._capture.read_on()

    def list_some(self) -> None:
        """Only begin to list the folder."""
        self._capture.watch(_SESSION, self._root)

    def call(self, change: Callable[[], object]) -> float:
        """Return what the looks around a change cost, in milliseconds."""
        changes = ChangeSet(new_change_set_id(), "command", AgentId("ag_bench"), began=time.time())
        start = time.process_time()
        self._capture.begin(CallBegun(changes, _SESSION, self._root, (self._root,)))
        taken = time.process_time() - start
        change()
        start = time.process_time()
        self._capture.end(changes.id)
        return (taken + time.process_time() - start) * 1000

    def close(self) -> None:
        self._capture.end_all()
        self._history.close()


def _measure_looks(home: Path) -> None:
    folder = home / "large"
    fill(folder, _LARGE)
    looks = _Looks(folder, home / "kept")
    begun = time.perf_counter(), time.process_time()
    looks.first()
    report("undo_first_10k", time.perf_counter() - begun[0])
    report("undo_first_10k_cpu", time.process_time() - begun[1])
    numbers = iter(range(10**6))
    report("undo_nothing_10k", _median(looks.call(lambda: None) for _ in range(_LOOKS)))
    for count in (10, 1000):
        files = sorted(folder.rglob("*.txt"))[:: _LARGE // count]

        def change(files: list[Path] = files) -> None:
            for one in files:
                one.write_text(f"changed {next(numbers)}\n")

        report(f"undo_{count}_of_10k", _median(looks.call(change) for _ in range(_LOOKS)))
    looks.close()


def _measure_calls(home: Path) -> None:
    """Calls while the first look at the large folder goes on, in processor time."""
    looks = _Looks(home / "huge", home / "kept_huge")
    looks.list_some()
    changed = home / "huge" / "changed_by_calls"
    taken = [looks.call(lambda n=n: changed.write_text(f"{n}\n")) for n in range(_COMMANDS)]
    report("undo_first_cpu_100k", taken[0] / 1000)
    report("undo_later_cpu", statistics.median(taken[1:]))
    report("undo_later_cpu_max", max(taken[1:]))
    looks.close()


def _median(taken: Iterable[float]) -> float:
    return statistics.median(list(taken))


# -- the window


class _Commands:
    """One session that runs commands; how long each waited before it ran, and took in all."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._started: dict[str, float] = {}
        self._ended: set[AgentId] = set()
        self.streaming: set[AgentId] = set()
        self.waited: list[float] = []
        self.took: list[float] = []
        stage.heard.append(self._hear)

    def _hear(self, event: Event) -> None:
        match event:
            case ToolStarted(call=call, at=at):
                self._started[call.id] = at
            case ToolEnded(result=result, outcome=outcome, seconds=seconds):
                word = result.text.split()[0]
                if outcome != "ok" or not word[0].isdigit():
                    sys.stderr.write(f"a command failed: {result.text}\n")
                    return
                self.waited.append((float(word) - self._started[result.call_id]) * 1000)
                self.took.append(seconds * 1000)
            case TurnEnded(agent_id=agent, reason=reason):
                self._ended.add(agent)
                if reason != "finished":
                    sys.stderr.write(f"a turn ended with {reason}: {event.fault}\n")
            case PartDelta(agent_id=agent):
                self.streaming.add(agent)
            case _:
                pass

    async def run(self, agent: AgentId, count: int) -> None:
        """Run the command so many times, one after the other."""
        self.waited, self.took = [], []
        for number in range(count):
            self._ended.discard(agent)
            self._stage.send(agent, _COMMAND.format(n=number))
            await self._stage.until(lambda: agent in self._ended)


class _Typist:
    """Types into the message box, a key each 50 ms."""

    def __init__(self, stage: Stage) -> None:
        box = stage.window.findChild(QPlainTextEdit, "composerText")
        assert box is not None
        self._box = box
        self.timer = QTimer(stage.window)
        self.timer.setInterval(_KEY_MS)
        self.timer.timeout.connect(lambda: QTest.keyClicks(self._box, "word "))


async def _watch_gaps(stage: Stage, commands: _Commands, api_base: str, seconds: int) -> AgentId:
    """Have an answer streamed on screen, and measure; return the agent that runs commands."""
    answers = await stage.new_session(f"openai/stream-{_RATE}-{seconds}", api_base)
    worker = await stage.new_session("openai/shell", api_base)
    stage.window.flow.show_session(next(s for s, a in stage.agents.items() if a == answers))
    stage.send(answers, "Tell me.")
    await stage.until(lambda: answers in commands.streaming)
    stage.meter.start()
    return worker


async def _play(stage: Stage) -> None:
    commands, typist = _Commands(stage), _Typist(stage)
    with ProviderProcess() as provider:
        # The first request pays for the import of litellm; it is measured elsewhere.
        first = await stage.new_session("openai/shell", provider.api_base)
        await commands.run(first, 1)
        typist.timer.start()
        worker = await _watch_gaps(stage, commands, provider.api_base, _SECONDS)
        await commands.run(worker, _COMMANDS)
        floors = [statistics.median(commands.waited), statistics.median(commands.took)]
        await pause(_FLOOR_S)
        gaps = [stage.meter.percentile(0.99), max(stage.meter.gaps_ms)]
        stage.folder = stage.folder.parent / "huge"
        worker = await _watch_gaps(stage, commands, provider.api_base, _SECONDS)
        await commands.run(worker, 1)
        report("undo_first_wait_100k", commands.waited[0] / 1000, floor=floors[0] / 1000)
        report("undo_first_command_100k", commands.took[0] / 1000, floor=floors[1] / 1000)
        await commands.run(worker, _COMMANDS)
        await pause(_FLOOR_S)
        stage.meter.stop()
        typist.timer.stop()
        report("undo_gap_p99", stage.meter.percentile(0.99), floor=gaps[0])
        report("undo_gap_max", max(stage.meter.gaps_ms), floor=gaps[1])
        more = [one - floors[1] for one in commands.took]
        report("undo_later_more", statistics.median(more))
        report("undo_later_more_max", max(more))


def main() -> None:
    home = Path(os.environ["DESKTOP_AGENT_HOME"])
    _measure_looks(home)
    fill(home / "huge", _HUGE)
    _measure_calls(home)
    run(_play, Settings(model="demo", mode="free"))


if __name__ == "__main__":
    main()
