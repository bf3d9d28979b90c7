"""The log: a few files of bounded size, without keys."""

from __future__ import annotations

import logging
import logging.handlers
import os
from io import TextIOWrapper
from pathlib import Path

from desktop_agent.core.keys.redaction import redact

_MAX_BYTES = 2_000_000
_KEPT_FILES = 3
_MAX_LINE = 20_000
_FORMAT = "%(asctime)s %(levelname)s %(threadName)s %(name)s: %(message)s"


class RedactingFormatter(logging.Formatter):
    """Redacts the finished line, so that tracebacks and arguments are covered too."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line without keys."""
        return redact(super().format(record))[:_MAX_LINE]


class PrivateRotatingFile(logging.handlers.RotatingFileHandler):
    """A rotating log whose files only this user can read, the newly begun ones too."""

    def _open(self) -> TextIOWrapper:
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return os.fdopen(descriptor, "a", encoding="utf-8", errors="backslashreplace")

    def handleError(self, record: logging.LogRecord) -> None:
        """Drop the line: a full disk must not fill the user's terminal with tracebacks."""


def start_logging(directory: Path, *, name: str = "desktop-agent") -> Path:
    """Send all log records to a rotating file in `directory` and to nowhere else.

    Called again, it replaces the file of the time before. Returns the file's path. Where the disk
    refuses it there is no log: nobody is kept from work by that.
    """
    path = directory / f"{name}.log"
    output = _output(path)
    root = logging.getLogger()
    for old in list(root.handlers):
        if isinstance(old, PrivateRotatingFile):
            root.removeHandler(old)
            old.close()
    root.addHandler(output)
    root.setLevel(logging.INFO)
    # These log each request with its address; an address can hold a key.
    for chatty in ("httpx", "httpcore", "LiteLLM", "asyncio"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    return path


def _output(path: Path) -> logging.Handler:
    try:
        path.parent.mkdir(exist_ok=True, mode=0o700)
        output = PrivateRotatingFile(path, maxBytes=_MAX_BYTES, backupCount=_KEPT_FILES)
    except OSError:  # another user's, after a start with sudo, or a disk for reading only
        return logging.NullHandler()
    output.setFormatter(RedactingFormatter(_FORMAT))
    return output
