"""Running a bundled skill's script as an agent does: as a program of its own, made by fork."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from desktop_agent import paths
from tests.helpers.forked import FORKS
from tests.helpers.patience import HANG_S


@dataclass(frozen=True)
class Done:
    """How a script ended."""

    code: int
    out: str
    err: str


def run(skill: str, script: str, *words: str | Path, cwd: Path | None = None) -> Done:
    path = paths.builtin_skills() / skill / "scripts" / script
    done = FORKS.script(path, *map(str, words), folder=cwd)
    assert "Traceback" not in done.stderr, done.stderr
    return Done(done.returncode, done.stdout, done.stderr)


def succeed(skill: str, script: str, *words: str | Path, cwd: Path | None = None) -> str:
    done = run(skill, script, *words, cwd=cwd)
    assert done.code == 0, done.err
    return done.out


def run_without(package: str, skill: str, script: str, *words: str | Path) -> Done:
    """Run where a package is not installed."""
    path = paths.builtin_skills() / skill / "scripts" / script
    program = (
        f"import runpy, sys; sys.modules[{package!r}] = None; "
        f"sys.argv = {[str(path), *map(str, words)]!r}; "
        f"sys.path.insert(0, {str(path.parent)!r}); "
        f"runpy.run_path({str(path)!r}, run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", program],
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=HANG_S,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Done(done.returncode, done.stdout, done.stderr)
