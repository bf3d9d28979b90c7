"""Freezes the app with PyInstaller, in an environment that holds nothing but what it needs.

    python packaging/freeze.py OUTPUT        leaves OUTPUT/desktop-agent (and OUTPUT/*.app)

Run by the Python of .venv, from which the names of the run-time packages are taken; their files
come from the hashes of requirements.lock and packaging/requirements.lock.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
_SCRIPTS = "Scripts" if sys.platform == "win32" else "bin"


def runtime_names(wanted: Iterable[str]) -> set[str]:
    """Return the names of these requirements and of all that they require on this system."""
    names: set[str] = set()
    waiting = [(Requirement(line), "") for line in wanted]
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        extras = sorted(requirement.extras) or [""]
        if name in names and extras == [""]:
            continue
        names.add(name)
        inner = metadata.requires(name) or []
        waiting += [(Requirement(line), each) for line in inner for each in extras]
    return names


def entries_of(lock: str) -> Iterator[tuple[str, str]]:
    """Yield (name, whole entry) of a lock with hashes."""
    entry: list[str] = []
    for line in [*lock.splitlines(), "end=="]:
        if entry and "==" in line and not line.startswith(" "):
            yield canonicalize_name(entry[0].partition("==")[0]), "\n".join(entry) + "\n"
            entry = []
        entry.append(line)


def build_lock() -> str:
    """Return the lock of the build's environment: what the app needs, and PyInstaller."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    names = runtime_names(project["dependencies"])
    tools = dict(entries_of((HERE / "requirements.lock").read_text("utf-8")))
    locked = dict(entries_of((ROOT / "requirements.lock").read_text("utf-8")))
    chosen = {name: entry for name, entry in locked.items() if name in names}
    return "".join((tools | chosen).values())


def python_of(place: Path) -> Path:
    """Return the interpreter of an environment."""
    return place / _SCRIPTS / ("python.exe" if sys.platform == "win32" else "python")


def make_environment(place: Path) -> Path:
    """Make the build's environment, or keep the one that was made of the same lock."""
    python = python_of(place)
    lock, stamp = build_lock(), place / "made-from.lock"
    if python.exists() and stamp.exists() and stamp.read_text("utf-8") == lock:
        return python
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True)
    stamp.write_text(lock, "utf-8")
    uv = [str(Path(sys.executable).with_name("uv"))]
    install = ["pip", "sync", "--quiet", "--require-hashes", "--system-certs", "--compile-bytecode"]
    subprocess.run([*uv, *install, "--python", str(python), str(stamp)], check=True)
    return python


def freeze(output: Path) -> Path:
    """Return the folder with the frozen app."""
    python = make_environment(output / "environment")
    quiet = {
        # The same input gives the same archive; litellm asks no network while it is looked at.
        "PYTHONHASHSEED": "0",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH") or commit_time(),
    }
    command = [str(python), "-m", "PyInstaller", "--noconfirm", "--log-level", "ERROR"]
    places = ["--distpath", str(output), "--workpath", str(output / "work")]
    subprocess.run(
        [*command, *places, str(HERE / "desktop_agent.spec")],
        check=True,
        env={**os.environ, **quiet},
    )
    return output / "desktop-agent"


def commit_time() -> str:
    """Return the moment of the last commit; what is built of it carries no other date."""
    asked = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    answer = subprocess.run(asked, capture_output=True, text=True, check=False)
    return answer.stdout.strip() or "315532800"


if __name__ == "__main__":
    sys.stdout.write(f"{freeze(Path(sys.argv[1]).resolve())}\n")
