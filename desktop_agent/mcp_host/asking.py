"""What a server asks the user in the middle of a request, on its way to the app and back."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

import mcp_types
from mcp.client import ClientRequestContext

from desktop_agent.core.parts.forms import FormAnswer
from desktop_agent.core.pipes.mcp_pipe import FormAsked, FormWithdrawn, FromMcpHost
from desktop_agent.mcp_host.forms import Unfit, elicit_result, form_of

# The ids are the host's, of all servers.
_ids = itertools.count(1)
_call: ContextVar[int] = ContextVar("call", default=0)


class Forms:
    """Those of one server. `send` takes what the app is told."""

    def __init__(self, send: Callable[[FromMcpHost], None]) -> None:
        self._send = send
        self._calls: dict[int, None] = {}
        self._waiting: dict[int, asyncio.Future[FormAnswer]] = {}

    @contextmanager
    def during(self, call: int) -> Generator[None]:
        """Take what the server asks for meanwhile as part of this call."""
        self._calls[call] = None
        token = _call.set(call)
        try:
            yield
        finally:
            _call.reset(token)
            del self._calls[call]

    async def ask(
        self, context: ClientRequestContext, params: mcp_types.ElicitRequestParams
    ) -> mcp_types.ElicitResult | mcp_types.ErrorData:
        """Answer the server; outside of any call the user is not asked."""
        # A request of the server's does not say to which call it belongs: the newest is likely.
        call = _call.get() or next(reversed(self._calls), 0)
        if not call:
            return mcp_types.ElicitResult(action="cancel")
        try:
            form = form_of(params)
        except Unfit as error:
            return mcp_types.ErrorData(code=mcp_types.INVALID_PARAMS, message=str(error))
        id_ = next(_ids)
        answer = self._waiting[id_] = asyncio.get_running_loop().create_future()
        self._send(FormAsked(id_, call, form))
        try:
            return elicit_result(await answer)
        finally:
            del self._waiting[id_]
            if answer.cancelled() or not answer.done():
                self._send(FormWithdrawn(id_))

    def settle(self, id_: int, answer: FormAnswer) -> None:
        """Take the user's answer."""
        waiting = self._waiting.get(id_)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)
