"""Fetching pages: from the public network only, bounded, and as text one can read."""

from __future__ import annotations

import asyncio
import gzip
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

import httpx
import pytest
from aiohttp import web

from desktop_agent.core.messages import UrlDisplay
from desktop_agent.core.tool import ToolError
from desktop_agent.tools.web.addresses import Network, is_public, look_up
from desktop_agent.tools.web.html_markdown import markdown_of
from desktop_agent.tools.web.web import make_web_fetch, web_fetch
from desktop_agent.tools.web.web_client import checked_url
from tests.adapters.loopback import listening
from tests.tools.conftest import Bench


@dataclass
class Site:
    """A web server on this computer, and what it was asked for."""

    port: int = 0
    asked: list[tuple[str, str]] = field(default_factory=list)
    pages: dict[str, Callable[[web.Request], Awaitable[web.StreamResponse]]] = field(
        default_factory=dict
    )

    def page(self, path: str, body: bytes | str, kind: str = "text/html", **headers: str) -> None:
        content = body.encode() if isinstance(body, str) else body

        async def answer(request: web.Request) -> web.StreamResponse:
            return web.Response(body=content, headers={"Content-Type": kind, **headers})

        self.pages[path] = answer

    def redirect(self, path: str, target: str, status: int = 302) -> None:
        async def answer(request: web.Request) -> web.StreamResponse:
            return web.Response(status=status, headers={"Location": target})

        self.pages[path] = answer


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    made = Site()

    async def answer(request: web.Request) -> web.StreamResponse:
        made.asked.append((request.headers["Host"], request.path))
        page = made.pages.get(request.path)
        return await page(request) if page else web.Response(status=404, text="no such page")

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    async with listening(runner) as made.port:
        yield made
    await runner.cleanup()


# For tests the server on this computer plays the internet; all else is as in the app.
async def everything_is_here(host: str, port: int) -> tuple[str, ...]:
    return {"evil.test": ("127.0.0.1", "10.0.0.1")}.get(host, ("127.0.0.1",))


fetch = make_web_fetch(Network(everything_is_here, lambda address: address == "127.0.0.1"))


async def test_a_page_is_given_as_markdown(bench: Bench, site: Site) -> None:
    site.page("/a", "<title>T</title><h1>Head</h1><p>Some <b>bold</b> <a href='/x'>link</a></p>")
    result = await bench.run(fetch, url=f"http://site.test:{site.port}/a#part")
    assert result.text == (
        f"From http://site.test:{site.port}/a:\n\n# Head\n\nSome **bold** "
        f"[link](http://site.test:{site.port}/x)"
    )
    assert result.display == UrlDisplay(f"http://site.test:{site.port}/a")
    assert site.asked == [(f"site.test:{site.port}", "/a")]


async def test_text_and_json_are_given_as_they_are(bench: Bench, site: Site) -> None:
    site.page("/j", '{"a": "<b>"}', "application/json")
    site.page("/t", "grüße".encode("latin-1"), "text/plain; charset=latin-1")
    assert '{"a": "<b>"}' in (await bench.run(fetch, url=f"http://s.test:{site.port}/j")).text
    assert "grüße" in (await bench.run(fetch, url=f"http://s.test:{site.port}/t")).text


@pytest.mark.parametrize(
    ("body", "kind", "said"),
    [
        ("<meta charset='shift_jis'><p>日本語".encode("shift_jis"), "text/html", "日本語"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=windows-1251"><p>Привет'
         .encode("cp1251"), "text/html", "Привет"),
        ('<?xml version="1.0" encoding="koi8-r"?><a>Привет</a>'.encode("koi8-r"),
         "application/rss+xml", "Привет"),
        ("“Grüße” – 5 €".encode("cp1252"), "text/plain; charset=iso-8859-1", "“Grüße” – 5 €"),
        ("“Grüße” – 5 €".encode("cp1252"), "text/plain", "“Grüße” – 5 €"),
        ("<p>“Grüße”".encode("utf-16"), "text/html", "“Grüße”"),
        ("\ufeff“Grüße”".encode(), "text/plain; charset=latin-1", "\n“Grüße”"),
        ("<meta charset=latin-1><p>“Grüße”".encode(), "text/html; charset=utf-8", "“Grüße”"),
        ("“Grüße”".encode(), "text/plain; charset=undefined", "“Grüße”"),
        ("“Grüße”".encode()[:-1], "text/plain", "“Grüße"),
    ],
)  # fmt: skip
async def test_a_page_is_read_in_its_own_encoding(bench, site: Site, body, kind, said) -> None:
    site.page("/p", body, kind)
    assert said in (await bench.run(fetch, url=f"http://s.test:{site.port}/p")).text


async def test_files_are_refused(bench: Bench, site: Site) -> None:
    site.page("/f", b"\0\1", "application/zip")
    with pytest.raises(ToolError, match="not text"):
        await bench.run(fetch, url=f"http://s.test:{site.port}/f")


async def test_an_error_page_is_shown_with_its_status(bench: Bench, site: Site) -> None:
    text = (await bench.run(fetch, url=f"http://s.test:{site.port}/missing")).text
    assert "no such page" in text
    assert "status 404" in text


