"""An AppImage with the project's own runtime starts anywhere, and leaves nothing behind it."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.helpers.patience import HANG_S as SECONDS
from tests.packaging.test_files import ask

# Tells what it sees, and stays until a line is read where it is asked to.
APP = """#!/bin/sh
printf '%s\\n' "$APPDIR" "$APPIMAGE" "$ARGV0" "$OWD" "$@"
cat "$APPDIR/words"
[ "$1" != stay ] || read -r _
"""

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="AppImages are made on Linux"),
    pytest.mark.skipif(
        shutil.which("mksquashfs") is None, reason="squashfs-tools is not installed"
    ),
]


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small AppImage, in a folder with a space in its name."""
    place = tmp_path_factory.mktemp("made")
    told = ask(
        "import appimage; from pathlib import Path; "
        f"print(appimage.compile_stand_in(Path({str(place)!r})) or '')"
    )
    if not told.strip():
        pytest.skip("the runtime's parts are not installed")
    folder = place / "folder"
    (folder / "inner").mkdir(parents=True)
    (folder / "AppRun").write_text(APP)
    (folder / "AppRun").chmod(0o755)
    (folder / "inner" / "words").write_text("The plums are ripe.\n" * 20_000)
    (folder / "words").symlink_to("inner/words")
    packed = place / "packed"
    command = ["mksquashfs", folder, packed, "-comp", "zstd", "-quiet", "-no-progress"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    target = place / "My programs" / "Plums.AppImage"
    target.parent.mkdir()
    target.write_bytes(Path(told.strip()).read_bytes() + packed.read_bytes())
    target.chmod(0o755)
    return target


@pytest.fixture(params=["mounted", "unpacked"])
def way(request: pytest.FixtureRequest) -> str:
    if request.param == "mounted" and not _may_mount():
        pytest.skip("nothing can be mounted here")
    return request.param


@pytest.fixture
def temporary(tmp_path: Path) -> Iterator[Path]:
    """The folder for temporary files, in which nothing may be left; nor anything mounted."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    yield folder
    assert until(lambda: not list(folder.iterdir())), list(folder.iterdir())
    assert str(folder) not in Path("/proc/self/mounts").read_text()


def _may_mount() -> bool:
    is_root = os.geteuid() == 0
    usable = os.access("/dev/fuse", os.R_OK | os.W_OK)
    return usable and (is_root or shutil.which("fusermount3") is not None)


def until(is_met: Callable[[], bool]) -> bool:
    pause, give_up = threading.Event(), time.monotonic() + SECONDS
    while not is_met() and time.monotonic() < give_up:
        pause.wait(0.01)
    return is_met()


def environment(temporary: Path, way: str) -> dict[str, str]:
    how = {"APPIMAGE_EXTRACT_AND_RUN": "1"} if way == "unpacked" else {}
    return {**os.environ, "TMPDIR": str(temporary), **how}


def start(image: Path, temporary: Path, way: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [image, *words],
        env=environment(temporary, way),
        cwd=temporary.parent,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


class Running:
    """An app that stays until it is let go."""

    def __init__(self, image: Path, temporary: Path, way: str) -> None:
        self.process = subprocess.Popen(
            [image, "stay"],
            env=environment(temporary, way),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.folder = Path(self.process.stdout.readline().strip())

    @property
    def keeper(self) -> int:
        """The process that answers for the app's files: it holds their folder's lock."""
        own = self.folder.parent
        for entry in Path("/proc").glob("[0-9]*"):
            # Others end at any moment.
            with contextlib.suppress(OSError):
                is_keeper = (entry / "comm").read_text().strip() == "appimage-keeper"
                if is_keeper and own in [file.readlink() for file in (entry / "fd").iterdir()]:
                    return int(entry.name)
        raise AssertionError("there is no keeper")

    def kill_keeper(self) -> None:
        """Kill it, and wait until the system has let go of all it held."""
        keeper = self.keeper
        os.kill(keeper, signal.SIGKILL)
        assert until(lambda: _is_gone(keeper))

    def end(self, number: int = 0) -> None:
        if number:
            self.process.send_signal(number)
        self.process.communicate("\n", timeout=SECONDS)
        self._wait_for_lock()

    def _wait_for_lock(self) -> None:
        """Wait until nobody holds the folder: its last process may still be ending."""
        with contextlib.suppress(FileNotFoundError):
            folder = os.open(self.folder.parent, os.O_RDONLY)
            try:
                fcntl.flock(folder, fcntl.LOCK_EX)
            finally:
                os.close(folder)


def _is_gone(process: int) -> bool:
    """Whether a process has ended; one that nobody has waited for yet has, too."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state in "ZX"


def test_it_starts_from_a_path_with_spaces_and_tells_the_app_where_all_is(
    image: Path, temporary: Path, way: str
) -> None:
    told = start(image, temporary, way, "one word", "")
    assert (told.returncode, told.stderr) == (0, "")
    folder, file, name, here, *words = told.stdout.splitlines()
    assert Path(folder).is_relative_to(temporary)
    assert (file, name, here) == (str(image), str(image), str(temporary.parent))
    assert words[:2] == ["one word", ""]
    assert words[2:] == ["The plums are ripe."] * 20_000


def test_it_starts_from_a_folder_in_which_nothing_can_be_written(
    image: Path, temporary: Path, way: str
) -> None:
    folder = image.parent
    folder.chmod(0o555)
    try:
        assert start(image, temporary, way).returncode == 0
    finally:
        folder.chmod(0o755)


def test_two_at_once_have_their_own_files_and_the_first_keeps_its_own(
    image: Path, temporary: Path, way: str
) -> None:
    first = Running(image, temporary, way)
    second = Running(image, temporary, way)
    assert first.folder != second.folder
    second.end()
    assert until(lambda: not second.folder.exists())
    assert (first.folder / "words").read_text().startswith("The plums")
    first.end()


def test_an_app_that_is_killed_leaves_nothing(image: Path, temporary: Path, way: str) -> None:
    running = Running(image, temporary, way)
    running.end(signal.SIGKILL)
    assert until(lambda: not running.folder.parent.exists())


def test_what_a_start_left_that_was_killed_whole_is_gone_with_the_next(
    image: Path, temporary: Path, way: str
) -> None:
    killed = Running(image, temporary, way)
    killed.kill_keeper()
    killed.end(signal.SIGKILL)
    assert os.path.lexists(killed.folder.parent)
    assert start(image, temporary, way).returncode == 0
    assert not os.path.lexists(killed.folder.parent)


def test_an_unpacked_app_keeps_its_files_even_when_its_keeper_is_killed(
    image: Path, temporary: Path
) -> None:
    running = Running(image, temporary, "unpacked")
    running.kill_keeper()
    assert start(image, temporary, "unpacked").returncode == 0
    assert (running.folder / "words").is_file()
    running.end()
    assert start(image, temporary, "unpacked").returncode == 0


def test_a_folder_of_that_name_that_another_made_is_left_alone(
    image: Path, temporary: Path, way: str
) -> None:
    others = temporary / ".mount_desktop-agent-plums1"
    others.mkdir(mode=0o755)
    (others / "kept").write_text("")
    link = temporary / ".mount_desktop-agent-plums2"
    link.symlink_to(others)
    assert start(image, temporary, way).returncode == 0
    assert (others / "kept").exists()
    assert link.is_symlink()
    link.unlink()
    shutil.rmtree(others)


def test_where_nothing_can_be_unpacked_it_says_what_to_do(image: Path, temporary: Path) -> None:
    missing = start(image, temporary / "missing", "unpacked")
    assert missing.returncode == 127
    assert "TMPDIR" in missing.stderr


def test_a_full_disk_is_called_by_its_name(image: Path, temporary: Path) -> None:
    resource = pytest.importorskip("resource")

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    full = subprocess.run(
        [image],
        env=environment(temporary, "unpacked"),
        stderr=subprocess.PIPE,
        text=True,
        timeout=SECONDS,
        check=False,
        preexec_fn=limit,
    )
    assert full.returncode == 127
    assert os.strerror(errno.EFBIG) in full.stderr


def test_it_starts_without_standard_input_and_output(
    image: Path, temporary: Path, way: str
) -> None:
    closed = subprocess.run(
        ["sh", "-c", 'exec "$0" <&- >&-', image],
        env=environment(temporary, way),
        stderr=subprocess.PIPE,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (closed.returncode, closed.stderr) == (0, "")


def test_it_can_be_unpacked_and_looked_into(image: Path, temporary: Path, tmp_path: Path) -> None:
    offset = int(start(image, temporary, "unpacked", "--appimage-offset").stdout)
    body = image.read_bytes()
    assert (body[:4], body[8:11]) == (b"\x7fELF", b"AI\x02")
    assert body[offset : offset + 4] == b"hsqs"
    assert start(image, temporary, "unpacked", "--appimage-extract").returncode == 0
    unpacked = tmp_path / "squashfs-root"
    assert (unpacked / "AppRun").stat().st_mode & 0o777 == 0o755
    assert (unpacked / "words").readlink() == Path("inner/words")
    assert "own" in start(image, temporary, "unpacked", "--appimage-version").stdout
    unknown = start(image, temporary, "unpacked", "--appimage-plums")
    assert unknown.returncode == 2
    assert "--appimage-help" in unknown.stderr


def test_what_is_built_holds_the_app_its_menu_entry_its_icon_and_all_licences(
    image: Path, temporary: Path, tmp_path: Path
) -> None:
    frozen = tmp_path / "frozen"
    (frozen / "_internal").mkdir(parents=True)
    (frozen / "desktop-agent").write_text(APP)
    (tmp_path / "shipped.json").write_text("[]")
    told = ask(
        "import os; os.environ.pop('DESKTOP_AGENT_APPIMAGE_RUNTIME', None); import appimage, "
        f"linux_tree; from pathlib import Path; place = Path({str(tmp_path)!r}); "
        "b = linux_tree.Build(place / 'frozen', place / 'shipped.json', '1.2.3', 1795000000); "
        "print(appimage.build_appimage(b, place, place))"
    ).splitlines()
    assert "official" in told[0]
    built = Path(told[1])
    assert start(built, temporary, "unpacked", "--appimage-extract").returncode == 0
    unpacked = tmp_path / "squashfs-root"
    assert (unpacked / "AppRun").resolve() == unpacked / "usr/lib/desktop-agent/desktop-agent"
    assert os.access(unpacked / "AppRun", os.X_OK)
    assert (unpacked / ".DirIcon").read_bytes()[:4] == b"\x89PNG"
    assert "Name=Desktop Agent" in (unpacked / "desktop-agent.desktop").read_text()
    papers = unpacked / "usr/share/doc/desktop-agent"
    assert "libfuse3-dev" in (papers / "appimage-runtime.txt").read_text()
    assert (papers / "licenses.txt.gz").is_file()
