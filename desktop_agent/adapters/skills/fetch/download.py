"""Getting one file over https: bounded in size and time, every redirect looked at."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from pathlib import Path
from typing import Any

from desktop_agent.adapters.http_client import new_client
from desktop_agent.adapters.skills.fetch.address import is_loopback
from desktop_agent.core.network.imports import import_httpx
from desktop_agent.core.skill_install import SkillLibraryError

_REDIRECTS = 5
_WHOLE_S = 120.0
_CONNECT_S = 10.0
_SILENCE_S = 20.0
_REDIRECT_CODES = {301, 302, 303, 307, 308}
_HEADERS = {
    "User-Agent": "desktop-agent",
    "Accept": "application/zip, application/octet-stream, text/markdown, */*;q=0.1",
    # Unpacked, an answer can be a thousand times larger: only plain ones are taken.
    "Accept-Encoding": "identity",
}


async def download(url: str, target: Path, *, limit: int, allows_loopback_http: bool) -> None:
    """Write what the address gives to `target`. Raises SkillLibraryError."""
    import_httpx()  # not before someone installs a skill
    import httpx

    times = httpx.Timeout(_SILENCE_S, connect=_CONNECT_S)
    host = httpx.URL(url).host
    try:
        async with (
            asyncio.timeout(_WHOLE_S),
            new_client(timeout=times, headers=_HEADERS) as client,
        ):
            await _follow(client, httpx.URL(url), target, limit, allows_loopback_http)
    except TimeoutError:
        raise SkillLibraryError(f"{host} took longer than {_WHOLE_S:.0f} s.") from None
    except httpx.TimeoutException:
        raise SkillLibraryError(f"{host} did not answer in time. Try again later.") from None
    except httpx.ConnectError as error:
        if "CERTIFICATE" in str(error):
            words = f"{host} can't prove that it is {host}. Nothing was fetched."
            raise SkillLibraryError(words) from None
        raise SkillLibraryError(
            f"{host} can't be reached. Check the address and your connection. ({error})"
        ) from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise SkillLibraryError(f"{host}: {str(error) or type(error).__name__}.") from None


async def _follow(
    client: Any, url: Any, target: Path, limit: int, allows_loopback_http: bool
) -> None:
    first = url.host
    for _ in range(_REDIRECTS + 1):
        async with client.stream("GET", url) as response:
            if response.status_code not in _REDIRECT_CODES or "location" not in response.headers:
                await _receive(response, target, limit)
                return
            url = url.join(response.headers["location"])
        await _require_safe(url, first, allows_loopback_http)
    raise SkillLibraryError(f"{first} sends from one address to the next without an end.")


async def _require_safe(url: Any, first: str, allows_loopback_http: bool) -> None:
    """Check where a redirect leads: encrypted, and from the internet never to a private place."""
    is_test = allows_loopback_http and url.scheme == "http" and is_loopback(url.host)
    if url.userinfo or not url.host or not (url.scheme == "https" or is_test):
        raise SkillLibraryError(
            f"{first} sends on to {url.scheme}://{url.host}, which is not encrypted or asks for a "
            "sign-in. Nothing was fetched."
        )
    if url.host != first and await is_private(url.host) and not await is_private(first):
        raise SkillLibraryError(
            f"{first} sends on to {url.host}, which is in a private network. Nothing was fetched."
        )


async def is_private(host: str) -> bool:
    """Whether a name leads to an address that the internet does not have."""
    try:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, 443, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False  # behind a proxy names are looked up there; else connecting fails
    addresses = (str(entry[4][0]).partition("%")[0] for entry in found)
    return any(not ipaddress.ip_address(address).is_global for address in addresses)


async def _receive(response: Any, target: Path, limit: int) -> None:
    host = response.url.host
    if response.status_code in {401, 403}:
        raise SkillLibraryError(
            f"{host} asks for a sign-in. Download it in your browser and give the file instead."
        )
    if response.status_code in {404, 410}:
        raise SkillLibraryError(f"{host} has nothing at that address. Check it.")
    if response.status_code != 200:
        raise SkillLibraryError(f"{host} answered with an error ({response.status_code}).")
    if response.headers.get("content-encoding", "identity").lower() not in {"", "identity"}:
        raise SkillLibraryError(f"{host} packs its answer in a way that is not taken.")
    too_large = SkillLibraryError(
        f"That is larger than {limit // 1_000_000} MB, which is the limit."
    )
    length = response.headers.get("content-length", "")
    if length.isdecimal() and int(length) > limit:
        raise too_large
    size = 0
    with target.open("wb") as file:
        async for chunk in response.aiter_raw(1 << 16):
            size += len(chunk)
            if size > limit:
                raise too_large
            file.write(chunk)
