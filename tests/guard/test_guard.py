"""The network of commands: a host is asked about once, and nothing goes out before the answer."""

from __future__ import annotations

import asyncio
import base64
import os
import signal
from contextlib import closing, suppress
from pathlib import Path

from desktop_agent.adapters.network.guarded_network import GuardedNetwork
from desktop_agent.core.ids import SessionId
from desktop_agent.core.network.questions import HostQuestion, HostVerdict
from tests.guard.rig import NO, SESSION, YES, Client, Person, listener, origin, proxy


async def test_a_tunnel_carries_both_ways_and_passes_the_end_on() -> None:
    async with proxy() as way, origin(is_echo=True) as site:
        client, answered = await way.connect("site.test", site.port)
        assert answered == b"HTTP/1.1 200 Connection established"
        sent = os.urandom(1 << 20)
        client.send(sent)
        client.writer.write_eof()
        assert await client.rest() == sent
        assert way.person.seen == [HostQuestion(SESSION, "site.test", site.port)]


async def test_what_is_sent_behind_the_request_for_a_tunnel_is_not_lost() -> None:
    async with proxy() as way, origin(is_echo=True) as site:
        client = await way.open()
        client.send(b"CONNECT site.test:%d HTTP/1.1\r\n\r\nhello" % site.port)
        await client.line()
        assert await client.reader.readexactly(5) == b"hello"
        await client.close()


async def test_plain_http_reaches_the_origin_without_what_was_for_the_proxy() -> None:
    async with proxy() as way, origin() as site:
        got = await way.ask(
            b"GET http://Site.TEST.:%d/a?b=1 HTTP/1.1\r\nHost: other.test\r\nX: 1\r\n"
            b"Connection: X-Hop, close\r\nX-Hop: 1\r\nProxy-Connection: keep-alive\r\n"
            b"Proxy-Authorization: Basic %s\r\n\r\n" % (site.port, base64.b64encode(b"call_7:x"))
        )
        assert got.endswith(b"\r\n\r\nhi")
        assert bytes(site.came[0]) == (
            b"GET /a?b=1 HTTP/1.1\r\nHost: site.test:%d\r\nX: 1\r\nConnection: close\r\n\r\n"
            % site.port
        )
        assert way.person.seen == [HostQuestion(SESSION, "site.test", site.port, "call_7")]


async def test_a_body_goes_on_to_its_end_and_what_follows_does_not() -> None:
    second = b"GET http://other.test/ HTTP/1.1\r\n\r\n"
    bodies = {
        b"Content-Length: 6": b"abcend",
        b"Transfer-Encoding: chunked": b"3\r\nabc\r\n3;x=y\r\nend\r\n0\r\nT: 1\r\n\r\n",
    }
    async with proxy() as way, origin() as site:
        site.ends = (b"abcend", b"\r\n0\r\n\r\n")
        for framing, body in bodies.items():
            head = b"POST http://site.test:%d/ HTTP/1.1\r\n%s\r\n\r\n" % (site.port, framing)
            assert (await way.ask(head + body + second)).endswith(b"hi")
            came = await site.ended.get()
            assert b"abc" in came
            assert b"other.test" not in came
            assert b"T: 1" not in came
        assert len(way.person.seen) == 2


async def test_socks_takes_a_name_and_leaves_the_look_up_to_the_guard() -> None:
    async with proxy() as way, origin(is_echo=True) as site:
        client = await way.open()
        client.send(b"\x05\x01\x00")
        assert await client.reader.readexactly(2) == b"\x05\x00"
        client.send(b"\x05\x01\x00\x03\x09site.test" + site.port.to_bytes(2, "big") + b"hello")
        assert (await client.reader.readexactly(10))[1] == 0
        assert await client.reader.readexactly(5) == b"hello"
        await client.close()


async def test_refused_means_not_a_byte_and_says_why() -> None:
    async with proxy(Person(NO)) as way, origin() as site:
        tunnel = await way.ask(b"CONNECT site.test:%d HTTP/1.1\r\n\r\n" % site.port)
        plain = await way.ask(b"GET http://site.test:%d/ HTTP/1.1\r\n\r\n" % site.port)
        for answered in (tunnel, plain):
            assert answered.startswith(b"HTTP/1.1 403 The person refused it.\r\n")
        client = await way.open()
        client.send(b"\x05\x01\x00\x05\x01\x00\x03\x09site.test" + site.port.to_bytes(2, "big"))
        assert (await client.rest())[2:4] == b"\x05\x02"
        assert site.came == []


async def test_twenty_connections_at_once_are_one_question() -> None:
    async with proxy(Person(None)) as way, origin(is_echo=True) as site:
        request = b"CONNECT site.test:%d HTTP/1.1\r\n\r\nping" % site.port
        clients = [await way.open() for _ in range(20)]
        for client in clients:
            client.send(request)
        question = await way.person.asked.get()
        await _served_elsewhere(way, site.port)
        assert site.bytes == 0
        way.person.say(question, YES)
        for client in clients:
            assert (await client.line()).startswith(b"HTTP/1.1 200")
            assert await client.reader.readexactly(4) == b"ping"
            await client.close()
        assert [one.host for one in way.person.seen] == ["site.test", "elsewhere.test"]


