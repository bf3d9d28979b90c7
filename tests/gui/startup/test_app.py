"""Starting the app: the right thing opens, and when nothing can, it says why in one sentence."""

import os
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

from desktop_agent import __version__, paths
from desktop_agent.app import main
from desktop_agent.gui.startup.display import display_problem, missing_libraries
from tests.helpers.patience import HANG_S


def start(*arguments, **changes):
    environment = {**os.environ, **changes}
    for name in [name for name, value in changes.items() if value is None]:
        environment.pop(name)
    return subprocess.run(
        [sys.executable, "-m", "desktop_agent", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )


def test_the_version_is_told_without_loading_qt():
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from desktop_agent.app import main; main(['--version']);"
            "sys.exit(any(name.startswith('PySide6') for name in sys.modules))",
        ],
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout == f"desktop-agent {__version__}\n"


def test_without_a_display_there_is_one_sentence_instead_of_a_crash():
    done = start(QT_QPA_PLATFORM=None, DISPLAY=None, WAYLAND_DISPLAY=None)
    assert done.returncode == 1
    assert "no display" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_display_that_does_not_answer_is_named():
    done = start(QT_QPA_PLATFORM=None, DISPLAY=":987", WAYLAND_DISPLAY=None)
    assert done.returncode == 1
    assert ":987" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps a folder that is worked in")
@pytest.mark.parametrize(
    ("home", "words"),
    [("file/in/the/way", "can't be used"), ("home", "the current folder is gone")],
)
def test_a_start_with_places_that_are_not_there_says_so_in_one_sentence(
    tmp_path, monkeypatch, capsys, home, words
):
    (tmp_path / "file").touch()
    (tmp_path / "gone").mkdir()
    monkeypatch.setenv("DESKTOP_AGENT_HOME", str(tmp_path / home))
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert main(["notes"]) == 1
    (said,) = capsys.readouterr().err.splitlines()
    assert words in said


@pytest.mark.skipif(sys.platform == "win32" or os.getuid() != 0, reason="only root changes users")
def test_a_user_without_a_home_is_told_so_in_one_sentence(monkeypatch, capfd):
    monkeypatch.delenv("HOME", raising=False)
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            os.setreuid(54321, 0)
            os._exit(main(["sessions", "list"]))
        os._exit(99)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    (said,) = capfd.readouterr().err.splitlines()
    assert "no home folder" in said


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere every name is text")
@pytest.mark.parametrize(
    ("arguments", "code"), [([], 1), (["run", "Hello", "--workspace"], 2)], ids=["window", "run"]
)
def test_a_folder_whose_name_is_no_text_is_refused_in_one_sentence(
    own_home, tmp_path, monkeypatch, capsys, arguments, code
):
    folder = tmp_path / os.fsdecode(b"b\xfcro")
    folder.mkdir()
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    assert main([*arguments, str(folder)]) == code
    (said,) = capsys.readouterr().err.splitlines()
    assert "rename it first" in said


def test_an_unknown_argument_shows_how_to_start():
    done = start("--nonsense")
    assert done.returncode == 2
    assert "usage" in done.stderr


def test_missing_libraries_are_named_by_their_package():
    found = missing_libraries({"libnothing-like-this.so.9": "libnothing9", "libc.so.6": "libc6"})
    assert found == "libnothing9"


def test_an_offscreen_window_needs_no_display():
    assert display_problem({"QT_QPA_PLATFORM": "offscreen"}) == ""


def test_a_wayland_desktop_needs_no_x_server(tmp_path):
    (tmp_path / "wayland-0").touch()
    environment = {"WAYLAND_DISPLAY": "wayland-0", "XDG_RUNTIME_DIR": str(tmp_path)}
    assert display_problem(environment) == ""


@pytest.mark.skipif(sys.platform != "linux", reason="asks for what only Linux has")
@pytest.mark.parametrize("platform", ["wayland", "wayland-egl"])
def test_a_setting_that_asks_for_wayland_where_there_is_none_is_named(tmp_path, platform):
    """Many set it once for all; Qt would abort on an X11 desktop, and a click show nothing."""
    environment = {"QT_QPA_PLATFORM": platform, "XDG_RUNTIME_DIR": str(tmp_path), "DISPLAY": ":0"}
    assert "QT_QPA_PLATFORM" in display_problem(environment)
    either = environment | {"QT_QPA_PLATFORM": f"{platform};xcb"}
    assert "QT_QPA_PLATFORM" not in display_problem(either)


def test_a_polite_end_from_outside_closes_the_window_and_its_engine(own_home):
    running = subprocess.Popen(
        [sys.executable, "-X", "faulthandler", "-m", "desktop_agent"],
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # The window writes its place a moment after it was shown; then its loop runs.
    written = paths.config_dir() / "window.ini"
    while not written.exists():
        with suppress(subprocess.TimeoutExpired):
            pytest.fail(f"it ended by itself with {running.wait(0.1)}")
    running.send_signal(signal.SIGTERM)
    output, errors = running.communicate(timeout=HANG_S)
    assert running.returncode == 0
    assert output == ""
    assert errors == ""


def test_an_end_that_is_asked_for_before_the_loop_turns_is_not_forgotten(own_home):
    program = (
        "from desktop_agent.app import _compose\n"
        "from desktop_agent.core.settings import Settings\n"
        "from desktop_agent.gui.startup import run\n"
        "wait = run.wait_for_paint\n"
        "def close_early(window):\n"
        "    wait(window)\n"
        "    print(window.frame.notices.has('settings'))\n"
        "    window.quit_now()\n"
        "run.wait_for_paint = close_early\n"
        "said = ['Your settings were damaged.']\n"
        "run.run_window(_compose, lambda: Settings(model='demo'), '', lambda: None, said)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "True\n", "what is wrong with the settings is said"
