"""Figures of many results: `python -m tests.file_history.result_figures 200`.

Prints seconds a result: until it is kept, until it is judged, until it is applied; and how many of
those that overlap were found, each with what it overlaps with.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from desktop_agent.core.changes import ChangeSet, UndoScope
from desktop_agent.core.ids import AgentId
from tests.file_history.folders import SESSION, Folder, look
from tests.file_history.test_results import far, keep

_LINES = 200
# Every so many files is changed by two results in the same line, by two in different ones, and by
# the person in another.
_SAME, _OTHER, _MINE = 14, 5, 7


def _text(number: int, **changed: str) -> str:
    lines = [f"file {number} line {line}\n" for line in range(_LINES)]
    for line, text in changed.items():
        lines[int(line.removeprefix("at"))] = f"{text}\n"
    return "".join(lines)


def _main(count: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        print(f"load {os.getloadavg()[0]:.1f}")
        folder = Folder(Path(place))
        for number in range(count):
            folder.write(f"src/{number}.py", _text(number))
        took, expected = 0.0, set[str]()
        for number in range(count):
            about, line = number, "at10"
            if number % _SAME == 1:
                about = number - 1
                # Unless that one was about the file before it.
                if about % _OTHER != 1:
                    expected.add(f"re_sa_{number}")
            elif number % _OTHER == 1:
                about, line = number - 1, "at150"
            changed = _text(about, **{line: f"by {number}"})
            files = [far(f"src/{about}.py", _text(about), changed), far(f"new/{number}", None, "x")]
            began = time.perf_counter()
            keep(folder, f"sa_{number}", *files)
            took += time.perf_counter() - began
        for number in range(0, count, _MINE):
            folder.write(f"src/{number}.py", _text(number, at80="mine"))
        print(f"kept: {took / count:.4f}")
        before = look(folder.root)
        began = time.perf_counter()
        judged = folder.history.judged_results(SESSION, str(folder.root))
        print(f"judged: {(time.perf_counter() - began) / count:.4f}")
        assert look(folder.root) == before
        found = {one.id for one in judged if not one.fits}
        named = {one.id for one in judged if one.overlaps and one.overlaps[0].by}
        assert found == named == expected, found ^ expected
        fitting = [one for one in judged if one.fits]
        print(f"fit: {len(fitting)}, overlap: {len(found)} of {len(expected)}")
        began = time.perf_counter()
        for one in fitting:
            meta = ChangeSet("", "tool", AgentId(one.id.removeprefix("re_")), ended=1e9)
            choices = {file.path: "merge" for file in one.files}
            scope = UndoScope(SESSION, set_id=one.id)
            report = folder.history.apply_result(scope, choices, meta)  # type: ignore[arg-type]
            assert not report.kept
        print(f"applied: {(time.perf_counter() - began) / len(fitting):.4f}")
        folder.close()


if __name__ == "__main__":
    _main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
