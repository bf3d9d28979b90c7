"""Trials run in a process of their own: as whoever runs the tests, and as an ordinary user."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from desktop_agent.adapters.sandbox.sandbox import Programs
from tests.adapters.sandbox.bench import Bench

_ROOT = Path(__file__).resolve().parents[3]
# Nobody's: no file of this machine belongs to it.
_USER = 54321
_IMPORTS = "import desktop_agent.adapters.sandbox.sandbox, tests.adapters.sandbox.trial"

Trial = Callable[[str], Any]


def _can_make_namespaces(identity: dict[str, Any]) -> bool:
    words = [
        Programs.find().bwrap,
        "--unshare-user",
        "--unshare-net",
        "--ro-bind",
        "/",
        "/",
        "true",
    ]
    return subprocess.run(words, check=False, capture_output=True, **identity).returncode == 0


def need_sandbox(identity: dict[str, Any]) -> None:
    """Skip where there is nothing to try: another system, no bubblewrap, no user namespaces."""
    if sys.platform != "linux" or not Programs.find().bwrap:
        pytest.skip("bubblewrap is not installed here")
    if not _can_make_namespaces(identity):
        pytest.skip("bubblewrap can't make user namespaces here")


@pytest.fixture
async def bench(tmp_path: Path, own_home: Path) -> AsyncIterator[Bench]:
    """Commands in a folder of their own; a file that wants another makes its own."""
    need_sandbox({})
    made = Bench(tmp_path)
    yield made
    await made.close()


def _environment(folder: Path) -> dict[str, str]:
    home = folder / "home"
    found = [str(_ROOT), *(sysconfig.get_path(name) for name in ("purelib", "platlib"))]
    return {
        "HOME": str(home),
        "DESKTOP_AGENT_HOME": str(home / "app"),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(found)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "LANG": "C.UTF-8",
        "IN_FULL": os.environ.get("IN_FULL", ""),
    }


def _python_of(folder: Path, identity: dict[str, Any]) -> str:
    """Return a Python that this user can start, and that can import the app."""
    version = f"python3.{sys.version_info.minor}"
    for name in (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        words = [name, "-P", "-c", _IMPORTS]
        try:
            done = subprocess.run(
                words,
                env=_environment(folder),
                cwd="/",
                capture_output=True,
                check=False,
                **identity,
            )
        except OSError:
            continue
        if done.returncode == 0:
            return name
    pytest.skip("an ordinary user can't read this checkout, or has no Python that fits")


@pytest.fixture(params=["self", "user"], scope="module")
def trial(request: pytest.FixtureRequest) -> Iterator[Trial]:
    """Run a trial by name; in a folder of the user's own, which is gone at the end."""
    identity: dict[str, Any] = {}
    if request.param == "user":
        if os.geteuid() != 0:
            pytest.skip("these tests run as an ordinary user already")
        identity = {"user": _USER, "group": _USER, "extra_groups": []}
    need_sandbox(identity)
    folder = Path(tempfile.mkdtemp(prefix="trial-"))
    try:
        (folder / "home").mkdir()
        if identity:
            for path in (folder, folder / "home"):
                os.chown(path, _USER, _USER)
        python = _python_of(folder, identity)

        def run(name: str) -> Any:
            place = folder / name
            place.mkdir()
            (place / "home").mkdir()
            if identity:
                for path in (place, place / "home"):
                    os.chown(path, _USER, _USER)
            done = subprocess.run(
                [python, "-P", "-m", "tests.adapters.sandbox.trial", name, str(place)],
                env=_environment(place),
                cwd=place,
                capture_output=True,
                check=False,
                **identity,
            )
            assert done.returncode == 0, done.stderr.decode(errors="replace")[-4000:]
            return json.loads(done.stdout)

        yield run
    finally:
        shutil.rmtree(folder, ignore_errors=True)
