"""One window for each user: a second start hands its folder to the first and ends."""

from __future__ import annotations

import contextlib
import os
import socket
from pathlib import Path

from PySide6.QtCore import QObject, QSocketNotifier, Signal

# Windows has no sockets that are files: there it is a port of this computer, and a word that
# only who may read the user's files knows.
_HAS_FILES = hasattr(socket, "AF_UNIX")
_ANSWER = b"here\n"
# A window that is busy answers late; a second window could do nothing but say so.
_TIMEOUT_S = 5.0
_MAX_BYTES = 8192


def hand_over(place: Path, folder: str, *, has_files: bool = _HAS_FILES) -> bool:
    """Give the folder (or nothing) to a window that is open; False when there is none."""
    try:
        line, word = _call(place, has_files)
    except (OSError, OverflowError, ValueError):
        return False
    with line:
        try:
            line.sendall(word + folder.encode("utf-8", "surrogateescape") + b"\n")
            return line.recv(len(_ANSWER)) == _ANSWER
        except OSError:
            return False


def _call(place: Path, has_files: bool) -> tuple[socket.socket, bytes]:
    """Return a line to the window that is open, and the word to begin with."""
    address: str | tuple[str, int] = str(place)
    word = b""
    if not has_files:
        port, secret = place.read_text("ascii").split()
        address, word = ("127.0.0.1", int(port)), f"{secret} ".encode()
    line = socket.socket(socket.AF_UNIX if has_files else socket.AF_INET, socket.SOCK_STREAM)
    line.settimeout(_TIMEOUT_S)
    try:
        line.connect(address)
    except BaseException:
        line.close()
        raise
    return line, word


class SecondStarts(QObject):
    """Listens for second starts; `asked` gives their folder, or nothing.

    Where it can't listen, second starts open a window of their own, which then says that the
    sessions are in use.
    """

    asked = Signal(str)

    def __init__(
        self, place: Path, parent: QObject | None = None, *, has_files: bool = _HAS_FILES
    ) -> None:
        super().__init__(parent)
        self._place = place
        self._word = b""
        self._line: socket.socket | None = None
        with contextlib.suppress(OSError):
            self._listen(has_files)

    def close(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            self._notifier.setEnabled(False)
            line.close()
            self._place.unlink(missing_ok=True)

    def _listen(self, has_files: bool) -> None:
        # Nobody answered there: what is left is from a window that was killed.
        self._place.unlink(missing_ok=True)
        line = socket.socket(socket.AF_UNIX if has_files else socket.AF_INET, socket.SOCK_STREAM)
        try:
            line.bind(str(self._place) if has_files else ("127.0.0.1", 0))
            line.listen(4)
            if not has_files:
                secret = os.urandom(16).hex()
                self._word = f"{secret} ".encode()
                self._place.write_text(f"{line.getsockname()[1]} {secret}", "ascii")
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
                if not heard.startswith(self._word):
                    return
                caller.sendall(_ANSWER)
            heard = heard.removeprefix(self._word)
            self.asked.emit(heard.strip(b"\n").decode("utf-8", "surrogateescape"))
