"""The changes of a session as rows: by file, by message or by agent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

import msgspec
from msgspec.structs import replace
from msgspec.structs import replace as changed
from PySide6.QtCore import QCoreApplication

from desktop_agent.core.changes import (
    ChangedFile,
    ChangeKind,
    ChangeSet,
    FileOverview,
    JudgedResult,
    PlannedFile,
    Result,
    SessionChanges,
    UndoScope,
)
from desktop_agent.core.ids import AgentId, MessageId, SessionId
from desktop_agent.gui.kit.safe_text import path_text, with_marks
from desktop_agent.gui.kit.text import plain, plain_words
from desktop_agent.gui.transcript.cards.changes_text import files_text
from desktop_agent.gui.transcript.document.user_message import clock_text

Grouping = Literal["file", "message", "agent", "result"]
translate = QCoreApplication.translate
_MOST_WORDS = 120
_ICONS: dict[ChangeKind, tuple[str, str]] = {
    "created": ("file-plus", "ok"),
    "changed": ("file-text", "muted"),
    "deleted": ("file-minus", "err"),
}


class ChangeRow(msgspec.Struct, frozen=True):
    """One file, or one message or agent with its files below.

    `path` is as the engine names it, empty for a group; `title` shows it with every hidden
    character marked. `scope` is what *Undo…* takes back and what the diff is of; of a row with a
    `result` that is not applied yet, *Apply…* does it.
    """

    key: str
    title: str
    scope: UndoScope
    path: str = ""
    kind: ChangeKind = "changed"
    icon: str = ""
    added: int = 0
    removed: int = 0
    detail: str = ""
    mark: str = ""
    tone: str = "muted"
    was: str = ""
    is_changed_since: bool = False
    agent_id: str = ""
    call_id: str = ""
    result: str = ""

    @property
    def token(self) -> str:
        """The colour of the icon."""
        return _ICONS[self.kind][1] if self.path and not self.was else "muted"

    @property
    def spoken(self) -> str:
        """The row for a screen reader."""
        kind = kind_text(self.kind) if not self.was else translate("Changes", "renamed")
        said = [self.title, *([kind] if self.path else []), self.detail]
        if self.added or self.removed:
            counts = translate("Changes", "{added} lines added, {removed} removed")
            said.append(counts.format(added=self.added, removed=self.removed))
        return ", ".join(part for part in (*said, self.mark) if part)


class Named(msgspec.Struct, frozen=True):
    """What the window calls agents, and the words of the user's messages, as far as loaded."""

    agents: Mapping[AgentId, str]
    messages: Mapping[MessageId, str]

    def agent(self, agent_id: AgentId) -> str:
        """Return an agent's name on one line."""
        return with_marks(plain(self.agents.get(agent_id, "")) or agent_id)


def kind_text(kind: ChangeKind) -> str:
    """Return what became of a file."""
    return {
        "created": translate("Changes", "new"),
        "changed": translate("Changes", "changed"),
        "deleted": translate("Changes", "deleted"),
    }[kind]


def icon_of(kind: ChangeKind, was: str = "") -> str:
    """Return the icon of a file with this change, which `was` elsewhere if it was renamed."""
    return "file-symlink" if was else _ICONS[kind][0]


def renamed_text(was: str, path: str) -> str:
    """Return both names of a renamed file."""
    return f"{path_text(was)} → {path_text(path)}"


def result_rows(
    results: Iterable[Result],
    judged: Mapping[str, JudgedResult],
    session_id: SessionId,
    named: Named,
) -> tuple[ChangeRow, ...]:
    """Return what subagents changed elsewhere: a row each, then those of its files."""
    whole = UndoScope(session_id)
    found = (_of_result(one, judged.get(one.made.id), whole, named) for one in results)
    return tuple(row for rows in found for row in rows)


