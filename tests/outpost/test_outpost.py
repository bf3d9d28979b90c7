"""Jobs at another machine: over a real sshd on loopback, or any command with a byte stream."""

from __future__ import annotations

import getpass
import os
import shlex
import shutil
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.providers import LoopbackProvider
from tests.outpost.rig import batch, garden, results, state, write_jobs
from tests.outpost.test_batch import started, writes

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no outposts on Windows")
SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
KEY = "sk-home-4f1d9c2b7a6e5d3c8b0a"
ROOT = Path(__file__).parents[2]


def far(home: Path) -> str:
    """Return what starts the app in the home of another machine."""
    environment = f"DESKTOP_AGENT_HOME={shlex.quote(str(home))} PYTHONPATH={shlex.quote(str(ROOT))}"
    return f"env -u OPENAI_API_KEY {environment} {shlex.quote(sys.executable)} -m desktop_agent"


@pytest.fixture
def ssh(tmp_path: Path) -> Iterator[str]:
    """A real sshd on loopback, with keys of its own: the command that logs in there."""
    if SSHD is None or shutil.which("ssh") is None:
        pytest.skip("openssh-server is not installed: scripts/setup --tests installs it")
    keys = tmp_path / "keys"
    keys.mkdir(mode=0o700)
    for name in ("host", "mine"):
        made = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(keys / name)]
        subprocess.run(made, check=True)
    shutil.copy(keys / "mine.pub", keys / "authorized")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    said = {
        "ListenAddress": f"127.0.0.1:{port}",
        "HostKey": keys / "host",
        "AuthorizedKeysFile": keys / "authorized",
        "PidFile": "none",
        "StrictModes": "no",
        "UsePAM": "no",
    }
    (keys / "sshd").write_text("".join(f"{name} {value}\n" for name, value in said.items()))
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    command = [SSHD, "-D", "-e", "-f", str(keys / "sshd")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        for line in server.stderr:
            if "Server listening" in line:
                break
        else:
            pytest.skip("sshd does not start here")
        yield (
            f"ssh -T -p {port} -i {keys / 'mine'} -o BatchMode=yes -o IdentitiesOnly=yes "
            f"-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR "
            f"{getpass.getuser()}@127.0.0.1"
        )
        server.terminate()
        server.stderr.read()


def test_jobs_run_over_ssh_with_the_keys_at_home(
    tmp_path: Path, ssh: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, out, there = garden(tmp_path / "garden"), tmp_path / "out", tmp_path / "there"
    (folder / ".env").write_text("TOKEN=1\n")
    before = state(folder)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with LoopbackProvider("openai", otherwise=writes, key=KEY) as provider:
        said = {"workspace": str(folder), "model": provider.model, "mode": "free"}
        said["api_base"] = provider.api_base
        wanted = [f"write n{number}" for number in range(3)]
        jobs = write_jobs(tmp_path / "jobs", *({"prompt": one, **said} for one in wanted))
        ended = batch(jobs, out, "--on", f"command: {ssh} {shlex.quote(far(there))}")
    assert ended.returncode == 0, ended.stderr
    assert "Not sent, for they may hold keys, or are large: .env." in ended.stderr
    found = {one["prompt"]: one for one in results(out)}
    assert sorted(found) == wanted
    assert "+n1" in found["write n1"]["patch"]
    assert found["write n1"]["usage"]["input_tokens"] > 0
    assert state(folder) == before
    kept = state(there)
    assert kept, "it worked there"
    assert not [path for path, text in kept.items() if KEY.encode() in text]


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


def test_a_place_of_another_version_is_not_worked_with(tmp_path: Path) -> None:
    folder, other = garden(tmp_path / "garden"), tmp_path / "other.py"
    other.write_text(
        "import os, msgspec, sys\n"
        "from desktop_agent.outpost.frames import MARK\n"
        "told = msgspec.msgpack.encode({'type': 'Hello', 'protocol': 99, 'version': '9.9'})\n"
        "os.write(1, MARK + len(told).to_bytes(4, 'big') + told)\n"
        "sys.stdin.read()\n"
    )
    jobs = write_jobs(tmp_path / "jobs", {"prompt": "a", "workspace": str(folder)})
    ended = batch(jobs, tmp_path / "out", "--on", f"command: {sys.executable} {other}")
    assert ended.returncode == 1
    assert "has version 9.9 of Desktop Agent" in ended.stderr


def test_an_unknown_kind_of_place_is_wrong_usage(tmp_path: Path) -> None:
    jobs = write_jobs(tmp_path / "jobs", {"prompt": "a", "workspace": str(tmp_path)})
    for on in ("ray", "ssh:", "ssh:-oProxyCommand=x", "ssh:a b", "command:", "command: 'x"):
        assert batch(jobs, tmp_path / "out", "--on", on).returncode == 2
