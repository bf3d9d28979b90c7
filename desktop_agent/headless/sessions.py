"""`desktop-agent sessions`: list, search, show, export, import, fork, delete, restore sessions.

What only reads works while the app has the sessions open; what writes says that it does.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import msgspec

from desktop_agent import paths
from desktop_agent.adapters.files.file_lock import StoreLocked
from desktop_agent.adapters.store.reader import SessionReader, StoreTooOld
from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.compose import RUNS_FOLDER, SESSIONS_FILE, Backend, compose
from desktop_agent.core.ids import MessageId, SessionId
from desktop_agent.core.sessions import KEPT_DELETED_S, SearchHit, SessionFileError, SessionInfo
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.base.ports import StoreError
from desktop_agent.headless.arguments import Parser, folder, session_id
from desktop_agent.headless.command_line import APP_IS_OPEN, Refused, carry_out
from desktop_agent.headless.output import one_line, visible
from desktop_agent.session_files.files import Job, export_file, export_pieces

_LINE = 1000
_TITLE = 60
_MOST_HITS = 50
# What an update, or damage, left beside a file of sessions.
_KEPT = re.compile(r"\.(version-\d+|damaged-[\d-]+)$")


def main(argv: Sequence[str]) -> int:
    """Do what the arguments behind `sessions` say; return the exit code."""
    return carry_out("sessions", lambda: _work(argv), (StoreError, SessionFileError, OSError))


def _work(argv: Sequence[str]) -> int:
    given = make_parser().parse_args(argv)
    work: Callable[[argparse.Namespace], None] = given.work
    try:
        work(given)
    except StoreLocked:
        raise Refused(APP_IS_OPEN) from None
    return 0


def make_parser() -> Parser:
    """Return the commands below `sessions`."""
    parser = Parser(
        prog="desktop-agent sessions",
        description="List, search, show, export, import, fork, delete and restore sessions.",
        epilog="Exit codes: 0 done, 1 failed, 2 wrong usage. What only reads works while the app "
        "is open; import, fork, delete and restore need it closed.",
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, what: str, work: Callable[[argparse.Namespace], None]) -> Parser:
        made = commands.add_parser(name, help=what, description=what, allow_abbrev=False)
        made.set_defaults(work=work)
        return made

    _add_reading(command)
    _add_writing(command)
    return parser


_Command = Callable[[str, str, Callable[[argparse.Namespace], None]], Parser]


def _add_reading(command: _Command) -> None:
    listed = command("list", "list the sessions, the newest first", _list)
    listed.add_argument("--deleted", action="store_true", help="those deleted in the last 30 days")
    found = command("search", "find words in titles and messages", _search)
    found.add_argument("text", metavar="TEXT", help="the words")
    for one in (listed, found):
        _add_output(one, ("text", "json", "jsonl"))
    shown = command("show", "print what was said in a session", _show)
    _add_id(shown)
    _add_output(shown, ("text", "json"))
    out = command("export", "write a session to a file, or to standard output", _export)
    _add_id(out)
    out.add_argument("--format", choices=("md", "html", "json"), default="md",
                     help="md and html hold the branch that is shown, json all")  # fmt: skip
    out.add_argument("--out", metavar="FILE", type=Path, help="replaced once the new one is whole")


def _add_writing(command: _Command) -> None:
    taken = command("import", "make a session of one that was exported as json", _import)
    taken.add_argument("file", metavar="FILE", type=Path, help="the exported session")
    taken.add_argument("--workspace", metavar="DIR", type=folder, default=".",
                       help="the folder that it works in (default: this one)")  # fmt: skip
    forked = command("fork", "make a session that goes on from another, which stays", _fork)
    _add_id(forked)
    forked.add_argument("--at", metavar="MESSAGE", type=_message_id,
                        help="a message of yours, by its id in `search --json`: it goes on "
                        "from right before it (default: from the end)")  # fmt: skip
    for name, what, work in (
        ("delete", "delete a session; it can be restored for 30 days", _delete),
        ("restore", "take back a session that was deleted", _restore),
    ):
        made = command(name, what, work)
        _add_id(made)
        _add_json(made)
    for made in (taken, forked):
        _add_json(made)


def _add_id(parser: Parser) -> None:
    parser.add_argument("session", metavar="ID", type=session_id, help="the id of a session")


def _add_output(parser: Parser, forms: Sequence[str]) -> None:
    each = "jsonl: one a line" if "jsonl" in forms else None
    parser.add_argument("--output", choices=forms, default="text", help=each)
    parser.add_argument("--json", action="store_const", const="json", dest="output",
                        help="the same as --output json")  # fmt: skip


def _add_json(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _message_id(text: str) -> MessageId:
    """Return an id of a message as an argument; raises ArgumentTypeError."""
    return MessageId(session_id(text))


# -- reading ---------------------------------------------------------------------------------


def _list(given: argparse.Namespace) -> None:
    infos = [info for _, reader in _readers() for info in _seen(reader)]
    chosen = [info for info in infos if bool(info.deleted_at) is given.deleted]
    chosen.sort(key=lambda info: info.updated_at, reverse=True)
    _write(given.output, [_row(info) for info in chosen], [_line(info) for info in chosen])


def _search(given: argparse.Namespace) -> None:
    rows: list[dict[str, Any]] = []
    lines: list[str] = []
    is_complete = True
    for _, reader in _readers():
        infos = {info.id: info for info in reader.sessions()}
        hidden = [info.id for info in infos.values() if info.deleted_at]
        found = reader.search(given.text, _MOST_HITS, hidden)
        is_complete = is_complete and found.is_complete
        for one in found.titles:
            rows.append(_row(infos[one]))
            lines.append(_line(infos[one]))
        for hit in (*found.hits, *found.more):
            rows.append(_hit(hit, infos[hit.session_id]))
            lines.append(f"{_line(infos[hit.session_id])}\n    {one_line(hit.line, _LINE)}")
    _write(given.output, rows, lines)
    if not is_complete:
        sys.stderr.write("Only the newest messages are listed: more words find the others.\n")


def _show(given: argparse.Namespace) -> None:
    store = _store_of(given.session)
    for piece in export_pieces(store, given.session, _form(given.output), Job()):
        text = piece.decode()
        sys.stdout.write(text if given.output == "json" else visible(text))


def _form(output: str) -> Literal["md", "json"]:
    return "json" if output == "json" else "md"


def _export(given: argparse.Namespace) -> None:
    store = _store_of(given.session)
    if given.out is not None:
        export_file(store, given.session, given.out, given.format)
        return
    for piece in export_pieces(store, given.session, given.format, Job()):
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()


def _readers() -> Iterator[tuple[Path, SessionReader]]:
    """Yield the files of sessions: the app's, and those of runs beside it while it was open."""
    main = paths.data_dir() / SESSIONS_FILE
    if main.exists():
        with _reader(main) as reader:
            yield main, reader
    yield from _readers_of_runs()


