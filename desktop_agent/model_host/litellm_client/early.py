"""Sends a request while litellm is still imported, which takes longer than a second.

litellm makes its own request as soon as it is there. Where that says the same it gets the answer
to the one under way, else that one is given up: what is asked, and how an answer is read, is
litellm's alone. Only of OpenAI's chat at an address of one's own is it known what litellm will ask.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any

import httpx
import msgspec

_PREFIX = "openai/"
# Of these litellm knows rules of their own, wherever they run.
_KNOWN = re.compile(r"responses/|o\d|gpt-|chatgpt|codex|computer-use", re.IGNORECASE)
_SAID = ("messages", "stream", "stream_options", "tools", "max_tokens")


class EarlyRequest:
    """A request that is under way. Its answer is given out once; `close` gives up what is left."""

    def __init__(self, address: str, key: str, body: Mapping[str, Any], connect_s: float) -> None:
        self._client = httpx.AsyncClient(timeout=httpx.Timeout(None, connect=connect_s))
        headers = {
            "authorization": f"Bearer {key}",
            "content-type": "application/json",
            "accept-encoding": "identity",
        }
        content = msgspec.json.encode(body)
        self._request = self._client.build_request(
            "POST", address, content=content, headers=headers
        )
        self._is_taken = False
        self._sending = asyncio.create_task(self._client.send(self._request, stream=True))

    async def answer_to(self, request: httpx.Request) -> httpx.Response | None:
        """Return the answer if this asks the same, else None. Raises HTTPError."""
        if self._is_taken:
            return None
        self._is_taken = True
        if _said(request) == _said(self._request):
            return await self._sending
        await self.close()
        return None

    async def close(self) -> None:
        """Give it up, or let go of the connection."""
        self._sending.cancel()
        await asyncio.wait({self._sending})
        if not self._sending.cancelled():
            self._sending.exception()  # it was told already, or nobody wants it
        await self._client.aclose()


def begin(arguments: Mapping[str, Any], connect_s: float) -> EarlyRequest | None:
    """Send what litellm will send for these arguments; None where that is not known."""
    model, base = arguments["model"], arguments.get("api_base")
    name = model.removeprefix(_PREFIX)
    if not base or name == model or _KNOWN.match(name):
        return None
    body = {"model": name, **{field: arguments[field] for field in _SAID if field in arguments}}
    # litellm leaves out what is null.
    body["messages"] = [
        {field: value for field, value in message.items() if value is not None}
        for message in body["messages"]
    ]
    try:
        return EarlyRequest(f"{base}/chat/completions", arguments["api_key"], body, connect_s)
    except (TypeError, ValueError, msgspec.MsgspecError, httpx.InvalidURL):
        return None  # litellm will tell what is wrong with it
    except (ImportError, OSError):
        return None  # a proxy or certificates that httpx can't use: litellm asks by other means


def _said(request: httpx.Request) -> tuple[str, str, str | None, Any]:
    body = msgspec.json.decode(request.content)
    return request.method, str(request.url), request.headers.get("authorization"), body
