"""The person's own proxy is on the way, or not, as their environment says."""

from __future__ import annotations

import pytest

from desktop_agent.guard.upstream import Upstream, Upstreams
from tests.guard.rig import NO, Person, origin, proxy


async def test_connections_go_through_the_persons_proxy_and_a_refused_one_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with origin() as site, proxy() as theirs:
        address = f"http://call_me:pass%20word@127.0.0.1:{theirs.port}"
        monkeypatch.setenv("HTTP_PROXY", address)
        monkeypatch.setenv("HTTPS_PROXY", address)
        monkeypatch.setenv("no_proxy", "direct.test")
        async with proxy() as way:
            place = b"site.test:%d" % site.port
            got = await way.ask(b"GET http://%s/a HTTP/1.1\r\nA: b\r\n\r\n" % place)
            assert got.endswith(b"hi")
            client, answered = await way.connect("site.test", site.port)
            assert answered.startswith(b"HTTP/1.1 200")
            client.send(b"GET / HTTP/1.1\r\n\r\n")
            assert (await client.rest()).endswith(b"hi")
            # Their proxy was greeted by the login that is its own.
            assert [(one.host, one.call_id) for one in theirs.person.seen] == [
                ("site.test", "call_me"),
                ("site.test", "call_me"),
            ]
            assert b"authorization" not in bytes(site.came[0]).lower()
            await way.connect("direct.test", site.port)
            assert len(theirs.person.seen) == 2
            way.person.verdict = NO
            _, answered = await way.connect("site.test", site.port)
            assert answered.startswith(b"HTTP/1.1 403")
            assert len(theirs.person.seen) == 2


async def test_a_second_request_behind_the_first_does_not_pass_through_that_proxy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It would be another host's, which nobody was asked about."""
    async with origin(is_echo=True) as site, proxy() as theirs:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{theirs.port}")
        async with proxy() as way:
            place = b"site.test:%d" % site.port
            behind = b"GET http://evil.test:%d/ HTTP/1.1\r\n\r\n" % site.port
            for framing, body in (
                (b"A: b", b""),
                (b"Content-Length: 2", b"xy"),
                (b"Transfer-Encoding: chunked", b"2\r\nxy\r\n0\r\n\r\n"),
                (b"Connection: keep-alive, Content-Length\r\nContent-Length: 2", b"xy"),
            ):
                client = await way.open()
                client.send(b"POST http://%s/ HTTP/1.1\r\n%s\r\n\r\n" % (place, framing))
                client.send(body + behind * 3)
                head = await client.reader.readuntil(b"\r\n\r\n")
                assert b"POST / HTTP/1.1" in head
                await client.close()
                came = await site.ended.get()
                assert b"evil" not in came
        assert {one.host for one in theirs.person.seen} == {"site.test"}


async def test_a_proxy_that_refuses_or_can_not_be_used_is_told_and_not_gone_around(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with origin() as site, proxy(Person(NO)) as theirs:
        for address, words in (
            (f"http://127.0.0.1:{theirs.port}", b"The proxy of this computer answered 403"),
            ("socks5://127.0.0.1:1", b"a proxy of the kind socks5 is not supported"),
            ("http://127.0.0.1:none", b"the address of this computer's proxy is not understood"),
        ):
            monkeypatch.setenv("HTTPS_PROXY", address)
            async with proxy() as way:
                _, answered = await way.connect("site.test", site.port)
                assert answered.startswith(b"HTTP/1.1 502")
                assert words in answered
        assert site.came == []


def test_the_environment_is_read_as_curl_reads_it() -> None:
    read = Upstreams.of(
        {
            "HTTP_PROXY": "http://upper.example:1",
            "http_proxy": "lower.example:2",
            "ALL_PROXY": "http://all.example/",
            "NO_PROXY": ".corp.example, other.example:8080 ,10.0.0.0/8,[2606:4700::]/32",
        }
    )
    assert read.http == Upstream("lower.example", 2)
    assert read.https == Upstream("all.example", 80)

    def goes_directly(host: str, port: int = 443) -> bool:
        return read.way_to(host, port, is_tunnel=True) is None

    assert goes_directly("a.corp.example")
    assert goes_directly("corp.example")
    assert not goes_directly("acorp.example")
    assert goes_directly("other.example", 8080)
    assert not goes_directly("other.example", 443)
    assert goes_directly("10.1.2.3")
    assert not goes_directly("11.1.2.3")
    assert (
        Upstreams.of({"NO_PROXY": "*", "ALL_PROXY": "x:1"}).way_to("a.example", 1, is_tunnel=False)
        is None
    )
    assert Upstreams.of({}).way_to("a.example", 1, is_tunnel=True) is None
