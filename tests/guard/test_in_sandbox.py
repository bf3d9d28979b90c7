"""Commands in the real sandbox: the guard is their only way out, and each session has its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from desktop_agent.adapters.network.guarded_network import GuardedNetwork
from desktop_agent.adapters.network.networked_sandbox import NetworkedSandbox
from desktop_agent.adapters.sandbox.sandbox import BubblewrapSandbox
from desktop_agent.core.ids import SessionId
from desktop_agent.core.sandbox import Boundary
from desktop_agent.core.tool import ToolError
from desktop_agent.core.workspace import Workspace
from tests.guard.rig import NO, SESSION, Person, origin, program

pytestmark = [
    pytest.mark.skipif(
        not (shutil.which("bwrap") and shutil.which("curl")), reason="needs bubblewrap and curl"
    ),
    # What a keeper was told stays open until it is collected.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@dataclass
class Sandboxed:
    sandbox: NetworkedSandbox
    network: GuardedNetwork
    person: Person
    folder: Path

    async def run(
        self, command: str, session_id: SessionId = SESSION, ports: tuple[int, ...] = ()
    ) -> tuple[int, str]:
        """Run a command as the shell tool does; return its exit code and what it printed."""
        folders = Workspace(str(self.folder))
        boundary = Boundary(session_id, folders, call_id="call_1", local_ports=ports)
        enclosure = await self.sandbox.enclose(boundary, str(self.folder), dict(os.environ))
        environment = {**os.environ, **enclosure.environment}
        process = await asyncio.create_subprocess_exec(
            *enclosure.words, "bash", "--noprofile", "--norc", "-c", command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=environment,
            pass_fds=enclosure.descriptors,
        )  # fmt: skip
        enclosure.close()
        printed, _ = await process.communicate()
        await enclosure.finished()
        assert process.returncode is not None
        return process.returncode, printed.decode()


@pytest.fixture
async def inside(tmp_path: Path) -> AsyncIterator[Sandboxed]:
    inner = BubblewrapSandbox(tmp_path / "data")
    state = await inner.check()
    if not state.holds:
        pytest.skip(f"the sandbox doesn't hold here: {state.reason}")
    person = Person()
    network = GuardedNetwork(person, program())
    sandbox = NetworkedSandbox(inner, network)
    folder = tmp_path / "folder"
    folder.mkdir()
    yield Sandboxed(sandbox, network, person, folder)
    for session_id in (SESSION, SessionId("se_2")):
        await sandbox.forget(session_id)
    await network.close()


async def test_a_command_reaches_what_was_allowed_through_the_guard(inside: Sandboxed) -> None:
    async with origin() as site:
        url = f"http://site.test:{site.port}/"
        assert await inside.run(f"curl -sS {url}") == (0, "hi")
        question = inside.person.seen[0]
        assert (question.host, question.call_id) == ("site.test", "call_1")


async def test_refused_or_around_the_guard_not_a_byte_gets_out(inside: Sandboxed) -> None:
    inside.person.verdict = NO
    async with origin("0.0.0.0") as site:
        url = f"http://site.test:{site.port}/"
        code, printed = await inside.run(f"curl -sS {url} && curl -sSf {url}")
        assert code == 22
        assert "The person refused it." in printed
        for around in (
            f"curl -sS --noproxy '*' http://127.0.0.1:{site.port}/",
            f"curl -sS --noproxy '*' {url}",
            f"curl -sS http://127.0.0.1:{site.port}/",
            f"curl -sSf -x http://127.0.0.1:3128 http://127.0.0.1:{site.port}/",
            f"exec 3<>/dev/tcp/127.0.0.1/{site.port} && echo x >&3",
        ):
            assert (await inside.run(around))[0] != 0, around
        assert site.came == []


async def test_a_server_of_one_command_answers_the_next_without_the_guard(
    inside: Sandboxed,
) -> None:
    inside.person.verdict = NO
    server = (
        "python3 -m http.server 8123 --bind 127.0.0.1 >/dev/null 2>&1 & "
        "until curl -sf http://127.0.0.1:8123/ >/dev/null; do :; done; curl -sf http://localhost:8123/"
    )
    code, printed = await inside.run(server)
    assert code == 0
    assert "Directory listing" in printed
    assert inside.person.seen == []


async def test_two_sessions_have_two_ways_out(inside: Sandboxed) -> None:
    async with origin() as site:
        other = SessionId("se_2")
        for session_id in (SESSION, other):
            command = f"curl -sS http://site.test:{site.port}/"
            assert await inside.run(command, session_id) == (0, "hi")
        assert [one.session_id for one in inside.person.seen] == [SESSION, other]
        await inside.sandbox.forget(SESSION)
        # Its network is made anew, and served anew.
        assert (await inside.run(f"curl -sS http://site.test:{site.port}/"))[0] == 0


async def test_a_port_of_this_computer_is_reached_while_it_is_allowed_and_no_other(
    inside: Sandboxed,
) -> None:
    async with origin() as database, origin() as beside:
        ask = f"curl -sS http://localhost:{database.port}/"
        refused = 7  # curl's word for a port on which nobody listens
        assert (await inside.run(ask))[0] == refused
        ports = (database.port,)
        assert await inside.run(ask, ports=ports) == (0, "hi")
        assert await inside.run(ask, SessionId("se_2")) != (0, "hi")
        other = f"curl -sS http://localhost:{beside.port}/"
        assert (await inside.run(other, ports=ports))[0] == refused
        assert (await inside.run(ask))[0] == refused
        assert await inside.run(ask, ports=ports) == (0, "hi")
        assert beside.bytes == 0
        assert inside.person.seen == []


async def test_a_port_that_was_allowed_is_open_again_after_the_guard_died(
    inside: Sandboxed,
) -> None:
    async with origin() as database:
        ask = f"curl -sS --retry 20 --retry-all-errors http://localhost:{database.port}/"
        ports = (database.port,)
        assert await inside.run(ask, ports=ports) == (0, "hi")
        assert inside.network.pid is not None
        os.kill(inside.network.pid, signal.SIGKILL)
        assert (await inside.run(ask, ports=ports))[1].endswith("hi")


async def test_where_nothing_listens_a_client_is_not_kept_waiting(inside: Sandboxed) -> None:
    async with origin() as database:
        port = database.port
    code, _ = await inside.run(f"curl -sS http://localhost:{port}/", ports=(port,))
    assert code not in {0, 28}  # closed, not timed out


SERVE = (
    "printf hi > index.html; python3 -m http.server 8123 --bind 127.0.0.1 & "
    "until [ -e stop ]; do sleep 0.1; done; kill $!"
)


async def served(inside: Sandboxed, port: int) -> None:
    while port not in inside.sandbox.served_ports(SESSION):
        await asyncio.to_thread(os.sched_yield)


async def fetch(port: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /index.html HTTP/1.0\r\n\r\n")
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


async def test_what_a_command_serves_is_seen_by_the_persons_browser_once_it_is_opened(
    inside: Sandboxed,
) -> None:
    serving = asyncio.create_task(inside.run(SERVE))
    await served(inside, 8123)
    port = await inside.sandbox.share_port(SESSION, 8123)
    assert (await fetch(port)).endswith(b"\r\n\r\nhi")
    assert await inside.sandbox.share_port(SESSION, 8123) == port, "opened twice"
    # What is open to this computer is no way into another session, and ends with its own.
    with pytest.raises(ToolError, match="nothing serves port 8123"):
        await inside.sandbox.share_port(SessionId("se_2"), 8123)
    with pytest.raises(ToolError, match="nothing serves port 8124"):
        await inside.sandbox.share_port(SESSION, 8124)
    await inside.sandbox.forget(SESSION)
    with pytest.raises(ConnectionError):
        await fetch(port)
    (inside.folder / "stop").touch()
    await serving


async def test_a_port_that_is_taken_here_is_opened_at_another(inside: Sandboxed) -> None:
    async with origin() as taken:
        command = SERVE.replace("8123", str(taken.port))
        serving = asyncio.create_task(inside.run(command))
        await served(inside, taken.port)
        port = await inside.sandbox.share_port(SESSION, taken.port)
        assert port != taken.port
        assert (await fetch(port)).endswith(b"hi")
    (inside.folder / "stop").touch()
    await serving


async def test_a_port_whose_opening_was_given_up_is_closed_with_its_session(
    inside: Sandboxed,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    serving = asyncio.create_task(inside.run(SERVE.replace("8123", str(port))))
    await served(inside, port)
    begun = threading.Event()
    loop, threads = asyncio.get_running_loop(), ThreadPoolExecutor(initializer=begun.set)
    loop.set_default_executor(threads)
    opening = asyncio.create_task(inside.sandbox.share_port(SESSION, port))
    while not begun.is_set():  # until a thread is at it
        await asyncio.wait([opening], timeout=0)
    opening.cancel()
    with contextlib.suppress(asyncio.CancelledError):  # unless the thread was quicker
        await opening
    await inside.sandbox.forget(SESSION)
    loop.set_default_executor(ThreadPoolExecutor())
    threads.shutdown()
    with pytest.raises(ConnectionError):
        await fetch(port)
    (inside.folder / "stop").touch()
    await serving