async def test_a_long_page_says_how_to_go_on(bench: Bench, site: Site) -> None:
    site.page("/l", "".join(f"{n:06} " for n in range(40_000)), "text/plain")
    url = f"http://s.test:{site.port}/l"
    first = (await bench.run(fetch, url=url)).text
    assert "go on with offset=100000" in first
    assert len(first) < 101_000
    assert "039999" in (await bench.run(fetch, url=url, offset=200_000)).text


async def test_a_bomb_stays_folded(bench: Bench, site: Site) -> None:
    packed = gzip.compress(b"a" * 200_000_000)
    site.page("/b", packed, "text/plain", **{"Content-Encoding": "gzip"})
    result = await bench.run(fetch, url=f"http://s.test:{site.port}/b", offset=2_950_000)
    assert "longer than can be fetched" in result.text


async def test_an_endless_page_ends(bench: Bench, site: Site) -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        await response.prepare(request)
        while True:
            await response.write(b"x" * 65_536)

    site.pages["/e"] = endless
    result = await bench.run(fetch, url=f"http://s.test:{site.port}/e", offset=2_990_000)
    assert "longer than can be fetched" in result.text


async def test_redirects_on_the_same_site_are_followed(bench: Bench, site: Site) -> None:
    site.redirect("/1", "/2")
    site.redirect("/2", f"http://www.s.test:{site.port}/3", 301)
    site.page("/3", "there", "text/plain")
    result = await bench.run(fetch, url=f"http://s.test:{site.port}/1")
    assert "there" in result.text
    assert result.display == UrlDisplay(f"http://www.s.test:{site.port}/3")


async def test_too_many_redirects_end(bench: Bench, site: Site) -> None:
    site.redirect("/r", "/r")
    with pytest.raises(ToolError, match="more than 5"):
        await bench.run(fetch, url=f"http://s.test:{site.port}/r")
    assert len(site.asked) == 6


@pytest.mark.parametrize(
    "target",
    ["http://other.test/", "file:///etc/passwd", "ftp://s.test/", "http://me:pw@s.test/",
     "//other.test/x", "http://169.254.169.254/latest", "gopher://s.test", "http://s.test:1/"],
)  # fmt: skip
async def test_a_redirect_elsewhere_is_not_followed(bench: Bench, site: Site, target: str) -> None:
    site.redirect("/r", target)
    with pytest.raises(ToolError):
        await bench.run(fetch, url=f"http://s.test:{site.port}/r")
    assert len(site.asked) == 1


async def test_a_name_with_one_private_address_is_refused_whole(bench: Bench, site: Site) -> None:
    with pytest.raises(ToolError, match="private network"):
        await bench.run(fetch, url=f"http://evil.test:{site.port}/a")
    assert site.asked == []


async def test_the_connection_goes_to_the_address_that_was_checked(bench, site: Site) -> None:
    """A name that answers differently the second time gains nothing: it is asked once."""
    asked: list[str] = []

    async def rebinding(host: str, port: int) -> tuple[str, ...]:
        asked.append(host)
        return ("127.0.0.1",) if len(asked) == 1 else ("10.0.0.1",)

    site.page("/a", "x", "text/plain")
    tool = make_web_fetch(Network(rebinding, lambda address: address == "127.0.0.1"))
    await bench.run(tool, url=f"http://rebind.test:{site.port}/a")
    assert asked == ["rebind.test"]


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "127.1", "2130706433", "0x7f000001",
     "0177.0.0.1", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::]", "127.0.0.1."],
)  # fmt: skip
async def test_this_computer_is_not_reached(bench: Bench, site: Site, host: str) -> None:
    with pytest.raises(ToolError):
        await bench.run(web_fetch, url=f"http://{host}:{site.port}/a")
    assert site.asked == []


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "127.8.8.8", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1",
     "169.254.169.254", "169.254.0.1", "0.0.0.0", "100.64.0.1", "100.100.100.200", "192.0.0.1",
     "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.1.1",
     "240.0.0.1", "255.255.255.255", "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1",
     "fd00:ec2::254", "fec0::1", "ff02::1", "2001:db8::1", "::ffff:10.0.0.1",
     "::ffff:169.254.169.254",
     "64:ff9b::a00:1", "64:ff9b::7f00:1", "2002:7f00:1::", "2002:a00:1::", "2001:0:1::1", "100::1",
     "", "nonsense", "1.1.1.1%x", "::ffff:0:127.0.0.1", "::127.0.0.1"],
)  # fmt: skip
def test_an_address_that_is_not_public_is_refused(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "8.8.8.8", "93.184.216.34", "2606:4700::1111", "::ffff:8.8.8.8"]
)
def test_public_addresses_are_reached(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "url",
    ["", "x", "example.com", "ftp://example.com", "file:///etc/passwd", "http://", "http:///x",
     "javascript:alert(1)", "data:text/html,x", "http://me@example.com", "http://me:pw@example.com",
     "http://[::1", "http://exa mple.com", "http://a\r\nb", "http://example.com:99999", "//x"],
)  # fmt: skip
def test_an_address_that_is_not_plain_is_refused(url: str) -> None:
    with pytest.raises(ToolError):
        checked_url(url)


