"""A team of subagents: 8 live ones on screen, a tree of 1,000, their memory, and their stop."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from desktop_agent.adapters.models.hosted_model import HostedModel
from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.compose import SESSIONS_FILE
from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.approvals import Rule
from desktop_agent.core.events import AgentEnded, AgentsChanged, Event, PartDelta, SessionOpened
from desktop_agent.core.faults import ModelError
from desktop_agent.core.ids import AgentId, SessionId, new_message_id, new_session_id
from desktop_agent.core.messages import Message, TextPart
from desktop_agent.core.requests import Accepted, Answer, ModelRequest, StreamItem
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.settings import Settings
from desktop_agent.core.usage import Usage
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.engine import Engine
from desktop_agent.engine.tree.agents import SpawnRequest
from desktop_agent.gui.agents.panel import AgentPanel
from tests.bench.processes import rss_mb
from tests.bench.provider import WORD_LENGTH, ProviderProcess
from tests.bench.report import report
from tests.bench.stage import Stage, pause, run
from tests.helpers.panels import follow

_LIVE, _RATE, _SECONDS, _MARGIN_S, _REST_S = 8, 100, 12, 6, 4
_MANY, _ROUNDS, _UPDATES_S = 1_000, 9, 5
_ENDED, _HISTORY_MB = 30, 2
_SESSION, _MAIN = SessionId("se_bench"), AgentId("ag_bench")
# Out of the group, twice forked, deaf: whatever of it is left says so by its process id. In the
# sandbox that is another one than here: `_here` finds it by the name.
_COMMAND = """
export BENCH_TEAM=NAME
trap '' TERM
setsid sh -c 'echo $$ >> NAME.pids; exec sleep 300' &
(setsid sh -c "trap '' TERM HUP INT; echo \\$\\$ >> NAME.pids; while :; do sleep 1; done" &) &
echo $$ >> NAME.pids
while :; do sleep 1; done
"""
_PIDS_EACH = 3


# -- the registry --------------------------------------------------------------------------


class _Quick:
    """A model that answers at once, with a text as long as a report usually is."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        yield Accepted()
        yield Answer((TextPart("A finding. " * 200),), usage=Usage(1_000, 400))


async def _measure_registry() -> None:
    """Start 1,000 subagents, a few at a time, each of which ends with a report."""
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder, SESSIONS_FILE))
        heard: list[Event] = []
        told = asyncio.Event()

        def hear(event: Event) -> None:
            if isinstance(event, AgentEnded):
                heard.append(event)
                told.set()

        engine = Engine(
            model=_Quick(),
            store=store,
            tools=(),
            settings=Settings(max_children=16, max_agents=16),
            emit=hear,
            spill_dir=Path(folder, "outputs"),
        )
        engine.start()
        session = new_session_id()
        engine.new_session(session, Workspace(folder), model="m")
        main = engine._agent(store.sessions()[0].main_agent)
        main.life.suppress_wakeups("user")
        gc.collect()
        before = rss_mb()
        for number in range(_MANY):
            engine._agents.spawn(main, SpawnRequest(f"agent {number}", "Look. " * 100))
            while number + 1 - len(heard) >= 8:
                told.clear()
                await told.wait()
        while len(heard) < _MANY:
            told.clear()
            await told.wait()
        gc.collect()
        report("agents_registry", rss_mb() - before)
        changes = [_took(lambda: engine._sessions.on_agents_changed(session)) for _ in range(50)]
        report("agents_change_1k", statistics.median(changes))
        await engine.close()
        store.close()


