"""The log: a few files of bounded size, without keys."""

from __future__ import annotations

import logging
import logging.handlers
import os
import re
from io import TextIOWrapper
from pathlib import Path

_MAX_BYTES = 2_000_000
_KEPT_FILES = 3
_MAX_LINE = 20_000
_FORMAT = "%(asctime)s %(levelname)s %(threadName)s %(name)s: %(message)s"

_HIDDEN = "[hidden]"
# Each pattern's first group, if any, stays; what follows it is the secret.
_SECRETS = tuple(
    re.compile(pattern)
    for pattern in (
        r"\b(?:sk|pk|rk|gsk|xai|hf|r8|pplx|csk|nvapi|fw|tgp|ghp|gho|ghu|ghs|glpat|xox[a-z])"
        r"[-_][A-Za-z0-9_\-]{12,}",
        r"\bAIza[A-Za-z0-9_\-]{20,}",
        r"\bA[KS]IA[A-Z0-9]{16}\b",
        r"\bgithub_pat_[A-Za-z0-9_]{20,}",
        r"\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]*",
        r"((?i:\b(?:bearer|basic)\s+))[A-Za-z0-9._~+/=\-]{8,}",
        r"((?i:(?:api[-_]?key|access[-_]?token|auth[-_]?token|secret|password|passwd|"
        r"authorization|x-goog-api-key)[\"']?\s*[:=]\s*[\"']?))[^\s\"'&,;]{4,}",
        r"(://[^/\s:@]+:)[^/\s@]+(?=@)",
        r"([?&](?i:key|token|api_key|access_token)=)[^&\s\"']+",
    )
)


def redact(text: str) -> str:
    """Return the text with everything that looks like a key replaced."""
    for pattern in _SECRETS:
        text = pattern.sub(
            lambda found: (found.group(1) if found.re.groups else "") + _HIDDEN, text
        )
    return text


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


def start_logging(directory: Path, *, name: str = "desktop-agent") -> Path:
    """Send all log records to a rotating file in `directory` and to nowhere else.

    Called again, it replaces the file of the time before. Returns the file's path.
    """
    path = directory / f"{name}.log"
    output = PrivateRotatingFile(path, maxBytes=_MAX_BYTES, backupCount=_KEPT_FILES)
    output.setFormatter(RedactingFormatter(_FORMAT))
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
