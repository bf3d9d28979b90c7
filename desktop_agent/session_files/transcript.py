"""An agent's events as what is shown of them, oldest first: for files, so nothing is under way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

import msgspec

from desktop_agent.adapters.store.reader import SessionReader
from desktop_agent.core.approvals import ApprovalRequest
from desktop_agent.core.changes import ChangeSet
from desktop_agent.core.events import (
    AgentEvent,
    AgentSpawned,
    ApprovalRequested,
    ApprovalResolved,
    ContextCleared,
    ContextCompacted,
    FilesChanged,
    MessageAdded,
    QuestionAnswered,
    QuestionAsked,
    ToolEnded,
    TurnEnded,
)
from desktop_agent.core.messages import (
    ImagePart,
    Message,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
)
from desktop_agent.core.parts.origins import (
    AppNotice,
    AttachedFile,
    ChildQuestion,
    FilesUndone,
    PickedSkill,
    Report,
    Spoken,
    TaskEdits,
    TaskListShown,
    ToldChild,
)
from desktop_agent.core.questions import Question
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.tasks import Task
from desktop_agent.session_files import words

Outcome = Literal["ok", "failed", "denied", "cancelled", "unknown"]


class Said(msgspec.Struct):
    """What one party says to the agent, with the names of files and skills that went along."""

    speaker: str
    text: str = ""
    at: float = 0.0
    attachments: list[str] = []
    skills: list[str] = []
    images: list[ImagePart] = []


class Told(msgspec.Struct, frozen=True):
    """A message from or to a subagent: `head` says whose."""

    head: str
    text: str


class Answer(msgspec.Struct, frozen=True):
    """Words of the model, in Markdown."""

    text: str
    is_partial: bool = False


class Thoughts(msgspec.Struct, frozen=True):
    """The model's reasoning."""

    text: str


class Called(msgspec.Struct, frozen=True):
    """A tool call with what came of it."""

    call: ToolCall
    result: ToolResult | None
    outcome: Outcome
    seconds: float = 0.0
    changes: tuple[ChangeSet, ...] = ()


class Line(msgspec.Struct, frozen=True):
    """Something that happened, in a line."""

    text: str
    is_trouble: bool = False


Entry = Said | Told | Answer | Thoughts | Called | Line


class Section(NamedTuple):
    """What one agent did. Main has no name; its task list comes behind its entries."""

    name: str | None
    entries: Iterator[tuple[Entry, ...]]
    tasks: tuple[Task, ...] = ()


def sections(reader: SessionReader, info: SessionInfo) -> Iterator[Section]:
    """Yield the branch that is shown, then each subagent."""
    state = reader.frame(info).lists.get(info.main_agent)
    main = entries(reader.shown(info, info.main_agent))
    yield Section(None, main, state.tasks if state is not None else ())
    for spawned in reader.of_kind(info, AgentSpawned):
        yield Section(spawned.spec.name, entries(reader.shown(info, spawned.agent_id)))


def entries(events: Iterable[AgentEvent]) -> Iterator[tuple[Entry, ...]]:
    """Yield what each event adds, nothing for most."""
    flow = _Flow()
    for event in events:
        yield tuple(flow.take(event))
    yield tuple(flow.rest())


