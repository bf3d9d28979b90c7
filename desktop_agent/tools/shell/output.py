"""What a command prints: a bounded part in memory, the whole in a file, the eye kept up to date."""

from __future__ import annotations

import asyncio
import codecs
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

_HEAD = 128 * 1024
_TAIL = 128 * 1024
_SPILLED_FROM = 24 * 1024
_LARGEST_FILE = 100_000_000
_RESULT_HEAD = 8 * 1024
_RESULT_TAIL = 16 * 1024
_LIVE_INTERVAL = 1 / 30
_LIVE_PIECE = 16 * 1024
_STEERING = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class Output:
    """Takes bytes without end and holds at most 256 kB of them.

    What is too long for a result goes to `file`, up to 100 MB; the rest is counted and dropped.
    """

    def __init__(self, spill_dir: Path) -> None:
        self.total = 0
        self.file: Path | None = None
        self._spill_dir = spill_dir
        self._spill: BinaryIO | None = None
        self._spilled = 0
        self._spill_failed = False
        self._head = bytearray()
        self._tail = bytearray()

    def feed(self, chunk: bytes) -> None:
        """Take what came out."""
        self.total += len(chunk)
        self._write_spill(chunk)
        room = _HEAD - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        self._tail += chunk
        if len(self._tail) > _TAIL:
            del self._tail[:-_TAIL]

    def close(self) -> None:
        """Let go of the file; what is held stays readable."""
        if self._spill is not None:
            self._spill.close()
            self._spill = None

    def text(self) -> str:
        """Return what goes to the model: all of it, or its start and its end."""
        return self.since(0)

    def since(self, offset: int) -> str:
        """Return what came behind the first `offset` bytes, bounded."""
        wanted = self.total - offset
        if wanted <= _RESULT_HEAD + _RESULT_TAIL:
            return _decoded(self._last(wanted))
        start = bytes(self._head[offset : offset + _RESULT_HEAD])
        left_out = wanted - len(start) - _RESULT_TAIL
        return (
            f"{_decoded(start)}\n\n[… {left_out:,} bytes left out{self._where()} …]\n\n"
            f"{_decoded(self._last(_RESULT_TAIL))}"
        )

    def _last(self, count: int) -> bytes:
        held = len(self._tail)
        if count <= held:
            return bytes(self._tail[held - count :])
        # Only asked when nothing between the two was dropped.
        return bytes(self._head[len(self._head) - (count - held) :]) + bytes(self._tail)

    def _where(self) -> str:
        if self.file is None:
            return ""
        cut = self._spilled < self.total
        part = f"the first {self._spilled:,} bytes are" if cut else "the whole output is"
        return f"; {part} in {self.file}, which `read` can open"

    def _write_spill(self, chunk: bytes) -> None:
        if self._spill_failed or self.total <= _SPILLED_FROM:
            return
        try:
            if self.file is None:
                self._open_spill()
            if self._spill is not None:
                piece = chunk[: _LARGEST_FILE - self._spilled]
                self._spill.write(piece)
                self._spilled += len(piece)
        except OSError:
            # A full disk must not end the command; the result says what is missing.
            self._spill_failed = True

    def _open_spill(self) -> None:
        self._spill_dir.mkdir(parents=True, exist_ok=True)
        path = self._spill_dir / f"output-{os.urandom(8).hex()}.txt"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self._spill = os.fdopen(descriptor, "wb", buffering=0)
        self.file = path
        self._spilled = self._spill.write(self._head)


class LiveText:
    """Hands output on to the person, at most 30 times a second and 16 kB at a time."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending = bytearray()
        self._skipped = 0
        self._timer: asyncio.TimerHandle | None = None

    def feed(self, chunk: bytes) -> None:
        """Take what came out."""
        self._pending += chunk
        if len(self._pending) > _LIVE_PIECE:
            over = len(self._pending) - _LIVE_PIECE
            self._skipped += over
            del self._pending[:over]
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(_LIVE_INTERVAL, self._flush)

    def close(self) -> None:
        """Hand on what is left."""
        if self._timer is not None:
            self._timer.cancel()
            self._flush()

    def _flush(self) -> None:
        self._timer = None
        text = plain(self._decoder.decode(bytes(self._pending)))
        self._pending.clear()
        if self._skipped:
            text = f"\n[… {self._skipped:,} bytes …]\n{text}"
            self._skipped = 0
        if text:
            self._report(text)


def _decoded(content: bytes) -> str:
    return plain(content.decode("utf-8", "replace"))


def plain(text: str) -> str:
    """Take out what steers a terminal: colours, cursor moves, lines that overwrite themselves."""
    shown = _STEERING.sub("", text.replace("\r\n", "\n"))
    if "\r" in shown:
        shown = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in shown.split("\n"))
    return _CONTROL.sub("", shown)
