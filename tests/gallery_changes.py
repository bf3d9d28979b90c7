"""The screens of changed files and of undo, for the gallery."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from desktop_agent.core.approvals import ApprovalRequest, Rule
from desktop_agent.core.changes import (
    ChangedFile,
    FolderLook,
    JudgedResult,
    PlannedFile,
    Result,
    UndoPlan,
    UndoScope,
)
from desktop_agent.core.events import FilesChanged, TurnStarted
from desktop_agent.core.ids import AgentId, MessageId, RequestId
from desktop_agent.core.messages import CommandDisplay, DiffDisplay, ToolCall
from desktop_agent.gui.changes.rows import Named
from desktop_agent.gui.changes.undo_dialog import UndoDialog
from tests import gallery_story as story
from tests.bench.stage import pause
from tests.gui.changes.samples import FirstLooks, made, session_of, undo
from tests.helpers.windows import part

_MESSAGE = MessageId(f"{story.MAIN}/u1")
# The window asks for the first look after a second.
_LOOK_S = 2.0
_PATCH = """--- a/src/retry.py
+++ b/src/retry.py
@@ -5,7 +5,9 @@
 import random
-import time
+from collections.abc import Callable

+from .clock import Clock, SystemClock
 from .errors import GiveUp, TransientError
-def retry_with_backoff(fn, *, attempts=5):
+def retry_with_backoff(
+    fn: Callable[[], object],
+    *,
+    attempts: int = 5,
+    clock: Clock = SystemClock(),
+) -> object:
     \"\"\"Call `fn` until it succeeds, with full jitter.\"\"\"
     for n in range(attempts):
