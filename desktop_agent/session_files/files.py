"""Exports sessions to files, and imports them: behind the window and the command line.

The work is done on a thread of its own that reads the sessions beside the writer. What is written
gets its name once it is whole; what is imported is written a piece at a time by the store.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from desktop_agent.adapters.store.importing import EventRow
from desktop_agent.adapters.store.reader import SessionReader
from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.core.ids import MessageId, SessionId, new_session_id
from desktop_agent.core.sessions import ExportForm, SessionFileError, SessionInfo
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.base.ports import StoreError
from desktop_agent.engine.engine import Engine
from desktop_agent.engine.workspace.replacing import replace
from desktop_agent.engine.workspace.to_disk import to_disk

if TYPE_CHECKING:
    from desktop_agent.session_files.forking import Fork
    from desktop_agent.session_files.json_import import Imported

# Events that the store writes at once: a few milliseconds.
_AT_ONCE = 100
# What reading and checking takes of an import; the rest is writing.
_CHECKED = 0.5


class Job(msgspec.Struct):
    """How far a file is, from 0 to 1; who set `is_cancelled` wants nothing of it."""

    share: float = 0.0
    is_cancelled: bool = False

    def check(self, share: float) -> None:
        """Note how much of the reading is done, as a part of all. Raises Cancelled."""
        if self.is_cancelled:
            raise Cancelled
        self.share = _CHECKED * share


class Cancelled(Exception):
    """Nobody wants the file any more."""


class SessionFiles:
    """The port `SessionFiles`, for the engine's thread."""

    def __init__(self, store_path: Path, store: SqliteStore, engine: Engine) -> None:
        self._path = store_path
        self._store = store
        self._engine = engine
        self._jobs: dict[str, Job] = {}

    async def export(self, session_id: SessionId, path: str, form: ExportForm) -> None:
        """Write a session to a file, which is there when it is whole. Raises SessionFileError."""
        job = self._jobs[path] = Job()
        try:
            self._store.flush_pending()
            work = partial(export_file, self._path, session_id, Path(path), form, job)
            await asyncio.to_thread(work)
        except StoreError as error:
            raise SessionFileError(str(error)) from error
        finally:
            job.is_cancelled = True
            self._jobs.pop(path, None)

    async def import_file(self, path: str, workspace: Workspace) -> SessionId:
        """Make a session of an exported one, in these folders. Raises SessionFileError."""
        from desktop_agent.session_files import json_import  # nobody waits for it at the start

        job = self._jobs[path] = Job()
        try:
            read = partial(json_import.read, Path(path), workspace, job.check)
            found = await asyncio.to_thread(read)
            new = self._engine.new_info(new_session_id(), workspace, found.about.title)
            info = msgspec.structs.replace(
                new,
                # What stands in the history may come from anybody.
                mode="ask" if new.mode == "free" else new.mode,
                main_agent=found.frame.main_agent,
                created_at=found.about.created_at,
                updated_at=found.about.updated_at,
                usage=found.about.usage,
            )
            await self._take_in(info, found, job)
        except StoreError as error:
            raise SessionFileError(str(error)) from error
        finally:
            job.is_cancelled = True
            self._jobs.pop(path, None)
        self._engine.adopt_session(info)
        return info.id

    async def fork(self, session_id: SessionId, before: MessageId | None = None) -> SessionId:
        """Make a session that goes on from right before a message of the user's in another one.

        From the end, if none is named. Raises SessionFileError.
        """
        from desktop_agent.session_files import forking

        try:
            with SessionReader(self._path) as reader:
                info, fork = forking.fork_of(reader, session_id, before)
            new = self._engine.new_info(new_session_id(), info.workspace, info.title)
            made = forking.info_of(info, new, fork)
            await self._take_in(made, fork, Job())
        except StoreError as error:
            raise SessionFileError(str(error)) from error
        self._engine.adopt_session(made)
        return made.id

    async def progress(self, path: str) -> float:
        """Return how much of a file is done, from 0 to 1."""
        job = self._jobs.get(path)
        return job.share if job is not None else 0.0

    async def _take_in(self, info: SessionInfo, found: Imported | Fork, job: Job) -> None:
        rows, done = found.rows(), 0
        try:
            self._store.begin_import(info, found.frame)
            while batch := await asyncio.to_thread(_take, rows):
                self._store.add_imported(info.id, batch)
                done += len(batch)
                job.share = min(1.0, _CHECKED + (1 - _CHECKED) * done / max(1, found.count))
            self._store.end_import(info)
        except BaseException:
            with suppress(StoreError):  # else it is erased at the next start
                self._store.delete_session(info.id)
            raise


def _take(rows: Iterator[EventRow]) -> list[EventRow]:
    return list(islice(rows, _AT_ONCE))


def export_file(
    store: Path, session_id: SessionId, path: Path, form: ExportForm, job: Job | None = None
) -> None:
    """Write a session to a file, on any thread; the file is there when it is whole.

    A link stays, and leads to the new file. Raises SessionFileError, StoreError, and Cancelled when
    the job was.
    """
    path = Path(os.path.realpath(path))
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise SessionFileError("The file can’t be written: it is not a file.")
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".export-")
    except OSError as error:
        raise _refused(error) from error
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            for piece in export_pieces(store, session_id, form, job or Job()):
                file.write(piece)
            file.flush()
            to_disk(file.fileno())
        replace(temporary, path)
    except OSError as error:
        raise _refused(error) from error
    finally:
        temporary.unlink(missing_ok=True)


def export_pieces(
    store: Path, session_id: SessionId, form: ExportForm, job: Job
) -> Iterator[bytes]:
    """Yield a session as a file, in pieces. Raises SessionFileError, StoreError, Cancelled."""
    with SessionReader(store) as reader:
        try:
            info = reader.session(session_id)
        except LookupError as error:
            raise SessionFileError(f"There is no session {session_id}.") from error
        total = max(1, reader.count(info) * (2 if form == "json" else 1))
        for number, piece in enumerate(_pieces(form, reader, info)):
            if job.is_cancelled:
                raise Cancelled
            job.share = min(1.0, number / total)
            yield piece


def _pieces(form: ExportForm, reader: SessionReader, info: SessionInfo) -> Iterator[bytes]:
    # Each brings what only it needs.
    if form == "json":
        from desktop_agent.session_files import json_export

        return json_export.pieces(reader, info)
    if form == "html":
        from desktop_agent.session_files import html_export

        return html_export.pieces(reader, info)
    from desktop_agent.session_files import markdown_export

    return markdown_export.pieces(reader, info)


def _refused(error: OSError) -> SessionFileError:
    return SessionFileError(f"The file can’t be written: {error.strerror or error}.")
