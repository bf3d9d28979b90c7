"""A person's sessions and settings survive a newer version of the app, and the way back."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import subprocess
import sys
import zlib
from contextlib import closing
from pathlib import Path

import pytest

from desktop_agent.adapters.config import settings_file
from desktop_agent.adapters.store import schema
from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.compose import SESSIONS_FILE
from desktop_agent.core.events import MessageAdded
from desktop_agent.core.ids import new_agent_id, new_message_id, new_session_id
from desktop_agent.core.messages import Message, TextPart
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.settings import Settings
from desktop_agent.core.workspace import Workspace
from tests.helpers.patience import HANG_S as SECONDS
from tests.helpers.stores import write_as_version


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with one session, kept by this version."""
    data = tmp_path / "app" / "data"
    data.mkdir(parents=True)
    keep_session(data / SESSIONS_FILE, "The plums are ripe.")
    return tmp_path / "app"


def keep_session(path: Path, words: str) -> None:
    agent, session = new_agent_id(), new_session_id()
    info = SessionInfo(session, agent, "Garden", Workspace("/tmp"), "demo")
    message = Message(new_message_id(), "user", (TextPart(words),))
    with closing(SqliteStore(path)) as store:
        store.save_session(info)
        store.record(session, MessageAdded(agent, message))


def words_in(path: Path) -> list[str]:
    with closing(SqliteStore(path)) as store:
        pages = [store.page(info.id, None, 100) for info in store.sessions()]
    events = [event for page in pages for event in page.events]
    return [event.message.text for event in events if isinstance(event, MessageAdded)]


def state_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_sessions_of_every_older_version_are_opened_whole_and_kept_as_they_were(
    tmp_path: Path,
) -> None:
    for version in range(1, schema.SCHEMA_VERSION):
        path = tmp_path / f"version-{version}" / SESSIONS_FILE
        path.parent.mkdir()
        keep_session(path.with_name("now.db"), "The plums are ripe.")
        write_as_version(version, path, path.with_name("now.db"), ("session", "event"))
        assert words_in(path) == ["The plums are ripe."]
        backup = path.with_name(f"sessions.version-{version}.db")
        with closing(sqlite3.connect(backup)) as kept:
            assert kept.execute("PRAGMA user_version").fetchone() == (version,)
            assert kept.execute("SELECT count(*) FROM event").fetchone() == (1,)


def test_a_version_that_is_too_old_for_the_sessions_says_so_and_touches_nothing(
    home: Path,
) -> None:
    path = home / "data" / SESSIONS_FILE
    with closing(sqlite3.connect(path)) as newer:
        newer.execute("ALTER TABLE session ADD COLUMN unheard_of TEXT")
        newer.execute(f"PRAGMA user_version = {schema.SCHEMA_VERSION + 1}")
    before = state_of(path)
    command = [sys.executable, "-m", "desktop_agent", "run", "look around", "--model", "demo"]
    done = subprocess.run(
        [*command, "--workspace", str(home)],
        env={**os.environ, "DESKTOP_AGENT_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 1
    assert "newer version" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert state_of(path) == before


def test_what_a_newer_minor_version_added_to_an_event_does_not_hide_it(home: Path) -> None:
    path = home / "data" / SESSIONS_FILE
    with closing(sqlite3.connect(path)) as newer:
        ((number, body),) = newer.execute("SELECT number, body FROM event").fetchall()
        event = json.loads(body) | {"mood": "hopeful"}
        changed = json.dumps(event).encode()
        values = (changed, crc_of(changed), number)
        newer.execute("UPDATE event SET body = ?, crc = ? WHERE number = ?", values)
        unknown = json.dumps({"type": "PlumEaten", "agent_id": event["agent_id"]}).encode()
        newer.execute(
            "INSERT INTO event (session, seq, agent, kind, body, crc, at)"
            " SELECT session, seq + 1, agent, 'PlumEaten', ?, ?, at FROM event",
            (unknown, crc_of(unknown)),
        )
        newer.commit()
    assert words_in(path) == ["The plums are ripe."]
    with closing(sqlite3.connect(path)) as again:
        kinds = [kind for (kind,) in again.execute("SELECT kind FROM event ORDER BY number")]
    assert kinds == ["MessageAdded", "PlumEaten"]


def crc_of(body: bytes) -> int:
    return zlib.crc32(body)


def test_settings_of_a_newer_version_keep_what_this_one_knows(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    settings_file.save(path, Settings(theme="dark", max_steps=7))
    newer = json.loads(path.read_text()) | {"plum_colour": "blue"}
    path.write_text(json.dumps(newer))
    assert settings_file.load(path) == Settings(theme="dark", max_steps=7)