async def test_another_port_and_another_session_are_other_questions() -> None:
    async with proxy() as way, origin(is_echo=True) as one, origin(is_echo=True) as two:
        other = listener()
        other_port = other.getsockname()[1]
        way.network.serve(SessionId("se_2"), other)
        for port in (one.port, two.port):
            client, _ = await way.connect("site.test", port)
            await client.close()
        reader, writer = await asyncio.open_connection("127.0.0.1", other_port)
        writer.write(b"CONNECT site.test:%d HTTP/1.1\r\n\r\n" % one.port)
        assert (await Client(reader, writer).line()).startswith(b"HTTP/1.1 200")
        writer.close()
        assert [(q.session_id, q.port) for q in way.person.seen] == [
            ("se_1", one.port),
            ("se_1", two.port),
            ("se_2", one.port),
        ]


async def test_a_client_that_gives_up_and_comes_back_meets_the_same_question() -> None:
    async with proxy(Person(None)) as way, origin(is_echo=True) as site:
        request = b"CONNECT site.test:%d HTTP/1.1\r\n\r\n" % site.port
        first = await way.open()
        first.send(request)
        question = await way.person.asked.get()
        await first.close()
        second = await way.open()
        second.send(request)
        await _served_elsewhere(way, site.port)
        way.person.say(question, YES)
        assert (await second.line()).startswith(b"HTTP/1.1 200")
        await second.close()
        assert [one.host for one in way.person.seen] == ["site.test", "elsewhere.test"]


async def test_a_yes_that_comes_while_nobody_waits_is_for_the_next_try_and_no_other() -> None:
    async with proxy(Person(None)) as way, origin(is_echo=True) as site:
        first = await way.open()
        first.send(b"CONNECT site.test:%d HTTP/1.1\r\n\r\n" % site.port)
        question = await way.person.asked.get()
        await first.close()
        await _served_elsewhere(way, site.port)
        way.person.say(question, YES)
        await _served_elsewhere(way, site.port)
        way.person.verdict = NO
        retry, answered = await way.connect("site.test", site.port)
        assert answered.startswith(b"HTTP/1.1 200")
        await retry.close()
        _, answered = await way.connect("site.test", site.port)
        assert answered.startswith(b"HTTP/1.1 403")


async def test_nobody_waits_for_ever_for_an_answer() -> None:
    async with proxy(Person(None), question_s=0.2) as way, origin() as site:
        _, answered = await way.connect("site.test", site.port)
        assert answered == (
            b"HTTP/1.1 403 Nobody answered within 0 seconds whether site.test may be reached."
        )
        assert (await way.person.withdrawn.get()).host == "site.test"
        assert site.came == []


async def test_a_guard_that_is_killed_leaves_no_question_open_and_serves_again() -> None:
    async with proxy(Person(None)) as way, origin(is_echo=True) as site:
        client = await way.open()
        client.send(b"CONNECT site.test:%d HTTP/1.1\r\n\r\n" % site.port)
        question = await way.person.asked.get()
        before = way.network.pid
        assert before is not None
        os.kill(before, signal.SIGKILL)
        assert await client.rest() == b""
        assert await way.person.withdrawn.get() == question
        assert site.came == []
        way.person.verdict = YES
        again, answered = await way.connect("site.test", site.port)
        assert answered.startswith(b"HTTP/1.1 200")
        await again.close()
        assert way.network.pid not in {None, before}


async def test_the_end_of_a_session_ends_its_connections_and_its_questions() -> None:
    async with proxy() as way, origin(is_echo=True) as site:
        open_one, _ = await way.connect("site.test", site.port)
        way.person.verdict = None
        waiting = await way.open()
        waiting.send(b"CONNECT later.test:%d HTTP/1.1\r\n\r\n" % site.port)
        while (question := await way.person.asked.get()).host != "later.test":
            pass
        way.network.forget(SESSION)
        assert await open_one.rest() == b""
        assert not (await waiting.rest()).startswith(b"HTTP/1.1 200")
        assert await way.person.withdrawn.get() == question


async def test_the_guard_ends_with_the_app() -> None:
    async with proxy() as way:
        await way.connect("started.test", 1)
        pid = way.network.pid
        assert pid is not None
        await way.network.close()
        assert not Path(f"/proc/{pid}").exists()


async def test_a_guard_that_cannot_start_leaves_nobody_waiting() -> None:
    for broken in (("/nowhere/python",), ("/bin/false",), ("/bin/echo", "garbage")):
        network = GuardedNetwork(Person(), broken)
        made = listener()
        port = made.getsockname()[1]
        network.serve(SESSION, made)
        with suppress(ConnectionError):  # refused, reset or ended: each is an answer
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            with closing(writer):
                assert await reader.read() == b""
        await network.close()
        assert network.pid is None


async def test_a_reason_of_the_apps_cannot_break_the_answer() -> None:
    verdict = HostVerdict(False, "No.\r\nSet-Cookie: a\r\n\r\n<b>ü")
    async with proxy(Person(verdict)) as way:
        got = await way.ask(b"GET http://site.test/ HTTP/1.1\r\n\r\n")
        head, _, body = got.partition(b"\r\n\r\n")
        assert b"\r\nSet-Cookie" not in head
        assert body == b"No.Set-Cookie: a<b>?\n"


async def _served_elsewhere(way, port: int) -> None:
    """Come back once another host was asked about, allowed and reached, behind what waits."""

    async def through() -> None:
        client, _ = await way.connect("elsewhere.test", port)
        await client.close()

    going = asyncio.create_task(through())
    question = await way.person.asked.get()
    assert question.host == "elsewhere.test"
    way.person.say(question, YES)
    await going