def _readers_of_runs() -> Iterator[tuple[Path, SessionReader]]:
    """Yield those of runs; one that can't be read is named, and costs the others nothing."""
    for path in sorted((paths.data_dir() / RUNS_FOLDER).glob("*.db")):
        if _KEPT.search(path.stem):
            continue
        try:
            reader = _sound_reader(path)
        except (StoreError, StoreLocked):
            sys.stderr.write(f"{visible(str(path))} can’t be read, and is left out.\n")
            continue
        with reader:
            yield path, reader


def _sound_reader(path: Path) -> SessionReader:
    reader = _reader(path)
    try:
        reader.sessions()  # of a damaged file, the beginning may be whole
    except StoreError:
        reader.close()
        raise
    return reader


def _reader(path: Path) -> SessionReader:
    try:
        return SessionReader(path)
    except StoreTooOld:
        with closing(SqliteStore(path)):  # which brings it up to date
            pass
        return SessionReader(path)


def _seen(reader: SessionReader) -> list[SessionInfo]:
    """Return the sessions but for those whose time among the deleted ones is over."""
    limit = time.time() - KEPT_DELETED_S
    return [info for info in reader.sessions() if not 0 < info.deleted_at < limit]


def _store_of(session: SessionId) -> Path:
    for path, reader in _readers():
        if any(info.id == session for info in _seen(reader)):
            return path
    raise Refused(f"there is no session {session}. See desktop-agent sessions list.")


