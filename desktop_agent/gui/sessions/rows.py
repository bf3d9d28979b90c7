"""What the list of sessions shows: rows in groups, made from the engine's snapshot."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from PySide6.QtCore import QCoreApplication

from desktop_agent.core.ids import SessionId
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.gui.kit.plurals import with_plural
from desktop_agent.gui.kit.safe_text import clean

State = Literal["running", "needs_you", "paused", "unread", "failed", "interrupted", "idle"]


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One row. A heading has no `session_id`; `age` is short, `spoken_age` is for the ear."""

    title: str
    session_id: SessionId | None = None
    state: State = "idle"
    age: str = ""
    spoken_age: str = ""
    folder: str = ""
    # Whether the title alone does not tell it from another one that is listed.
    is_ambiguous: bool = False

    @property
    def key(self) -> str:
        """Identifies the row; a heading is identified by its text."""
        return self.session_id or f"heading:{self.title}"

    @property
    def is_heading(self) -> bool:
        return self.session_id is None

    @property
    def is_bold(self) -> bool:
        return self.state in ("needs_you", "unread")


def make_rows(sessions: Sequence[SessionInfo], now: float) -> tuple[SessionRow, ...]:
    """Return the sessions in the order given, under Today, Yesterday and Earlier."""
    folders: dict[str, set[str]] = {}
    for info in sessions:
        folders.setdefault(info.title, set()).add(info.workspace.root)
    names = (_tr("Today"), _tr("Yesterday"), _tr("Earlier"))
    groups: tuple[list[SessionRow], ...] = ([], [], [])
    for info in sessions:
        row = _row(info, now, is_ambiguous=len(folders[info.title]) > 1)
        groups[_group(info.updated_at, now)].append(row)
    shown = ((SessionRow(name), *rows) for name, rows in zip(names, groups, strict=True) if rows)
    return tuple(chain.from_iterable(shown))


def in_shown_order(
    sessions: Iterable[SessionInfo], shown: Sequence[SessionId]
) -> list[SessionInfo]:
    """Return the sessions as they are shown now, new ones first: nothing jumps."""
    place = {session_id: number for number, session_id in enumerate(shown)}
    return sorted(sessions, key=lambda info: place.get(info.id, -1))


def spoken(row: SessionRow) -> str:
    """Return the row as a screen reader says it."""
    if row.is_heading:
        return row.title
    folder = row.folder if row.is_ambiguous else ""
    state = {
        "running": _tr("running"),
        "needs_you": _tr("needs you"),
        "paused": _tr("paused"),
        "unread": _tr("unread"),
        "failed": _tr("failed"),
        "interrupted": _tr("interrupted"),
        "idle": "",
    }[row.state]
    said = (row.title, folder, state, row.spoken_age)
    return clean(", ".join(part for part in said if part))


def _row(info: SessionInfo, now: float, *, is_ambiguous: bool) -> SessionRow:
    title, folder = info.title or _tr("New session"), info.workspace.name
    state = "unread" if info.status == "idle" and info.is_unread else info.status
    age, spoken_age = _age(max(0.0, now - info.updated_at))
    return SessionRow(title, info.id, state, age, spoken_age, folder, is_ambiguous)


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