class _Flow:
    """What is still open: calls without a result, and what is asked."""

    def __init__(self) -> None:
        self._calls: dict[str, ToolCall] = {}
        self._ended: dict[str, ToolEnded] = {}
        self._changes: dict[str, list[ChangeSet]] = {}
        self._requests: dict[str, ApprovalRequest] = {}
        self._questions: dict[str, Question] = {}
        self._asked: set[str] = set()

    def take(self, event: AgentEvent) -> Iterator[Entry]:
        match event:
            case MessageAdded(message=message, is_partial=is_partial):
                yield from self._on_message(message, is_partial)
            case ToolEnded(result=result):
                self._ended[result.call_id] = event
            case FilesChanged(changes=changes):
                if changes.call_id:
                    self._changes.setdefault(changes.call_id, []).append(changes)
                else:
                    yield Line(words.undone(changes))
            case TurnEnded() if line := words.turn_end(event):
                yield from self.rest()
                yield Line(line, event.reason in ("error", "interrupted"))
            case _:
                yield from self._on_other(event)

    def rest(self) -> Iterator[Entry]:
        """Yield the calls that have no result: it is not known what they did."""
        for call_id in list(self._calls):
            yield from self._called(call_id, None)

    def _on_other(self, event: AgentEvent) -> Iterator[Entry]:
        match event:
            case ApprovalRequested(request=request):
                self._requests[request.id] = request
            case ApprovalResolved(request_id=request_id, decision=decision):
                request = self._requests.pop(request_id, None)
                if request is not None:
                    yield Line(words.decision(request, decision))
            case QuestionAsked(question=question):
                self._questions[question.id] = question
                self._asked.add(question.call_id)
            case QuestionAnswered(question_id=question_id, text=text, by=by):
                asked = self._questions.pop(question_id, None)
                if asked is not None:
                    yield Told(words.QUESTION, asked.text)
                    yield Line(words.answer(text, by))
            case ContextCompacted(count=count, aside=aside):
                yield Line(words.compaction(count, len(aside)))
            case ContextCleared():
                yield Line(words.CLEARED)
            case _:
                pass

    def _on_message(self, message: Message, is_partial: bool) -> Iterator[Entry]:
        if message.role == "tool":
            for result in message.results:
                yield from self._called(result.call_id, result)
            return
        yield from self.rest()
        if message.role == "user":
            yield from _said(message)
            return
        for part in message.parts:
            match part:
                case TextPart(text=text) if text.strip():
                    yield Answer(text, is_partial)
                case ThinkingPart(text=text) if text.strip():
                    yield Thoughts(text)
                case ToolCall():
                    self._calls[part.id] = part
                case _:
                    pass

    def _called(self, call_id: str, result: ToolResult | None) -> Iterator[Called]:
        call, ended = self._calls.pop(call_id, None), self._ended.pop(call_id, None)
        if call is None or call_id in self._asked:
            return
        changes = tuple(self._changes.pop(call_id, ()))
        if ended is not None:
            yield Called(call, ended.result, ended.outcome, ended.seconds, changes)
        elif result is not None:
            yield Called(call, result, "failed" if result.is_error else "ok", 0.0, changes)
        else:
            yield Called(call, None, "unknown", 0.0, changes)


def _said(message: Message) -> Iterator[Entry]:
    """Yield who speaks in a user message, one after the other."""
    open_ones: list[Said] = []
    for part in message.parts:
        match part:
            case ImagePart():
                _speaking("user", open_ones, message).images.append(part)
            case TextPart(origin=AttachedFile(path=path)):
                _speaking("user", open_ones, message).attachments.append(path)
            case TextPart(origin=PickedSkill(name=name)):
                _speaking("user", open_ones, message).skills.append(name)
            case TextPart(origin=Report() | ChildQuestion() | ToldChild() as origin, text=text):
                yield Told(_told(origin), text.strip())
            case TextPart(origin=TaskListShown()):
                pass  # it stands at the end of the file
            case TextPart(origin=origin, text=text):
                said = _speaking(_speaker(origin, message), open_ones, message)
                said.text = f"{said.text}\n\n{text}".strip("\n")
            case _:
                pass
    yield from open_ones


def _told(origin: Report | ChildQuestion | ToldChild) -> str:
    name = origin.name or origin.agent_id
    match origin:
        case Report(status=status):
            return words.report(name, status)
        case ChildQuestion():
            return words.asked(name)
        case ToldChild():
            return words.told(name)


def _speaker(origin: object, message: Message) -> str:
    match origin:
        case Spoken(sender=sender):
            return sender
        case TaskEdits():
            return "edits"
        case AppNotice() | FilesUndone():
            return "app"
        case None:
            return "user" if message.sender in ("", "user") else "agent"
        case _:
            return "app"


def _speaking(speaker: str, open_ones: list[Said], message: Message) -> Said:
    if not open_ones or open_ones[-1].speaker != speaker:
        open_ones.append(Said(speaker, at=message.created_at))
    return open_ones[-1]
