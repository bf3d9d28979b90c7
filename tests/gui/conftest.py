"""The window under test: real bridge, engine, store and tools, and a provider on loopback."""

import argparse
import asyncio

import pytest
import qasync

from desktop_agent.adapters.config.settings_file import save
from desktop_agent.adapters.sandbox import probes
from desktop_agent.core.settings import Settings
from tests.helpers.patience import HANG_MS, HANG_S
from tests.helpers.providers import LoopbackProvider
from tests.helpers.windows import app_of


@pytest.fixture(autouse=True)
def patient_lexers(monkeypatch):
    """All code gets its colours, however slow the machine is."""
    monkeypatch.setattr("desktop_agent.core.prose.code_tokens._SECONDS", HANG_S)


@pytest.fixture
def window_loop(qapp):
    """The window's own loop, turning whenever Qt's does."""
    loop = qasync.QEventLoop(qapp, already_running=True)
    asyncio.set_event_loop(loop)
    # A loop that Qt turns can't be closed, and so would not end the threads of its own.
    executor = qasync.QThreadExecutor(2)
    loop.set_default_executor(executor)
    failures = []
    loop.set_exception_handler(lambda _, context: failures.append(context))
    yield loop
    asyncio.events._set_running_loop(None)
    asyncio.set_event_loop(None)
    executor.shutdown()
    assert not failures, failures


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "notes.txt").write_text("milk\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def probe_once():
    """Try the sandbox out for the first window: it holds on this machine for the others as well."""
    held = []

    async def run(*given, really=probes.run):
        found = held or await really(*given)
        held[:] = found if all(one.held for one in found) else ()
        return tuple(found)

    return run


@pytest.fixture
def open_window(qtbot, theme, window_loop, forked_hosts, probe_once, monkeypatch):
    """Open real windows; closing and reopening one is a restart of the app."""
    monkeypatch.setattr(probes, "run", probe_once)
    from desktop_agent import paths
    from desktop_agent.app import _compose
    from desktop_agent.gui.bridge.bridge import Asked, Bridge
    from desktop_agent.gui.window.app_windows import AppWindows

    opened = []

    def close(window, bridge):
        # The model host is up, or comes up now: a process half started can't be waited for.
        model = Asked(bridge._ask, lambda backend: backend.model)
        window.queries.ask(lambda _: None, model.start())
        qtbot.waitUntil(lambda: not window.queries.is_busy, timeout=HANG_MS)
        # Others may have been opened beside it.
        windows = {window, *app_of(window).windows}
        app_of(window).quit_now()
        window.quit_now()
        qtbot.waitUntil(lambda: not any(one.queries.is_busy for one in windows), timeout=HANG_MS)
        assert bridge.close(HANG_S)
        for one in windows:
            one.deleteLater()

    def open_one(folder="", **changes):
        settings = Settings(**{"reduce_motion": True, "theme": "light", **changes})
        save(paths.config_dir() / "settings.json", settings)
        bridge = Bridge()
        # The bridge keeps them, as the app does.
        windows = AppWindows(theme, bridge, settings, bridge)
        window = windows.open_first(str(folder) or None)
        window.resize(1200, 800)
        window.show()
        qtbot.waitExposed(window)
        window.activateWindow()
        bridge.start(_compose)
        opened.append((window, bridge))
        return window

    def close_one(window):
        for pair in [pair for pair in opened if pair[0] is window]:
            opened.remove(pair)
            close(*pair)

    open_one.close = close_one
    yield open_one
    for pair in opened:
        close(*pair)


@pytest.fixture
def provider(monkeypatch):
    """A provider that answers as the test says."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-loopback")
    with LoopbackProvider("openai", []) as server:
        yield server


@pytest.fixture
def window(open_window, provider, project):
    """A window in a folder, on that provider."""
    return open_window(project, model=provider.model, api_base=provider.api_base)


@pytest.fixture
def stage(qapp, run_on_window, tmp_path):
    """Play a step with the real window, fed by hand as for its pictures."""
    from tests.gallery import Gallery

    def play(step):
        given = argparse.Namespace(theme="light", width=1440, text=100, folder=tmp_path, only=[])

        async def run():
            shown = Gallery(qapp, given)
            try:
                await step(shown, shown.window)
            finally:
                shown.window.quit_now()
                shown.window.deleteLater()

        run_on_window(run())

    return play
