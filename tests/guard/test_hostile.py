"""Whatever a command sends to the proxy: bounded, refused, and no harm to the others."""

from __future__ import annotations

import asyncio

import pytest

from tests.guard.rig import Person, origin, proxy

TO = b"http://site.test"
REFUSED = {
    "no proxy request": (b"GET / HTTP/1.1\r\n\r\n", 400),
    "https without a tunnel": (b"GET https://site.test/ HTTP/1.1\r\n\r\n", 400),
    "another scheme": (b"GET ftp://site.test/ HTTP/1.1\r\n\r\n", 400),
    "a version of its own": (b"GET http://site.test/ HTTP/2.0\r\n\r\n", 505),
    "no version": (b"GET http://site.test/\r\n\r\n", 400),
    "two blanks": (b"GET  http://site.test/ HTTP/1.1\r\n\r\n", 400),
    "a tab": (b"GET\thttp://site.test/ HTTP/1.1\r\n\r\n", 400),
    "a fragment": (b"GET http://site.test/#a HTTP/1.1\r\n\r\n", 400),
    "a login": (b"GET http://a:b@site.test/ HTTP/1.1\r\n\r\n", 403),
    "a backslash in the host": (b"GET http://site.test\\@x.test/ HTTP/1.1\r\n\r\n", 403),
    "a port of words": (b"CONNECT site.test:https HTTP/1.1\r\n\r\n", 403),
    "an address for a tunnel": (b"CONNECT http://site.test:80/ HTTP/1.1\r\n\r\n", 403),
    "letters of elsewhere": ("CONNECT sité.test:80 HTTP/1.1\r\n\r\n".encode(), 400),
    "a control character": (b"GET http://site.test/\x01 HTTP/1.1\r\n\r\n", 400),
    "a folded header": (b"GET http://site.test/ HTTP/1.1\r\nA: 1\r\n b\r\n\r\n", 400),
    "a blank before the colon": (b"GET http://site.test/ HTTP/1.1\r\nHost : b\r\n\r\n", 400),
    "no colon": (b"GET http://site.test/ HTTP/1.1\r\nA\r\n\r\n", 400),
    "a bare line end": (b"GET http://site.test/ HTTP/1.1\r\nA: 1\nB: 2\r\n\r\n", 400),
    "a bare return": (b"GET http://site.test/ HTTP/1.1\r\nA: 1\rB: 2\r\n\r\n", 400),
    "a NUL": (b"GET http://site.test/ HTTP/1.1\r\nA: \0\r\n\r\n", 400),
    "two hosts": (b"GET http://site.test/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
    "two lengths": (
        b"POST http://site.test/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na", 400,
    ),
    "a list of lengths": (b"POST http://site.test/ HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\na", 400),
    "a signed length": (b"POST http://site.test/ HTTP/1.1\r\nContent-Length: +1\r\n\r\na", 400),
    "a length of size": (
        b"POST http://site.test/ HTTP/1.1\r\nContent-Length: " + b"9" * 400 + b"\r\n\r\na", 400,
    ),
    "length and chunks": (
        b"POST http://site.test/ HTTP/1.1\r\nContent-Length: 1\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400,
    ),
    "another coding": (
        b"POST http://site.test/ HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        400,
    ),
    "chunks in old http": (
        b"POST http://site.test/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400,
    ),
    "a head without end": (b"GET http://site.test/" + b"a" * 40_000, 431),
    "a hundred headers and one": (
        b"GET http://site.test/ HTTP/1.1\r\n" + b"A: b\r\n" * 101 + b"\r\n", 431,
    ),
    "a name without end": (b"CONNECT " + b"a." * 400 + b"test:80 HTTP/1.1\r\n\r\n", 403),
    "nothing": (b"\r\n\r\n", 400),
    "tls": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(200)), 400),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
async def test_a_request_that_can_be_read_in_two_ways_is_refused_unasked(what: str) -> None:
    request, status = REFUSED[what]
    async with proxy() as way, origin() as site:
        named = request.replace(b"site.test", b"site.test:%d" % site.port, 1)
        for sent in (request, named):
            answered = await way.ask(sent, is_over=True)
            assert answered.startswith(b"HTTP/1.1 "), what
            assert int(answered[9:12]) in {status, 400, 403, 431}, answered
        assert way.person.seen == []
        assert site.came == []
        _, answered = await way.connect("site.test", site.port)
        assert answered.startswith(b"HTTP/1.1 200")


async def test_garbage_of_every_first_byte_ends_its_connection_and_no_other() -> None:
    async with proxy() as way, origin() as site:
        for first in range(256):
            await way.ask(bytes((first,)) * 64, is_over=True)
        _, answered = await way.connect("site.test", site.port)
        assert answered.startswith(b"HTTP/1.1 200")
        assert [one.host for one in way.person.seen] == ["site.test"]


@pytest.mark.parametrize(
    "body",
    [
        b"zz\r\n", b"-1\r\n", b"\r\n", b"0x1\r\na\r\n", b"1\r\nab\r\n", b"f" * 13 + b"\r\n",
        b"1;" + b"x" * 10_000, b"0\r\n" + b"A: b\r\n" * 101, b"1\na\r\n0\r\n\r\n",
    ],
)  # fmt: skip
async def test_a_body_that_is_not_understood_ends_the_request(body: bytes) -> None:
    head = b"POST http://site.test:%d/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with proxy() as way, origin(is_echo=True) as site:
        await way.ask(head % site.port + body)
        assert b"\r\n0\r\n" not in await site.ended.get()


async def test_who_sends_a_request_byte_by_byte_without_end_is_not_waited_for() -> None:
    async with proxy(head_s=0.2) as way:
        client = await way.open()
        client.send(b"GET http://sit")
        assert (await client.line()).startswith(b"HTTP/1.1 408")


async def test_a_connection_over_which_nothing_comes_is_ended() -> None:
    async with proxy(idle_s=0.4) as way, origin(is_echo=True) as site:
        client, _ = await way.connect("site.test", site.port)
        assert await client.rest() == b""
        await site.ended.get()


async def test_more_connections_than_may_be_open_wait_their_turn() -> None:
    async with proxy(connections=4) as way, origin(is_echo=True) as site:
        held = [await way.connect("site.test", site.port) for _ in range(4)]
        next_one = await way.open()
        next_one.send(b"CONNECT next.test:%d HTTP/1.1\r\n\r\n" % site.port)
        for client, _ in held:  # all of them are served; only then is there room
            client.send(b"x")
            assert await client.reader.readexactly(1) == b"x"
        assert [one.host for one in way.person.seen] == ["site.test"] * 4
        await held[0][0].close()
        assert (await next_one.line()).startswith(b"HTTP/1.1 200")


async def test_a_command_cannot_ask_about_hosts_without_end() -> None:
    async with proxy(Person(None), questions=8) as way:
        clients = [await way.open() for _ in range(12)]
        for number, client in enumerate(clients):
            client.send(b"CONNECT n%d.test:443 HTTP/1.1\r\n\r\n" % number)
        waiting = {asyncio.create_task(one.line()) for one in clients}
        while len(waiting) > 8:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            assert all(b"403 Too many hosts" in one.result() for one in done)
        for _ in range(8):
            await way.person.asked.get()
        assert len(way.person.seen) == 8
        for one in waiting:
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
