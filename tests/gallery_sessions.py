"""Pictures of the list of sessions: by folder and by date, pinned, archived, recently deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace
from PySide6.QtCore import QModelIndex
from PySide6.QtWidgets import QMenu

from desktop_agent.core.events import SessionsChanged
from desktop_agent.core.ids import MessageId, SessionId
from desktop_agent.core.sessions import SearchFound, SearchHit
from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.sessions.panel import SessionPanel
from tests import gallery_story as story
from tests.helpers.windows import part

if TYPE_CHECKING:
    from tests.gallery import Gallery

_BANK = Workspace("/home/ada/work/bank")


def _row(panel: SessionPanel, title: str) -> QModelIndex:
    model = panel.list.model()
    rows = (model.index(number, 0) for number in range(model.rowCount()))
    return next(index for index in rows if index.data() == title)


async def show_sessions(gallery: Gallery) -> None:
    """Take every picture of the list."""
    one, two, three, four, five, six, seven = story.SESSIONS
    gallery.show(story.working())
    kept = (
        one,
        replace(two, status="running"),
        replace(three, workspace=_BANK),
        four,
        replace(five, is_pinned=True),
        replace(six, workspace=_BANK),
    )
    away = replace(seven, is_archived=True)
    gone = tuple(
        replace(
            info,
            id=SessionId(f"s_deleted_{days}"),
            title=title,
            deleted_at=story.NOW - days * 86_400,
        )
        for info, title, days in ((six, "Try a faster parser", 2), (seven, "Scratch", 27))
    )
    gallery.hear(SessionsChanged((*kept, away), gone))
    panel = gallery.window.frame.sidebar.sessions
    await gallery.take("70-sessions-by-folder")
    for title in ("Archived", "Recently deleted"):
        panel.list.chosen.emit(_row(panel, title))
    await gallery.take("71-sessions-groups-open")
    part(gallery.window, "groupSessions").click()
    await gallery.take("72-sessions-by-date")
    where = panel.list.visualRect(_row(panel, four.title)).center()
    panel.list.customContextMenuRequested.emit(where)
    menu = panel.findChild(QMenu, "sessionMenu")
    assert menu is not None
    await gallery.take("73-session-menu", menu)
    menu.close()
    await show_found(gallery)


async def show_found(gallery: Gallery) -> None:
    """Take the picture of a search."""
    panel = gallery.window.frame.sidebar.sessions
    panel.search.setText("retry")
    of = story.SESSIONS[3]
    line = "It fails only when the retry comes before the lock is released"
    hit = SearchHit(of.id, of.main_agent, MessageId("m_1"), 4, line, ((23, 28),))
    old = "Each retry doubles the wait, up to a minute"
    other = SearchHit(story.SESSIONS[2].id, story.MAIN, MessageId("m_2"), 9, old, ((5, 10),))
    further = SearchHit(of.id, of.main_agent, MessageId("m_3"), 2, f"Before: {old}", ((13, 18),))
    panel.set_matches("retry", SearchFound((), (hit, other), is_complete=False, more=(further,)))
    await gallery.take("74-sessions-found")
    panel.search.clear()
