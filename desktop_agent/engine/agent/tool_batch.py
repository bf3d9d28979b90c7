"""The tool calls of one message, run and answered in the model's order."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from itertools import groupby

from desktop_agent.core.events import MessageAdded, StopReport, ToolEnded
from desktop_agent.core.ids import new_message_id
from desktop_agent.core.messages import Message, ToolCall, ToolResult
from desktop_agent.core.parts.facts import CutShort
from desktop_agent.core.tool import Access
from desktop_agent.engine.agent.dispatch import Caller, Dispatch
from desktop_agent.engine.base.ports import StoreError

CANCELLED = "Cancelled: the user stopped the turn while this ran. It may have had an effect."
STOPPED = "Stopped by the user while it ran. It may have had an effect. Your turn goes on."
STOPPED_BEFORE = "Not executed: the user stopped this call before it began. Your turn goes on."
NOT_EXECUTED = "Not executed: the user stopped the turn before this call began."
NO_TOOLS = "Not executed: this is your last step, and it is without tools."
REFUSED = "Not executed: the turn ended before this call began, as the disk refused a write."
UNSAVED = (
    "The disk refused to save this call's result, so its outcome is unknown. "
    "Check what was done before doing it again."
)
CUT_OFF = "Not executed: the answer was cut off in the middle of the tool calls. Send them again."


class ToolBatch:
    """Calls that only look run together, those that change something one after the other."""

    def __init__(self, calls: Sequence[ToolCall], caller: Caller, dispatch: Dispatch) -> None:
        self._calls = tuple(calls)
        self._caller = caller
        self._dispatch = dispatch
        # Those that were come to, and those of them that really started: one that waits for
        # approval did not.
        self._reached: set[str] = set()
        self._begun: set[str] = set()
        self._results: dict[str, ToolResult] = {}
        self._jobs: dict[str, asyncio.Task[None]] = {}
        self._stopped: set[str] = set()
        # Ends that are not on disk: that of the last call, which goes with the message of all, and
        # what the disk refused.
        self._unsaved: dict[str, ToolEnded] = {}
        self._closed: Message | None = None
        self._notes: dict[str, tuple[str, ...]] = {}

    @property
    def running(self) -> tuple[ToolCall, ...]:
        """The calls that began and have no result yet."""
        ended = self._results.keys() | self._unsaved.keys()
        return tuple(c for c in self._calls if c.id in self._begun and c.id not in ended)

    @property
    def not_begun(self) -> tuple[ToolCall, ...]:
        """The calls that did not begin, and were not refused."""
        ended = self._results.keys() | self._unsaved.keys()
        return tuple(c for c in self._calls if c.id not in self._begun and c.id not in ended)

    def activity(self, call: ToolCall) -> str:
        """Say what a call does."""
        return self._dispatch.activity(call)

    async def run(self) -> None:
        """Run all calls; on cancellation those that ended keep their real results.

        The last result and the message of all are one transaction. Raises StoreError.
        """
        for looks_only, group in groupby(self._calls, key=self._looks_only):
            calls = list(group)
            for together in [calls] if looks_only else [[call] for call in calls]:
                jobs = [asyncio.create_task(self._one(call)) for call in together]
                self._jobs = dict(zip((call.id for call in together), jobs, strict=True))
                for ended in await asyncio.gather(*jobs, return_exceptions=True):
                    if isinstance(ended, BaseException):
                        raise ended
        if self._unsaved:
            self._closed = self._save(list(self._unsaved.values()))

    def close(self, not_begun: str = NOT_EXECUTED) -> Message:
        """Put the message of all results on disk; a call without one is told why it has none.

        A result that the disk refused is tried once more. If that is refused too, it is told
        as unknown, as it will be after a restart; the message is told in any case.
        """
        if self._closed is not None:
            return self._closed
        ended = [self._end_of(call, not_begun) for call in self._open_calls]
        if self._unsaved:
            try:
                return self._save(ended)
            except StoreError:
                self._unsaved.clear()
                ended = [self._end_of(call, not_begun, UNSAVED) for call in self._open_calls]
        message = self._message(ended)
        self._caller.session.conclude(*ended, MessageAdded(self._caller.id, message))
        return message

    def _save(self, ended: Sequence[ToolEnded]) -> Message:
        message = self._message(ended)
        self._caller.session.emit(*ended, MessageAdded(self._caller.id, message))
        return message

    @property
    def _open_calls(self) -> list[ToolCall]:
        return [call for call in self._calls if call.id not in self._results]

    def _end_of(self, call: ToolCall, not_begun: str, begun: str = CANCELLED) -> ToolEnded:
        if call.id in self._unsaved:
            return self._unsaved[call.id]
        text = begun if call.id in self._begun else not_begun
        outcome = "unknown" if text == UNSAVED else "cancelled"
        text = "\n".join((text, *self._notes.get(call.id, ())))
        return ToolEnded(
            self._caller.id, ToolResult(call.id, text, is_error=True, facts=CutShort()), outcome
        )

    def _message(self, ended: Sequence[ToolEnded]) -> Message:
        results = {**self._results, **{one.result.call_id: one.result for one in ended}}
        parts = tuple(results[call.id] for call in self._calls)
        return Message(new_message_id(), "tool", parts, created_at=time.time())

    def stop(self, call_id: str) -> None:
        """Cancel one call that runs, or waits to; the others, and the turn, go on."""
        job = self._jobs.get(call_id)
        is_reached = call_id in self._reached and call_id not in self._stopped
        if job is not None and not job.done() and is_reached:
            self._stopped.add(call_id)
            job.cancel()

    async def _one(self, call: ToolCall) -> None:
        self._reached.add(call.id)
        try:
            ended = await self._answered(call)
        except StoreError:
            self._begun.discard(call.id)
            raise
        self._unsaved[call.id] = ended
        if len(self._results) + 1 < len(self._calls):
            self._caller.session.emit(ended)
            self._results[call.id] = self._unsaved.pop(call.id).result

    async def _answered(self, call: ToolCall) -> ToolEnded:
        try:
            return await self._dispatch.run(
                call, self._caller, started=lambda: self._begun.add(call.id)
            )
        except asyncio.CancelledError as stopped:
            # What the tool has to say of its end.
            self._notes[call.id] = notes = tuple(getattr(stopped, "__notes__", ()))
            own = asyncio.current_task()
            # A stop of the whole turn that came on top is one more request to end.
            if call.id not in self._stopped or (own is not None and own.uncancel() > 0):
                raise
            words = STOPPED if call.id in self._begun else STOPPED_BEFORE
            result = ToolResult(call.id, "\n".join((words, *notes)), is_error=True)
            return ToolEnded(self._caller.id, result, "cancelled")

    def _looks_only(self, call: ToolCall) -> bool:
        tool = self._dispatch.tools.get(call.name)
        return tool is not None and tool.access in {Access.READ, Access.INTERNAL}


def stop_report(batch: ToolBatch | None, by: str) -> StopReport:
    """Return what a stop cuts, seen at its moment; without a batch it is the model's reply."""
    if batch is None:
        return StopReport(cancelled=("the model's reply",), by=by)
    return StopReport(
        cancelled=tuple(batch.activity(call) for call in batch.running),
        not_executed=tuple(batch.activity(call) for call in batch.not_begun),
        by=by,
    )
