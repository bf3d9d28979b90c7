"""The results of a batch: a file that only grows, one JSON object a line."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from types import TracebackType

import msgspec

from desktop_agent.core.agents import EndReason
from desktop_agent.core.messages import Value
from desktop_agent.core.usage import Usage
from desktop_agent.engine.workspace.to_disk import to_disk
from desktop_agent.headless.arguments import UsageError

# Ends the key of what a job had spent when all of the batch was stopped: that is no result.
CUT = "+cut"
_BEGINS = b'{"key":"'
_PIECE = 1 << 20


class Result(Value, frozen=True):
    """How one job ended. `patch` is what `git apply` takes; `error` is empty without one."""

    key: str
    reason: EndReason
    text: str
    usage: Usage
    seconds: float
    patch: str
    place: str
    prompt: str = ""
    workspace: str = ""
    error: str = ""


class _Usage(msgspec.Struct, frozen=True):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cost: float | None = None


class _Line(msgspec.Struct, frozen=True):
    """A result without its type's name: other programs read the file."""

    key: str
    reason: EndReason
    text: str
    usage: _Usage
    seconds: float
    patch: str
    place: str
    prompt: str = ""
    workspace: str = ""
    error: str = ""


_decoder = msgspec.json.Decoder(_Line)
_FIELDS = tuple(field for field in Result.__struct_fields__ if field != "usage")


class ResultsFile:
    """Results by key. What `add` returned from is on disk; half a line of a killed run is cut."""

    def __init__(self, path: Path) -> None:
        """Open or make it. Raises UsageError for a file of something else, and OSError."""
        self.known: dict[str, Result] = {}
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        self._file = os.open(path, flags, 0o600)
        try:
            self._read(path)
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> ResultsFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        os.close(self._file)

    def add(self, result: Result) -> None:
        """Keep a result. Raises OSError."""
        values = {name: getattr(result, name) for name in _FIELDS}
        usage = _Usage(*msgspec.structs.astuple(result.usage))
        line = msgspec.json.encode(_Line(**values, usage=usage)) + b"\n"
        before = os.fstat(self._file).st_size
        try:
            while line:
                line = line[os.write(self._file, line) :]
            to_disk(self._file)
        except OSError:
            # Of a full disk: else the next line, once there is room, is none either.
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, before)
            raise
        self.known[result.key] = result

    def _read(self, path: Path) -> None:
        text = path.read_bytes()
        *lines, torn = text.split(b"\n")
        for number, line in enumerate(lines, start=1):
            try:
                found = _decoder.decode(line)
            except msgspec.DecodeError:
                raise UsageError(
                    f"{path} is no file of results (line {number}): name another with --out"
                ) from None
            values = {name: getattr(found, name) for name in _FIELDS}
            self.known[found.key] = Result(
                **values, usage=Usage(*msgspec.structs.astuple(found.usage))
            )
        if torn:
            if not (torn.startswith(_BEGINS) or _BEGINS.startswith(torn)):
                raise UsageError(f"{path} is no file of results: name another with --out")
            os.ftruncate(self._file, len(text) - len(torn))
