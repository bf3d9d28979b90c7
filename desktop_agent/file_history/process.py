"""The process that keeps the history of files: requests from a pipe, one after the other."""

from __future__ import annotations

import logging
import os
import select
import signal
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from desktop_agent.core.changes import UndoError
from desktop_agent.core.pipes.file_capture import (
    HistoryAnswered,
    HistoryCalled,
    HistoryRefused,
)
from desktop_agent.core.pipes.frames import READ_SIZE, FrameBuffer, frame
from desktop_agent.file_history.schema import HistoryDamaged, mark_suspect
from desktop_agent.file_history.service import Service

_log = logging.getLogger(__name__)

# The window and the agents' commands come first.
_NICENESS = 5
_IDLE_S = 60.0
_COLLECTED_AFTER = 60

_decoder = msgspec.msgpack.Decoder(HistoryCalled)


def serve(fd: int, folder: Path) -> int:
    """Answer requests over the socket until its other end is closed."""
    # The app ends this process by closing the pipe; Ctrl-C in a terminal is meant for the app.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        with suppress(OSError):
            os.nice(_NICENESS)
    with socket.socket(fileno=fd) as pipe:
        pipe.setblocking(True)
        Server(pipe, folder).run()
    return 0


class Server:
    """Answers what comes out of the pipe. Each answer is sent before the next request is read.

    Where the history can't be opened a request is refused with the reason, and the next one tries
    again.
    """

    def __init__(self, pipe: socket.socket, folder: Path) -> None:
        self._pipe = pipe
        self._folder = folder
        self._service: Service | None = None
        # While another copy of the app has it, each call would wait once more.
        self._has_waited = False

    def run(self) -> None:
        """Serve until the app has gone, then record what it has left open."""
        frames = FrameBuffer()
        try:
            while piece := self._next_piece():
                for body in frames.feed(piece):
                    self._pipe.sendall(self._answer(_decoder.decode(body)))
        except (ConnectionError, msgspec.DecodeError):
            pass  # the app is gone, or is no app
        finally:
            if self._service is not None:
                self._service.close()

    def _next_piece(self) -> bytes:
        quiet = 0
        while not select.select([self._pipe], [], [], self._patience())[0]:
            if self._service is not None:
                quiet += not self._service.capture.has_work
                self._work(self._service, quiet)
        try:
            return self._pipe.recv(READ_SIZE)
        except ConnectionError:
            return b""

    def _patience(self) -> float:
        has_work = self._service is not None and self._service.capture.has_work
        return 0.0 if has_work else _IDLE_S

    def _work(self, service: Service, quiet: int) -> None:
        """Do something while nobody asks for anything; `quiet` counts the minutes of that."""
        try:
            if service.capture.has_work:
                service.capture.read_on()
            elif quiet == 1:
                service.capture.look_closely()
            elif quiet % _COLLECTED_AFTER == 0:
                service.collect()
        except UndoError as error:
            _log.warning("the history of files can't be kept up: %s", error)

    def _answer(self, called: HistoryCalled) -> bytes:
        try:
            return frame(HistoryAnswered(called.id, _raw(self._result(called))))
        except UndoError as error:
            if isinstance(error, HistoryDamaged):
                mark_suspect(self._folder)
            return frame(HistoryRefused(called.id, str(error)))
        except Exception as error:  # noqa: BLE001 - the app hears of a defect, and goes on
            _log.exception("%s failed", called.method)
            words = f"{called.method}: {type(error).__name__}: {error}"
            return frame(HistoryRefused(called.id, words))

    def _result(self, called: HistoryCalled) -> Any:
        if self._service is None:
            is_patient, self._has_waited = not self._has_waited, True
            try:
                self._service = Service(self._folder, is_patient=is_patient)
            except OSError as error:
                raise UndoError(f"What is changed can't be kept: {error}.") from None
        return self._service.answer(called.method, called.arguments)


def _raw(value: Any) -> msgspec.Raw:
    return msgspec.Raw(msgspec.msgpack.encode(value))
