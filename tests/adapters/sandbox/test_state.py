"""A sandbox that doesn't hold says so, and runs nothing."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from desktop_agent.adapters.sandbox import sandbox as module
from desktop_agent.adapters.sandbox.keeper import Keeper
from desktop_agent.adapters.sandbox.sandbox import BubblewrapSandbox, Programs
from desktop_agent.core.tool import ToolError
from tests.adapters.sandbox.bench import Bench
from tests.adapters.sandbox.broken_programs import PARTS, REAL, broken, script
from tests.adapters.sandbox.conftest import need_sandbox
from tests.helpers.processes import open_files

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is Linux's")


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    need_sandbox({})
    made = Bench(tmp_path)
    yield made
    await made.close()


async def test_bubblewrap_that_was_installed_meanwhile_is_found_by_the_next_check(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """*Check again* is what the person does after that; the app goes on."""
    folder = bench.folder / "programs"
    folder.mkdir()
    (folder / "nsenter").symlink_to(REAL.nsenter)
    monkeypatch.setattr(module, "PROGRAMS", str(folder))
    bench.sandbox = BubblewrapSandbox(bench.data)
    assert (await bench.sandbox.check()).reason == "bubblewrap is not installed."
    (folder / "bwrap").symlink_to(REAL.bwrap)
    state = await bench.sandbox.check()
    assert state.holds, state.reason


@pytest.mark.parametrize("name", PARTS)
async def test_one_thing_missing_is_found_and_nothing_runs(bench: Bench, name: str) -> None:
    bench.sandbox = BubblewrapSandbox(bench.data, programs=broken(bench.folder, name))
    state = await bench.sandbox.check()
    assert not state.holds
    assert name in [probe.name for probe in state.probes if not probe.held]
    assert state.reason
    with pytest.raises(ToolError, match="doesn't hold"):
        await bench.run("true")


async def test_a_command_that_keeps_this_computers_network_is_found(bench: Bench) -> None:
    programs = broken(bench.folder, "tcp")
    bench.sandbox = BubblewrapSandbox(bench.data, programs=programs)
    state = await bench.sandbox.check()
    failed = {probe.name for probe in state.probes if not probe.held}
    assert failed == {"tcp", "udp", "abstract socket"}
    assert not state.holds


async def test_what_fails_outside_as_well_proves_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As on a machine where nobody may make user namespaces: then bubblewrap's own are no proof.
    from desktop_agent.adapters.sandbox import probe_program

    text = Path(probe_program.__file__).read_text()
    lame = bench.folder / "lame.py"
    lame.write_text(text.replace("os.kill(what", "os.kill(2**22 + what"))
    monkeypatch.setattr(probe_program, "__file__", str(lame))
    state = await bench.sandbox.check()
    assert [probe.name for probe in state.probes if not probe.held] == ["signal"]
    assert "could not be tried" in state.reason


_HURRIED = """import socket as _socket
_settimeout = _socket.socket.settimeout
def _hurry(self, seconds):
    is_server = self.getsockopt(_socket.SOL_SOCKET, _socket.SO_ACCEPTCONN)
    _settimeout(self, 0.001 if is_server else seconds)
_socket.socket.settimeout = _hurry
"""


async def test_a_machine_that_takes_long_to_start_a_command_is_not_said_to_be_unsafe(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To a server that waits for a limited time, every machine is too slow here."""
    from desktop_agent.adapters.sandbox import probe_program

    text = Path(probe_program.__file__).read_text()
    hurried = bench.folder / "hurried.py"
    hurried.write_text(text.replace("import sys\n", f"import sys\n{_HURRIED}", 1))
    monkeypatch.setattr(probe_program, "__file__", str(hurried))
    state = await bench.sandbox.check()
    assert state.holds, state.reason