async def test_the_card_shows_the_real_host_without_looking_it_up(bench: Bench) -> None:
    preview = await bench.preview(web_fetch, url=" HTTPS://EXÄMPLE.invalid/a?b=c#d ")
    assert preview.host == "xn--exmple-cua.invalid"
    assert preview.display == UrlDisplay("https://xn--exmple-cua.invalid/a?b=c")
    assert preview.title == "Fetch https://xn--exmple-cua.invalid/a?b=c?"
    assert [rule.pattern for rule in preview.rules] == ["xn--exmple-cua.invalid"]
    assert web_fetch.describe
    assert web_fetch.describe({"url": "https://a.b"}) == "fetching https://a.b"


async def test_a_server_that_is_not_there_is_an_error_in_words(bench: Bench) -> None:
    with pytest.raises(ToolError, match=r"s\.test"):
        await bench.run(fetch, url="http://s.test:1/")


async def test_a_server_that_speaks_nonsense_is_an_error_in_words(bench: Bench) -> None:
    async def nonsense(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"nonsense\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(nonsense, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    for scheme in ("http", "https"):
        with pytest.raises(ToolError, match=r"s\.test"):
            await bench.run(fetch, url=f"{scheme}://s.test:{port}/")
    server.close()
    await server.wait_closed()


async def test_the_name_is_told_to_an_encrypted_server(bench: Bench) -> None:
    """The certificate is checked against the name, though the connection goes to an address."""
    named: list[str | None] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.sni_callback = lambda _, name, __: named.append(name)
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0, ssl=context)
    port = server.sockets[0].getsockname()[1]
    with pytest.raises(ToolError):
        await bench.run(fetch, url=f"https://s.test:{port}/")
    server.close()
    await server.wait_closed()
    assert named == ["s.test"]


async def test_an_unknown_name_is_an_error_in_words() -> None:
    with pytest.raises(ToolError, match="not found"):
        await look_up("no-such-name.invalid", 80)
    assert httpx.URL("http://a").host == "a"


PAGE = """
<html><head><title> The  page </title><style>p{}</style><script>alert(1)</script></head>
<body><nav><a href="/home">Home</a></nav>
<h2>List</h2><ul><li>one</li><li>two<ul><li>deep</li></ul></li></ul>
<ol><li>first<li>second</ol>
<pre><code>a  =  1
b</code></pre><p>Some <code>x &lt; y</code> and <em>more</em>.<br>Next</p>
<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>
<img src="x.png" alt="A cat"><a href="javascript:x()">bad</a><a href="https://o.test/a b">out</a>
<noscript>hidden</noscript><svg><text>hidden</text></svg></div></p></body></html>
"""


def test_a_page_reads_as_it_looks() -> None:
    text = markdown_of(PAGE, "https://s.test/dir/page")
    assert text == (
        "# The page\n\n[Home](https://s.test/home)\n\n## List\n\n- one\n- two\n\n  - deep\n\n"
        "1. first\n2. second\n\n```\na  =  1\nb\n```\n\nSome `x < y` and *more*.\nNext\n\n"
        "A | B\n1 | 2\n\n[image: A cat]bad[out](https://o.test/a%20b)"
    )


@pytest.mark.parametrize(
    ("html", "said"),
    [
        ('<head><base href="/docs/"></head><a href="x">l</a>', "[l](https://s.test/docs/x)"),
        ("<p>10<sup>6</sup> of H<sub>2</sub>O</p>", "10^6 of H2O"),
        ('<ol start="5"><li>e<li>f</ol><ol><li>a</ol>', "5. e\n6. f\n\n1. a"),
        ("<table><tr><td><p>a</p></td><td><p></p></td><td><div><p>c <b>d</b></p></div></td></tr>"
         "<tr><td>e<td>f<td></table>", "a |  | c **d**\ne | f |"),
        ("<table><tr><td><p>a</p><p>b</p><table><tr><td>c<td>d</table></td></tr></table><p>e",
         "a\n\nb\n\nc | d\n\ne"),
        ('<ol start="x"><li>a</ol><ol start="-2"><li>b</ol>', "1. a\n\n1. b"),
    ],
)  # fmt: skip
def test_numbers_links_and_tables_mean_what_they_mean_on_the_page(html: str, said: str) -> None:
    assert markdown_of(html, "https://s.test/a/b") == said


@pytest.mark.parametrize(
    "html",
    ["", "<", "<a", "<!--", "<![CDATA[", "</a></b></pre></ul>", "<pre><pre>", "&#x110000;&#0;",
     "<li>" * 5000, "<ul>" * 5000 + "<li>x", "<a href='" + "x" * 10_000, "<" * 20_000,
     "<script>" + "x" * 1000, "<a href='http://[::1'>x</a>", "<svg>" * 1000 + "x"],
)  # fmt: skip
def test_broken_pages_do_no_harm(html: str) -> None:
    assert isinstance(markdown_of(html, "https://s.test"), str)
