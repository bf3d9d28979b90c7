"""The forms that one server asks for during its calls: each is put to whoever made the call."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager

from desktop_agent.core.parts.forms import FormAnswer
from desktop_agent.core.pipes.mcp_pipe import FormAnswered, FormAsked, FormWithdrawn, ToMcpHost
from desktop_agent.engine.mcp.ports import AskForm

_log = logging.getLogger(__name__)


class AskedForms:
    """`server` is the id that the pipe knows it by, `send` writes to the pipe."""

    def __init__(self, server: int, send: Callable[[ToMcpHost], None]) -> None:
        self._server = server
        self._send = send
        self._askers: dict[int, AskForm | None] = {}
        # By form: the call it belongs to, and who waits for the answer.
        self._open: dict[int, tuple[int, asyncio.Task[None]]] = {}

    @contextmanager
    def during(self, call: int, ask: AskForm | None) -> Generator[None]:
        """Put forms of this call to `ask`; those that are open at its end are taken back."""
        self._askers[call] = ask
        try:
            yield
        finally:
            del self._askers[call]
            for of, task in tuple(self._open.values()):
                if of == call:
                    task.cancel()

    def take(self, value: FormAsked | FormWithdrawn) -> None:
        """Take what the server asks for, if it is in one of these calls, or takes back."""
        match value:
            case FormAsked(call=call) if call in self._askers:
                task = asyncio.get_running_loop().create_task(self._ask(value))
                self._open[value.id] = (call, task)
            case FormWithdrawn(id_) if id_ in self._open:
                self._open[id_][1].cancel()
            case _:
                pass

    async def _ask(self, asked: FormAsked) -> None:
        ask, answer = self._askers.get(asked.call), FormAnswer("cancel")
        try:
            if ask is not None:
                answer = await ask(asked.form)
        except Exception:  # noqa: BLE001 - the server must not wait for ever for it
            _log.exception("a server's question could not be put to the user")
        finally:
            self._open.pop(asked.id, None)
            self._send(FormAnswered(asked.id, self._server, answer))
