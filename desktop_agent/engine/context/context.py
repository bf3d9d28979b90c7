"""One agent's context: what its next request takes, and making it fit the model's window."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Literal, Protocol

import msgspec

from desktop_agent.core.events import CompactionUndone, ContextCompacted
from desktop_agent.core.faults import Fault, ModelError
from desktop_agent.core.ids import (
    AgentId,
    CompactionId,
    QuestionId,
    new_compaction_id,
    new_message_id,
)
from desktop_agent.core.messages import Message, TextPart, ToolResult, compacted
from desktop_agent.core.requests import ModelRequest
from desktop_agent.core.tool import Tool
from desktop_agent.core.usage import Calibration, ContextUse, Usage
from desktop_agent.engine.base.ports import Model
from desktop_agent.engine.base.session import Session
from desktop_agent.engine.context import summary
from desktop_agent.engine.context.breakdown import breakdown
from desktop_agent.engine.context.compaction import Draft, Split, carried_parts, files_of, split
from desktop_agent.engine.context.estimate import Estimate
from desktop_agent.engine.context.unseen_images import UnseenImages
from desktop_agent.engine.context.windows import (
    Window,
    Windows,
    probable_window,
    refused_size,
    refused_window,
)
from desktop_agent.engine.tasks.task_list import TaskList
from desktop_agent.engine.tasks.user_edits import list_part
from desktop_agent.engine.workspace.output_files import OutputFiles

# Shares of the window: no request takes more than the first. What is left of it beside the system
# prompt and the tools is room for the history, of which a compaction leaves about the second, so
# that it is long until the next one, and a provider's cache serves the steps between.
_LIMIT = 0.85
_GOAL = 0.35
_REFUSED = 0.8
# A request that takes this share of what is known, or likely, may have been too long.
_NEAR = 0.7
# Of that room: above the first a summary is made, the second is for newest messages, the third
# for the summary itself.
_SUMMARY_FROM, _NEWEST, _SUMMARY = 0.5, 0.25, 0.15
# What a compaction by hand works with while no window is known.
_UNKNOWN = 32_000
# What the side call may take of the window.
_RECORD = 0.6
# A cut output of the newest step keeps so many characters at either end.
_ENDS = 2_000
# Words beside an image that stay when it goes; no file holds images.
_CAPTION = 400

Reason = Literal["limit", "refused", "asked"]
Before = tuple[CompactionId, tuple[Message, ...]]


class ContextServices(msgspec.Struct, frozen=True):
    """What all agents share for it. `is_open` tells whether a question still waits for its answer,
    `forget` drops what the host keeps of a side call.
    """

    model: Model
    windows: Windows
    outputs: OutputFiles
    tools: Mapping[str, Tool]
    is_open: Callable[[QuestionId], bool]
    forget: Callable[[AgentId], None]


class Owner(Protocol):
    """The agent."""

    @property
    def id(self) -> AgentId:
        """Its id."""
        ...

    @property
    def session(self) -> Session:
        """The session it works in."""
        ...

    @property
    def tasks(self) -> TaskList:
        """Its task list."""
        ...

    @property
    def history(self) -> tuple[Message, ...]:
        """What the next request would send."""
        ...

    def replace_history(self, history: list[Message]) -> None:
        """Go on with this one."""
        ...

    def count_aside(self, usage: Usage, model: str) -> None:
        """Charge it for a side call."""
        ...

    def thinking(self, doing: str) -> AbstractContextManager[None]:
        """Show what its model is asked for beside its work."""
        ...


class AgentContext:
    """`wanted` is what the user asked to be kept of a compaction by hand, None when none waits."""

    def __init__(self, owner: Owner, services: ContextServices, before: Before | None) -> None:
        services.windows.remember(owner.session.info)
        self._owner = owner
        self._services = services
        info = owner.session.info
        self._estimate = Estimate(services.windows.calibration(info.model, info.api_base))
        self._before = before
        self.images = UnseenImages()
        self.window: Window | None = None
        self.wanted: str | None = None
        # If a compaction did not get below the limit, the next is worth it above this.
        self._least = 0
        # What the last request took, and what a request took that broke off without a word.
        self._last = Usage()
        self._suspected = 0

    def hearing_model(self, hear: Callable[[], None]) -> AbstractContextManager[None]:
        """Have somebody hear of each choice of a model while the block runs."""
        return self._owner.session.hearing_model(hear)

    # -- before and after a request --------------------------------------------------------

    async def fit(self, make: Callable[[], ModelRequest]) -> ModelRequest:
        """Return the next request, its history compacted if it would pass the limit, or if asked.

        Raises ModelError when the side call does, StoreError when the disk refuses.
        """
        request = make()
        self._follow(request)
        self.window = await self._services.windows.of(request.model, request.api_base)
        wanted, self.wanted = self.wanted, None
        limit = _LIMIT * self.window.tokens if self.window is not None else math.inf
        is_long = self._tokens(request) > max(limit, self._least)
        if (is_long or wanted is not None) and await self._compact(
            request, "asked" if wanted is not None else "limit", wanted or ""
        ):
            return make()
        return request

    async def refit(self, request: ModelRequest, fault: Fault) -> None:
        """Learn from a refusal, and make the history shorter than what was refused.

        Raises ModelError with the fault when nothing more can be left out.
        """
        self._follow(request)
        windows, model, base = self._services.windows, request.model, request.api_base
        said, before = refused_window(fault, self._tokens(request)), windows.learned(model, base)
        windows.learn(model, base, said)
        self._estimate.refused(request, said, refused_size(fault))
        self.window = await windows.of(model, base)
        if not await self._compact(request, "refused", ""):
            windows.learn(model, base, before)  # it may be about something else than the history
            raise ModelError(fault)

    def is_near(self, request: ModelRequest) -> bool:
        """Whether a request may be too long for a server that does not say so."""
        likely = probable_window(request.api_base)
        window = self.window.tokens if self.window is not None else likely
        return self._tokens(request) >= _NEAR * window

    async def relieve(self, request: ModelRequest) -> bool:
        """Make the history shorter: a request broke off without a word, and may be too long.

        Returns False when nothing can be left out. That it was too long is learned when a shorter
        one is answered. Raises as `fit` does.
        """
        before, tokens = self.window, self._tokens(request)
        likely = tokens * 3 // 4
        if before is None or before.tokens > likely:
            self.window = Window(max(1, likely), "learned")
        try:
            is_shorter = await self._compact(request, "refused", "")
        finally:
            self.window = before
        self._suspected = tokens if is_shorter else 0
        return is_shorter

    def estimated_usage(self, request: ModelRequest, said: str) -> Usage:
        """Return what a request took whose answer broke off after `said`: nobody counts that."""
        tokens, written = self._tokens(request), self._estimate.of_text(said)
        cost = self._services.windows.cost(request.model, request.api_base, tokens, written)
        return Usage(tokens, written, cost=cost)

    def counted(self, request: ModelRequest, usage: Usage) -> None:
        """Take what the provider counted."""
        self._follow(request)  # the window may have asked about another model meanwhile
        windows, model, base = self._services.windows, request.model, request.api_base
        suspected, taken, self._suspected = self._suspected, self._tokens(request), 0
        if taken < suspected:
            between = (suspected + taken) // 2
            between = min(between, windows.learned(model, base) or between)
            windows.learn(model, base, between)
            if self.window is None or between < self.window.tokens:
                self.window = Window(between, "learned")  # what is kept with this answer
        self._last = usage
        self._estimate.counted(request, usage.input_tokens)
        windows.calibrate(self._estimate.calibration)

    @property
    def told_window(self) -> Window | None:
        """What is known of its model's window; None when another was chosen meanwhile."""
        asked, info = self._estimate, self._owner.session.info
        is_same = (asked.model, asked.api_base) == (info.model, info.api_base)
        return self.window if is_same else None

    @property
    def calibration(self) -> Calibration:
        """What is known of estimates for its model."""
        return self._estimate.calibration

    async def use(self, request: ModelRequest, skill_list: str) -> ContextUse:
        """Return what a request takes, part by part, and of how much."""
        self._follow(request)
        window = await self._services.windows.of(request.model, request.api_base)
        parts = breakdown(request, skill_list, self._estimate, self._services.tools)
        return msgspec.structs.replace(
            parts,
            window=window.tokens if window is not None else None,
            source=window.source if window is not None else "",
            input_tokens=self._last.input_tokens,
            cached_tokens=self._last.cached_tokens,
            can_compact=self.can_compact(),
        )

    def extended(self) -> None:
        """Something follows in the history: the last compaction can't be undone any more."""
        self._before = None

    # -- by hand ---------------------------------------------------------------------------

    def can_compact(self) -> bool:
        """Whether there is anything that a summary could stand for."""
        return split(self._owner.history, 0, self._estimate) is not None

    def undo(self, compaction_id: CompactionId) -> bool:
        """Bring back what a compaction left out; False when something follows it already."""
        if self._before is None or self._before[0] != compaction_id:
            return False
        history = list(self._before[1])
        self._owner.session.emit(CompactionUndone(self._owner.id, compaction_id))
        self._replace(history, None)
        return True

    def forget(self) -> None:
        """The history is empty now."""
        self._least = 0
        self._replace([], None)

    # -- inside ----------------------------------------------------------------------------

    def _follow(self, request: ModelRequest) -> None:
        """Go on with what is known of estimates for the model that is asked now."""
        if not self._estimate.is_of(request):
            known = self._services.windows.calibration(request.model, request.api_base)
            self._estimate = Estimate(known)

    def _tokens(self, request: ModelRequest) -> int:
        return self._estimate.tokens(request)

    def _replace(self, history: list[Message], before: Before | None) -> None:
        self._estimate.forget_count()
        self._owner.replace_history(history)
        self._before = before

    async def _compact(self, request: ModelRequest, reason: Reason, keep: str) -> bool:
        """Make the history shorter, in memory and on disk; False when nothing can be left out."""
        tokens = self._tokens(request)
        history = self._owner.history
        draft = Draft(history, self._estimate)
        self._estimate.forget_count()
        fixed = self._tokens(msgspec.structs.replace(request, messages=()))
        window = self.window.tokens if self.window is not None else max(_UNKNOWN, tokens)
        room = max(0, int(_LIMIT * window) - fixed)
        before = draft.tokens
        if reason == "refused":
            # A server whose template leaves out the tools takes less than what is estimated: where
            # they would seem to fill the window by themselves, half of the history is tried.
            room = max(room, before // 2)
        parted, message = await self._shorten(draft, request, reason, keep, room)
        if not draft.aside and message is None:
            return False
        if reason != "asked" and draft.tokens >= before:
            # A summary can be longer than the little that it stands for.
            return False
        kept = {result.call_id for one in draft.history for result in one.results}
        event = ContextCompacted(
            agent_id=self._owner.id,
            compaction_id=new_compaction_id(),
            reason=reason,
            aside=tuple(one for one in draft.aside.values() if one.call_id in kept),
            summary=message,
            kept=tuple(one.id for one in parted.kept) if parted is not None else (),
            count=len(parted.dropped) if parted is not None else 0,
            tokens_before=tokens,
            tokens_after=fixed + draft.tokens,
            window=self.window.tokens if self.window is not None else 0,
            at=time.time(),
        )
        self._owner.session.emit(event)
        self._least = event.tokens_after * 11 // 10
        self._replace(draft.history, (event.compaction_id, history))
        return True

    async def _shorten(
        self, draft: Draft, request: ModelRequest, reason: Reason, keep: str, room: int
    ) -> tuple[Split | None, Message | None]:
        """Put outputs aside, make a summary if that is not enough, and cut what is still too long.

        What was refused may have been estimated to be short: it has to lose a fifth in any case.
        """
        whole = {message.id: message for message in draft.history}
        goal = min(int(_GOAL * room), int(_REFUSED * draft.tokens))
        newest = int(_NEWEST * min(room, draft.tokens))
        parted, message = None, None
        if reason != "asked":
            draft.put_aside(draft.old_results(), goal, self._put_aside)
        if reason == "asked" or draft.tokens > max(goal, int(_SUMMARY_FROM * room)):
            # The limit leaves some of the window: before words of the user go, that is used.
            most = int(room / _LIMIT - _SUMMARY * room)
            parted = split(draft.history, newest, self._estimate, most) or split(
                draft.history, 0, self._estimate, most
            )
        if parted is not None:
            # The model that writes it reads what was put aside just now.
            said = [whole[one.id] for one in parted.dropped]
            message = await self._summary(request, parted, said, keep, room)
            kept = [one.id for one in parted.kept]
            draft.take(compacted(draft.history, (), message, kept))
        self._cut_to(draft, room)
        return parted, message

    def _cut_to(self, draft: Draft, room: int) -> None:
        """If it is too long still: the oldest outputs that are left go, then the newest are cut."""
        if draft.tokens > room:
            draft.put_aside(draft.old_results(), room, self._put_aside)
        if draft.tokens > room:
            draft.put_aside(draft.new_results(), room, self._cut)

    def _put_aside(self, result: ToolResult) -> str:
        gone = _without_images(result)
        if gone and len(result.text) <= _CAPTION:
            return f"{result.text}{gone}"
        path = self._saved(result)
        if not path:
            return ""
        return (
            f"[This output of {len(result.text):,} characters was put aside to make room; "
            f"`read` opens it: {path}]{gone}"
        )

    def _cut(self, result: ToolResult) -> str:
        path, text = self._saved(result), result.text
        if not path or len(text) <= 2 * _ENDS:
            return ""
        return (
            f"{text[:_ENDS]}\n\n[… {len(text) - 2 * _ENDS:,} characters are left out, as the "
            f"whole is too long for you; `read` opens it, a part at a time: {path}]\n\n"
            f"{text[-_ENDS:]}{_without_images(result)}"
        )

    def _saved(self, result: ToolResult) -> str:
        file = self._services.outputs.of(self._owner.session.info.id).create()
        if file is None:
            return ""
        content = result.text.encode("utf-8", "replace")
        file.write(content)
        file.close()
        return str(file.path) if file.size == len(content) else ""

    async def _summary(
        self, request: ModelRequest, parted: Split, said: list[Message], keep: str, room: int
    ) -> Message:
        share = int(_SUMMARY * room / self._estimate.factor)
        text = await self._asked_for(request, said, keep)
        text = summary.bounded(text or summary.record_of(said, share), share)
        files = files_of(parted.dropped, self._services.tools)
        lists = {"Files changed": files.changed, "Files read": files.read}
        lines = [f"{title}: {', '.join(paths)}" for title, paths in lists.items() if paths]
        parts = [TextPart("\n\n".join([text, *lines]), files)]
        parts += carried_parts(parted, self._services.is_open)
        if tasks := self._owner.tasks.tasks:
            parts.append(list_part(tasks))
        return Message(new_message_id(), "user", tuple(parts), "app", created_at=time.time())

    async def _asked_for(self, request: ModelRequest, said: list[Message], keep: str) -> str:
        """Return the summary as the model writes it; empty if it does not."""
        services, aside = self._services, AgentId(f"{request.agent_id}/compact")
        asked = msgspec.structs.replace(request, agent_id=aside, system=summary.instructions())
        window = self.window.tokens if self.window is not None else _UNKNOWN
        room = int(_RECORD * window / self._estimate.factor)
        with self._owner.thinking("summarising earlier work"):
            try:
                text, usage = await summary.summarised(services.model, asked, said, keep, room)
            finally:
                services.forget(aside)
        if usage != Usage():
            self._owner.count_aside(usage, asked.model)
        return text


def _without_images(result: ToolResult) -> str:
    """Return what stands in a result for its images, which are left out with its text."""
    if not result.images:
        return ""
    what = "an image" if len(result.images) == 1 else f"{len(result.images)} images"
    return f"\n\n[Of this output {what} was left out to make room: make the call again to see it.]"
