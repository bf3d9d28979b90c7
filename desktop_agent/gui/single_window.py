"""One window for each person: a second start hands its folder to the first and ends."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path

from PySide6.QtCore import QObject, QSocketNotifier, Signal

_ANSWER = b"here\n"
_TIMEOUT_S = 1.0
_MAX_BYTES = 8192


def hand_over(place: Path, folder: str) -> bool:
    """Give the folder (or nothing) to a window that is open; False when there is none."""
    if not hasattr(socket, "AF_UNIX"):
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(_TIMEOUT_S)
        try:
            line.connect(str(place))
            line.sendall(folder.encode("utf-8", "surrogateescape") + b"\n")
            return line.recv(len(_ANSWER)) == _ANSWER
        except OSError:
            return False


class SecondStarts(QObject):
    """Hears of second starts; `asked` gives their folder, or nothing.

    Where it can't listen, second starts open a window of their own, which then says that the
    sessions are in use.
    """

    asked = Signal(str)

    def __init__(self, place: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._place = place
        self._line: socket.socket | None = None
        if hasattr(socket, "AF_UNIX"):
            with contextlib.suppress(OSError):
                self._listen()

    def close(self) -> None:
        """Hear no more."""
        line, self._line = self._line, None
        if line is not None:
            self._notifier.setEnabled(False)
            line.close()
            self._place.unlink(missing_ok=True)

    def _listen(self) -> None:
        # Nobody answered there: what is left is from a window that was killed.
        self._place.unlink(missing_ok=True)
        line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            line.bind(str(self._place))
            line.listen(4)
        except OSError:
            line.close()
            raise
        line.setblocking(False)
        self._line = line
        self._notifier = QSocketNotifier(line.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._on_start)

    def _on_start(self) -> None:
        if self._line is None:
            return
        with contextlib.suppress(OSError):
            caller, _ = self._line.accept()
            with caller:
                caller.settimeout(_TIMEOUT_S)
                heard = caller.recv(_MAX_BYTES)
                caller.sendall(_ANSWER)
            self.asked.emit(heard.strip(b"\n").decode("utf-8", "surrogateescape"))
