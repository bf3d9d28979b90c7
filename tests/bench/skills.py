"""A thousand skills: the first look at them, one more look, and what the catalog takes."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from desktop_agent.adapters.skills.state import SkillState
from desktop_agent.engine.skills import catalog
from desktop_agent.engine.skills.catalog import Findings, Places
from desktop_agent.engine.skills.role_files import RoleReader
from desktop_agent.engine.skills.scan import Scanner
from tests.bench.report import report

_SKILLS, _ROUNDS = 1_000, 5
_BODY = "\n".join(f"Line {number} of what to do with a file of this kind." for number in range(60))


def _put(place: Path, number: int) -> None:
    """Write a skill as people write them: every third with a head that takes real YAML."""
    folder = place / f"skill-{number:04}"
    (folder / "scripts").mkdir(parents=True)
    about = f"Does the work number {number} well. Use it when a file of that kind is named"
    head = f"name: skill-{number:04}\ndescription: {about}."
    if number % 3 == 0:
        head = (
            f"name: skill-{number:04}\ndescription: >-\n  {about},\n  or asked for.\nlicense: MIT"
        )
    (folder / "SKILL.md").write_text(f"---\n{head}\n---\n{_BODY}\n")
    (folder / "scripts" / "run.py").write_text("print('hello')\n" * 20)
    (folder / "reference.md").write_text(_BODY)


def _median(work: Callable[[], object]) -> float:
    """Return the median time of some rounds in milliseconds."""
    took: list[float] = []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        work()
        took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took)


def _look(places: Places, root: str, scanner: Scanner | None = None) -> Findings:
    return catalog.find(scanner or Scanner(), RoleReader(), places, root)


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory(prefix="bench-skills-") as home:
        base = Path(home).resolve()
        mine, work, memory = base / "mine", base / "work", SkillState(base / "config")
        for number in range(_SKILLS):
            _put(mine, number)
            _put(work / ".agents" / "skills", number)
        places, folder = Places(mine=mine), Places()
        report("skills_scan", _median(lambda: _look(places, "")))
        report("skills_scan_folder", _median(lambda: _look(folder, str(work))))
        scanner = Scanner()
        found = _look(places, "", scanner)
        report("skills_rescan", _median(lambda: _look(places, "", scanner)))
        report("skills_judge", _median(lambda: catalog.evaluate(found, memory, "", None, {})))


if __name__ == "__main__":
    main()
