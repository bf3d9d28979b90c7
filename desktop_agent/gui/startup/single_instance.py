"""One window for each user: a second start hands its folder to the first and ends."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import sys
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
    _let_come_forward()
    with line:
        try:
            line.sendall(word + folder.encode("utf-8", "surrogateescape") + b"\n")
            return line.recv(len(_ANSWER)) == _ANSWER
        except OSError:
            return False


def _let_come_forward() -> None:
    """Let another program's window come to the front: Windows lets only who was started last."""
    if sys.platform == "win32":
        import ctypes

        anybody = ctypes.c_uint32(-1)
        ctypes.windll.user32.AllowSetForegroundWindow(anybody)


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


def be_first(place: Path, folder: str, *, has_files: bool = _HAS_FILES) -> Door | None:
    """Return where second starts wait from now on; None if the folder was handed over."""
    if has_files:  # which only one can make
        door = Door(place)
        if not door.is_taken:
            return door
    if hand_over(place, folder, has_files=has_files):
        return None
    # Nobody answers there: what is left is from a window that was killed, or that hangs.
    place.unlink(missing_ok=True)
    return Door(place, has_files=has_files)


class Door:
    """Where second starts knock, from the first moment on: they wait until somebody listens.

    Where there can't be one, second starts open a window of their own, which then says that the
    sessions are in use. One that `is_taken` belongs to somebody else.
    """

    def __init__(self, place: Path, *, has_files: bool = _HAS_FILES) -> None:
        self.line: socket.socket | None = None
        self.word = b""
        self.is_taken = False
        self._place, self._made = place, 0
        try:
            self._open(has_files)
        except OSError as error:
            self.is_taken = error.errno == errno.EADDRINUSE

    def close(self) -> None:
        line, self.line = self.line, None
        if line is not None:
            line.close()
            with contextlib.suppress(OSError):
                if self._place.stat().st_ino == self._made:  # else the next start's, who waited
                    self._place.unlink()

    def _open(self, has_files: bool) -> None:
        line = socket.socket(socket.AF_UNIX if has_files else socket.AF_INET, socket.SOCK_STREAM)
        try:
            line.bind(str(self._place) if has_files else ("127.0.0.1", 0))
            line.listen(4)
            if not has_files:
                secret = os.urandom(16).hex()
                self.word = f"{secret} ".encode()
                self._place.write_text(f"{line.getsockname()[1]} {secret}", "ascii")
        except OSError:
            line.close()
            raise
        line.setblocking(False)
        self.line, self._made = line, self._place.stat().st_ino


class SecondStarts(QObject):
    """Listens at the door for second starts; `asked` gives their folder, or nothing."""

    asked = Signal(str)

    def __init__(self, door: Door, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._door = door
        if door.line is not None:
            self._notifier = QSocketNotifier(door.line.fileno(), QSocketNotifier.Type.Read, self)
            self._notifier.activated.connect(self._on_start)

    def close(self) -> None:
        if self._door.line is not None:
            self._notifier.setEnabled(False)
            self._door.close()

    def _on_start(self) -> None:
        line, word = self._door.line, self._door.word
        if line is None:
            return
        with contextlib.suppress(OSError):
            caller, _ = line.accept()
            with caller:
                caller.settimeout(_TIMEOUT_S)
                heard = caller.recv(_MAX_BYTES)
                if not heard.startswith(word):
                    return
                caller.sendall(_ANSWER)
            heard = heard.removeprefix(word)
            self.asked.emit(heard.strip(b"\n").decode("utf-8", "surrogateescape"))