async def test_an_installed_app_makes_the_attempts_by_itself(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    from desktop_agent.adapters.sandbox import probe_program

    place = bench.folder / "installed"
    place.mkdir()
    called = (
        f'[ "$1" = --sandbox-probe ] && exec {sys.executable} -I -S {probe_program.__file__} "$2"'
    )
    monkeypatch.setattr(sys, "executable", script(place / "app", f"#!/bin/sh\n{called}\n"))
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    state = await bench.sandbox.check()
    assert state.holds, state


async def test_another_bubblewrap_is_checked_before_it_is_used(bench: Bench) -> None:
    path = bench.folder / "bwrap"
    programs = Programs(script(path, f'#!/bin/sh\nexec {REAL.bwrap} "$@"\n'), REAL.nsenter)
    bench.sandbox = BubblewrapSandbox(bench.data, programs=programs)
    assert (await bench.sandbox.check()).holds
    assert (await bench.run("true")).code == 0
    broken(bench.folder, "write")
    with pytest.raises(ToolError, match="can write outside the folder"):
        await bench.run("true")


async def test_a_machine_without_bubblewrap_says_how_to_get_it(tmp_path: Path) -> None:
    found = await BubblewrapSandbox(tmp_path, programs=Programs("", "")).check()
    assert (found.holds, found.fix) == (False, "install")
    assert found.reason == "bubblewrap is not installed."
    assert "bubblewrap" in found.remedy


# Bubblewrap as it was before it had an option.
_OLDER = """#!/bin/bash
if [ "$1" = --help ]; then {program} --help | grep -v -e {option}; exit; fi
for word; do
    [ "$word" = {option} ] && {{ echo "bwrap: Unknown option $word" >&2; exit 1; }}
    [ "$word" = -- ] && break
done
exec {program} "$@"
"""


def older(folder: Path, option: str) -> Programs:
    text = _OLDER.format(program=REAL.bwrap, option=option)
    return Programs(script(folder / "bwrap", text), REAL.nsenter)


async def test_bubblewrap_of_older_systems_holds_by_the_filter_of_system_calls(
    bench: Bench,
) -> None:
    """That of Ubuntu 22.04 can't forbid user namespaces by itself."""
    programs = older(bench.folder, "--disable-userns")
    bench.sandbox = BubblewrapSandbox(bench.data, programs=programs)
    state = await bench.sandbox.check()
    assert state.holds, state.reason
    refused = await bench.run("unshare --user true")
    assert refused.code != 0
    assert "not permitted" in refused.output


async def test_bubblewrap_that_is_too_old_is_called_so_and_nothing_runs(bench: Bench) -> None:
    programs = older(bench.folder, "--perms")
    bench.sandbox = BubblewrapSandbox(bench.data, programs=programs)
    state = await bench.sandbox.check()
    assert (state.holds, state.fix) == (False, "other")
    assert state.reason == "The bubblewrap on this computer is too old."
    assert "0.6" in state.remedy
    with pytest.raises(ToolError, match="too old"):
        await bench.run("true")


async def test_a_container_that_forbids_namespaces_is_named_as_the_reason(tmp_path: Path) -> None:
    text = "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n"
    programs = Programs(script(tmp_path / "bwrap", text), REAL.nsenter or "/bin/true")
    found = await BubblewrapSandbox(tmp_path / "data", programs=programs).check()
    assert (found.holds, found.fix) == (False, "other")
    assert "No permissions to create new namespace" in found.reason
    assert "container" in found.remedy


async def test_ubuntus_restriction_offers_its_profile_and_not_the_switch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    restricted = tmp_path / "restrict"
    restricted.write_text("1\n")
    monkeypatch.setattr(module, "_APPARMOR", restricted)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    refusing = "#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n"
    programs = Programs(script(tmp_path / "bwrap", refusing), REAL.nsenter or "/bin/true")
    found = await BubblewrapSandbox(tmp_path / "data", programs=programs).check()
    assert (found.holds, found.fix) == (False, "apparmor")
    assert "bwrap-userns-restrict" in found.remedy
    assert "sysctl" not in found.remedy


@pytest.mark.parametrize(("system", "name"), [("darwin", "macOS"), ("win32", "Windows")])
async def test_other_systems_are_said_not_to_be_contained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str, name: str
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    found = await BubblewrapSandbox(tmp_path, programs=Programs("", "")).check()
    assert not found.holds
    assert found.reason == f"Commands are not contained on {name} yet."


async def test_a_flatpak_is_not_told_to_install_what_would_not_help(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "flatpak-info"
    told.touch()
    monkeypatch.setattr(module, "_FLATPAK", told)
    found = await BubblewrapSandbox(tmp_path, programs=Programs("", "")).check()
    assert (found.holds, found.fix, found.command) == (False, "other", ())
    assert "Flatpak" in found.reason
    assert "AppImage" in found.remedy


async def test_a_processor_without_a_filter_is_said_not_to_be_contained(tmp_path: Path) -> None:
    found = await BubblewrapSandbox(tmp_path, machine="riscv64").check()
    assert not found.holds
    assert "filter" in found.reason


async def test_a_command_that_never_began_is_told_from_one_that_failed(bench: Bench) -> None:
    failed = await bench.run("exit 1")
    assert (failed.code, failed.has_started) == (1, True)
    gone = bench.work / "gone"
    gone.mkdir()
    process, enclosure = await bench.start("rmdir ../gone 2>/dev/null; exit 1", directory=gone)
    process.communicate()
    assert enclosure.has_started(process.returncode)
    missing = await bench.run(["/nonexistent/program"])
    assert not missing.has_started
    assert "nonexistent" in missing.output


async def test_folders_that_can_not_be_opened_are_refused_in_words(bench: Bench) -> None:
    real, bench.work = bench.work, Path("/")
    with pytest.raises(ToolError, match="can't open '/'"):
        await bench.run("true", directory=real)
    bench.work = bench.folder / "missing"
    with pytest.raises(ToolError, match="can't open"):
        await bench.run("true", directory=real)


async def test_a_session_that_is_forgotten_leaves_no_network_and_no_files(bench: Bench) -> None:
    await bench.run("echo x > /tmp/x")
    place = Path(bench.sandbox.temporary_folder(bench.session))
    assert (place / "x").exists()
    keeper = await bench.sandbox.keeper(bench.session)
    await bench.sandbox.forget(bench.session)
    assert not place.exists()
    assert not keeper.is_alive


async def test_a_network_that_ended_is_made_anew(bench: Bench) -> None:
    await bench.run("true")
    (await bench.sandbox.keeper(bench.session)).close()
    assert (await bench.run("echo there")).output == "there\n"


async def test_a_network_that_is_given_up_leaves_nothing_open(bench: Bench) -> None:
    programs = Programs.find()
    before = open_files()
    Keeper(programs.bwrap, programs.nsenter).close()
    with pytest.raises(ToolError, match="could not be made"):
        Keeper("/bin/false", programs.nsenter)
    assert open_files() - before == set()


async def test_a_stop_while_the_network_is_made_leaves_no_process_behind(bench: Bench) -> None:
    held, begun = bench.folder / "held", bench.folder / "begun"
    is_keeper = f'[ "$1" = --info-fd ] && [ -e {held} ]'
    text = f"#!/bin/sh\nif {is_keeper}; then echo $$ >{begun}; read go <{held}; fi\n"
    slow = script(bench.folder / "bwrap", f'{text}exec {REAL.bwrap} "$@"\n')
    bench.sandbox = BubblewrapSandbox(bench.data, programs=Programs(slow, REAL.nsenter))
    assert (await bench.sandbox.check()).holds
    os.mkfifo(held)
    running = asyncio.create_task(bench.run("true"))
    with await asyncio.to_thread(held.open, "w") as go:  # once it is read
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        go.write("on\n")
    await bench.sandbox.forget(bench.session)
    assert not Path("/proc", begun.read_text().strip()).exists()
