"""Private networks are never reached, however the address is written and whoever says yes."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from desktop_agent.core.network.addresses import is_public
from desktop_agent.core.network.hosts import HostError, clean_host, split_authority
from desktop_agent.guard.reach import may_connect
from tests.guard.rig import NO, YES, Origin, Person, origin, proxy

# Each leads to this computer, or to a network nearby, somewhere: as address or as a name.
FORMS = (
    "127.0.0.1", "127.1", "127.0.1", "127.255.255.254", "2130706433", "017700000001",
    "0x7f000001", "0x7f.1", "0177.0.0.1", "0x7f.0x0.0x0.0x1", "127.0.0.01", "127.0.0.1.",
    "0", "0.0.0.0", "0x0", "localhost", "LOCALHOST.", "me.localhost", "printer.local", "intranet",
    "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "100.100.100.200",
    "169.254.169.254", "2852039166", "168.63.129.16", "192.0.0.192", "198.18.0.1", "224.0.0.1",
    "240.0.0.1", "255.255.255.255", "192.88.99.1", "[::1]", "[::]", "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:0:127.0.0.1]", "[::127.0.0.1]",
    "[64:ff9b::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]",
    "[2002:c0a8:101::1]", "[2001:0:7f00:1::]", "[fe80::1]", "[fe80::1%25eth0]", "[fc00::1]",
    "[fd00:ec2::254]", "[fec0::1]", "[ff02::1]", "[2001:db8::1]", "[100::1]", "[3fff::1]",
    "%31%32%37.0.0.1", "１２７.0.0.1", "127。0.0.1", "127.0.0.1%00.test", "0x7f.0.0.1.",
)  # fmt: skip


@asynccontextmanager
async def this_computer() -> AsyncIterator[Origin]:
    """A server behind every address of this computer, old and new."""
    async with origin("0.0.0.0") as site:
        yield site


async def test_no_form_of_a_private_address_gets_through() -> None:
    assert len(FORMS) >= 30
    async with proxy(is_loopback_allowed=False) as way, this_computer() as site:
        for form in FORMS:
            place = b"%s:%d" % (form.encode(), site.port)
            for request in (
                b"CONNECT %s HTTP/1.1\r\n\r\n" % place,
                b"GET http://%s/ HTTP/1.1\r\n\r\n" % place,
            ):
                answered = await way.ask(request)
                assert answered[:12] in {b"HTTP/1.1 403", b"HTTP/1.1 400"}, (form, answered)
            name = form.encode()
            greeting = b"\x05\x01\x00\x05\x01\x00\x03" + bytes((len(name),)) + name
            answered = await way.ask(greeting + site.port.to_bytes(2, "big"))
            assert answered[2:4] == b"\x05\x02", form
        for packed in (b"\x01" + bytes((127, 0, 0, 1)), b"\x04" + bytes(15) + b"\x01"):
            answered = await way.ask(
                b"\x05\x01\x00\x05\x01\x00" + packed + site.port.to_bytes(2, "big")
            )
            assert answered[2:4] == b"\x05\x02"
        # And nobody was troubled with it.
        assert way.person.seen == []
        assert site.came == []


async def test_a_name_that_leads_to_a_private_address_is_refused_after_the_yes() -> None:
    names = {
        "inside.test": [["10.0.0.1"]],
        "here.test": [["127.0.0.1"]],
        "mixed.test": [["93.184.215.14", "127.0.0.1"]],
        "mapped.test": [["::ffff:127.0.0.1"]],
        "nat.test": [["64:ff9b::7f00:1"]],
        "zone.test": [["fe80::1%lo"]],
        "cloud.test": [["169.254.169.254"]],
    }
    async with proxy(names=names, is_loopback_allowed=False) as way, this_computer() as site:
        for name in names:
            _, answered = await way.connect(name, site.port)
            assert answered.startswith(b"HTTP/1.1 403 %s is in a private" % name.encode())
        assert {one.host for one in way.person.seen} == set(names)
        assert site.came == []


async def test_a_name_is_looked_up_once_and_that_address_is_what_is_connected_to() -> None:
    # Whoever looks it up a second time gets another computer's address.
    names = {"rebound.test": [["127.0.0.1"], ["127.0.0.2"]]}
    async with proxy(names=names) as way, origin(is_echo=True) as site:
        client, answered = await way.connect("rebound.test", site.port)
        assert answered.startswith(b"HTTP/1.1 200")
        client.send(b"x")
        assert await client.reader.readexactly(1) == b"x"
        _, answered = await way.connect("rebound.test", site.port)
        assert answered.startswith(b"HTTP/1.1 403")


async def test_a_name_is_not_looked_up_before_the_yes() -> None:
    """The look-up alone would carry words out, to whoever serves the name."""
    names = {"words.test": [["127.0.0.2"], ["127.0.0.1"]]}
    person = Person(NO)
    async with proxy(person, names=names) as way, origin(is_echo=True) as site:
        _, answered = await way.connect("words.test", site.port)
        assert b"The person refused it." in answered
        person.verdict = YES
        # The first look-up's answer, which is a forbidden one, is still to be given.
        _, answered = await way.connect("words.test", site.port)
        assert b"private network" in answered


def test_this_computers_own_public_address_is_private_too(monkeypatch: pytest.MonkeyPatch) -> None:
    own = {address for address in _own_addresses() if is_public(address)}
    assert not any(map(may_connect, own))
    # A machine without a public address of its own shows it by one that it takes for public.
    monkeypatch.setattr("desktop_agent.guard.reach.is_public", lambda _: True)
    assert not may_connect("127.0.0.1")
    assert may_connect("192.0.2.1")


def test_public_addresses_and_names_pass() -> None:
    for address in ("93.184.215.14", "1.1.1.1", "2606:4700::1111", "64:ff9b::101:101"):
        assert is_public(address)
    for text, host in {
        "Example.COM.": "example.com",
        "a_b.example": "a_b.example",
        "xn--bcher-kva.example": "xn--bcher-kva.example",
        "[2606:4700:0:0::1111]": "[2606:4700::1111]",
        "1.1.1.1": "1.1.1.1",
        "7.example": "7.example",
    }.items():
        assert clean_host(text) == host
    assert split_authority("a.example", 80) == ("a.example", 80)
    assert split_authority("[2606:4700::1]:8", 80) == ("[2606:4700::1]", 8)
    for text in (
        "a.example:",
        "a.example:0",
        "a.example:65536",
        "a.example:+1",
        "a.example:８",
        "a:b.example:80",
        "[::1",
        "a..example",
        "-a.example",
        ":80",
        "a.example:80:80",
    ):
        with pytest.raises(HostError):
            split_authority(text, 80)
    with pytest.raises(HostError, match="port is missing"):
        split_authority("a.example")


def _own_addresses() -> set[str]:
    found = socket.getaddrinfo(socket.gethostname(), None)
    return {str(ipaddress.ip_address(str(entry[4][0]).partition("%")[0])) for entry in found}