def _of_result(
    one: Result, judged: JudgedResult | None, whole: UndoScope, named: Named
) -> Iterator[ChangeRow]:
    made, scope = one.made, changed(whole, set_id=one.applied or one.made.id)
    mark, tone = _result_mark(one, judged)
    detail = " · ".join((files_text(made.count), clock_text(made.ended)))
    result = "" if one.applied else made.id
    head = ChangeRow(
        f"result {made.id}",
        named.agent(made.agent_id),
        scope,
        icon="server",
        added=made.added,
        removed=made.removed,
        detail=detail,
        mark=mark,
        tone=tone,
        agent_id=made.agent_id,
        result=result,
    )
    yield head
    planned = {file.path: file for file in judged.files} if judged is not None else {}
    guarded = frozenset(judged.guarded) if judged is not None else frozenset[str]()
    for file in made.files:
        row = _file_row(file, scope, kind_text(file.kind), is_since=False)
        mark, tone = _planned_mark(planned.get(file.path), file.path in guarded, named)
        yield replace(
            row,
            key=f"{head.key} {file.path}",
            mark=mark,
            tone=tone,
            is_changed_since=_is_changed_here(planned.get(file.path)),
            agent_id=made.agent_id,
            result=result,
        )
    if (rest := made.count - len(made.files)) > 0:
        more = translate("Changes", "and {files} more").format(files=files_text(rest))
        yield ChangeRow(f"more {head.key}", more, scope, icon="ellipsis", result=result)


def _result_mark(one: Result, judged: JudgedResult | None) -> tuple[str, str]:
    if one.applied:
        return translate("Changes", "applied"), "muted"
    if judged is None:
        return "", "muted"
    if judged.is_there:
        return translate("Changes", "in the folder already"), "muted"
    if judged.overlaps:
        return translate("Changes", "overlaps"), "warn"
    if not judged.fits:
        return translate("Changes", "can’t be applied as a whole"), "err"
    if judged.guarded:
        return translate("Changes", "fits, look at it first"), "warn"
    return translate("Changes", "fits"), "ok"


def _is_changed_here(file: PlannedFile | None) -> bool:
    return file is not None and file.prospect == "conflict"


def _planned_mark(file: PlannedFile | None, is_guarded: bool, named: Named) -> tuple[str, str]:
    """Return what is to be said of a file before it is applied."""
    if file is None:
        return "", "muted"
    if file.prospect == "lost":
        return translate("Changes", "can’t be applied"), "err"
    by = named.agent(AgentId(file.by)) if file.by else translate("Changes", "you")
    if file.prospect == "conflict" and not file.can_merge:
        return translate("Changes", "overlaps with {name}").format(name=by), "warn"
    if is_guarded:
        return translate("Changes", "runs by itself, or instructs agents"), "warn"
    if file.prospect == "conflict":
        return translate("Changes", "merges with {name}").format(name=by), "muted"
    return "", "muted"


class RowMaker:
    """Makes the rows of one session; what is as it was the last time gets the same row."""

    def __init__(self, session_id: SessionId, named: Named) -> None:
        self.named = named
        self._whole = UndoScope(session_id)
        self._details: dict[str, str] = {}
        self._known: dict[str, tuple[FileOverview, ChangeRow]] = {}

    def rows(self, changes: SessionChanges, grouping: Grouping) -> tuple[ChangeRow, ...]:
        """Return the rows of all that stands."""
        if grouping == "file":
            sets = {one.id: one for one in changes.sets}
            return tuple(self._overview_row(one, sets) for one in changes.files)
        undone = set(changes.undone)
        since = {one.file.path for one in changes.files if one.is_changed_since}
        groups: dict[UndoScope, list[ChangeSet]] = {}
        for one in changes.sets:
            if one.kind != "undo" and one.id not in undone and one.count:
                groups.setdefault(_group_of(one, self._whole, grouping), []).append(one)
        return tuple(
            row for scope, made in groups.items() for row in _group(scope, made, since, self)
        )

    def detail(self, made: ChangeSet | None) -> str:
        """Return who made a change set, and when; most rows are of few sets."""
        if made is None:
            return ""
        words = self._details.get(made.id)
        if words is None:
            said = (self.named.agent(made.agent_id), clock_text(made.ended))
            words = self._details[made.id] = " · ".join(part for part in said if part)
        return words

    def _overview_row(self, overview: FileOverview, sets: Mapping[str, ChangeSet]) -> ChangeRow:
        path = overview.file.path
        before = self._known.get(path)
        if before is not None and before[0] == overview:
            return before[1]
        last = sets.get(overview.sets[-1]) if overview.sets else None
        row = _file_row(overview.file, self._whole, self.detail(last), overview.is_changed_since)
        row = _made_by(row, last)
        self._known[path] = overview, row
        return row


