"""The page of skills with 1,000 of them: opening it, a key of the search, a switch."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from msgspec.structs import replace
from PySide6.QtWidgets import QApplication

from desktop_agent.core.events import SkillsChanged
from desktop_agent.core.settings import Settings
from desktop_agent.core.skills import FolderTrust, Skill
from tests.bench.report import report
from tests.bench.stage import Stage, run, settled
from tests.gui.skills.samples import many

_SKILLS = 1_000
_WORDS = ("reports", "number 7", "skill-123", "writes checks", "zebra")


def _took(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return (time.perf_counter() - start) * 1000


async def _play(stage: Stage) -> None:
    await stage.new_session("demo")
    await settled()
    flow, skills = stage.window.skills, many(_SKILLS)
    root = flow.root

    def hear(known: tuple[Skill, ...]) -> None:
        flow._on_received((SkillsChanged(root, known, FolderTrust(root)),))
        QApplication.processEvents()

    def open_page() -> None:
        flow.open()
        stage.window.repaint()
        QApplication.processEvents()

    report("skills_heard", _took(lambda: hear(skills)))
    report("skills_open_first", _took(open_page))
    again: list[float] = []
    for _ in range(5):
        stage.window.full.leave()
        QApplication.processEvents()
        again.append(_took(open_page))
    report("skills_open", statistics.median(again))
    page = flow._page
    keys: list[float] = []
    for word in _WORDS:
        typed = [word[:end] for end in range(1, len(word) + 1)]
        for text in (*typed, *reversed(typed[:-1]), ""):
            keys.append(
                _took(lambda t=text: (page.search.setText(t), QApplication.processEvents()))
            )
    report("skills_search", statistics.median(keys))
    report("skills_search_p99", sorted(keys)[int(len(keys) * 0.99)])
    switched = list(skills)
    switched[500] = replace(skills[500], is_enabled=not skills[500].is_enabled)
    report("skills_switch", _took(lambda: hear(tuple(switched))))


if __name__ == "__main__":
    run(_play, Settings(model="demo"))
