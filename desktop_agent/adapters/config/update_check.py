"""Asks whether there is a newer version: only when the user wants to know, or allowed it.

Nothing is downloaded or installed, and nothing about the user or the computer is sent.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from desktop_agent import __version__
from desktop_agent.adapters.files.private_file import write_private
from desktop_agent.adapters.http_client import new_client
from desktop_agent.core.network.imports import import_httpx
from desktop_agent.core.updates import UpdateAnswer, is_newer

_log = logging.getLogger(__name__)

_WEEK_S = 7 * 24 * 3600.0
_ANSWER_S = 10.0
_LONGEST = 256 * 1024
_SAFE = ("https://", "http://127.0.0.1:", "http://localhost:")
# Who builds installers names the place; a checkout has none.
VARIABLE = "DESKTOP_AGENT_RELEASES"

_UNREACHABLE = "The place where new versions are announced did not answer."
_STRANGE = "What was answered does not name a version."


class Source(msgspec.Struct, frozen=True):
    """The address that names the newest version, and the page to download it from."""

    address: str
    page: str = ""


class _Release(msgspec.Struct):
    tag_name: str
    draft: bool = False
    prerelease: bool = False


class _Asked(msgspec.Struct):
    at: float = 0.0


def find_source(file: Path) -> Source | None:
    """Return what the installer was built with (or the environment names); None without that."""
    named = os.environ.get(VARIABLE, "")
    try:
        source = Source(named) if named else msgspec.json.decode(file.read_bytes(), type=Source)
    except (OSError, msgspec.DecodeError):
        return None
    return source if source.address.startswith(_SAFE) else None


class UpdateCheck:
    """One question over HTTPS. `config_dir` remembers when it was last asked."""

    def __init__(
        self,
        config_dir: Path,
        source: Source | None,
        *,
        version: str = __version__,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._asked_path = config_dir / "update-check.json"
        self._source = source
        self._version = version
        self._now = now

    async def can_ask(self) -> bool:
        """Whether this copy knows where to ask."""
        return self._source is not None

    async def check(self) -> UpdateAnswer:
        """Ask now, because the user said so."""
        if self._source is None:
            return UpdateAnswer(problem="This copy does not know where new versions are announced.")
        self._remember()
        try:
            async with asyncio.timeout(_ANSWER_S):
                release = msgspec.json.decode(await _fetch(self._source.address), type=_Release)
        except (OSError, ValueError, TimeoutError, RecursionError) as error:
            _log.info("the check for updates failed: %r", error)
            is_strange = isinstance(error, msgspec.DecodeError)
            return UpdateAnswer(problem=_STRANGE if is_strange else _UNREACHABLE)
        newest = release.tag_name.removeprefix("v")
        if release.draft or release.prerelease or not is_newer(newest, self._version):
            return UpdateAnswer()
        return UpdateAnswer(newest, self._source.page)

    async def check_if_due(self) -> UpdateAnswer:
        """Ask when a week has passed since the last time; the user has allowed it."""
        since = self._now() - self._last_asked()
        # A clock that was set back must not silence it for ever.
        if self._source is None or 0 <= since < _WEEK_S:
            return UpdateAnswer()
        return await self.check()

    def _last_asked(self) -> float:
        try:
            return msgspec.json.decode(self._asked_path.read_bytes(), type=_Asked).at
        except (OSError, msgspec.DecodeError):
            return 0.0

    def _remember(self) -> None:
        try:
            write_private(self._asked_path, msgspec.json.encode(_Asked(self._now())))
        except OSError as error:
            _log.warning("when updates were asked for can't be kept: %r", error)


async def _fetch(address: str) -> bytes:
    """Return the answer's body. Raises OSError (all of httpx's errors become one)."""
    import_httpx()  # not before someone asks
    import httpx

    headers = {"user-agent": f"desktop-agent/{__version__}", "accept": "application/json"}
    body = bytearray()
    try:
        async with (
            new_client(timeout=_ANSWER_S) as client,
            client.stream("GET", address, headers=headers) as response,
        ):
            if response.status_code != 200:
                raise OSError(f"status {response.status_code}")
            async for block in response.aiter_bytes():
                body += block
                if len(body) > _LONGEST:
                    raise OSError("the answer is too long")
    except httpx.HTTPError as error:
        raise OSError(repr(error)) from error
    return bytes(body)
