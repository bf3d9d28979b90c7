"""Batches as scripts start them: real git, real files, real processes, a provider on loopback."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.helpers.forked import FORKS
from tests.helpers.processes import git

ROOT = Path(__file__).parents[2]


def far(home: Path) -> str:
    """Return what starts the app in the home of another machine."""
    environment = f"DESKTOP_AGENT_HOME={shlex.quote(str(home))} PYTHONPATH={shlex.quote(str(ROOT))}"
    return f"env -u OPENAI_API_KEY {environment} {shlex.quote(sys.executable)} -m desktop_agent"


def garden(folder: Path, *options: str) -> Path:
    """Make a repository with a commit, staged, uncommitted and ignored work."""
    folder.mkdir()
    git(folder, "init", "--quiet", *options)
    (folder / ".gitignore").write_text("*.log\n")
    (folder / "beds.txt").write_text("twelve\n")
    (folder / "old.txt").write_text("old\n")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "first")
    (folder / "beds.txt").write_text("thirteen\n")
    (folder / "staged.txt").write_text("staged\n")
    git(folder, "add", "staged.txt")
    (folder / "new.txt").write_text("new\n")
    (folder / "old.txt").unlink()
    (folder / "noise.log").write_text("noise\n")
    return folder


def state(folder: Path) -> dict[str, bytes]:
    """Return every file of a folder, those of git too, by its path."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def write_jobs(file: Path, *jobs: dict[str, Any]) -> Path:
    """Write a file of jobs."""
    file.write_text("".join(f"{json.dumps(job)}\n" for job in jobs))
    return file


def results(file: Path) -> list[dict[str, Any]]:
    """Read a file of results; half a line fails the test."""
    text = file.read_text()
    assert text.endswith("\n") or not text
    return [json.loads(line) for line in text.splitlines()]


def batch(jobs: Path, out: Path, *more: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a batch to its end."""
    return FORKS.run(["batch", str(jobs), "--out", str(out), *map(str, more)])
