"""SHA-256. It brings OpenSSL, 4 MB: loaded when there is first something to tell apart by it."""

from __future__ import annotations

from typing import Any


def sha256(content: bytes = b"") -> Any:
    """Return a hash object that has taken in the content."""
    import hashlib  # see above

    return hashlib.sha256(content)
