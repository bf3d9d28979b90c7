"""What every test stands on: a display of its own, a home of its own."""

import os
import sys

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ["DESKTOP_AGENT_HOME"] = "/nonexistent/set-per-test"
# A real window would have the demo model work at a pace for people.
os.environ["DESKTOP_AGENT_DEMO_PACE"] = "quick"
# Commands that tests run start this Python, which the sandbox has to know of.
os.environ["VIRTUAL_ENV"] = os.path.realpath(sys.prefix)

import asyncio
import gc
import itertools
import logging
from collections.abc import Callable, Coroutine, Generator, Iterator
from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from pytestqt.qtbot import QtBot

import desktop_agent.gui  # noqa: F401 - before pytest-qt: no test imports under Qt's hook
from tests.helpers.forked import FORKS
from tests.helpers.patience import HANG_MS, HANG_S

# How long an example takes is the machine's, and nothing that a user would lose.
settings.register_profile(
    "patient",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("patient")

_LIMITS = (
    "adapters.models.local_servers._ANSWER_S",
    "adapters.models.catalog._ANSWER_S",
    "adapters.models.catalog._CONNECT_S",
    "adapters.models.catalog._LISTED_S",
    "adapters.config.update_check._ANSWER_S",
    "engine.skills.requirements._TIME_S",
    "engine.skills.registry._PATIENCE_S",
    "engine.mcp.servers._PATIENCE_S",
    "engine.permissions.host_requests._PATIENCE_S",
    "adapters.sandbox.made_files._GIT_S",
    "adapters.sandbox.probes._PATIENCE_S",
)
# The files of tests in which there were widgets.
_WITH_WINDOWS: set[Path] = set()
# What the window takes away again by itself.
_SHOWN_FOR = (
    "notes.strip.DELIVERED_MS",
    "frame.notice_bar._HINT_MS",
    "sessions.panel.UNDO_MS",
    "controllers.skills._NEWS_MS",
    "controllers.changes._NEWS_MS",
    "tasks.panel.UNDO_MS",
    "controllers.trust._NOTICE_MS",
)


# The files that take longest, by their names: whoever takes them last has the others wait.
_LONGEST = (
    "test_parsers",
    "test_cluster",
    "test_painting",
    "test_headless",
    "test_focus_regions",
    "test_window",
    "test_kill",
    "test_undo_kill",
    "test_self_check",
    "test_demo_story",
    "test_refused_writes",
    "test_desktop",
    "test_desktop_skills",
    "test_desktop_tasks",
    "test_desktop_team",
    "test_host_process",
    "test_host_faults",
    "test_faults",
    "test_headless_dialects",
    "test_tree_properties",
    "test_sandboxed",
    "test_shell",
    "test_clients",
    "test_window_agents",
    "test_histories",
)


def pytest_configure(config: pytest.Config) -> None:
    """Be the one that starts, when it is first needed, what all workers share."""
    if not hasattr(config, "workerinput"):
        FORKS.open()


def pytest_unconfigure(config: pytest.Config) -> None:
    """End what the tests have started once for all of them."""
    FORKS.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest files; each stays whole."""
    first = {name: place for place, name in enumerate(_LONGEST)}
    items.sort(key=lambda item: (first.get(item.path.stem, len(first)), item.path))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Have the collector not look through what is imported, which stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Have the collector look at what tests make, and never again at all that was imported."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Report half characters, which tests log on purpose, in a form that can be sent on."""
    report = yield
    report.sections = [
        (name, text.encode("utf-8", "backslashreplace").decode()) for name, text in report.sections
    ]
    return report


@pytest.fixture(scope="session")
def new_home(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Make homes in a folder of their own: to number one, pytest lists all that lies beside it."""
    folder, numbers = tmp_path_factory.mktemp("h"), itertools.count()

    def make() -> Path:
        home = folder / str(next(numbers))
        home.mkdir(0o700)
        return home

    return make


@pytest.fixture(autouse=True)
def own_home(new_home: Callable[[], Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep tests out of the person's files, and away from each other's."""
    home = new_home()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("DESKTOP_AGENT_HOME", str(home / "app"))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    return home


# Where no window comes up: one that does under the mouse has it, as the test before left it.
_ELSEWHERE = (-10_000, -10_000)


class PatientBot(QtBot):
    """pytest-qt's own, which waits for five seconds where a test names no limit."""

    waitActive = partialmethod(QtBot.waitActive, timeout=HANG_MS)
    waitExposed = partialmethod(QtBot.waitExposed, timeout=HANG_MS)
    waitSignal = partialmethod(QtBot.waitSignal, timeout=HANG_MS)
    waitSignals = partialmethod(QtBot.waitSignals, timeout=HANG_MS)
    waitUntil = partialmethod(QtBot.waitUntil, timeout=HANG_MS)
    waitCallback = partialmethod(QtBot.waitCallback, timeout=HANG_MS)

    def waitState(self, signal: Any, holds: Callable[[], Any]) -> None:
        """Wait until something holds; whatever brings it about is followed by the signal."""
        while not holds():
            with self.waitSignal(signal):
                pass

    def waitFocus(self, widget: Any) -> None:
        """Wait until the keys go to a widget."""
        from PySide6.QtWidgets import QApplication

        self.waitState(QApplication.instance().focusChanged, widget.hasFocus)


@pytest.fixture
def qtbot(qapp, request) -> QtBot:
    """A person at the window who waits as long as it takes, and whose mouse is elsewhere first."""
    from PySide6.QtGui import QCursor

    QCursor.setPos(*_ELSEWHERE)
    return PatientBot(request)


class _Collected(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(f"{record.getMessage()}: {record.exc_info and record.exc_info[1]}")


@pytest.fixture(autouse=True)
def no_illegal_transitions() -> Iterator[list[str]]:
    """Fail a test in which an agent's life left its table, which the app only logs."""
    collected, log = _Collected(), logging.getLogger("desktop_agent.engine.agent.lifecycle")
    log.addHandler(collected)
    yield collected.texts
    log.removeHandler(collected)
    assert not collected.texts


@pytest.fixture(autouse=True)
def own_keys() -> None:
    """Begin as the app does: what one test gave out as a key may be a word in the next."""
    from desktop_agent.core.keys.known_keys import KEYS

    KEYS.__init__()


@pytest.fixture(scope="session")
def new_theme(qapp, tmp_path_factory):
    """Make themes that outlive a test, in a home of their own; the app is set up as it is there."""
    from desktop_agent.gui.kit.accessible import tell_all
    from desktop_agent.gui.kit.theme import Theme

    # A window of one test that closes late must not end the loop of another.
    qapp.setQuitOnLastWindowClosed(False)
    tell_all()

    def make() -> Theme:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("DESKTOP_AGENT_HOME", str(tmp_path_factory.mktemp("theme")))
            return Theme(qapp)

    return make


@pytest.fixture(scope="session")
def session_theme(new_theme):
    return new_theme()


@pytest.fixture
def theme(session_theme, monkeypatch):
    """The look of the window: light, normal size, nothing moving or going away by itself."""
    for name in _SHOWN_FOR:
        monkeypatch.setattr(f"desktop_agent.gui.{name}", HANG_MS)
    session_theme.configure("light", 100, True)
    yield session_theme
    delete_now()
    session_theme.configure("light", 100, True)


@pytest.fixture(autouse=True, scope="session")
def patient_app() -> Iterator[None]:
    """Lift the app's own limits that only a busy machine runs into; some tests set their own."""
    with pytest.MonkeyPatch.context() as patch:
        for name in _LIMITS:
            patch.setattr(f"desktop_agent.{name}", HANG_S)
        yield


@pytest.fixture(autouse=True)
def collect_between_tests_only(request: pytest.FixtureRequest) -> Iterator[None]:
    """Widgets must die on the window's thread: no automatic collection while an engine runs."""
    has_window = "qapp" in request.fixturenames
    if has_window:
        _WITH_WINDOWS.add(request.path)
    gc.disable()
    yield
    if has_window:
        delete_now()
    gc.enable()


def delete_now() -> None:
    """Delete what waits for an event loop to do it: each new look would be applied to it too."""
    from PySide6.QtCore import QCoreApplication, QEvent

    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture(autouse=True, scope="module")
def collect_after_the_last(request: pytest.FixtureRequest) -> Iterator[None]:
    """Nor may a thread of the tests that come next find what is left of a window."""
    yield
    if request.path in _WITH_WINDOWS:
        gc.collect()
        gc.freeze()  # what is still in use is looked at once, not after each file that follows


@pytest.fixture
def forked_hosts() -> Iterator[None]:
    """Let the apps of a test start their model hosts without importing everything again."""
    with FORKS.hosts():
        yield


@pytest.fixture
def run_on_window(qapp) -> Iterator[Callable[[Coroutine[Any, Any, Any]], Any]]:
    """Run a coroutine on the window's own loop, as dialogs and the main window do."""
    import qasync

    loop = qasync.QEventLoop(qapp)
    asyncio.set_event_loop(loop)
    failures: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: failures.append(context))

    def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
        return loop.run_until_complete(asyncio.wait_for(coroutine, HANG_S))

    run.loop = loop
    yield run
    jobs = asyncio.all_tasks(loop)
    for job in jobs:
        job.cancel()
    if jobs:
        loop.run_until_complete(asyncio.gather(*jobs, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()
    asyncio.set_event_loop(None)
    assert not failures, failures