async def _measure_ended() -> None:
    """Give the host the histories of agents that then end, and count what is left of them."""
    hosted = HostedModel(key_for=lambda _name: None)
    await hosted.call("check_key", model="openai/gpt-4o")  # litellm is there
    assert hosted.pid is not None
    gc.collect()
    before = rss_mb(), rss_mb(hosted.pid)
    for number in range(_ENDED):
        agent = AgentId(f"sa_{number:08x}")
        words = TextPart(f"{number} " * (_HISTORY_MB * 1_000_000 // 3))
        message = Message(new_message_id(), "user", (words,))
        # Refused for want of a key, once the host has it all.
        with suppress(ModelError):
            async for _ in hosted.stream(ModelRequest(agent, "openai/gpt-4o", "", (message,))):
                pass
        hosted.forget(agent)
    await hosted.call("model_info", model="demo")
    gc.collect()
    report("agents_ended_app", rss_mb() - before[0])
    report("agents_ended_host", rss_mb(hosted.pid) - before[1])
    await hosted.close()


def _took(act: Callable[[], object]) -> float:
    """Return the milliseconds that this thread worked: all of it is work, none of it waits."""
    start = time.thread_time()
    act()
    return (time.thread_time() - start) * 1000


# -- the tree ------------------------------------------------------------------------------


def _info(
    number: int,
    *,
    parent: AgentId = _MAIN,
    is_live: bool = False,
    step: int = 0,
    started_at: float = 0.0,
) -> AgentInfo:
    now = time.time()
    return AgentInfo(
        AgentId(f"sa_{number:08x}"),
        _SESSION,
        f"Agent number {number}",
        status="running" if is_live else "completed",
        parent_id=parent,
        doing=f"reading file_{step}.py" if is_live else "",
        step=step,
        usage=Usage(1_000 + step, 400),
        started_at=started_at or now - 90,
        active_at=now,
        role="explore",
        model="m",
        ended_at=0.0 if is_live else now - 5,
        result="" if is_live else "It found what it was to find.",
    )


def _changed(agents: Sequence[AgentInfo]) -> AgentsChanged:
    return AgentsChanged(_SESSION, (AgentInfo(_MAIN, _SESSION, "Main", status="running"), *agents))


def _new_panel(stage: Stage) -> AgentPanel:
    panel = AgentPanel(stage.theme)
    panel.resize(348, 900)
    panel.show()
    follow(panel, SessionOpened(SessionInfo(_SESSION, _MAIN, "Bench", Workspace("/"), "m")))
    _shown(panel, (_info(_MANY),))
    return panel


def _shown(panel: AgentPanel, agents: Sequence[AgentInfo]) -> None:
    """Show them now and not with the next tenth of a second, painted."""
    follow(panel, _changed(agents))
    panel.tree.flush()
    _painted(panel)


def _painted(panel: AgentPanel) -> None:
    painted = _Paints(panel.tree.view.viewport())
    while not painted.count:
        QApplication.processEvents()


def _measure_tree(stage: Stage) -> None:
    """Bring 1,000 ended rows into a tree that has one; unfold one with 999 below it."""
    first = _info(0)
    below = [_info(n, parent=first.id) for n in range(1, _MANY)]
    inserted: list[float] = []
    expanded: list[float] = []
    for number in range(_ROUNDS):
        panel = _new_panel(stage)
        flat = [_info(n) for n in range(_MANY)]
        inserted.append(_took(lambda p=panel, f=flat: _shown(p, f)))
        assert panel.tree.model.rowCount() == _MANY
        _drop(panel)
        panel = _new_panel(stage)
        _shown(panel, (first, *below))
        index = panel.tree.model.index_of(first.id)
        panel.tree.view.collapse(index)
        _painted(panel)
        expanded.append(_took(lambda p=panel, i=index: (p.tree.view.expand(i), _painted(p))))
        assert panel.tree.view.isExpanded(index), number
        _drop(panel)
    report("agents_tree_insert", statistics.median(inserted))
    report("agents_tree_expand", statistics.median(expanded))


class _Paints(QObject):
    """Counts the paints of a widget."""

    def __init__(self, watched: QWidget) -> None:
        super().__init__()
        self.count = 0
        watched.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.count += event.type() == QEvent.Type.Paint
        return False


def _drop(panel: AgentPanel) -> None:
    panel.close()
    panel.deleteLater()
    QApplication.processEvents()


async def _measure_updates(stage: Stage) -> None:
    """Let 8 rows of a tree change ten times a second, beside 92 that have ended."""
    panel = _new_panel(stage)
    ended = [_info(n) for n in range(100, 192)]
    follow(panel, _changed(ended))
    await pause(1)
    begun = time.time()
    shares: list[float] = []
    for is_updated in (False, True):
        start, cpu = time.perf_counter(), time.thread_time()
        for step in range(_UPDATES_S * 10):
            if is_updated:
                steps = [(n, step * _LIVE + n) for n in range(_LIVE)]
                live = [_info(n, is_live=True, step=at, started_at=begun) for n, at in steps]
                follow(panel, _changed((*ended, *live)))
            await pause(0.1)
        shares.append((time.thread_time() - cpu) / (time.perf_counter() - start) * 100)
    report("agents_tree_update_core", shares[1] - shares[0])
    _drop(panel)


# -- the team ------------------------------------------------------------------------------


class _Team:
    """What is heard of the subagents of one session."""

    def __init__(self, stage: Stage) -> None:
        self.lengths: dict[AgentId, int] = {}
        self.infos: tuple[AgentInfo, ...] = ()
        self.stopping_at = 0.0
        stage.heard.append(self.hear)

    def hear(self, event: Event) -> None:
        if isinstance(event, PartDelta) and event.agent_id.startswith("sa_"):
            before = self.lengths.get(event.agent_id, 0)
            self.lengths[event.agent_id] = before + len(event.text)
        elif isinstance(event, AgentsChanged):
            self.infos = event.over(self.infos)
            if not self.stopping_at and any(info.status == "stopping" for info in event.agents):
                self.stopping_at = time.perf_counter()

    @property
    def chunks(self) -> float:
        return sum(self.lengths.values()) / WORD_LENGTH

    @property
    def live(self) -> int:
        return sum(1 for info in self.infos if info.parent_id is not None and not info.is_ended)


async def _measure_streams(stage: Stage, provider: ProviderProcess) -> None:
    """Hold the gaps of a busy window against those of the same window at rest."""
    stage.meter.start()
    await pause(_REST_S)
    stage.meter.stop()
    rest = stage.meter.percentile(0.99), max(stage.meter.gaps_ms)
    team = _Team(stage)
    model = f"openai/team-{_LIVE}-{_RATE}-{_SECONDS + _MARGIN_S}"
    main = await stage.new_session(model, provider.api_base)
    stage.send(main, "Tell me.")
    await stage.until(lambda: len(team.lengths) == _LIVE)
    # One of them is on screen, in the midst of its words; the tree stands beside.
    stage.bridge.engine.open_agent(next(iter(team.lengths)))
    await pause(1)
    assert team.live == _LIVE, team.infos
    stage.meter.start()
    start, before = time.perf_counter(), team.chunks
    await pause(_SECONDS)
    seconds, chunks = time.perf_counter() - start, team.chunks - before
    stage.meter.stop()
    report("agents_gap_p99", stage.meter.percentile(0.99), floor=rest[0])
    report("agents_gap_max", max(stage.meter.gaps_ms), floor=rest[1])
    report("agents_chunks_per_s", chunks / seconds)
    stage.bridge.engine.stop(main)
    await stage.until(lambda: team.live == 0)


class _StopWatch(QObject):
    """Notes when a button that says *Stopping…* is painted for the first time."""

    def __init__(self, button: QWidget) -> None:
        super().__init__()
        self.painted_at = 0.0
        self._button = button
        button.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint and not self._button.isEnabled():
            self.painted_at = self.painted_at or time.perf_counter()
        return False


async def _measure_stop(stage: Stage, provider: ProviderProcess) -> None:
    """Stop 8 that each run a deaf shell, a process out of its group and a deaf orphan."""
    team = _Team(stage)
    main = await stage.new_session(f"openai/team-{_LIVE}-0-0", provider.api_base)
    stage.send(main, f"run:{_COMMAND}")
    files = [stage.folder / f"{number}.pids" for number in range(_LIVE)]
    while sum(len(_words(file)) for file in files) < _LIVE * _PIDS_EACH:
        await pause(0.05)
    pids = [_here(int(word), file.stem) for file in files for word in _words(file)]
    await stage.until(lambda: team.live == _LIVE)
    button = stage.window.findChild(QWidget, "stopButton")
    assert button is not None
    assert button.isVisible()
    watch = _StopWatch(button)
    start = time.perf_counter()
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    gone_at = 0.0
    while time.perf_counter() - start < 10 and not (gone_at and team.live == 0):
        await pause(0.02)
        if not gone_at and not any(_is_alive(pid) for pid in pids):
            gone_at = time.perf_counter()
    report("agents_stop_shown", (watch.painted_at - start) * 1000)
    report("agents_stop_told", (team.stopping_at - start) * 1000)
    report("agents_stop_gone", ((gone_at or time.perf_counter()) - start) * 1000)
    report("agents_stop_left", sum(_is_alive(pid) for pid in pids))


def _words(file: Path) -> list[str]:
    return file.read_text(encoding="ascii").split() if file.exists() else []


def _here(inner: int, name: str) -> int:
    """Return the id that we know a process of a command by which calls itself `inner`."""
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            ids = re.search(r"^NSpid:.*\b(\d+)$", status.read_text(), re.MULTILINE)
            words = (status.parent / "cmdline").read_bytes()
            around = (status.parent / "environ").read_bytes()
        except OSError:
            continue  # it ended, or is somebody else's
        is_it = f"{name}.pids".encode() in words or f"BENCH_TEAM={name}\0".encode() in around
        if ids and int(ids[1]) == inner and is_it and b"bwrap\0" not in words:
            return int(status.parent.name)
    raise LookupError(f"no process of {name} calls itself {inner}")


def _is_alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"


async def _play(stage: Stage) -> None:
    only = os.environ.get("BENCH_AGENTS", "tree updates streams stop registry ended").split()
    # The start of the app, with its model host, is measured elsewhere.
    await stage.new_session("demo")
    await pause(2)
    if "tree" in only:
        _measure_tree(stage)
    if "updates" in only:
        await _measure_updates(stage)
    with ProviderProcess() as provider:
        if "streams" in only:
            await _measure_streams(stage, provider)
        if "stop" in only:
            await _measure_stop(stage, provider)


def _allow_commands() -> None:
    data = Path(os.environ["DESKTOP_AGENT_HOME"], "data")
    data.mkdir(parents=True)
    store = SqliteStore(data / SESSIONS_FILE)
    store.save_rules([Rule("shell", "", scope="everywhere")])
    store.close()


if __name__ == "__main__":
    if "registry" in os.environ.get("BENCH_AGENTS", "registry"):
        asyncio.run(_measure_registry())
    if "ended" in os.environ.get("BENCH_AGENTS", "ended"):
        asyncio.run(_measure_ended())
    _allow_commands()
    run(_play, Settings(model="demo", max_children=_LIVE, max_agents=_LIVE))
    sys.stdout.flush()
