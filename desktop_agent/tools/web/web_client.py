"""One GET over HTTP, to an address that was checked, unpacked and bounded."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import re
import ssl
import zlib
from collections.abc import Callable

import httpx
import msgspec

from desktop_agent.core.network.certificates import accept_older
from desktop_agent.core.tool import ToolError
from desktop_agent.tools.web.addresses import Network
from desktop_agent.tools.web.charset import text_of

_REDIRECTS = 5
_ADDRESSES = 4
_LARGEST = 3_000_000
_HOST = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]+")
_LIMITS = httpx.Timeout(20.0, connect=10.0)
_TEXTS = ("text/", "application/json", "application/xml", "application/javascript")
_TEXT_ENDS = ("+json", "+xml", "yaml", "toml")
_HEADERS = {
    "User-Agent": "desktop-agent",
    "Accept": "text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.1",
    "Accept-Encoding": "gzip, deflate",
}


class Page(msgspec.Struct, frozen=True):
    """What a server gave for an address, unpacked and bounded."""

    url: str
    status: int
    kind: str
    charset: str
    content: bytes
    was_cut: bool

    @property
    def text(self) -> str:
        """The content, decoded as the server says, or else the page."""
        return text_of(self.content, self.charset, self.kind)


def checked_url(text: str) -> httpx.URL:
    """Return the address, its host in ASCII; raises ToolError for one that isn't plain."""
    try:
        url = httpx.URL(text.strip())
        host = url.raw_host.decode("ascii").casefold().rstrip(".")
        url = url.copy_with(host=host, fragment=None)
    except (httpx.InvalidURL, UnicodeError, ValueError):
        raise ToolError(f"{text[:200]!r} is not an address.") from None
    if url.scheme not in {"http", "https"} or not _HOST.fullmatch(host):
        raise ToolError("only plain http:// and https:// addresses can be fetched.")
    if url.userinfo:
        raise ToolError("an address with a user name or password is not fetched.")
    if url.port is not None and not 0 < url.port < 65_536:
        raise ToolError(f"{url.port} is not a port.")
    return url


def host_of(url: httpx.URL) -> str:
    """The host as it goes over the wire: what looks like another letter shows as `xn--…`."""
    return url.raw_host.decode("ascii")


async def fetch(url: httpx.URL, network: Network) -> Page:
    """Get a page, following redirects that stay with the host; raises ToolError."""
    for _ in range(_REDIRECTS + 1):
        page, target = await _one_request(url, network)
        if target is None:
            return page
        if not _is_same_site(url, target):
            raise ToolError(f"the page moved to {target}; fetch that address if you want it.")
        url = target
    raise ToolError(f"more than {_REDIRECTS} redirects.")


async def _one_request(url: httpx.URL, network: Network) -> tuple[Page, httpx.URL | None]:
    port = url.port or (443 if url.scheme == "https" else 80)
    addresses = await _allowed_addresses(host_of(url), port, network)
    context = await asyncio.to_thread(_ssl_context)
    try:
        for address in addresses[:-1]:
            # A computer without IPv6 still learns IPv6 addresses.
            with contextlib.suppress(httpx.ConnectError):
                return await _from_address(url, address, context)
        return await _from_address(url, addresses[-1], context)
    except httpx.TimeoutException:
        raise ToolError(f"{host_of(url)} did not answer in time.") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ToolError(f"{host_of(url)}: {str(error) or type(error).__name__}.") from None


async def _from_address(
    url: httpx.URL, address: str, context: ssl.SSLContext
) -> tuple[Page, httpx.URL | None]:
    """Connect to the address that was checked; the name is only sent to the server."""
    request = httpx.Request(
        "GET",
        url.copy_with(host=address),
        headers={**_HEADERS, "Host": url.netloc.decode("ascii")},
        extensions={"sni_hostname": host_of(url), "timeout": _LIMITS.as_dict()},
    )
    async with httpx.AsyncClient(verify=context, trust_env=False, follow_redirects=False) as client:
        response = await client.send(request, stream=True)
        try:
            if response.is_redirect and "location" in response.headers:
                target = checked_url(str(url.join(response.headers["location"])))
                return Page(str(url), response.status_code, "", "", b"", False), target
            return await _page(url, response), None
        finally:
            await response.aclose()


@functools.cache
def _ssl_context() -> ssl.SSLContext:
    """Certificates take 50 ms to load: once, and not on the loop."""
    return accept_older(httpx.create_ssl_context(), os.environ)


async def _allowed_addresses(host: str, port: int, network: Network) -> tuple[str, ...]:
    found = await network.resolve(host, port)
    if not found:
        raise ToolError(f"the address of {host} was not found.")
    # One private address among public ones is how a name is rebound: refuse them all.
    if not all(network.is_allowed(address) for address in found):
        raise ToolError(f"{host} is in a private network, which is not reached.")
    return found[:_ADDRESSES]


async def _page(url: httpx.URL, response: httpx.Response) -> Page:
    kind = response.headers.get("content-type", "text/plain").partition(";")[0].strip().lower()
    if not (kind.startswith(_TEXTS) or kind.endswith(_TEXT_ENDS)):
        raise ToolError(f"it is not text but {kind}; fetching files is for `shell`.")
    content = bytearray()
    unpack = _unpacker(response.headers.get("content-encoding", ""))
    was_cut = False
    async for chunk in response.aiter_raw(65_536):
        content += unpack(chunk, _LARGEST - len(content))
        if len(content) >= _LARGEST:
            was_cut = True
            break
    charset = response.charset_encoding or ""
    return Page(str(url), response.status_code, kind, charset, bytes(content), was_cut)


def _unpacker(encoding: str) -> Callable[[bytes, int], bytes]:
    """Return a function that unpacks a chunk to at most so many bytes, against bombs."""
    name = encoding.strip().lower()
    if name in {"", "identity"}:
        return lambda chunk, room: chunk[:room]
    if name not in {"gzip", "deflate", "x-gzip"}:
        raise ToolError(f"the page is packed as {name!r}, which is not known.")
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)

    def unpack(chunk: bytes, room: int) -> bytes:
        try:
            return inflate.decompress(chunk, max(1, room))
        except zlib.error:
            raise ToolError("the page is packed in a damaged way.") from None

    return unpack


def _is_same_site(old: httpx.URL, new: httpx.URL) -> bool:
    """Whether a redirect stays with the host that was allowed, and keeps encryption."""
    if old.scheme == "https" and new.scheme == "http":
        return False
    default = {"http": 80, "https": 443}
    is_default_port = all((u.port or default[u.scheme]) == default[u.scheme] for u in (old, new))
    same_port = old.port == new.port or is_default_port
    return same_port and host_of(old).removeprefix("www.") == host_of(new).removeprefix("www.")
