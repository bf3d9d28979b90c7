"""Where a session is kept that was begun without a window while the app was open."""

from __future__ import annotations

from pathlib import Path

from desktop_agent import paths
from desktop_agent.compose import RUNS_FOLDER
from desktop_agent.core.ids import SessionId


def file_of(session: SessionId) -> Path | None:
    """Return the file of its own that holds a session, or None for the app's. Raises StoreError."""
    folder = paths.data_dir() / RUNS_FOLDER
    own = folder / f"{session}.db"
    if own.exists():
        return own
    if not any(folder.glob("*.db")):
        return None
    # Only now: most starts don't need to read what sessions are where.
    from desktop_agent.headless.sessions import file_apart

    return file_apart(session)
