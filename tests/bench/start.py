"""From the start of the process to the first paint of the window; memory before any message, and
after the first one, to a server of this computer.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from tests.bench.processes import children, pss_mb, rss_mb
from tests.bench.provider import ProviderProcess
from tests.bench.report import report

_STARTS = 7
_MOST_S = 30
_FLOOR = """
import sys, time
from PySide6.QtWidgets import QApplication, QMainWindow
class Window(QMainWindow):
    def paintEvent(self, event):
        super().paintEvent(event)
        sys.stdout.write(f"{time.perf_counter()}\\n"); sys.stdout.flush()
app = QApplication([])
window = Window(); window.resize(1180, 800); window.show()
app.exec()
"""
_APP = "from tests.bench.first_paint import main; main()"
_SPEAKING = "from tests.bench.first_paint import main; main(server={!r})"


def _start(program: str) -> tuple[subprocess.Popen[str], float]:
    """Start a program that prints the moment of its first paint; return it and the delay."""
    home = tempfile.mkdtemp(dir=os.environ["DESKTOP_AGENT_HOME"])
    environment = {**os.environ, "DESKTOP_AGENT_HOME": home}
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    return process, (json.loads(line) - started) * 1000


def _median_start(program: str) -> float:
    delays: list[float] = []
    for _ in range(_STARTS):
        process, delay = _start(program)
        process.kill()
        process.wait()
        delays.append(delay)
    return statistics.median(delays)


def _passes(process: subprocess.Popen[str], seconds: float) -> bool:
    """Wait, and tell whether the process has lived through it."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return True
    return False


def _memory(program: str, *, lines: int = 1) -> tuple[float, float, float]:
    """Return the memory of the window's process (PSS, RSS), and of it and all it started (RSS).

    It is counted once the program has said so many lines. The host is started behind the first
    paint: it has stopped growing by then.
    """
    process, _ = _start(program)
    before, now = [0.0], [1.0]
    try:
        assert process.stdout is not None
        for _ in range(lines - 1):
            process.stdout.readline()
        assert _passes(process, 3), "the app ended by itself"
        for _ in range(_MOST_S):
            assert _passes(process, 1), "the app ended by itself"
            before, now = now, [rss_mb(pid) for pid in (process.pid, *children(process.pid))]
            if len(before) == len(now) and abs(sum(now) - sum(before)) < 0.3:
                break
        return pss_mb(process.pid), now[0], sum(now)
    finally:
        process.kill()
        process.wait()


def main() -> None:
    _start(_APP)[0].kill()  # compiles, and warms the disk's cache
    report("start_first_paint", _median_start(_APP), floor=_median_start(_FLOOR))
    floor_share, floor, _ = _memory(_FLOOR)
    share, window, all_of_it = _memory(_APP)
    # The one to go by: Qt's libraries are other programs' too, and RSS counts them as ours.
    report("start_pss_window", share, floor=floor_share)
    report("start_rss_window", window, floor=floor)
    report("start_rss_with_host", all_of_it, floor=floor)
    with ProviderProcess() as provider:
        share, _, _ = _memory(_SPEAKING.format(provider.api_base), lines=2)
    report("start_pss_first_message", share, floor=floor_share)


if __name__ == "__main__":
    main()
