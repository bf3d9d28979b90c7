"""The app as a program on a desktop: keys from an X server, names from a screen reader's bus."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

import desktop_agent
from desktop_agent.adapters.config import settings_file
from desktop_agent.core.settings import Settings
from tests.e2e import job
from tests.helpers.forked import app_by_fork
from tests.helpers.patience import HANG_S as SECONDS
from tests.helpers.providers import LoopbackProvider

pytestmark = pytest.mark.window

ROOT = Path(desktop_agent.__file__).parents[1]
SYSTEM_PYTHON = "/usr/bin/python3"
LAUNCHER = Path("/usr/libexec/at-spi-bus-launcher")
PROGRAMS = ("Xvfb", "openbox", "xdotool", "dbus-daemon")


def missing() -> str:
    """Return what this computer lacks for a desktop of the tests' own, or nothing."""
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    if not LAUNCHER.exists():
        lacking.append("at-spi2-core")
    command = [SYSTEM_PYTHON, "-c", "import pyatspi"]
    if not Path(SYSTEM_PYTHON).exists() or subprocess.run(command, capture_output=True).returncode:
        lacking.append("python3-pyatspi")
    return ", ".join(lacking)


@pytest.fixture(scope="module")
def desktop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """An X server, a window manager and the two buses; the environment to use them."""
    if lacking := missing():
        pytest.skip(f"no desktop to test on; missing: {lacking}")
    run_dir = tmp_path_factory.mktemp("run")
    run_dir.chmod(0o700)
    with ExitStack() as stack:
        display = _started(stack, ["Xvfb", "-displayfd", "1", "-screen", "0", "1440x900x24"], {})
        own = {"DISPLAY": f":{display}", "XDG_RUNTIME_DIR": str(run_dir)}
        command = ["dbus-daemon", "--session", "--nofork", "--print-address=1"]
        own["DBUS_SESSION_BUS_ADDRESS"] = _started(stack, command, own)
        _manage_windows(stack, {**os.environ, **own})
        launcher = [str(LAUNCHER), "--launch-immediately"]
        stack.callback(_end, _unheard(launcher, {**os.environ, **own}))
        accessible = {"QT_ACCESSIBILITY": "1", "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1"}
        yield {**own, **accessible, "QT_QPA_PLATFORM": "xcb"}


def _unheard(command: list[str], environment: dict[str, str]) -> subprocess.Popen:
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def _manage_windows(stack: ExitStack, environment: dict[str, str]) -> None:
    """Start a window manager and wait until it is one; on a busy machine it may fail at first."""
    for _ in range(3):
        process = _unheard(["openbox"], environment)
        stack.callback(_end, process)
        while process.poll() is None:
            if not _unheard(["xdotool", "get_num_desktops"], environment).wait():
                return
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.1)
    pytest.fail("no window manager could be started")