def _group_of(made: ChangeSet, whole: UndoScope, grouping: Grouping) -> UndoScope:
    if grouping == "agent":
        return changed(whole, agent_id=made.agent_id)
    if made.message_id is None:
        return changed(whole, set_id=made.id)
    return changed(whole, message_id=made.message_id)


def _group(
    scope: UndoScope, sets: Iterable[ChangeSet], since: set[str], maker: RowMaker
) -> Iterator[ChangeRow]:
    """Yield the row of a group, then those of its files."""
    last: dict[str, ChangeSet] = {}
    files: dict[str, ChangedFile] = {}
    unlisted, began = 0, 0.0
    first: ChangeSet | None = None
    for made in sets:
        first = first or made
        began = began or made.began
        unlisted += max(0, made.count - len(made.files))
        for file in made.files:
            before = files.pop(file.was, None) if file.was else files.get(file.path)
            files[file.path] = file if before is None else _joined(before, file)
            last[file.path] = made
    key = scope.message_id or scope.agent_id or scope.set_id
    count = len(files) + unlisted
    head = ChangeRow(
        f"group {key}",
        _title(scope, maker.named) or clock_text(began),
        scope,
        icon="bot" if scope.agent_id else "message-square",
        added=sum(max(0, one.added) for one in files.values()),
        removed=sum(max(0, one.removed) for one in files.values()),
        detail=" · ".join(part for part in (files_text(count), clock_text(began)) if part),
    )
    yield _made_by(head, first)
    for path, file in files.items():
        row = _file_row(file, scope, maker.detail(last[path]), path in since)
        yield _made_by(replace(row, key=f"{key} {path}"), last[path])
    if unlisted:
        more = translate("Changes", "and {files} more").format(files=files_text(unlisted))
        yield ChangeRow(f"more {key}", more, scope, icon="ellipsis")


def _title(scope: UndoScope, named: Named) -> str:
    if scope.agent_id is not None:
        return named.agent(scope.agent_id)
    words = named.messages.get(scope.message_id, "") if scope.message_id is not None else ""
    return with_marks(plain_words(words[: 4 * _MOST_WORDS])[:_MOST_WORDS])


def _joined(before: ChangedFile, after: ChangedFile) -> ChangedFile:
    """Return two changes of a file as one; `after` may have renamed it."""
    kind: ChangeKind = after.kind
    was = after.was if before.kind == "changed" else before.was
    if after.kind == "deleted":
        was = ""
    elif before.kind == "created" and after.kind == "changed":
        kind = "created"
    elif before.kind == "deleted" and after.kind == "created":
        kind = "changed"
    is_text = before.added >= 0 and after.added >= 0
    added = before.added + after.added if is_text else -1
    removed = before.removed + after.removed if is_text else -1
    is_held = before.is_held and after.is_held
    return ChangedFile(after.path, kind, added, removed, is_held, was)


def _made_by(row: ChangeRow, made: ChangeSet | None) -> ChangeRow:
    """Return a row that leads to the call which made the set."""
    if made is None:
        return row
    return replace(row, agent_id=made.agent_id, call_id=made.call_id)


def _file_row(file: ChangedFile, whole: UndoScope, detail: str, is_since: bool) -> ChangeRow:
    scope = changed(whole, path=file.path, was=file.was)
    title = renamed_text(file.was, file.path) if file.was else path_text(file.path)
    mark, tone = "", "muted"
    if not file.is_held and file.kind == "created":
        mark = translate("Changes", "stays after an undo")
    elif not file.is_held:
        mark, tone = translate("Changes", "can’t come back"), "err"
    elif is_since:
        mark, tone = translate("Changes", "changed by you since"), "warn"
    return ChangeRow(
        file.path,
        title,
        scope,
        file.path,
        file.kind,
        icon_of(file.kind, file.was),
        max(0, file.added),
        max(0, file.removed),
        detail,
        mark,
        tone,
        file.was,
        is_since,
    )
