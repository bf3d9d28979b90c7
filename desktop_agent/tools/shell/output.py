"""What a command prints: a bounded part in memory, the whole in a file, the eye kept up to date."""

from __future__ import annotations

import asyncio
import codecs
import re
from collections.abc import Callable
from pathlib import Path

from desktop_agent.core.tool import OutputFile, Outputs

_HEAD = 128 * 1024
_TAIL = 128 * 1024
_SPILLED_FROM = 24 * 1024
_RESULT_HEAD = 8 * 1024
_RESULT_TAIL = 16 * 1024
# What is shown of a command that goes on; its beginning moves by whole steps.
_RECENT = 96 * 1024
_RECENT_STEP = 32 * 1024
_LIVE_INTERVAL = 1 / 30
_LIVE_PIECE = 16 * 1024
_STEERING = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class Output:
    """Takes bytes without end and holds at most 256 kB of them.

    What is too long for a result goes to a file, as far as there is room; what there is none
    for is counted and dropped.
    """

    def __init__(self, outputs: Outputs) -> None:
        self.total = 0
        self._outputs = outputs
        self._spill: OutputFile | None = None
        self._is_closed = False
        self._head = bytearray()
        self._tail = bytearray()

    @property
    def file(self) -> Path | None:
        """Where what was too long for a result is."""
        return self._spill.path if self._spill is not None and self._spill.size else None

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
        if self._spill is not None and not self._is_closed:
            self._spill.close()
        self._is_closed = True

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

    def recent(self) -> tuple[str, bool]:
        """Return the end of what came, bounded, and whether something came before that."""
        start = -(-max(0, self.total - _RECENT) // _RECENT_STEP) * _RECENT_STEP
        return _decoded(self._last(self.total - start)), start > 0

    def _last(self, count: int) -> bytes:
        held = len(self._tail)
        if count <= held:
            return bytes(self._tail[held - count :])
        # Only asked when nothing between the two was dropped.
        return bytes(self._head[len(self._head) - (count - held) :]) + bytes(self._tail)

    def _where(self) -> str:
        if self._spill is None or not self._spill.size:
            return ""
        size = self._spill.size
        part = f"the first {size:,} bytes are" if size < self.total else "the whole output is"
        return f"; {part} in {self._spill.path}, which `read` can open"

    def _write_spill(self, chunk: bytes) -> None:
        if self._is_closed or self.total <= _SPILLED_FROM:
            return
        if self._spill is None and len(self._head) == self.total - len(chunk):
            self._spill = self._outputs.create()
            if self._spill is not None:
                self._spill.write(bytes(self._head))
        if self._spill is not None:
            self._spill.write(chunk)


class LiveText:
    """Hands output on to the user, at most 30 times a second and 16 kB at a time."""

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