def _started(stack: ExitStack, command: list[str], own: dict[str, str]) -> str:
    """Start a server, and return the first line that it prints."""
    process = subprocess.Popen(
        command,
        env={**os.environ, **own},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    stack.callback(_end, process)
    assert process.stdout is not None
    return process.stdout.readline().strip()


def _end(process: subprocess.Popen) -> None:
    process.terminate()
    try:
        process.wait(SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


class App:
    """The running app: keys go to its window, `ask` asks what a screen reader is told."""

    def __init__(self, process: subprocess.Popen, environment: dict[str, str]) -> None:
        self.process = process
        self._environment = {**os.environ, **environment}
        script = str(Path(__file__).with_name("outside.py"))
        self.outside = subprocess.Popen(
            [SYSTEM_PYTHON, script, str(process.pid)],
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._answer() == "ready"

    def ask(self, *command: str):
        assert self.outside.stdin is not None
        self.outside.stdin.write(json.dumps(command) + "\n")
        self.outside.stdin.flush()
        return self._answer()

    def keys(self, *names: str) -> None:
        self.xdotool("key", "--clearmodifiers", *names)

    def type(self, text: str) -> None:
        self.xdotool("type", "--delay", "5", text)

    def to_front(self) -> None:
        search = ["search", "--sync", "--onlyvisible", "--all", "--pid", str(self.process.pid)]
        self.xdotool(*search, "--name", ".", "windowactivate", "--sync")

    def xdotool(self, *arguments: str) -> None:
        command = ["xdotool", *arguments]
        subprocess.run(command, env=self._environment, check=True, timeout=SECONDS)

    def _answer(self):
        assert self.outside.stdout is not None
        line = self.outside.stdout.readline()
        assert line, "the outside client ended"
        return json.loads(line)


@pytest.fixture
def start_app(desktop: dict[str, str], tmp_path: Path) -> Iterator[Callable[..., App]]:
    """Start the app with settings of its own.

    `is_whole` is as a person would from a menu; else what the model is asked by is forked.
    """
    forked = app_by_fork()
    with ExitStack() as stack:

        def start(folder: Path, settings: Settings, *, is_whole: bool = False, **more: str) -> App:
            home = tmp_path / "home"
            (home / "app" / "config").mkdir(parents=True)
            settings_file.save(home / "app" / "config" / "settings.json", settings)
            own = {
                "HOME": str(home),
                "DESKTOP_AGENT_HOME": str(home / "app"),
                **job.surroundings(),
                "OPENAI_API_KEY": "sk-test-loopback",
                "ANTHROPIC_API_KEY": "sk-test-loopback",
                **more,
            }
            command = [sys.executable, "-m", "desktop_agent"] if is_whole else forked
            process = subprocess.Popen(
                [*command, str(folder)],
                env={**os.environ, **desktop, **own},
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            stack.callback(_end, process)
            app = App(process, {**desktop, **own})
            stack.callback(_end, app.outside)
            return app

        yield start


def check_names(app: App) -> None:
    """Whatever can be focused or pressed says what it is."""
    nodes = app.ask("look")
    assert len(nodes) > 20
    nameless = [
        node
        for node in nodes
        if (node["is_focusable"] or node["is_pressable"]) and not node["name"].strip()
    ]
    assert not nameless


def check_menu(app: App) -> None:
    """A menu that is open is found with what it offers, though it is a window of its own."""
    assert app.ask("push", "Mode: Ask before changes")
    item = app.ask("wait", "Look only…")
    assert item["role"] == "menu item", item
    app.keys("Escape")
    assert app.ask("gone", "What the agent may do")


def check_transcript(app: App) -> None:
    """The conversation is read as a document, and what an agent did are buttons that unfold."""
    nodes = app.ask("look")
    assert "document frame" in {node["role"] for node in nodes}
    unfolding = {node["role"] for node in nodes if node["can_unfold"]}
    assert unfolding in ({"push button"}, {"button"}), "the bus of 2025 has another word for it"


def allow_by_keys(app: App, provider: LoopbackProvider) -> None:
    """Choose the card and press Enter, again while it is deaf: it is for its first moments."""
    give_up = time.monotonic() + SECONDS
    while time.monotonic() < give_up:
        app.keys("alt+a", "Return")
        try:
            provider.wait_for(4, 3)
        except TimeoutError:
            continue
        return
    pytest.fail("Enter on the card allowed nothing")


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_the_main_job_by_keyboard_alone_and_over_the_screen_readers_bus(
    start_app: Callable[..., App], tmp_path: Path, dialect: str
) -> None:
    folder = job.make_folder(tmp_path)
    with LoopbackProvider(dialect, job.script()) as provider:
        settings = Settings(
            model=provider.model, api_base=provider.api_base, reduce_motion=True, theme="light"
        )
        app = start_app(folder, settings, is_whole=dialect == "openai")
        assert app.ask("wait", "Message"), app.ask("look")
        app.to_front()
        check_names(app)
        check_menu(app)
        app.type(job.REQUEST)
        app.keys("Return")
        assert app.ask("wait", "Approval needed…")
        check_names(app)
        assert not job.is_fixed(folder)
        assert app.ask("press", "Allow once")
        provider.wait_for(3, SECONDS)
        assert job.is_fixed(folder)
        card = app.ask("wait", "Approval needed…")
        assert job.COMMAND in card["name"]
        allow_by_keys(app, provider)
        assert app.ask("reads", "Conversation", job.ANSWER), app.ask("text", "Conversation")
        check_names(app)
        check_transcript(app)
        app.keys("ctrl+q")
        assert app.process.wait(SECONDS) == 0
        assert app.process.stdout is not None
        assert app.process.stdout.read() == ""
