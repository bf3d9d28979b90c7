"""Runs one trial and prints what it found as JSON: as whoever starts it.

`python -m tests.adapters.sandbox.trial NAME FOLDER`; the folder holds a home and is the user's.
"""

from __future__ import annotations

import asyncio
import json
import shlex
import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tests.adapters.sandbox import stage
from tests.adapters.sandbox.bench import Bench, make_repository
from tests.adapters.sandbox.git_attacks import ATTACKS, BARE


async def escapes(folder: Path) -> dict[str, Any]:
    """Make every attempt outside, inside, and inside with git's own files open."""
    bench = Bench(folder)
    with stage.staged(bench) as what:
        free = stage.free_attempts(bench, what)
        inside = await stage.enclosed_attempts(bench, what, git=False)
        with_git = await stage.enclosed_attempts(bench, what, git=True)
    await bench.close()
    return {"free": free, "inside": inside, "with git": with_git}


async def git_attacks(folder: Path) -> dict[str, Any]:
    """Attack a repository in each profile and outside; say whose program ran afterwards."""
    mark, program = folder / "ran", folder / "program"
    body = f"#!/bin/sh\ntouch {mark}\nexit 1\n"
    program.write_text(body)
    program.chmod(0o755)
    more = {"P": str(program), "BODY": body, "BARE": BARE}
    bench = Bench(folder)
    found: dict[str, Any] = {"free": [], "default": [], "git": [], "told": []}
    for number, attack in enumerate(ATTACKS):
        template = folder / f"template-{number}" / "work"
        make_repository(template)
        assert bench.free(attack.before, directory=template).code == 0, attack.name
        for profile in ("free", "default", "git"):
            top = folder / f"{profile}-{number}"
            shutil.copytree(template.parent, top, symlinks=True)
            bench.work = top / "work"
            if profile == "free":
                exports = "".join(f"export {name}={shlex.quote(more[name])};" for name in more)
                bench.free(exports + attack.script)
            else:
                done = await bench.run(attack.script, git=profile == "git", more=more)
                assert done.has_started, done.output
                found["told"] += [f"{profile}: {attack.name}: {line}" for line in done.lines]
            for place in {".", attack.where}:
                where = bench.work / place
                bench.free("git status; git diff", directory=where if where.is_dir() else bench.work)
            if mark.exists():
                mark.unlink()
                found[profile].append(attack.name)
    await bench.close()
    return found


TRIALS: dict[str, Callable[[Path], Awaitable[Any]]] = {"escapes": escapes, "git_attacks": git_attacks}


def main(name: str, folder: str) -> None:
    json.dump(asyncio.run(TRIALS[name](Path(folder))), sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
