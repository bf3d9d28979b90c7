"""What every test stands on: a display of its own, a home of its own."""

import os

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ["DESKTOP_AGENT_HOME"] = "/nonexistent/set-per-test"
# A real window would have the demo model work at a pace for people.
os.environ["DESKTOP_AGENT_DEMO_PACE"] = "quick"

import asyncio
from collections.abc import Callable, Coroutine, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Report half characters, which tests log on purpose, in a form that can be sent on."""
    report = yield
    report.sections = [
        (name, text.encode("utf-8", "backslashreplace").decode()) for name, text in report.sections
    ]
    return report


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep tests out of the person's files, and away from each other's."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("DESKTOP_AGENT_HOME", str(home / "app"))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture(scope="session")
def session_theme(qapp):
    from desktop_agent.gui.kit.theme import Theme

    # As in the app: a window of one test that closes late must not end the loop of another.
    qapp.setQuitOnLastWindowClosed(False)
    return Theme(qapp)


@pytest.fixture
def theme(session_theme):
    """The look of the window: light, normal size, nothing moving."""
    session_theme.configure("light", 100, True)
    yield session_theme
    session_theme.configure("light", 100, True)


@pytest.fixture
def run_on_window(qapp) -> Iterator[Callable[[Coroutine[Any, Any, Any]], Any]]:
    """Run a coroutine on the window's own loop, as dialogs and the main window do."""
    import qasync

    loop = qasync.QEventLoop(qapp)
    asyncio.set_event_loop(loop)
    failures: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: failures.append(context))

    def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
        return loop.run_until_complete(asyncio.wait_for(coroutine, 20))

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
