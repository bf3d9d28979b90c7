"""The share of a transcript's height that is answer, change, command or question.

Of the main agent's transcript of the demo's survey, and of ten made-up sessions. The words of the
user count on neither side; what lies between two rows counts with the lower one.
"""

from __future__ import annotations

import os
import statistics
import sys
from pathlib import Path

from PySide6.QtWidgets import QApplication

from desktop_agent.core.approvals import AllowOnce
from desktop_agent.core.events import ApprovalRequested, Event, QuestionAsked, TurnEnded
from desktop_agent.core.ids import SessionId
from desktop_agent.core.settings import Settings
from desktop_agent.gui.transcript.state import items
from desktop_agent.gui.transcript.state.rows import Row
from desktop_agent.gui.transcript.view.view import TranscriptView
from tests.bench.report import report
from tests.bench.stage import Stage, run
from tests.helpers.make_session import make_session

_RUNS, _MESSAGES = 10, 60
_CHANGES_AND_COMMANDS = frozenset({"write", "edit", "shell", "shell_job", "shell_input"})


def is_telling(row: Row) -> bool:
    """Whether the row is an answer, a change, a command or a question, or what went wrong."""
    match row:
        case items.ToolItem(call=call, state=state):
            return call.name in _CHANGES_AND_COMMANDS or state in {"failed", "denied"}
        case items.ApprovalItem(decision=decision):
            return decision is None
        case items.TurnItem(reason=reason):
            return reason != "finished"
        case items.AgentMessageItem(kind=kind):
            return kind == "question"
        case _:
            return isinstance(row, items.AnswerItem | items.QuestionItem | items.ChangesItem)


def heights(view: TranscriptView) -> dict[str, list[float]]:
    """Return by kind of row how much of the height is telling, and how much there is."""
    # All rows have their place before any is measured.
    view.find("\N{OBJECT REPLACEMENT CHARACTER}")
    QApplication.processEvents()
    found: dict[str, list[float]] = {}
    for shown in view.page.rows:
        row = shown.row
        if isinstance(row, items.UserItem) and row.is_from_user:
            continue
        tool = f" {row.call.name}" if isinstance(row, items.ToolItem) else ""
        sums = found.setdefault(type(row).__name__ + tool, [0.0, 0.0])
        height = view.page.rect(shown).height()
        sums[0] += height if is_telling(row) else 0.0
        sums[1] += height
    return found


def _share(found: dict[str, list[float]]) -> float:
    return 100 * sum(one[0] for one in found.values()) / sum(one[1] for one in found.values())


def _tell(name: str, found: dict[str, list[float]]) -> None:
    """Write to the error stream what took how much room."""
    for kind, (telling, height) in sorted(found.items(), key=lambda one: -one[1][1]):
        mark = "*" if telling else " "
        sys.stderr.write(f"{name} {mark} {height:6.0f} px  {kind}\n")


async def _survey(stage: Stage) -> None:
    agent = await stage.new_session("demo")
    ended: list[str] = []

    def answer(event: Event) -> None:
        if isinstance(event, ApprovalRequested):
            stage.bridge.engine.decide(event.request.id, AllowOnce())
        elif isinstance(event, QuestionAsked):
            stage.bridge.engine.answer(event.question.id, "")
        elif isinstance(event, TurnEnded) and event.agent_id == agent:
            ended.append(event.reason)

    stage.heard.append(answer)
    stage.send(agent, "Look around")
    await stage.until(lambda: bool(ended))
    stage.heard.remove(answer)
    view = stage.window.pages.page(agent)
    assert view is not None
    _tell("survey", found := heights(view))
    report("quiet_survey", _share(found))


async def _play(stage: Stage) -> None:
    (stage.folder / "notes.txt").write_text("Sow aniseed in March.\nWater the beans.\n")
    (stage.folder / "plan.md").write_text("# Plan\n\n- beds\n- paths\n")
    await _survey(stage)
    shares: list[float] = []
    found: dict[str, list[float]] = {}
    for session in _SESSIONS:
        stage.window.flow.show_session(session)
        await stage.until(lambda one=session: one in stage.agents)
        view = stage.window.pages.page(stage.agents[session])
        assert view is not None
        found = heights(view)
        shares.append(_share(found))
    _tell("the last session", found)
    report("quiet_sessions", statistics.median(shares))
    report("quiet_sessions_least", min(shares))


if __name__ == "__main__":
    _DATA = Path(os.environ["DESKTOP_AGENT_HOME"], "data")
    _DATA.mkdir(parents=True)
    _SESSIONS: list[SessionId] = [
        make_session(_DATA / "sessions.db", _MESSAGES, seed=seed + 1) for seed in range(_RUNS)
    ]
    run(_play, Settings(model="demo"))
