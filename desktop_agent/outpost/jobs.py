"""The jobs of a batch: one JSON object a line, with the options of `run` by name."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from desktop_agent.core.messages import Value
from desktop_agent.headless.arguments import Options, UsageError, parse

_TEXTS = frozenset({"workspace", "model", "api_base", "mode", "sandbox"})
_NUMBERS = frozenset({"max_steps", "timeout"})
_NEEDS = ("cpus", "gpus", "memory_gb")
_SWITCHES = frozenset({"trust", "allow_all"})
_KEY_LENGTH = 24
_MOST_NEEDED = 1e6


class Needs(Value, frozen=True):
    """What of a node a job needs to itself; without any it shares one."""

    cpus: float = 0.0
    gpus: float = 0.0
    memory_gb: float = 0.0


class Job(Value, frozen=True):
    """One line: what is to be done, as `run` is told. `number` is that of the line."""

    number: int
    prompt: str
    workspace: str
    said: dict[str, Any]

    def options(self, workspace: Path) -> Options:
        """Return its options for a copy of its folder."""
        return _options({**self.said, "workspace": str(workspace)})

    @property
    def needs(self) -> Needs:
        """Return what of a cluster's node it needs to itself."""
        return needs_of(self.said)

    def key(self, base: str, repeated: int = 0) -> str:
        """Return what names it among the results: the line, and the state of its folder."""
        line = json.dumps(self.said, sort_keys=True, ensure_ascii=False)
        found = hashlib.sha256(f"{line}\n{base}\n{repeated}".encode()).hexdigest()
        return found[:_KEY_LENGTH]


def read_jobs(file: Path, defaults: Mapping[str, Any]) -> list[Job]:
    """Read every line, or none: raises UsageError that names the first that can't be run.

    `defaults` holds what lines that don't say it themselves are run with.
    """
    jobs: list[Job] = []
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} can't be read: {error}") from None
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            jobs.append(_job(number, line, defaults))
        except UsageError as error:
            raise UsageError(f"line {number} of {file.name}: {error}") from None
    if not jobs:
        raise UsageError(f"{file} holds no job")
    return jobs


def needs_of(said: Mapping[str, Any]) -> Needs:
    """Read what a job needs. Raises UsageError."""
    given: object = said.get("needs", {})
    if not isinstance(given, dict):
        raise UsageError("“needs” is not an object")
    needs: dict[str, float] = {}
    for name, value in cast("dict[object, object]", given).items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if name not in _NEEDS or not (is_number and 0 < cast("float", value) < _MOST_NEEDED):
            raise UsageError(f"“needs” takes numbers above 0 for {', '.join(_NEEDS)}")
        needs[name] = float(cast("float", value))
    return Needs(**needs)


def _job(number: int, line: str, defaults: Mapping[str, Any]) -> Job:
    try:
        given = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"it is not JSON: {error}") from None
    if not isinstance(given, dict):
        raise UsageError("it is not an object")
    said: dict[str, Any] = {**defaults, **given}
    _require_text(said)
    options = _options(said)
    said["workspace"] = str(options.workspace)
    _require_text(said)
    return Job(number, options.prompt, said["workspace"], said)


def _require_text(said: Mapping[str, Any]) -> None:
    """Refuse half a character, as programs that cut texts write it, and names that are no text."""
    try:
        json.dumps(said, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        held = ascii(error.object[error.start : error.end])
        raise UsageError(f"it holds {held}, which is no character") from None


def _options(said: Mapping[str, Any]) -> Options:
    """Have `run` itself check them: what it refuses is no job either."""
    prompt = said.get("prompt")
    if not isinstance(prompt, str):
        raise UsageError("“prompt” is missing, or is no text")
    if "workspace" not in said:
        raise UsageError("“workspace” is missing")
    needs_of(said)
    arguments: list[str] = []
    for name, value in said.items():
        if name not in ("prompt", "needs"):
            arguments += _argument(name, value)
    return parse([*arguments, "--", prompt])


def _argument(name: str, value: Any) -> list[str]:
    option = f"--{name.replace('_', '-')}"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if name in _TEXTS and isinstance(value, str):
        return [f"{option}={value}"]
    if name in _NUMBERS and is_number:
        return [f"{option}={value}"]
    if name in _SWITCHES and isinstance(value, bool):
        return [option] if value else []
    if name == "allow_host" and isinstance(value, list):
        return [f"{option}={host}" for host in cast("list[object]", value)]
    if name in _TEXTS | _NUMBERS | _SWITCHES | {"allow_host"}:
        raise UsageError(f"“{name}” can't be {json.dumps(value)[:60]}")
    raise UsageError(f"a job has no “{name[:60]}”")