def file_apart(session: SessionId) -> Path | None:
    """Return the file of a run that holds a session, which may be named after another: a fork."""
    for path, reader in _readers_of_runs():
        if any(info.id == session for info in reader.sessions()):
            return path
    return None


def _info_of(session: SessionId) -> tuple[Path, SessionInfo]:
    path = _store_of(session)
    with _reader(path) as reader:
        return path, reader.session(session)


# -- writing ---------------------------------------------------------------------------------


def _import(given: argparse.Namespace) -> None:
    workspace = Workspace(str(given.workspace))

    async def work(backend: Backend) -> None:
        _say_id(given, await backend.files.import_file(str(given.file), workspace), is_new=True)

    asyncio.run(_with_backend(paths.data_dir() / SESSIONS_FILE, work))


def _fork(given: argparse.Namespace) -> None:
    path, info = _info_of(given.session)

    async def work(backend: Backend) -> None:
        _say_id(given, await backend.files.fork(info.id, given.at), is_new=True)

    asyncio.run(_with_backend(path, work))


def _delete(given: argparse.Namespace) -> None:
    path, info = _info_of(given.session)
    if info.deleted_at:
        raise Refused("that session is deleted already.")

    async def work(backend: Backend) -> None:
        backend.engine.delete_session(info.id)
        _say_id(given, info.id)

    asyncio.run(_with_backend(path, work))


def _restore(given: argparse.Namespace) -> None:
    path, info = _info_of(given.session)
    if not info.deleted_at:
        raise Refused("that session is not deleted.")

    async def work(backend: Backend) -> None:
        backend.engine.restore_session(info.id)
        _say_id(given, info.id)

    asyncio.run(_with_backend(path, work))


def _say_id(given: argparse.Namespace, session: SessionId, *, is_new: bool = False) -> None:
    if given.json:
        sys.stdout.write(msgspec.json.encode({"session": session}).decode() + "\n")
    elif is_new:
        print(session)


async def _with_backend(path: Path, work: Callable[[Backend], Any]) -> None:
    backend = await compose(
        lambda _: None,
        data_dir=paths.data_dir(),
        config_dir=paths.config_dir(),
        store_path=path,
        is_warmed=False,
        is_machine_sandbox=True,  # no command runs
    )
    try:
        await work(backend)
    finally:
        await backend.close()


# -- printing --------------------------------------------------------------------------------


def _row(info: SessionInfo) -> dict[str, Any]:
    return {
        "id": info.id,
        "title": info.title,
        "workspace": info.workspace.root,
        "status": info.status,
        "updated_at": info.updated_at,
        "is_pinned": info.is_pinned,
        "is_archived": info.is_archived,
        "deleted_at": info.deleted_at,
    }


def _hit(hit: SearchHit, info: SessionInfo) -> dict[str, Any]:
    said = {"message_id": hit.message_id, "agent_id": hit.agent_id, "line": hit.line}
    return {**_row(info), **said}


def _line(info: SessionInfo) -> str:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(info.updated_at))
    marks = "".join(f" ({word})" for word, holds in (
        ("pinned", info.is_pinned), ("archived", info.is_archived)) if holds)  # fmt: skip
    return f"{info.id}  {when}  {one_line(info.title, _TITLE)}{marks}"


def _write(output: str, rows: list[dict[str, Any]], lines: list[str]) -> None:
    if output == "json":
        sys.stdout.write(msgspec.json.encode(rows).decode() + "\n")
    elif output == "jsonl":
        sys.stdout.write("".join(msgspec.json.encode(row).decode() + "\n" for row in rows))
    else:
        sys.stdout.write("".join(f"{line}\n" for line in lines))
