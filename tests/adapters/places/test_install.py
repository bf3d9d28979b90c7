"""*Install* puts this version at a place, and what is there already stays as it is."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import sys
import sysconfig
import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from desktop_agent import __version__, paths
from desktop_agent.adapters.places.install import archive_of
from desktop_agent.adapters.places.setup import PlaceSetup
from desktop_agent.core.network.places import Place, PlaceCheck
from tests.outpost.rig import ROOT
from tests.outpost.sshd import HAS_SSHD, loopback_ssh

BOX = Place("box", "ssh", "box")


def archive(folder: Path, lock: str) -> bytes:
    """Pack the app with other packages to install: the tests' own are there already."""
    resources = folder / "resources"
    shutil.copytree(ROOT / "resources", resources, ignore=shutil.ignore_patterns("screenshots"))
    (resources / "outpost.lock").write_text(lock)
    return archive_of(ROOT / "desktop_agent", resources, ROOT / "skills")


class Host:
    """A host behind a real sshd: who logs in has these programs, a home and the tests' packages."""

    def __init__(self, folder: Path, programs: dict[str, str]) -> None:
        self.folder = folder
        self.home = folder / "home of box"
        self.home.mkdir()
        self.installed = self.home / ".local" / "share" / "desktop-agent-outpost"
        self._programs = folder / "programs"
        self._programs.mkdir()
        for name, program in programs.items():
            (self._programs / name).symlink_to(program)

    def ask(self, question: str, packed: bytes, monkeypatch: pytest.MonkeyPatch) -> PlaceCheck:
        """Start the server, and call a method of the setup."""
        environment = {
            "PATH": str(self._programs),
            "HOME": str(self.home),
            "DESKTOP_AGENT_HOME": str(self.home / "app"),
            "PYTHONPATH": sysconfig.get_path("purelib"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        place = self.folder / question
        place.mkdir()
        with loopback_ssh(place, environment) as login:
            *words, target = shlex.split(login)
            real = shlex.join([str(shutil.which("ssh")), *words[1:]])
            ssh = place / "ssh"
            # What follows `-- box` is the command.
            script = f'while [ "$1" != -- ]; do shift; done; shift 2; exec {real} {target} "$@"'
            ssh.write_text(f"#!/bin/sh\n{script}\n")
            ssh.chmod(0o755)
            with monkeypatch.context() as patch:
                patch.setenv("PATH", f"{place}:{os.environ['PATH']}")
                setup = PlaceSetup(lambda: packed)
                return asyncio.run(getattr(setup, question)(BOX))


def names_in(folder: Path) -> set[str]:
    """Return the names of what is in a folder."""
    return {path.name for path in folder.iterdir()}


def programs(*without: str) -> dict[str, str]:
    """Return a host's programs, with the Python of these tests."""
    names = ("sh", "bash", "tar", "gzip", "mktemp", "mkdir", "mv", "rm", "git", "env")
    found = {name: shutil.which(name) for name in names}
    found["python3"] = os.path.realpath(sys.executable)
    return {name: path for name, path in found.items() if path and name not in without}


def test_what_is_sent_has_all_of_the_app_but_its_window(tmp_path: Path) -> None:
    packed = BytesIO(archive_of(ROOT / "desktop_agent", ROOT / "resources", ROOT / "skills"))
    with tarfile.open(fileobj=packed) as opened:
        names = opened.getnames()
    assert "outpost.lock" in names
    assert "desktop_agent/outpost/relay.py" in names
    assert "desktop_agent/_resources/prompts/system.md" in names
    assert any(name.startswith("desktop_agent/_skills/") for name in names)
    assert not [name for name in names if "/gui/" in name or "pycache" in name or "/fonts/" in name]


def test_what_is_sent_is_the_same_whenever_and_wherever_it_is_packed(tmp_path: Path) -> None:
    packed: list[bytes] = []
    for moment, mode in ((1_700_000_000, 0o644), (1_800_000_000, 0o600)):
        place = tmp_path / str(moment)
        for name in ("package/app.py", "resources/outpost.lock", "resources/cluster.lock"):
            file = place / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(name)
            file.chmod(mode)
            os.utime(file, (moment, moment))
        packed.append(archive_of(place / "package", place / "resources", place / "skills"))
    assert packed[0] == packed[1]
    dated = packed[0][4:8]  # where gzip says when
    assert dated == bytes(4)


def test_what_is_installed_there_are_versions_that_this_app_has() -> None:
    def pins(path: Path) -> set[str]:
        lines = path.read_text().splitlines()
        return {line.split(" ")[0] for line in lines if line[:1].isalnum()}

    theirs = pins(paths.resource("outpost.lock"))
    assert theirs <= pins(ROOT / "requirements.lock")
    named = {pin.partition("==")[0] for pin in theirs}
    assert {"msgspec", "httpx", "lxml"} <= named
    assert not named & {"pyside6-essentials", "qasync", "litellm"}


@pytest.mark.skipif(not HAS_SSHD, reason="needs sshd")
def test_a_host_without_the_app_gets_it_in_a_folder_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = Host(tmp_path, programs())
    packed = archive(tmp_path, "")
    assert host.ask("check", packed, monkeypatch).problem == "missing"
    found = host.ask("install", packed, monkeypatch)
    assert (found.problem, found.version) == ("", __version__), found
    assert names_in(host.installed) == {__version__}, "nothing is left over"
    assert names_in(host.home) <= {".local", "app"}


@pytest.mark.skipif(not HAS_SSHD, reason="needs sshd")
def test_a_host_has_its_own_app_until_one_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "desktop-agent"
    own.write_text("#!/bin/sh\necho usage: desktop-agent >&2\n")
    own.chmod(0o755)
    host = Host(tmp_path, {**programs(), "desktop-agent": str(own)})
    packed = archive(tmp_path, "")
    assert host.ask("check", packed, monkeypatch).problem == "version"
    assert host.ask("install", packed, monkeypatch).problem == ""
    assert own.read_text().endswith("desktop-agent >&2\n"), "it stays as it is"


@pytest.mark.skipif(not HAS_SSHD, reason="needs sshd")
def test_a_host_without_python_says_what_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = Host(tmp_path, programs("python3"))
    found = host.ask("install", archive(tmp_path, ""), monkeypatch)
    assert found.problem == "not_installed"
    assert "Python 3.11 or newer" in found.said
    assert names_in(host.home) == set(), "nothing was begun"


@pytest.mark.skipif(not HAS_SSHD, reason="needs sshd")
def test_what_can_not_be_fetched_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = Host(tmp_path, programs())
    packed = archive(tmp_path, f"no-such-package==1.0 --hash=sha256:{'0' * 64}\n--no-index\n")
    found = host.ask("install", packed, monkeypatch)
    assert found.problem == "not_installed"
    assert "no-such-package" in found.said
    assert names_in(host.installed) == set()


def test_a_place_that_is_only_a_command_is_not_written_to(tmp_path: Path) -> None:
    place = Place("box", "command", f"touch {tmp_path / 'made'}")
    found = asyncio.run(PlaceSetup(lambda: b"").install(place))
    assert found.problem == "not_installed"
    assert not list(tmp_path.iterdir())
