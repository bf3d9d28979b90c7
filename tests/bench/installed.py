"""The frozen app as a person has it: its window, the demo's first answer, the first request."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from desktop_agent.adapters.config import settings_file
from desktop_agent.core.settings import Settings
from tests.bench.package import ROOT, frozen
from tests.bench.processes import children
from tests.bench.report import report
from tests.helpers.providers import LoopbackProvider, Say

sys.path.insert(0, str(ROOT / "packaging" / "test"))
import double_click

_WARM = 5
_COLD = 2
_LONGEST_S = 30.0
_PROGRAMS = ("Xvfb", "openbox", "xdotool")


@contextmanager
def desktop() -> Iterator[double_click.Screen]:
    """An X server and a window manager of this benchmark's own."""
    with ExitStack() as stack:
        server = subprocess.Popen(
            ["Xvfb", "-displayfd", "1", "-screen", "0", "1280x800x24"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        stack.callback(_end, server)
        assert server.stdout is not None
        os.environ["DISPLAY"] = ":" + server.stdout.readline().decode().strip()
        os.environ["QT_QPA_PLATFORM"] = "xcb"
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        stack.callback(_end, subprocess.Popen(["openbox"], **quiet))
        yield double_click.Screen()


def _end(process: subprocess.Popen[Any]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


@contextmanager
def app(program: Path, screen: double_click.Screen, settings: Settings) -> Iterator[Any]:
    """Start the app on a folder of its own; gives its home, the delay and its process."""
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as place:
        home, folder = Path(place) / "home", Path(place) / "folder"
        (home / "config").mkdir(parents=True)
        folder.mkdir()
        settings_file.save(home / "config" / "settings.json", settings)
        started = time.monotonic()
        process = subprocess.Popen(
            [str(program / "desktop-agent"), str(folder)],
            env={**os.environ, "DESKTOP_AGENT_HOME": str(home)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            painted = screen.wait(lambda: any(map(screen.is_painted, screen.windows())))
            assert painted is not None, "no window appeared"
            yield home, (painted - started) * 1000, process.pid
        finally:
            _end(process)


def _say(words: str) -> None:
    subprocess.run(["xdotool", "type", "--delay", "1", words], check=True)
    subprocess.run(["xdotool", "key", "Return"], check=True)


def _work_ms(*pids: int) -> float:
    """Return the processor's time that processes took so far: what no other work prolongs."""
    ticks = 0
    for pid in pids:
        # A process of a moment, such as one that asks for a version, may have ended by now.
        with suppress(FileNotFoundError, ProcessLookupError):
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
            ticks += sum(map(int, stat.rpartition(")")[2].split()[11:13]))
    return ticks * 1000 / os.sysconf("SC_CLK_TCK")


def _forget(program: Path) -> None:
    """Take the app's files out of the memory that keeps what was read from the disk."""
    for path in program.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _answer_ms(home: Path) -> float | None:
    """Return the time from the message to the answer's first words."""
    seconds = double_click.answer_s(home / "data" / "sessions.db")
    return None if seconds is None else seconds * 1000


def _until(look: Callable[[], float | None]) -> float | None:
    give_up = time.monotonic() + _LONGEST_S
    while time.monotonic() < give_up:
        found = look()
        if found is not None:
            return found
        threading.Event().wait(0.05)
    return None


def _windows(program: Path, screen: double_click.Screen) -> None:
    demo = Settings(model="demo", theme="light")
    cold: list[float] = []
    for _ in range(_COLD):
        _forget(program)
        with app(program, screen, demo) as (_, delay, _):
            cold.append(delay)
    warm: list[float] = []
    work: list[float] = []
    for _ in range(_WARM):
        with app(program, screen, demo) as (_, delay, pid):
            work.append(_work_ms(pid))
            warm.append(delay)
    sys.stderr.write(f"installed: cold {cold}, warm {warm}, load {os.getloadavg()[0]:.1f}\n")
    report("installed_window_cold", statistics.median(cold))
    report("installed_window_warm", statistics.median(warm))
    report("installed_window_work", statistics.median(work))


def _demo(program: Path, screen: double_click.Screen) -> None:
    with app(program, screen, Settings(model="demo", theme="light")) as (home, _, _):
        threading.Event().wait(3)  # a person reads before they write
        _say("hello")
        answered = _until(lambda: _answer_ms(home))
        assert answered is not None, "the demo did not answer"
        report("installed_demo_answer", answered)


def _request(program: Path, screen: double_click.Screen) -> None:
    with LoopbackProvider("openai", otherwise=Say("Hello.")) as provider:
        settings = Settings(model=provider.model, api_base=provider.api_base, theme="light")
        with app(program, screen, settings) as (_, _, pid):
            painted = time.monotonic()
            _ask(provider)
            report("installed_first_request", (time.monotonic() - painted) * 1000)
            report("installed_first_request_work", _work_ms(pid, *children(pid)))


def _ask(provider: LoopbackProvider) -> None:
    """Say it, and again where the window manager had not yet given the window the keys."""
    for _ in range(3):
        _say("hello")
        with suppress(TimeoutError):
            provider.wait_for(1, _LONGEST_S / 3)
            return
    raise TimeoutError("no request was made")


def main() -> None:
    program = frozen()
    lacking = [name for name in _PROGRAMS if shutil.which(name) is None]
    if program is None or lacking:
        why = f"missing: {', '.join(lacking)}" if lacking else "build one with scripts/package"
        sys.stderr.write(f"installed: no app to start; {why}\n")
        return
    with desktop() as screen:
        _windows(program, screen)
        _demo(program, screen)
        _request(program, screen)


if __name__ == "__main__":
    main()