"""


def _sets() -> tuple[Any, ...]:
    at = story.NOW - 1200
    first = (
        ChangedFile("src/retry.py", "changed", 40, 12),
        ChangedFile("src/clock.py", "created", 22),
    )
    hooks = ChangedFile("src/webhooks/deliver.py", "changed", 18, 9)
    trace = ChangedFile("tests/data/trace.bin", "deleted", -1, -1, is_held=False)
    odd = ChangedFile("docs/a very long name " * 9 + "\u202egnp.exe\n.md", "created", 3)
    byte = ChangedFile("docs/caf\\xE9.txt", "changed", 6, 4)
    main, child = story.MAIN, story.EXPLORER
    return (
        made("cs_1", *first, agent=main, call=f"{main}/c3", message=_MESSAGE, at=at),
        made("cs_2", hooks, trace, agent=child, message=_MESSAGE, at=at + 300),
        made("cs_3", odd, byte, agent=main, message=MessageId("me_2"), at=at + 600),
    )


def _new_file(lines: int) -> ApprovalRequest:
    text = "".join(f"+    delay_{n} = base * 2 ** {n}\n" for n in range(lines - 1))
    patch = f"--- /dev/null\n+++ b/src/jitter.py\n@@ -0,0 +1,{lines} @@\n+def delays(base):\n{text}"
    return ApprovalRequest(
        RequestId(f"rq_new_{lines}"),
        AgentId(story.MAIN),
        ToolCall(f"{story.MAIN}/c9", "write", {"path": "src/jitter.py", "content": "…"}),
        "Create src/jitter.py?",
        DiffDisplay("src/jitter.py", patch, lines, 0, is_new=True),
        "Mode Ask: every change is asked about.",
        (f"{lines} lines",),
        (Rule("write", "src/**"),),
        created_at=story.NOW - 4,
    )


def _deletion(*lost: str) -> ApprovalRequest:
    command = "rm -rf build node_modules"
    return ApprovalRequest(
        RequestId(f"rq_rm_{len(lost)}"),
        AgentId(story.MAIN),
        ToolCall(f"{story.MAIN}/c9", "shell", {"command": command}),
        "Run a command?",
        CommandDisplay(command, story.WHERE.root),
        "It deletes what undo can’t bring back.",
        ("deletes files",),
        (Rule("shell", "rm -rf"),),
        created_at=story.NOW - 4,
        lost=lost,
    )


async def _ask_before(gallery: Any) -> None:
    """Take the cards of a new file, short and long, and of a deletion for good."""
    moments = {
        "77-new-file": _new_file(5),
        "78-long-new-file": _new_file(120),
        "79-deletion": _deletion("build (2,113 files, 48 MB)", "node_modules (41,870 files)"),
        "79b-deletions": _deletion(*(f"build/part-{n}.o" for n in range(60))),
    }
    for name, request in moments.items():
        gallery.show(story.approving(request))
        await gallery.take(name)


async def show_changes(gallery: Any) -> None:
    """Take the end of a message, the page by file and by agent, and what is asked before."""
    await _ask_before(gallery)
    await _first_look(gallery)
    window, sets = gallery.window, _sets()
    gallery.show(story.changed(sets))
    window.frame.header.set_changes(7)
    await gallery.take("70-end-line")
    gallery.hear(FilesChanged(story.MAIN, undo("un_1", "cs_1", "cs_2", agent=story.MAIN)))
    await gallery.take("71-undone")
    window.changes.open()
    page = part(window, "changesPage")
    changes = session_of(*sets, since=("src/webhooks/deliver.py",))
    names = {AgentId(story.MAIN): "Main", AgentId(story.EXPLORER): "explorer"}
    named = Named(names, {_MESSAGE: "Make the **jitter** testable, and plot the delays"})
    session = window.known.session_id
    page.show_changes(changes, session, named)
    scope = UndoScope(session, path="src/retry.py")
    page.detail.show_diff(scope, DiffDisplay("src/retry.py", _PATCH, 40, 12))
    await gallery.take("72-changes")
    part(window, "changesBy_agent").click()
    await gallery.take("73-by-agent")
    part(window, "changesBy_message").click()
    await gallery.take("74-by-message")
    await _ask(gallery, session)
    await _show_results(gallery, page, changes, named)
    page.show_changes(
        session_of(stopped="The disk is full: changes are not kept any more."), session, named
    )
    await gallery.take("76-no-changes")
    window.full.leave()


async def _show_results(gallery: Any, page: Any, changes: Any, named: Named) -> None:
    """Take what subagents changed elsewhere, and what is asked before one is applied."""
    at, session = story.NOW - 300, gallery.window.known.session_id
    names = {**named.agents, AgentId("sa_far"): "plot the delays", AgentId("sa_ci"): "pin CI"}
    retry = ChangedFile("src/retry.py", "changed", 6, 2)
    plot = ChangedFile("src/plot.py", "created", 48)
    envrc, ci = ChangedFile(".envrc", "created", 1), ChangedFile("ci/run.sh", "changed", 3, 3)
    found = (
        made("re_1", retry, plot, agent=AgentId("sa_far"), kind="result", at=at),
        made("re_2", retry, agent=AgentId(story.EXPLORER), kind="result", at=at + 60),
        made("re_3", envrc, ci, agent=AgentId("sa_ci"), kind="result", at=at + 120),
    )
    done = made("re_4", plot, agent=AgentId(story.EXPLORER), kind="result", at=at + 180)
    results = (*(Result(one) for one in found), Result(done, "ch_9"))
    page.show_changes(replace(changes, results=results), session, Named(names, named.messages))
    merges = PlannedFile("src/retry.py", "conflict", by=story.MAIN, can_merge=True)
    page.show_judged(
        (
            JudgedResult("re_1", (merges, PlannedFile("src/plot.py", "restore", "created"))),
            JudgedResult("re_2", (PlannedFile("src/retry.py", "conflict", by="sa_far"),)),
            JudgedResult(
                "re_3",
                (PlannedFile(".envrc", "restore", "created"), PlannedFile("ci/run.sh", "restore")),
                (".envrc",),
            ),
        )
    )
    page.show_results_of(AgentId(story.EXPLORER))
    page.list.setCurrentIndex(page.list.model().index(4))
    scope = UndoScope(session, set_id="re_2", path="src/retry.py")
    page.detail.show_diff(scope, DiffDisplay("src/retry.py", _PATCH, 40, 12))
    await gallery.take("75b-results")
    plan = UndoPlan(
        scope,
        ("re_2",),
        (
            PlannedFile("src/plot.py", "restore", "created"),
            PlannedFile("src/retry.py", "conflict", why="Another agent changed it since."),
            PlannedFile("src/clock.py", "conflict", why="It was changed since, at 10:31.",
                        can_merge=True),
            PlannedFile("data/trace.bin", "lost", why="24 MB: too large to be kept."),
        ),
    )  # fmt: skip
    title = "Apply what explorer changed?"
    dialog = UndoDialog(gallery.theme, plan, title, gallery.window, is_result=True)
    dialog.open()
    await gallery.take("75c-apply", dialog)
    dialog.reject()


async def _first_look(gallery: Any) -> None:
    """Take the line of a first look at a large folder, and what is said when it is skipped."""
    window = gallery.window
    going = FolderLook(61_200, 100_000, is_going=True)
    behind, window.queries.changes = window.queries.changes, FirstLooks(None, going)
    gallery.show(story.changed(()))
    gallery.hear(TurnStarted(story.MAIN))
    await pause(_LOOK_S)
    await gallery.take("69-first-look")
    part(window, "noticeAction").click()
    await gallery.take("69b-first-look-skipped")
    window.queries.changes = behind


async def _ask(gallery: Any, session: Any) -> None:
    files = [PlannedFile(f"src/part_{n}.py", "restore") for n in range(3)]
    files += [PlannedFile("src/clock.py", "restore", "deleted")]
    files += [PlannedFile("src/timer.py", "restore", "created", was="src/jitter/timer.py")]
    since = PlannedFile(
        "src/webhooks/deliver.py", "conflict", why="It was changed since, at 10:31.", can_merge=True
    )
    lost = PlannedFile("tests/data/trace.bin", "lost", why="24 MB: too large to be kept.")
    plan = UndoPlan(UndoScope(session), ("cs_1",), (*files, since, lost))
    dialog = UndoDialog(gallery.theme, plan, "Undo all changes?", gallery.window)
    dialog.open()
    await gallery.take("75-undo", dialog)
    part(dialog, "compareUndo").click()
    dialog.show_difference("src/webhooks/deliver.py", DiffDisplay("deliver.py", _PATCH, 1, 1))
    await gallery.take("75-undo-compared", dialog)
    dialog.reject()
