"""The task list of a run without a window: told as it changes, and kept with the session."""

from __future__ import annotations

from pathlib import Path

from desktop_agent.core.events import ListChanged, SessionOpened
from tests.test_headless import folder, run_lines

__all__ = ["folder"]


def test_a_run_tells_of_its_tasks_as_they_wait_run_and_get_done(folder: Path) -> None:
    _, lines, _ = run_lines("Look around", "--workspace", folder)
    main = next(line.info.main_agent for line in lines if isinstance(line, SessionOpened))
    told = [e for e in lines if isinstance(e, ListChanged) and e.agent_id == main]
    assert [event.revision for event in told] == list(range(1, len(told) + 1))
    seen = {task.status for event in told for task in event.tasks}
    assert seen == {"pending", "in_progress", "completed"}
    waited = {task.id for event in told for task in event.tasks if task.open_blockers}
    went_on = {
        task.id
        for event in told
        for task in event.tasks
        if task.id in waited and task.status != "pending" and not task.open_blockers
    }
    assert went_on, "what was blocked is begun when nothing blocks it any more"
