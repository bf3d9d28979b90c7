"""What the list of sessions shows: rows in groups, made from the engine's snapshot."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication

from desktop_agent.core.ids import SessionId
from desktop_agent.core.sessions import KEPT_DELETED_S, SearchFound, SearchHit, SessionInfo
from desktop_agent.gui.kit.safe_text import clean
from desktop_agent.gui.kit.text import with_plural

State = Literal["running", "needs_you", "paused", "unread", "failed", "interrupted", "idle"]


Fold = Literal["archived", "deleted"]
_DAY_S = 86_400.0


class SessionRow(msgspec.Struct, frozen=True):
    """One row. A heading has no `session_id`; `age` is short, `spoken_age` is for the ear.

    `place` tells headings of one title apart. `fold` is set for a heading that opens and closes
    (`is_open`), and for the rows below it. `note` stands at a heading's trailing end. `hit` is a
    message that holds what is searched for.
    """

    title: str
    session_id: SessionId | None = None
    state: State = "idle"
    age: str = ""
    spoken_age: str = ""
    folder: str = ""
    # Whether the title alone does not tell it from another one that is listed.
    is_ambiguous: bool = False
    place: str = ""
    fold: Fold | None = None
    is_open: bool = False
    is_pinned: bool = False
    note: str = ""
    hit: SearchHit | None = None
    # Another window has it for writing.
    is_elsewhere: bool = False

    @property
    def key(self) -> str:
        """Identifies the row; a heading is identified by its text and place."""
        if self.hit is not None:
            return f"hit:{self.session_id}:{self.hit.seq}"
        return self.session_id or f"heading:{self.title}:{self.place}"

    @property
    def is_heading(self) -> bool:
        return self.session_id is None

    @property
    def is_deleted(self) -> bool:
        return self.fold == "deleted" and not self.is_heading

    @property
    def is_bold(self) -> bool:
        return self.state in ("needs_you", "unread")


def make_rows(
    sessions: Sequence[SessionInfo], now: float, *, by_folder: bool = False
) -> tuple[SessionRow, ...]:
    """Return the sessions in the order given: the pinned ones, then by folder or by day."""
    pinned = [info for info in sessions if info.is_pinned]
    others = [info for info in sessions if not info.is_pinned]
    groups = [((_tr("Pinned"), "pinned"), pinned)]
    groups += _by_folder(others) if by_folder else _by_day(others, now)
    folders: dict[str, set[str]] = {}
    for info in sessions:
        folders.setdefault(info.title, set()).add(info.workspace.root)
    rows: list[SessionRow] = []
    for (title, place), infos in groups:
        if infos:
            is_named = by_folder and place != "pinned"
            rows.append(SessionRow(title, place=place, note=_running(infos)))
            rows += [
                _row(info, now, is_ambiguous=not is_named and len(folders[info.title]) > 1)
                for info in infos
            ]
    return tuple(rows)


def archived_rows(
    sessions: Sequence[SessionInfo], now: float, *, is_open: bool
) -> tuple[SessionRow, ...]:
    """Return the heading of the archived sessions, and them if it is open."""
    if not sessions:
        return ()
    title = _tr("Archived")
    head = SessionRow(title, fold="archived", is_open=is_open, note=f"{len(sessions):,}")
    rows = (_row(info, now, is_ambiguous=True) for info in sessions) if is_open else ()
    return (head, *(replace(row, fold="archived") for row in rows))


def deleted_rows(
    sessions: Sequence[SessionInfo], now: float, *, is_open: bool
) -> tuple[SessionRow, ...]:
    """Return the heading of the recently deleted sessions, and them if it is open."""
    if not sessions:
        return ()
    title = _tr("Recently deleted")
    head = SessionRow(title, fold="deleted", is_open=is_open, note=f"{len(sessions):,}")
    return (head, *(_deleted(info, now) for info in sessions if is_open))


def hit_rows(
    found: SearchFound, sessions: Sequence[SessionInfo], now: float
) -> tuple[SessionRow, ...]:
    """Return a row for each message that was found in one of the sessions, under headings."""
    infos = {info.id: info for info in sessions}
    rows, more = (
        [
            replace(_row(infos[hit.session_id], now, is_ambiguous=False), hit=hit)
            for hit in hits
            if hit.session_id in infos
        ]
        for hits in (found.hits, found.more)
    )
    note = "" if found.is_complete else _tr("the newest {n}").format(n=len(rows))
    if found.indexed < 1:
        note = _tr("indexing: {n} %").format(n=int(100 * found.indexed))
    if not rows:
        return ()
    first = SessionRow(_tr("In messages"), place="hits", note=note)
    further = SessionRow(_tr("More in the same sessions"), place="more", note=f"{len(more):,}")
    return (first, *rows, *((further, *more) if more else ()))


def _deleted(info: SessionInfo, now: float) -> SessionRow:
    left = (info.deleted_at or now) + KEPT_DELETED_S - now
    days = max(1, round(left / _DAY_S))
    age, spoken_age = _tr("{n} d left").format(n=days), _count("erased in %n day(s)", days)
    title, folder = info.title or _tr("New session"), info.workspace.name
    return SessionRow(title, info.id, "idle", age, spoken_age, folder, fold="deleted")


def _by_day(
    sessions: Sequence[SessionInfo], now: float
) -> list[tuple[tuple[str, str], list[SessionInfo]]]:
    names = (_tr("Today"), _tr("Yesterday"), _tr("Earlier"))
    groups: tuple[list[SessionInfo], ...] = ([], [], [])
    for info in sessions:
        groups[_group(info.updated_at, now)].append(info)
    return [((name, ""), infos) for name, infos in zip(names, groups, strict=True)]


def _by_folder(
    sessions: Sequence[SessionInfo],
) -> list[tuple[tuple[str, str], list[SessionInfo]]]:
    groups: dict[tuple[str, str], list[SessionInfo]] = {}
    for info in sessions:
        groups.setdefault((info.workspace.name, info.workspace.root), []).append(info)
    return list(groups.items())


def _running(sessions: Sequence[SessionInfo]) -> str:
    """Say how many work, when that is more than the eye catches at once."""
    count = sum(info.status == "running" for info in sessions)
    return _tr("{n} running").format(n=count) if count > 1 else ""


def in_shown_order(
    sessions: Iterable[SessionInfo], shown: Sequence[SessionId]
) -> list[SessionInfo]:
    """Return the sessions as they are shown now, new ones first: nothing jumps."""
    place = {session_id: number for number, session_id in enumerate(shown)}
    return sorted(sessions, key=lambda info: place.get(info.id, -1))


def spoken(row: SessionRow) -> str:
    """Return the row as a screen reader says it."""
    if row.is_heading:
        return _spoken_heading(row)
    folder = row.folder if row.is_ambiguous else ""
    pinned = _tr("pinned") if row.is_pinned else ""
    state = {
        "running": _tr("running"),
        "needs_you": _tr("needs you"),
        "paused": _tr("paused"),
        "unread": _tr("unread"),
        "failed": _tr("failed"),
        "interrupted": _tr("interrupted"),
        "idle": "",
    }[row.state]
    line = row.hit.line if row.hit is not None else ""
    place = _tr("open in another window") if row.is_elsewhere else ""
    said = (line, row.title, folder, pinned, state, place, row.spoken_age)
    return clean(", ".join(part for part in said if part))


def _spoken_heading(row: SessionRow) -> str:
    fold = "" if row.fold is None else _tr("expanded") if row.is_open else _tr("collapsed")
    return clean(", ".join(part for part in (row.title, row.note, fold) if part))


def _row(info: SessionInfo, now: float, *, is_ambiguous: bool) -> SessionRow:
    title, folder = info.title or _tr("New session"), info.workspace.name
    state = "unread" if info.status == "idle" and info.is_unread else info.status
    age, spoken_age = _age(max(0.0, now - info.updated_at))
    return SessionRow(
        title, info.id, state, age, spoken_age, folder, is_ambiguous, is_pinned=info.is_pinned
    )


def _group(updated_at: float, now: float) -> int:
    today = datetime.date.fromtimestamp(now)
    days = (today - datetime.date.fromtimestamp(updated_at)).days
    return min(2, max(0, days))


def _age(seconds: float) -> tuple[str, str]:
    minutes = int(seconds // 60)
    hours, days = minutes // 60, minutes // 1440
    if minutes < 1:
        return _tr("now"), _tr("just now")
    if hours < 1:
        return _tr("{n} min").format(n=minutes), _count("%n minute(s) ago", minutes)
    if days < 1:
        return _tr("{n} h").format(n=hours), _count("%n hour(s) ago", hours)
    if days < 14:
        return _tr("{n} d").format(n=days), _count("%n day(s) ago", days)
    return _tr("{n} wk").format(n=days // 7), _count("%n week(s) ago", days // 7)


def _tr(text: str) -> str:
    return QCoreApplication.translate("SessionRows", text)


def _count(text: str, number: int) -> str:
    """Translate with a number; without a translation the English plural is made here."""
    shown = QCoreApplication.translate("SessionRows", text, "", number)
    return with_plural(shown, number)
