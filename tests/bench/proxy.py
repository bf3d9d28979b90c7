"""The guard: bytes through a tunnel, and its processor time for a request with its question."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from desktop_agent.adapters.network.guarded_network import GuardedNetwork
from desktop_agent.core.ids import SessionId
from desktop_agent.core.network.questions import HostQuestion, HostVerdict
from tests.bench.report import report
from tests.guard.rig import listener, program

_BYTES = 1 << 29
_PIECE = 1 << 18
_REQUESTS = 500
_AT_ONCE = 50


def main() -> None:
    asyncio.run(_measure())


async def _measure() -> None:
    async def yes(_: HostQuestion) -> HostVerdict:
        return HostVerdict(True)

    network = GuardedNetwork(yes, program())
    began = time.perf_counter()
    made = listener()
    port = made.getsockname()[1]
    network.serve(SessionId("se_1"), made)
    (await asyncio.to_thread(_tunnel, port, port)).close()
    report("proxy_start", (time.perf_counter() - began) * 1000)
    pid = network.pid
    assert pid is not None
    try:
        with _origin() as origin:
            bare = await asyncio.to_thread(_throughput, lambda: _direct(origin))
            through = await asyncio.to_thread(_throughput, lambda: _tunnel(port, origin))
            report("proxy_throughput", through, floor=bare)
            direct = await asyncio.to_thread(_latency, lambda: _direct(origin))
            used = _processor_s(pid)
            latency = await asyncio.to_thread(_latency, lambda: _tunnel(port, origin))
            cost = (_processor_s(pid) - used) / _REQUESTS * 1000
            report("proxy_request", latency, floor=direct)
            report("proxy_request_work", cost)
            held = [await asyncio.to_thread(_tunnel, port, origin) for _ in range(_AT_ONCE)]
            report("proxy_rss", _rss_mb(pid))
            for one in held:
                one.close()
    finally:
        await network.close()


@contextmanager
def _origin() -> Iterator[int]:
    """A server that answers a byte `s` with a byte, and a byte `b` with as much as it can."""
    server = listener()

    def answer(client: socket.socket) -> None:
        with client:
            match client.recv(1):
                case b"s":
                    client.sendall(b"x")
                case b"b":
                    piece = bytes(_PIECE)
                    for _ in range(_BYTES // _PIECE):
                        client.sendall(piece)
                case _:
                    pass

    def accept() -> None:
        while True:
            try:
                client, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    yield server.getsockname()[1]
    server.shutdown(socket.SHUT_RDWR)
    server.close()


def _direct(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port))


def _tunnel(port: int, origin: int) -> socket.socket:
    made = _direct(port)
    made.sendall(b"CONNECT site.test:%d HTTP/1.1\r\n\r\n" % origin)
    answered = b""
    while not answered.endswith(b"\r\n\r\n"):
        answered += made.recv(1)
    return made


def _throughput(connect: Callable[[], socket.socket]) -> float:
    with connect() as client:
        room = bytearray(_PIECE)
        client.sendall(b"b")
        began, got = time.perf_counter(), 0
        while count := client.recv_into(room):
            got += count
        return got / (time.perf_counter() - began) / 1e6


def _latency(connect: Callable[[], socket.socket]) -> float:
    """Return the median of the milliseconds from a connection to the first byte back."""
    times: list[float] = []
    for _ in range(_REQUESTS):
        began = time.perf_counter()
        with connect() as client:
            client.sendall(b"s")
            client.recv(1)
        times.append((time.perf_counter() - began) * 1000)
    return sorted(times)[len(times) // 2]


def _processor_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _rss_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    sys.exit(main())
