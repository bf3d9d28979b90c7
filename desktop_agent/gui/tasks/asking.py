"""Which tasks stand still because their agent waits for the user, and for what."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from desktop_agent.core.approvals import ApprovalRequest
from desktop_agent.core.ids import AgentId
from desktop_agent.core.tasks import Task
from desktop_agent.gui.kit.text import plain
from desktop_agent.gui.state.pending_request import PendingRequest
from desktop_agent.gui.state.session_state import SessionState
from desktop_agent.gui.tasks.rows import NO_ASKS, Asking
from desktop_agent.gui.transcript.cards.approval_text import headline

# More of a command would not be seen.
_LONGEST = 120


def asking_tasks(state: SessionState) -> Asking:
    """Return the tasks of the agent that is shown for which the user is waited for.

    A subagent that asks, however deep, holds up the task it was started for; the agent itself
    what it works on alone. Of several requests the oldest counts.
    """
    waiting, shown = state.waiting(), state.shown
    if not waiting or shown is None:
        return NO_ASKS
    found: dict[int, str] = {}
    for ask in waiting:
        for number in _held_up(state, shown, ask.agent_id):
            found.setdefault(number, _waits_for(ask))
    return found


def _held_up(state: SessionState, shown: AgentId, asker: AgentId) -> list[int]:
    if asker == shown:
        return [task.id for task in state.tasks(shown) if _is_own(task)]
    path = state.path_of(asker)
    below = [info.task_id for info in path if info.parent_id == shown]
    return [number for number in below if number]


def _is_own(task: Task) -> bool:
    return task.status == "in_progress" and task.owner in ("", "main")


def _waits_for(ask: PendingRequest) -> str:
    if not isinstance(ask.asked, ApprovalRequest):
        return _tr("Waits for your answer")
    target = plain(headline(ask.asked)[1])[:_LONGEST]
    if not target:
        return _tr("Waits for your word")
    return _tr("Waits for your word: {what}").format(what=target)


def _tr(text: str) -> str:
    return QCoreApplication.translate("TaskRows", text)
