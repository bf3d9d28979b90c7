"""Files that only this user can read, written whole or not at all; and names for damaged ones."""

from __future__ import annotations

import contextlib
import glob
import logging
import os
import tempfile
import time
from pathlib import Path

from desktop_agent.engine.workspace.replacing import replace
from desktop_agent.engine.workspace.to_disk import to_disk

_log = logging.getLogger(__name__)
_ABANDONED_S = 3600.0


def write_private(path: Path, body: bytes) -> None:
    """Write the file with mode 0600. Raises OSError; what was there before stays then.

    A link there is replaced. What can't be read is no loss to whoever writes, but may be to the
    user: it is renamed as a damaged file is.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # mkstemp makes the file with mode 0600; it gets its name only once it is on disk.
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(body)
            file.flush()
            to_disk(file.fileno())
        _keep_unreadable(path)
        replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _delete_abandoned(path)


def write_through(path: Path, body: bytes) -> None:
    """Write it likewise, but where a link leads: the person keeps the file elsewhere."""
    write_private(Path(os.path.realpath(path)), body)


def _keep_unreadable(path: Path) -> None:
    try:
        with path.open("rb"):
            pass
    except FileNotFoundError:
        pass
    except OSError as error:
        if path.is_dir():
            return
        # As one of another user's, from `sudo` or a backup.
        _log.error("%s can't be read (%s); it is kept as %s", path, error, set_aside(path))


def _delete_abandoned(path: Path) -> None:
    """Delete what a process left that was killed while it wrote: there may be a key in it."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.????????"):
        with contextlib.suppress(OSError):
            if left.stat().st_mtime < time.time() - _ABANDONED_S:
                left.unlink()


def damaged_name(path: Path) -> Path:
    """Return a dated name beside `path` that is free, to keep a damaged file under."""
    stem = f"{path.stem}.damaged-{time.strftime('%Y-%m-%d-%H%M%S')}"
    kept = path.with_name(f"{stem}{path.suffix}")
    number = 1
    while kept.exists():
        number += 1
        kept = path.with_name(f"{stem}-{number}{path.suffix}")
    return kept


def set_aside(path: Path) -> str:
    """Rename a damaged file; return its new name, or why it has none. Nobody is kept from work."""
    try:
        kept = damaged_name(path)
        path.replace(kept)
    except OSError as error:
        return f"itself ({error.strerror})"
    return str(kept)


def keep_copy(path: Path, body: bytes) -> str:
    """Keep what a file holds under such a name, once; return that, or why there is none."""
    pattern = f"{glob.escape(path.stem)}.damaged-*{glob.escape(path.suffix)}"
    try:
        for one in path.parent.glob(pattern):
            if one.read_bytes() == body:
                return str(one)
        kept = damaged_name(path)
        write_private(kept, body)
    except OSError as error:
        return f"itself ({error.strerror})"
    return str(kept)
