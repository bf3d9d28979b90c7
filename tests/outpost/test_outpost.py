"""Jobs at another machine: over a real sshd on loopback, or any command with a byte stream."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest

from desktop_agent import paths
from desktop_agent.adapters.config import settings_file
from desktop_agent.adapters.places.git_copy import GitStore
from desktop_agent.adapters.places.stream import greeting, read_frame
from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.compose import SESSIONS_FILE
from desktop_agent.core.approvals import Rule
from desktop_agent.core.network.places import Place
from desktop_agent.core.pipes import outpost_pipe as pipe
from desktop_agent.core.pipes.frames import frame
from desktop_agent.core.settings import Settings
from desktop_agent.core.usage import Usage
from desktop_agent.outpost import relay, server
from desktop_agent.outpost.jobs import Job
from desktop_agent.outpost.link import FarPlace
from desktop_agent.outpost.work import Work
from tests.helpers.patience import HANG_S
from tests.helpers.providers import LoopbackProvider
from tests.outpost.rig import batch, far, garden, results, state, write_jobs
from tests.outpost.sshd import HAS_SSHD, loopback_ssh
from tests.outpost.test_batch import started, writes

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no outposts on Windows")
KEY = "sk-home-4f1d9c2b7a6e5d3c8b0a"


@pytest.fixture
def ssh(tmp_path: Path) -> Iterator[str]:
    """A real sshd on loopback, with keys of its own: the command that logs in there."""
    if not HAS_SSHD:
        pytest.skip("openssh-server is not installed: scripts/setup --tests installs it")
    with loopback_ssh(tmp_path) as command:
        yield command


def test_jobs_run_over_ssh_with_the_keys_at_home(
    tmp_path: Path, ssh: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, out, there = garden(tmp_path / "garden"), tmp_path / "out", tmp_path / "there"
    (folder / ".env").write_text("TOKEN=1\n")
    with (folder / "film").open("wb") as film:
        film.truncate(60_000_000)
    (folder / "secret.txt").write_text("by a rule\n")
    before = state(folder)
    with closing(SqliteStore(paths.data_dir() / SESSIONS_FILE)) as store:
        here = Rule("read", "secret.txt", "folder", str(folder.resolve()), is_deny=True)
        elsewhere = Rule("read", "beds.txt", "folder", str(tmp_path), is_deny=True)
        store.save_rules([here, elsewhere, Rule("read", "new.txt", "everywhere", is_deny=True)])
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with LoopbackProvider("openai", otherwise=writes, key=KEY) as provider:
        said = {"workspace": str(folder), "model": provider.model, "mode": "free"}
        said["api_base"] = provider.api_base
        wanted = [f"write n{number}" for number in range(3)]
        jobs = write_jobs(tmp_path / "jobs", *({"prompt": one, **said} for one in wanted))
        ended = batch(jobs, out, "--on", f"command: {ssh} {shlex.quote(far(there))}")
    assert ended.returncode == 0, ended.stderr
    assert "Not sent, for rules, keys in them, or their size: .env, film, new.txt" in ended.stderr
    assert "secret.txt" in ended.stderr
    found = {one["prompt"]: one for one in results(out)}
    assert sorted(found) == wanted
    assert "+n1" in found["write n1"]["patch"]
    assert found["write n1"]["usage"]["input_tokens"] > 0
    assert state(folder) == before
    kept = state(there)
    assert kept, "it worked there"
    assert has_ended(there), "nothing of it goes on there"
    assert not [
        path for path in kept if Path(path).name in (".env", "film", "new.txt", "secret.txt")
    ]
    assert not [path for path, text in kept.items() if KEY.encode() in text]


def has_ended(home: Path) -> bool:
    """Whether the one outpost there has ended; waits while it runs."""
    import fcntl

    (lock,) = (home / "data" / "outposts").glob("*.lock")
    with lock.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
    return True


def test_a_stream_that_is_cut_again_and_again_loses_no_result_and_brings_none_twice(
    tmp_path: Path,
) -> None:
    """Each stream ends after a hundred thousand bytes or two; the outpost goes on meanwhile."""
    folder, out = garden(tmp_path / "garden"), tmp_path / "out"
    cut = tmp_path / "cut.py"
    cut.write_text(
        "import os, random, subprocess, sys\n"
        "there = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)\n"
        "left = random.randint(60_000, 120_000)\n"
        "while left > 0 and (piece := os.read(there.stdout.fileno(), left)):\n"
        "    left -= len(piece)\n"
        "    os.write(1, piece)\n"
        f"os.write(os.open({str(tmp_path / 'cuts')!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "
        "b'x')\n"
        "there.kill()\n"
    )
    on = f"command: {sys.executable} {cut} {far(tmp_path / 'there')}"
    with LoopbackProvider("openai", otherwise=writes) as provider:
        said = {"workspace": str(folder), "model": provider.model, "mode": "free"}
        said["api_base"] = provider.api_base
        wanted = [f"write n{number}" for number in range(12)]
        jobs = write_jobs(tmp_path / "jobs", *({"prompt": one, **said} for one in wanted))
        ended = batch(jobs, out, "--on", on)
    assert ended.returncode == 0, ended.stderr
    assert Counter(one["prompt"] for one in results(out)) == Counter(wanted)
    assert all(one["patch"].count("diff --git") == 1 for one in results(out))
    assert (tmp_path / "cuts").stat().st_size > 1


def test_after_a_kill_at_home_the_same_command_takes_up_what_went_on_there(
    tmp_path: Path,
) -> None:
    folder, out = garden(tmp_path / "garden"), tmp_path / "out"
    on = ("--on", f"command: {far(tmp_path / 'there')}")
    with LoopbackProvider("openai", otherwise=writes) as provider:
        said = {"workspace": str(folder), "model": provider.model, "mode": "free"}
        said["api_base"] = provider.api_base
        wanted = [f"write n{number}" for number in range(6)]
        jobs = write_jobs(tmp_path / "jobs", *({"prompt": one, **said} for one in wanted))
        process = started(jobs, out, *on)
        provider.wait_for(5)
        process.kill()
        process.communicate()
        ended = batch(jobs, out, *on)
        assert ended.returncode == 0, ended.stderr
        assert Counter(one["prompt"] for one in results(out)) == Counter(wanted)
        # No job was begun anew: beyond two requests each, only those that were cut.
        assert len(provider.requests) <= 2 * len(wanted) + 4


@pytest.mark.parametrize(
    ("then", "stops"), [("exit", 1), ("cat >/dev/null", 2)], ids=["cut", "half open"]
)
async def test_an_interrupt_that_does_not_reach_the_place_ends_the_batch_all_the_same(
    tmp_path: Path, then: str, stops: int
) -> None:
    """Each stream greets, is cut or is silent; one that is silent is not waited for twice."""
    os.mkfifo(tmp_path / "came")
    place, job = scripted(tmp_path, f"echo > {tmp_path / 'came'}; {then}")
    runs = asyncio.create_task(place.run("key", job, GitStore(tmp_path / "none"), "commit", None))
    await asyncio.to_thread((tmp_path / "came").read_bytes)
    for _ in range(stops):
        place.stop()
    ended, _ = await asyncio.wait_for(runs, HANG_S)
    assert ended.reason == "interrupted"
    await place.close()


async def test_what_came_and_is_not_on_disk_yet_is_sent_again_after_a_cut(tmp_path: Path) -> None:
    """Who attaches names what need not be kept there any more."""
    os.mkfifo(tmp_path / "attached")
    ended = pipe.JobEnded(1, "of another", "finished", "Done.", Usage(), 1.0, "")
    attach = frame(pipe.Attach("epoch", 0))
    then = f"head -c {len(attach)} > {tmp_path / 'attached'}"
    place, job = scripted(tmp_path, then, ended)
    runs = asyncio.create_task(place.run("key", job, GitStore(tmp_path / "none"), "commit", None))
    for _ in range(2):
        assert await asyncio.to_thread((tmp_path / "attached").read_bytes) == attach
    place.stop()
    await runs
    await place.close()


async def test_a_stream_that_is_dead_without_a_word_is_opened_again(tmp_path: Path) -> None:
    """A program between may hang, or not notice that what it leads through is gone."""
    os.mkfifo(tmp_path / "attached")
    ended = pipe.JobEnded(1, "of another", "finished", "Done.", Usage(), 1.0, "")
    then = f"head -c 1 > {tmp_path / 'attached'}; kill -STOP $$"
    place, job = scripted(tmp_path, then, ended, again_s=0.1)
    runs = asyncio.create_task(place.run("key", job, GitStore(tmp_path / "none"), "commit", None))
    for _ in range(2):
        assert await asyncio.to_thread((tmp_path / "attached").read_bytes)
    place.stop()
    await runs
    await place.close()


async def test_an_outpost_says_again_and_again_that_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "AGAIN_S", 0.01)
    # Nothing is ordered, so nothing is worked on.
    outpost = server.Outpost(lambda send, tell: cast("Work", None))
    listening = await asyncio.start_unix_server(outpost.attached, tmp_path / "at")
    reader, writer = await asyncio.open_unix_connection(tmp_path / "at")
    hello, body = await greeting(reader)
    assert hello["again_s"] == 0.01
    assert [await read_frame(reader) for _ in range(2)] == [body, body]
    writer.close()
    listening.close()


def scripted(
    folder: Path, then: str, *events: pipe.Numbered, again_s: float = 0.0
) -> tuple[FarPlace, Job]:
    """Return a place that greets, tells of events, and does what a shell is told; and a job."""
    hello = pipe.Hello(pipe.PROTOCOL, "1", "epoch", ("commit",), again_s)
    told = folder / "told"
    told.write_bytes(pipe.MARK + b"".join(map(frame, (hello, *events))))
    job = Job(1, "go", str(folder), {"prompt": "go", "workspace": str(folder)})
    command = f"sh -c {shlex.quote(f'cat {told}; {then}')}"
    return FarPlace(Place("box", "command", command), "main", [job], lambda _: None), job


@pytest.mark.parametrize(
    ("on", "words"),
    [
        ("command: echo hello", "can't be reached: hello"),
        ("command: sh -c 'echo no such host >&2; exit 255'", "can't be reached: no such host"),
        ("command: /no/such/program", "can't be started"),
    ],
)
def test_a_place_that_can_not_be_reached_is_told_in_one_line(
    tmp_path: Path, on: str, words: str
) -> None:
    folder = garden(tmp_path / "garden")
    jobs = write_jobs(tmp_path / "jobs", {"prompt": "a", "workspace": str(folder)})
    ended = batch(jobs, tmp_path / "out", "--on", on)
    assert ended.returncode == 1
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr


def test_an_outpost_without_git_leaves_that_to_be_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert relay.serve("main") == 1
    failure = paths.data_dir() / "outposts" / "main.failure"
    assert failure.read_text() == "git is not installed"


def test_a_place_of_another_version_is_not_worked_with(tmp_path: Path) -> None:
    folder, other = garden(tmp_path / "garden"), tmp_path / "other.py"
    other.write_text(
        "import os, msgspec, sys\n"
        "from desktop_agent.core.pipes.outpost_pipe import MARK\n"
        "told = msgspec.msgpack.encode({'type': 'Hello', 'protocol': 99, 'version': '9.9'})\n"
        "os.write(1, MARK + len(told).to_bytes(4, 'big') + told)\n"
        "sys.stdin.read()\n"
    )
    jobs = write_jobs(tmp_path / "jobs", {"prompt": "a", "workspace": str(folder)})
    ended = batch(jobs, tmp_path / "out", "--on", f"command: {sys.executable} {other}")
    assert ended.returncode == 1
    assert "has version 9.9 of Desktop Agent" in ended.stderr


def test_a_place_of_the_settings_is_known_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("DESKTOP_AGENT_HOME", str(home))
    there = Place("box", "command", far(tmp_path / "there"))
    settings_file.save(paths.config_dir() / "settings.json", Settings(places=(there,)))
    folder, out = garden(tmp_path / "garden"), tmp_path / "out"
    with LoopbackProvider("openai", otherwise=writes) as provider:
        said = {"workspace": str(folder), "model": provider.model, "mode": "free"}
        said["api_base"] = provider.api_base
        jobs = write_jobs(tmp_path / "jobs", {"prompt": "write n1", **said})
        ended = batch(jobs, out, "--on", "box")
    assert ended.returncode == 0, ended.stderr
    assert [(one["place"], one["reason"]) for one in results(out)] == [("box", "finished")]
    unknown = batch(jobs, out, "--on", "attic")
    assert unknown.returncode == 2
    assert "'attic' is neither local, the name of a place" in unknown.stderr


def test_an_unknown_kind_of_place_is_wrong_usage(tmp_path: Path) -> None:
    jobs = write_jobs(tmp_path / "jobs", {"prompt": "a", "workspace": str(tmp_path)})
    for on in ("ray", "ssh:", "ssh:-oProxyCommand=x", "ssh:a b", "command:", "command: 'x"):
        assert batch(jobs, tmp_path / "out", "--on", on).returncode == 2
