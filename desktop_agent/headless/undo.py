"""`desktop-agent undo` and `redo`: what a session changed, taken back without a window."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

import msgspec

from desktop_agent import paths
from desktop_agent.adapters.files.file_lock import StoreLocked
from desktop_agent.compose import compose
from desktop_agent.core.changes import (
    ChangedFile,
    Choice,
    PlannedFile,
    SessionChanges,
    UndoError,
    UndoPlan,
    UndoReport,
    UndoScope,
)
from desktop_agent.core.ids import AgentId, MessageId, SessionId
from desktop_agent.engine.base.ports import StoreError
from desktop_agent.engine.engine import Engine
from desktop_agent.headless.apart import file_of
from desktop_agent.headless.arguments import Parser, session_id
from desktop_agent.headless.command_line import APP_IS_OPEN, Refused, carry_out
from desktop_agent.headless.output import visible


def main(command: Literal["undo", "redo"], argv: Sequence[str]) -> int:
    """Undo or redo with the arguments behind the command; return the exit code."""

    def work() -> int:
        given = make_parser(command).parse_args(argv)
        try:
            return asyncio.run(_run(command, given))
        except StoreLocked:
            raise Refused(APP_IS_OPEN) from None

    return carry_out(command, work, (StoreError, UndoError, OSError))


def make_parser(command: Literal["undo", "redo"]) -> Parser:
    """Return the options of `undo` or `redo`; the man page is written from them."""
    what = "Take back what agents changed in files." if command == "undo" else "Undo the last undo."
    ids = (
        " Ids are those that `run --output jsonl` prints; `sessions search --json` finds those of "
        "messages. An exported session has others."
    )
    parser = Parser(
        prog=f"desktop-agent {command}",
        description=what,
        epilog="Exit codes: 0 done, 1 failed, or something stays as it is (it changed since, or "
        f"can't be put back), 2 wrong usage.{ids if command == 'undo' else ''}",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("session", metavar="SESSION", type=session_id, help="the id of a session")
    if command == "undo":
        scope = parser.add_mutually_exclusive_group()
        of = scope.add_argument
        of("--message", metavar="ID", help="what was changed during this message (default: the "
           "last message that changed files)")  # fmt: skip
        of("--call", metavar="ID", help="what this tool call changed")
        of("--agent", metavar="ID", help="what this agent changed")
        of("--to", metavar="MESSAGE", help="as the files were right before it was sent")
    add("--list", action="store_true", help="only say what would be done")
    add(
        "--conflicts",
        choices=("keep", "restore", "merge"),
        default="keep",
        help="what becomes of files that changed since: keep them as they are (default), restore "
        "them in spite of it, or merge where that works",
    )
    add("--json", action="store_true", help="print one JSON object")
    return parser


async def _run(command: str, given: argparse.Namespace) -> int:
    session = SessionId(given.session)
    backend = await compose(
        lambda _: None,
        data_dir=paths.data_dir(),
        config_dir=paths.config_dir(),
        store_path=file_of(session),
        is_warmed=False,
        is_machine_sandbox=True,  # no command runs
    )
    try:
        engine = backend.engine
        scope = await _scope(engine, command, session, given)
        plan = await engine.plan_undo(scope)
        if plan.blocked:  # what it lists would be of files that are not looked at
            raise UndoError(plan.blocked)
        if not plan.files:
            gone = "what was changed is not kept any more."
            raise UndoError(gone if plan.not_kept else "there is nothing to take back.")
        if plan.not_kept:
            sys.stderr.write("Some of what was changed is not kept any more, and stays.\n")
        choices = _choices(plan, given.conflicts)
        if given.list:
            return _show(session, _as_planned(plan, choices), given, 0)
        report = await engine.undo(scope, choices, plan)
        if report.problem:
            sys.stderr.write(f"{report.problem}\n")
        return _show(session, _as_done(report), given, 1 if report.kept or report.lost else 0)
    finally:
        await backend.close()


async def _scope(
    engine: Engine, command: str, session: SessionId, given: argparse.Namespace
) -> UndoScope:
    if command == "redo":
        return UndoScope(session, set_id=_last_undo(await engine.session_changes(session)))
    if given.message:
        return UndoScope(session, message_id=MessageId(given.message))
    if given.call:
        return UndoScope(session, call_id=given.call)
    if given.agent:
        return UndoScope(session, agent_id=AgentId(given.agent))
    if given.to:
        return UndoScope(session, to_message=MessageId(given.to))
    return _last_message(session, await engine.session_changes(session))


def _last_undo(changes: SessionChanges) -> str:
    undos: dict[str, None] = {}
    for one in changes.sets:
        # What took back undos only was a redo: to take it back is an undo, and is not asked for.
        is_redo = bool(one.undoes) and all(undone in undos for undone in one.undoes)
        if one.kind == "undo" and not is_redo:
            undos[one.id] = None
    for made in reversed(undos):
        if made not in changes.undone:
            return made
    raise UndoError("nothing in this session was undone, or all of it was redone.")


def _last_message(session: SessionId, changes: SessionChanges) -> UndoScope:
    for one in reversed(changes.sets):
        if one.kind in {"tool", "command"} and one.id not in changes.undone:
            if one.message_id is None:
                return UndoScope(session, set_id=one.id)
            return UndoScope(session, message_id=one.message_id)
    if changes.not_kept:
        raise UndoError("what this session changed is not kept any more.")
    raise UndoError("this session changed no files, or all of it is undone.")


def _choices(plan: UndoPlan, wanted: Choice) -> dict[str, Choice]:
    return {
        one.path: "keep" if wanted == "merge" and not one.can_merge else wanted
        for one in plan.files
        if one.prospect == "conflict"
    }


def _as_planned(plan: UndoPlan, choices: Mapping[str, Choice]) -> dict[str, Any]:
    by_choice: dict[str, list[PlannedFile]] = {"keep": [], "restore": [], "merge": [], "lost": []}
    for one in plan.files:
        if one.prospect != "already":
            by_choice[choices.get(one.path, one.prospect)].append(one)
    return {
        "restored": [_restored(one) for one in by_choice["restore"]],
        "kept": [one.path for one in by_choice["keep"]],
        "merged": [one.path for one in by_choice["merge"]],
        "lost": [one.path for one in by_choice["lost"]],
    }


def _restored(file: PlannedFile | ChangedFile) -> dict[str, str]:
    known = {"path": file.path, "kind": file.kind}
    return {**known, "was": file.was} if file.was else known


def _line(path: str, kind: str, was: str = "") -> str:
    return f"renamed  {was} → {path}" if was else f"{kind}  {path}"


def _as_done(report: UndoReport) -> dict[str, Any]:
    return {
        "restored": [_restored(one) for one in report.restored],
        "kept": list(report.kept),
        "merged": list(report.merged),
        "lost": list(report.lost),
    }


def _show(session: SessionId, result: dict[str, Any], given: argparse.Namespace, code: int) -> int:
    if given.json:
        sys.stdout.write(msgspec.json.encode({"session": session, **result}).decode() + "\n")
        return code
    verbs = cast(list[dict[str, str]], result["restored"])
    lines = [_line(**one) for one in verbs]
    lines += [f"merged   {path}" for path in result["merged"]]
    lines += [f"kept     {path}  (stays as it is)" for path in result["kept"]]
    lines += [f"lost     {path}  (can't be put back: it stays)" for path in result["lost"]]
    for line in lines or ["All of it is as it was already."]:
        sys.stdout.write(visible(line.replace("\n", " ")) + "\n")
    return code
