"""A test of a place says what is there, or what is in the way, before somebody relies on it."""

from __future__ import annotations

import asyncio
import os
import platform
import shlex
import signal
import sys
from pathlib import Path

import pytest

from desktop_agent import __version__
from desktop_agent.adapters.places.commands import command_of, place_named
from desktop_agent.adapters.places.setup import PlaceSetup
from desktop_agent.core.network.places import Place, PlaceCheck, PlaceKind, is_place_name
from desktop_agent.core.pipes.frames import frame
from desktop_agent.core.pipes.outpost_pipe import MARK, About
from tests.outpost.rig import far

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no outposts on Windows")


def answer_of(command: str) -> PlaceCheck:
    """Test a place that a command reaches; the options that follow are dropped."""
    line = f"sh -c {shlex.quote(command)}"
    return asyncio.run(PlaceSetup(bytes).check(Place("box", "command", line)))


def test_what_is_there_is_told_and_nothing_is_left_running(tmp_path: Path) -> None:
    place = Place("box", "command", far(tmp_path / "there"))
    found = asyncio.run(PlaceSetup(bytes).check(place))
    assert (found.problem, found.version) == ("", __version__), found
    assert found.system == f"{platform.system()} {platform.machine()}"
    assert found.cpus > 0
    assert found.git[:1].isdecimal()
    assert not list((tmp_path / "there").rglob("*.lock")), "no outpost was started"


@pytest.mark.parametrize(
    ("said", "code", "problem"),
    [
        ("ssh: Could not resolve hostname nowhere: Name or service not known", 255, "unreachable"),
        ("ssh: connect to host box port 22: Connection refused", 255, "unreachable"),
        ("ssh: connect to host box port 22: No route to host", 255, "unreachable"),
        ("Cannot connect to the Docker daemon at unix:///x. Is it running?", 1, "unreachable"),
        ("me@box: Permission denied (publickey,password).", 255, "refused"),
        ("Host key verification failed.", 255, "unknown_key"),
        ("Error response from daemon: No such container: box", 1, "absent"),
        ('Error from server (NotFound): pods "box" not found', 1, "absent"),
        ("bash: line 1: desktop-agent: command not found", 127, "missing"),
        ("sh: 1: desktop-agent: not found", 127, "missing"),
        ("/usr/bin/python3: No module named desktop_agent", 1, "missing"),
        ('exec: "desktop-agent": executable file not found in $PATH: unknown', 126, "missing"),
        ("bash: line 1: /opt/agent: Permission denied", 126, "other"),
        ("usage: desktop-agent [FOLDER]", 2, "version"),
        ("desktop-agent outpost: unrecognized arguments: --check. See --help.", 2, "version"),
        ("something strange", 3, "other"),
    ],
)
def test_what_is_in_the_way_is_told_apart(said: str, code: int, problem: str) -> None:
    found = answer_of(f"echo {shlex.quote(said)} >&2; exit {code}")
    assert found == PlaceCheck(found.problem, said=said)
    assert found.problem == problem


def test_that_the_app_is_not_there_is_told_whatever_language_the_shell_there_speaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    german = "s/exec: desktop-agent: not found/exec: desktop-agent: Nicht gefunden/"
    docker = tmp_path / "docker"
    docker.write_text(f"#!/bin/sh\nshift 3\n\"$@\" 2>&1 | sed '{german}' >&2\n")
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    found = asyncio.run(PlaceSetup(bytes).check(Place("box", "container", "box")))
    assert found == PlaceCheck("missing", said="desktop-agent: not found")


def test_a_program_that_this_computer_lacks_is_named() -> None:
    place = Place("box", "command", "/no/such/program here")
    found = asyncio.run(PlaceSetup(bytes).check(place))
    assert found == PlaceCheck("no_program", said="/no/such/program")


def test_what_a_program_leaves_behind_does_not_keep_a_test_from_its_end(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    left = f"setsid sh -c 'echo $$ >{pid}; exec sleep 3600' >/dev/null &"
    try:
        found = answer_of(f"{left} while [ ! -s {pid} ]; do :; done; echo strange >&2; exit 3")
        assert found.problem == "other"
    finally:
        os.kill(int(pid.read_text()), signal.SIGKILL)


def test_another_protocol_is_another_version_whatever_else_it_says(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(MARK + frame(About(99, "9.9")))
    assert answer_of(f"echo welcome; cat {other}") == PlaceCheck("version", version="9.9")


def test_of_a_long_complaint_the_end_is_told_from_a_whole_word_on() -> None:
    found = answer_of("seq -f 'reason-%g' 1000 >&2; exit 1")
    assert found.said.startswith("… reason-")
    assert found.said.endswith(" reason-1000")


def test_hostile_output_is_bounded_and_holds_nothing_that_can_not_be_shown(tmp_path: Path) -> None:
    loud = tmp_path / "loud"
    loud.write_bytes(b"\x1b[31m\xe2\x80\xae" + b"x\x1b" * 250_000)
    found = answer_of(f"cat {loud} >&2; exit 1")
    assert found.problem == "other"
    assert 0 < len(found.said) <= 300
    assert found.said.isprintable()
    broken = tmp_path / "broken"
    broken.write_bytes(MARK + (5).to_bytes(4, "big") + b"\xff\xff\xff\xff\xff")
    assert answer_of(f"cat {broken}").problem == "other"


def test_each_kind_of_place_has_its_command_and_no_target_is_an_option() -> None:
    ssh = command_of(Place("b", "ssh", "me@box"))
    assert ssh[ssh.index("--") :][1:5] == ("me@box", "exec", "sh", "-c")
    assert not any("\n" in word for word in ssh), "a C shell takes none between quotes"
    docker = ("docker", "exec", "-i", "ci", "sh", "-c")
    assert command_of(Place("b", "container", "ci"))[:6] == docker
    pod = ("kubectl", "exec", "-i", "p-0", "--", "sh", "-c")
    assert command_of(Place("b", "pod", "p-0"))[:7] == pod
    wrong: list[tuple[PlaceKind, str]] = [
        ("ssh", "-oProxyCommand=x"),
        ("pod", "-n x"),
        ("command", "'x"),
    ]
    for kind, target in wrong:
        with pytest.raises(ValueError, match="is no"):
            command_of(Place("b", kind, target))


def test_a_name_of_the_settings_comes_before_what_it_could_mean_otherwise() -> None:
    box = Place("box", "ssh", "me@box.example")
    assert place_named("box", (box,)) == box
    assert place_named("ssh:other", (box,)) == Place("ssh:other", "ssh", "other")
    with pytest.raises(ValueError, match="neither local"):
        place_named("attic", (box,))


@pytest.mark.parametrize("name", ["", "a b", "-x", "local", "Local", "a:b", "x" * 33, "é"])
def test_what_a_command_line_could_read_otherwise_is_no_name(name: str) -> None:
    assert not is_place_name(name)
    assert is_place_name("gpu-box_2.lan")
