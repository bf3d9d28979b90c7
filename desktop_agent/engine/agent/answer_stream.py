"""One model answer while it arrives."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing
from typing import Literal

import msgspec

from desktop_agent.core.events import AgentEvent, MessageStarted, PartDelta, RetryScheduled
from desktop_agent.core.faults import Fault, ModelError
from desktop_agent.core.ids import AgentId, new_message_id
from desktop_agent.core.messages import Message, TextPart, ToolCall
from desktop_agent.core.requests import Accepted, Answer, Delta, ModelRequest, Retrying
from desktop_agent.core.usage import Usage
from desktop_agent.engine.base.ports import Model
from desktop_agent.engine.context.context import AgentContext

# A server that cuts the stream of a request as too long does so each time.
_BREAKS = 2
_MOST_ROUNDS = 3


class BrokeOff(ModelError):
    """The connection broke as often as if the request were too long."""


class ModelChosen(Exception):
    """While a request waited to be tried again, the person chose another model."""


class AnswerStream:
    """Reads one request's stream, tells what it says, and keeps the text in case it breaks.

    `on_accepted` is called once, as soon as the provider has the request. `is_started` tells
    that something of the answer was told; `wasted` is what one used up that is empty, or broke off.
    `model` is the one that was asked.
    """

    def __init__(
        self,
        agent_id: AgentId,
        emit: Callable[[AgentEvent], None],
        on_accepted: Callable[[], None],
    ) -> None:
        self.message_id = new_message_id()
        self._agent_id = agent_id
        self._emit = emit
        self._on_accepted = on_accepted
        self._is_accepted = False
        self.is_started = False
        self.model = ""
        self.wasted: Usage | None = None
        self._place = ("", "")
        self._retrying: Retrying | None = None
        self._limit = asyncio.timeout(None)
        self._text: list[str] = []
        self._thinking: list[str] = []

    async def read(
        self, model: Model, request: ModelRequest, *, may_be_long: bool = False
    ) -> Answer:
        """Return the answer; raises ModelError, also for a stream that ends without one.

        One that `may_be_long` is tried twice: then BrokeOff is raised. ModelChosen is, once
        `give_way` was called while it waits.
        """
        self.model, self._place = request.model, (request.model, request.api_base)
        self._retrying, self._limit = None, asyncio.timeout(None)
        try:
            async with self._limit:
                answer = await self._read(model, request, may_be_long=may_be_long)
        except TimeoutError:
            if self._retrying is None or not self._limit.expired():
                raise
            self._tell_retry(msgspec.structs.replace(self._retrying, delay_s=0.0))
            raise ModelChosen from None
        if answer is None or not _says_something(answer):
            self.wasted = answer.usage if answer is not None else None
            raise ModelError(_empty(answer))
        return answer

    def give_way(self, request: ModelRequest) -> None:
        """Wait no more to try again if this is what would be asked now, of another model."""
        if self._retrying is not None and (request.model, request.api_base) != self._place:
            self._limit.reschedule(0.0)

    async def _read(
        self, model: Model, request: ModelRequest, *, may_be_long: bool
    ) -> Answer | None:
        answer: Answer | None = None
        breaks = 0
        # A generator that is not closed would leave the provider's answer running.
        async with aclosing(model.stream(request)) as items:
            async for item in items:
                self._retrying = item if isinstance(item, Retrying) else None
                match item:
                    case Accepted():
                        self._accept()
                    case Delta(kind, text):
                        self._accept()
                        self._show(kind, text)
                    case Retrying(fault=fault):
                        breaks += fault.kind == "reset"
                        if may_be_long and breaks >= _BREAKS:
                            raise BrokeOff(fault)
                        self._tell_retry(item)
                    case Answer():
                        self._accept()
                        answer = item
        return answer

    def _tell_retry(self, retry: Retrying) -> None:
        now = time.time()
        self._emit(RetryScheduled(self._agent_id, retry.attempt, retry.delay_s, retry.fault, now))

    def begun(self) -> tuple[AgentEvent, ...]:
        """Return what is still to be told before the whole message, which had no text to show."""
        if self.is_started:
            return ()
        self.is_started = True
        return (MessageStarted(self._agent_id, self.message_id),)

    def partial(self) -> Message | None:
        """Return what was already shown, as a message; None when nothing was."""
        text = "".join(self._text)
        if not text.strip():
            return None
        return Message(self.message_id, "assistant", (TextPart(text),), created_at=time.time())

    @property
    def said(self) -> str:
        """What came so far, thinking as well."""
        return "".join([*self._thinking, *self._text])

    def _accept(self) -> None:
        if not self._is_accepted:
            self._is_accepted = True
            self._on_accepted()

    def _show(self, kind: Literal["text", "thinking"], text: str) -> None:
        if not text:
            return
        for event in self.begun():
            self._emit(event)
        (self._text if kind == "text" else self._thinking).append(text)
        self._emit(PartDelta(self._agent_id, self.message_id, kind, text))


async def fitting_answer(
    stream: AnswerStream, model: Model, context: AgentContext, make: Callable[[], ModelRequest]
) -> Answer:
    """Return the answer to a request that fits; one that is refused as too long is made so.

    So is one that may be too long and breaks off without a word, where something can be left out.
    One that is refused for its images is sent without them. One that waits to be tried again goes
    to the model that the person chooses meanwhile.
    """

    def sendable() -> ModelRequest:
        return context.images.left_out(make())

    request, rounds = await context.fit(sendable), 0
    while True:
        may_be_long = rounds < _MOST_ROUNDS and context.is_near(request)
        try:
            with context.hearing_model(lambda: stream.give_way(make())):
                answer = await stream.read(model, request, may_be_long=may_be_long)
        except ModelChosen:
            await context.fit(sendable)
        except BrokeOff:
            rounds = rounds + 1 if await context.relieve(request) else _MOST_ROUNDS
        except asyncio.CancelledError:
            _charge(stream, context, request)
            raise
        except ModelError as error:
            await _make_fit(stream, context, request, error)
        else:
            context.counted(request, answer.usage)
            return answer
        request = sendable()


async def _make_fit(
    stream: AnswerStream, context: AgentContext, request: ModelRequest, error: ModelError
) -> None:
    """Have the next request be one that is not refused so; raises the error where none is."""
    if stream.is_started:
        _charge(stream, context, request)
        raise error
    if not context.images.refused(request, error.fault):
        if error.fault.kind != "too_large":
            raise error
        await context.refit(request, error.fault)


def _charge(stream: AnswerStream, context: AgentContext, request: ModelRequest) -> None:
    """Count an answer that broke off or was stopped: a provider charges what it read and wrote."""
    if stream.is_started and stream.wasted is None:
        stream.wasted = context.estimated_usage(request, stream.said)


def _says_something(answer: Answer) -> bool:
    """Whether it has a call or a word: thinking and blank lines are no answer."""
    return any(
        isinstance(part, ToolCall) or (isinstance(part, TextPart) and part.text.strip())
        for part in answer.parts
    )


def _empty(answer: Answer | None) -> Fault:
    if answer is not None and answer.finish == "filtered":
        return withheld(answer.reason)
    if answer is not None and answer.finish == "length":
        return cut_off()
    if answer is not None and answer.parts:
        sentence = "The model ended after thinking, without an answer."
        return Fault("protocol", sentence, "retry", answer.reason)
    return Fault("protocol", "The model sent an empty answer.", "retry")


def withheld(reason: str = "") -> Fault:
    """Return the fault for an answer that the provider's filter kept back."""
    sentence = "The provider's content filter withheld the answer"
    return Fault("filtered", f"{sentence}: {reason}" if reason else f"{sentence}.", "switch_model")


def cut_off() -> Fault:
    """Return the fault for an answer that ended at the output limit."""
    return Fault("cut_off", "The answer reached the model's length limit.", "continue")


def is_cut_off(answer: Answer) -> bool:
    """Whether the answer ended too early to be acted on: in its text, or inside a call."""
    calls = [part for part in answer.parts if isinstance(part, ToolCall)]
    return answer.finish == "length" and (not calls or any(call.raw for call in calls))


def raise_for_finish(answer: Answer) -> None:
    """Raise ModelError for an answer that is not whole; its tool calls are closed by then."""
    if answer.finish == "filtered":
        raise ModelError(withheld(answer.reason))
    if is_cut_off(answer):
        raise ModelError(cut_off())
