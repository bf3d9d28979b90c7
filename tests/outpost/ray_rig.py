"""A real Ray cluster on this computer: each node is a raylet with a home of its own."""

from __future__ import annotations

import os
import secrets
import shlex
import signal
import subprocess
from pathlib import Path

from tests.outpost.rig import ROOT

PYTHON = ROOT / ".venv-cluster" / "bin" / "python"


class Nodes:
    """The nodes of one cluster, in token mode; `folder` needs a short path."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._token = folder / "token"
        self._token.write_text(secrets.token_hex(32))
        self._token.chmod(0o600)
        self._raylets: dict[str, int] = {}
        self.address = ""

    def add(self, name: str, *more: str) -> None:
        """Start a node, the first as the head."""
        before = self._of_ray()
        where = ["--address", self.address] if self.address else self._head()
        said = self._ray("start", *where, "--num-cpus", "2", "--disable-usage-stats",
                         "--object-store-memory", "80000000", *more)  # fmt: skip
        if not self.address:
            self.address = said.split("ray start --address='")[1].split("'")[0]
        (self._raylets[name],) = (pid for pid in self._of_ray() - before if _is_raylet(pid))

    def kill(self, name: str) -> None:
        """Kill a node's raylet, as when a computer fails."""
        os.kill(self._raylets.pop(name), signal.SIGKILL)

    def members(self) -> dict[str, list[int]]:
        """Return the processes that do work, by the name of their node."""
        found: dict[str, list[int]] = {name: [] for name in self._raylets}
        said = subprocess.run(
            ["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True
        ).stdout
        for pid, parent, args in (line.split(maxsplit=2) for line in said.splitlines()):
            for name, raylet in self._raylets.items():
                if int(parent) == raylet and args.startswith("ray::Actor"):
                    found[name].append(int(pid))
        return found

    def place(self, home: Path, *, token: Path | None = None) -> str:
        """Return what `--on` takes: the app beside the head."""
        own = {
            "PYTHONPATH": str(ROOT),
            "DESKTOP_AGENT_HOME": str(home),
            "RAY_ADDRESS": self.address,
        }
        own["RAY_AUTH_TOKEN_PATH"] = str(token or self._token)
        said = " ".join(f"{name}={shlex.quote(value)}" for name, value in own.items())
        return f"command: env {said} {PYTHON} -P -m desktop_agent+ray"

    def stop(self) -> None:
        """End all of it."""
        for pid in self._of_ray():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def _head(self) -> list[str]:
        return ["--head", "--port", "0", "--include-dashboard", "false",
                "--temp-dir", str(self._folder / "t")]  # fmt: skip

    def _environment(self) -> dict[str, str]:
        return {
            "PYTHONPATH": str(ROOT), "RAY_AUTH_MODE": "token", "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_AUTH_TOKEN_PATH": str(self._token),
        }  # fmt: skip

    def _ray(self, *arguments: str) -> str:
        program = [PYTHON, "-c", "import ray.scripts.scripts as s; s.main()", *arguments]
        home = {"DESKTOP_AGENT_HOME": str(self._folder / "home"), **self._environment()}
        done = subprocess.run(
            program, env={**os.environ, **home}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def _of_ray(self) -> set[int]:
        """Return the processes of this cluster."""
        found = subprocess.run(
            ["pgrep", "-f", str(self._folder / "t")], capture_output=True, text=True, check=False
        )
        return {int(pid) for pid in found.stdout.split()}


def _is_raylet(pid: int) -> bool:
    program = Path("/proc", str(pid), "exe")
    return program.exists() and program.readlink().name == "raylet"
