"""Runs one trial and prints what it found as JSON: as whoever starts it.

`python -m tests.adapters.sandbox.trial NAME FOLDER`; the folder holds a home and is the user's.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import select
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec

from desktop_agent.adapters.sandbox.private_caches import PrivateCaches
from desktop_agent.adapters.sandbox.sandbox import caches_in
from tests.adapters.sandbox import everyday, stage
from tests.adapters.sandbox.bench import Bench, make_repository
from tests.adapters.sandbox.git_attacks import ATTACKS, BARE
from tests.helpers.patience import tries


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
    base = folder / "base"
    make_repository(base / "work")
    for number, attack in enumerate(ATTACKS):
        template = folder / f"template-{number}" / "work"
        shutil.copytree(base, template.parent)
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
                bench.free(
                    "git status; git diff", directory=where if where.is_dir() else bench.work
                )
            if mark.exists():
                mark.unlink()
                found[profile].append(attack.name)
    await bench.close()
    return found


async def check(folder: Path) -> dict[str, Any]:
    """Say whether the sandbox holds."""
    return msgspec.to_builtins(await Bench(folder).sandbox.check())


_STAYING = (
    "sleep 1000 & echo", "setsid sleep 1000 & echo", "nohup sleep 1000 >/dev/null 2>&1 & echo",
    "(trap '' HUP INT TERM; sleep 1000) & echo", "(setsid sleep 1000 </dev/null >/dev/null 2>&1 &)",
    "setsid bash -c 'trap \"\" TERM HUP; sleep 1000; sleep 1000' >/dev/null 2>&1 & echo",
)  # fmt: skip


async def ends(folder: Path) -> dict[str, Any]:
    """Leave programs behind in every way, by an end and by being killed; say what is left."""
    bench = Bench(folder)
    mark = f"TRIAL_MARK={os.urandom(8).hex()}"
    more = dict([mark.split("=")])
    ran, trees = 0, tries(12, 500)
    slowest = 0.0
    for script in itertools.islice(itertools.cycle(_STAYING), trees // 2):
        ran += (await bench.run(script, more=more)).has_started
        process, _ = await bench.start(f"{script}; echo ready; exec sleep 1000", more=more)
        assert process.stdout is not None
        while process.stdout.readline().strip() != b"ready":
            pass
        while not _is_bound(process.pid):
            pass
        seen = len(_marked(mark))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        ran += seen > 1
        ended = time.monotonic()
        # The kernel ends them soon after; what stays for ever is shown by the hang.
        for process_id in _marked(mark):
            await asyncio.to_thread(_await_end, process_id)
        slowest = max(slowest, time.monotonic() - ended)
    await bench.close()
    return {"ran": ran, "expected": trees, "left": _marked(mark), "slowest_s": slowest}


def _is_bound(supervisor: int) -> bool:
    """Whether bubblewrap's init ends with its supervisor: it begins the command before it sees to
    that, and right after it takes on the filter of system calls.
    """
    children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
    return all("Seccomp:\t2" in Path(f"/proc/{one}/status").read_text() for one in children)


def _marked(mark: str) -> list[int]:
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
    return found


def _await_end(process_id: int) -> None:
    try:
        descriptor = os.pidfd_open(process_id)
    except ProcessLookupError:
        return
    with open(descriptor, "rb", closefd=True):  # noqa: PTH123 - a descriptor
        select.select([descriptor], [], [])


async def unreadable(folder: Path) -> dict[str, Any]:
    """Have all that the environment names lie where the user may not look; say what a command did.

    So it is after `sudo`, or with somebody else's virtual environment.
    """
    bench = Bench(folder)
    closed, venv = folder / "closed", folder / "venv"
    for made in (closed / "bin", closed / "lib", venv, bench.work / "secret"):
        made.mkdir(parents=True)
    (venv / "pyvenv.cfg").write_text(f"home = {closed}/bin\n")
    more = {"PATH": f"{closed}/bin:{os.environ['PATH']}", "JAVA_HOME": f"{closed}/jdk"}
    for path in (closed, bench.work / "secret"):
        path.chmod(0)
    codes = {
        name: (await bench.run("echo fine", more={**more, "VIRTUAL_ENV": str(place)})).output
        for name, place in (("base", venv), ("venv", closed / "venv"), ("itself", closed))
    }
    for path in (closed, bench.work / "secret"):
        path.chmod(0o700)
    await bench.close()
    return codes


async def forgotten(folder: Path) -> dict[str, Any]:
    """Leave folders that nobody may read or change in the temporary one and in the cache."""
    bench = Bench(folder)
    script = "mkdir -p a/b/c && touch a/b/c/file && chmod 500 a/b/c && chmod 0 a/b && chmod 500 a"
    done = await bench.run(f"cd /tmp; {script}; cd ~/.cache; {script}")
    temporary = bench.data / "sandbox" / "tmp" / bench.session
    made = [path.name for path in temporary.iterdir()]
    await bench.close()
    caches = PrivateCaches(caches_in(bench.data))
    for cache in caches.found():
        caches.empty(cache.id)
    left = [str(path) for path in (bench.data / "sandbox" / "caches").glob("*/cache/*")]
    return {"output": done.output, "made": made, "left": left, "is_left": temporary.exists()}


async def nothing_made(folder: Path) -> dict[str, Any]:
    """Run many commands that do nothing, and compare all that the person has."""
    bench = Bench(folder)
    with stage.staged(bench):
        for name in (".env", "AGENTS.md", ".github/workflows/ci.yml"):
            (bench.work / name).parent.mkdir(parents=True, exist_ok=True)
            (bench.work / name).write_text("")
        await bench.run("true")
        before = _snapshot(folder, bench.data)
        for number in range(0, tries(100, 1000), 4):
            profiles = ({}, {"git": True}, {"changes": False}, {"git": True})
            runs = (bench.run("true", **profile) for profile in profiles)
            codes = {done.code for done in await asyncio.gather(*runs)}
            assert codes == {0}, number
        after = _snapshot(folder, bench.data)
    await bench.close()
    differs = {path for path in {*before, *after} if before.get(path) != after.get(path)}
    return {"differs": sorted(differs), "seen": len(before)}


def _snapshot(folder: Path, data: Path) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for top, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if Path(top, name) != data]
        for name in (".", *folders, *files):
            state = Path(top, name).lstat()
            found[f"{top}/{name}"] = [state.st_ino, state.st_mtime_ns, state.st_mode]
    return found


TRIALS: dict[str, Callable[[Path], Awaitable[Any]]] = {
    "check": check,
    "escapes": escapes,
    "git_attacks": git_attacks,
    "everyday": everyday.work,
    "homes": everyday.homes,
    "ends": ends,
    "nothing_made": nothing_made,
    "unreadable": unreadable,
    "forgotten": forgotten,
}


def main(name: str, folder: str) -> None:
    json.dump(asyncio.run(TRIALS[name](Path(folder))), sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
