"""One question to the app for all connections that wait for the same host."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable

import msgspec

from desktop_agent.core.ids import SessionId
from desktop_agent.core.network.guard_pipe import AskWithdrawn, FromGuard, HostAsked
from desktop_agent.core.network.questions import HostVerdict
from desktop_agent.guard.limits import Limits

Key = tuple[SessionId, str, int]
IsGone = Callable[[], bool]

_TOO_MANY = "Too many hosts wait for an answer already."
_SESSION_ENDED = "The session has ended."


class _Open(msgspec.Struct):
    """A question that waits; `waiting` tells of each connection whether its client has gone."""

    id: int
    key: Key
    answer: asyncio.Future[HostVerdict]
    timer: asyncio.TimerHandle
    waiting: list[IsGone] = []


class Questions:
    """What the app is asked and has not answered yet."""

    def __init__(self, send: Callable[[FromGuard], None], limits: Limits) -> None:
        self._send = send
        self._limits = limits
        self._ids = itertools.count(1)
        self._open: dict[Key, _Open] = {}
        self._granted: dict[Key, float] = {}
        self._loop = asyncio.get_running_loop()

    async def ask(self, key: Key, call_id: str, is_gone: IsGone) -> HostVerdict:
        """Wait for the app's answer about a host; who comes meanwhile waits for the same one.

        A client that goes away ends nothing. A permission that finds every client gone holds
        for the next one that comes soon: the answer was slow, and the client tries again.
        """
        if self._granted.pop(key, 0.0) > self._loop.time():
            return HostVerdict(True)
        question = self._open.get(key)
        if question is None:
            if sum(known[0] == key[0] for known in self._open) >= self._limits.questions:
                return HostVerdict(False, _TOO_MANY)
            question = self._begin(key, call_id)
        question.waiting.append(is_gone)
        return await asyncio.shield(question.answer)

    def decide(self, id_: int, verdict: HostVerdict) -> None:
        """Take the app's answer; one that comes too late is ignored."""
        question = next((one for one in self._open.values() if one.id == id_), None)
        if question is None:
            return
        if verdict.is_allowed and all(is_gone() for is_gone in question.waiting):
            self._grant(question.key)
        self._end(question, verdict)

    def forget(self, session_id: SessionId) -> None:
        """Refuse what waits in a session that has ended."""
        for key in [key for key in self._open if key[0] == session_id]:
            self._withdraw(key, _SESSION_ENDED)
        for key in [key for key in self._granted if key[0] == session_id]:
            del self._granted[key]

    def _begin(self, key: Key, call_id: str) -> _Open:
        seconds = self._limits.question_s
        words = f"Nobody answered within {seconds:.0f} seconds whether {key[1]} may be reached."
        timer = self._loop.call_later(seconds, self._withdraw, key, words)
        question = _Open(next(self._ids), key, self._loop.create_future(), timer)
        self._open[key] = question
        self._send(HostAsked(question.id, *key, call_id))
        return question

    def _withdraw(self, key: Key, words: str) -> None:
        question = self._open[key]
        self._send(AskWithdrawn(question.id))
        self._end(question, HostVerdict(False, words))

    def _end(self, question: _Open, verdict: HostVerdict) -> None:
        del self._open[question.key]
        question.timer.cancel()
        if not question.answer.done():
            question.answer.set_result(verdict)

    def _grant(self, key: Key) -> None:
        now = self._loop.time()
        self._granted = {known: until for known, until in self._granted.items() if until > now}
        self._granted[key] = now + self._limits.granted_s
