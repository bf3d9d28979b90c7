"""Change sets for the tests of the window."""

from typing import Any

from msgspec.structs import replace

from desktop_agent.core.changes import (
    ChangedFile,
    ChangeSet,
    FileOverview,
    FolderLook,
    SessionChanges,
)
from desktop_agent.core.events import FilesChanged
from desktop_agent.core.ids import SessionId

MAIN, CHILD = "ag_1", "sa_1"
MESSAGE = "me_u1"


def file(path, kind="changed", added=1, removed=1, *, is_held=True):
    return ChangedFile(path, kind, added, removed, is_held)


def made(set_id, *files, agent=MAIN, call="call_1", message=MESSAGE, at=100.0, **more):
    """Return what a call did; files are paths, or ChangedFile values."""
    listed = tuple(file(one) if isinstance(one, str) else one for one in files)
    return ChangeSet(
        set_id,
        more.pop("kind", "tool"),
        agent,
        call,
        message,
        at,
        at,
        listed,
        more.pop("count", len(listed)),
        sum(max(0, one.added) for one in listed),
        sum(max(0, one.removed) for one in listed),
        **more,
    )


class FirstLooks:
    """Stands before what the window asks the engine about changes: a first look that goes on."""

    def __init__(self, behind: Any, *looks: FolderLook) -> None:
        self._behind, self._looks = behind, list(looks)
        self.stopped: list[SessionId] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._behind, name)

    async def first_look(self, session_id: SessionId) -> FolderLook:
        return self._looks.pop(0) if len(self._looks) > 1 else self._looks[0]

    async def stop_first_look(self, session_id: SessionId) -> FolderLook:
        self.stopped.append(session_id)
        return replace(self._looks[0], is_going=False)


def undo(set_id, *undoes, files=("a.py",), agent=MAIN, at=200.0):
    """Return the undo of some sets."""
    more = {"kind": "undo", "undoes": tuple(undoes)}
    return made(set_id, *files, agent=agent, call="", message=None, at=at, **more)


def told(change_set):
    return FilesChanged(change_set.agent_id, change_set)


def session_of(*sets, undone=(), since=(), stopped=""):
    """Return all of a session; `since` are paths that were changed afterwards."""
    standing = [one for one in sets if one.kind != "undo" and one.id not in undone]
    files = {}
    for one in standing:
        for each in one.files:
            files.setdefault(each.path, (each, []))[1].append(one.id)
    overview = tuple(
        FileOverview(each, tuple(ids), path in since) for path, (each, ids) in files.items()
    )
    return SessionChanges(tuple(sets), overview, tuple(undone), stopped)
