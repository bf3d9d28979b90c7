"""Keys: found where they are, kept where the person said, seen nowhere else."""

from __future__ import annotations

import errno
import json
import logging
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends import fail, null
from keyring.errors import KeyringError, PasswordDeleteError

from desktop_agent.adapters.config.secrets import Secrets
from desktop_agent.compose import compose
from desktop_agent.core.models import KeyInfo
from desktop_agent.core.settings import Settings

KEY = "sk-proj-" + "k" * 40
OTHER = "sk-ant-" + "o" * 40


class MemoryKeyring(KeyringBackend):
    """A keyring of the system's kind, in memory."""

    priority = 5  # pyright: ignore[reportAssignmentType]

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}
        self.threads: set[str] = set()

    def get_password(self, service: str, username: str) -> str | None:
        self.threads.add(threading.current_thread().name)
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.kept.pop((service, username), None) is None:
            raise PasswordDeleteError(username)


class LockedKeyring(MemoryKeyring):
    """The person closed the prompt: nothing can be kept."""

    def set_password(self, service: str, username: str, password: str) -> None:
        raise KeyringError("locked")


class LockableKeyring(MemoryKeyring):
    """Does nothing while it is locked; the person may unlock it later."""

    is_locked = False

    def get_password(self, service: str, username: str) -> str | None:
        self._require_unlocked()
        return super().get_password(service, username)

    def set_password(self, service: str, username: str, password: str) -> None:
        self._require_unlocked()
        super().set_password(service, username, password)

    def delete_password(self, service: str, username: str) -> None:
        self._require_unlocked()
        super().delete_password(service, username)

    def _require_unlocked(self) -> None:
        if self.is_locked:
            raise KeyringError("locked")


class WindowsKeyring(MemoryKeyring):
    """The Credential Manager: at most 2,560 bytes of UTF-16 under one name."""

    def set_password(self, service: str, username: str, password: str) -> None:
        if len(password.encode("utf-16-le")) > 2560:
            raise OSError(1783, "The stub received bad data")
        super().set_password(service, username, password)


class ForgetfulKeyring(MemoryKeyring):
    """Takes everything and keeps nothing."""

    def set_password(self, service: str, username: str, password: str) -> None:
        return


@pytest.fixture
def ring() -> Iterator[MemoryKeyring]:
    before = keyring.get_keyring()
    memory = MemoryKeyring()
    keyring.set_keyring(memory)
    yield memory
    keyring.set_keyring(before)


@pytest.fixture
def no_ring(ring: MemoryKeyring) -> None:
    keyring.set_keyring(fail.Keyring())


def secrets(directory: Path, **environment: str) -> Secrets:
    return Secrets(directory, environment=environment)


def all_text(directory: Path) -> str:
    return "".join(file.read_text() for file in directory.rglob("*") if file.is_file())


# Where a key is found


@pytest.mark.usefixtures("no_ring")
def test_a_key_in_the_environment_is_found_and_not_copied(tmp_path: Path) -> None:
    found = secrets(tmp_path, OPENAI_API_KEY=f"{KEY}\n", PATH="/bin")
    assert found.key_for("openai") == KEY
    assert found.keys() == (KeyInfo("openai", "environment", "OPENAI_API_KEY"),)
    assert all_text(tmp_path) == ""


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("anthropic/claude-opus-5", "ANTHROPIC_API_KEY"),
        ("claude-opus-5", "ANTHROPIC_API_KEY"),
        ("gpt-6", "OPENAI_API_KEY"),
        ("openai/gpt-6", "OPENAI_API_KEY"),
        ("gemini/gemini-3-pro", "GOOGLE_API_KEY"),
        ("openrouter/anthropic/claude-opus-5", "OPENROUTER_API_KEY"),
        ("groq/openai/gpt-oss-120b", "GROQ_API_KEY"),
        ("together_ai/x/y", "TOGETHERAI_API_KEY"),
        ("cohere_chat/command", "COHERE_API_KEY"),
        ("https://api.openai.com/v1", "OPENAI_API_KEY"),
    ],
)
def test_a_model_name_leads_to_its_providers_key(tmp_path: Path, name: str, variable: str) -> None:
    assert secrets(tmp_path, **{variable: KEY}).key_for(name) == KEY


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:8000/v1",
        "https://evil.example/v1",
        "https://api.openai.com.evil.example/v1",
        "https://api.openai.com@evil.example/v1",
        "http://api.openai.com/v1",
        "openai.evil.example",
    ],
)
def test_no_other_server_ever_gets_a_providers_key(tmp_path: Path, address: str) -> None:
    assert secrets(tmp_path, OPENAI_API_KEY=KEY).key_for(address) is None


@pytest.mark.usefixtures("no_ring")
def test_a_typed_servers_key_belongs_to_that_server_alone(tmp_path: Path) -> None:
    kept = secrets(tmp_path)
    kept.set_key("http://10.0.0.5:8000/v1", KEY, "session")
    assert kept.key_for("http://10.0.0.5:8000/v1/") == KEY
    assert kept.key_for("http://10.0.0.5:8001/v1") is None
    assert kept.keys() == (KeyInfo("10.0.0.5:8000", "session"),)


# Where a key is kept


def test_a_key_in_the_keyring_is_there_after_a_restart_and_nowhere_else(
    tmp_path: Path, ring: MemoryKeyring
) -> None:
    assert secrets(tmp_path).set_key("openai", KEY, "keyring") == "keyring"
    again = secrets(tmp_path)
    assert again.keys() == (KeyInfo("openai", "keyring"),)
    assert ring.threads == {"MainThread"}
    assert again.key_for("openai/gpt-6") == KEY
    assert list(ring.kept.values()) == [KEY]
    assert KEY not in all_text(tmp_path)


def test_a_long_key_is_kept_where_one_name_holds_little(tmp_path: Path) -> None:
    """As what signing in to a server gives, or a key that is a whole file."""
    long, longer = "k" * 1000 + "l" * 1000 + "m", "n" * 5000
    before, ring = keyring.get_keyring(), WindowsKeyring()
    keyring.set_keyring(ring)
    try:
        for key in (long, longer, KEY, long):
            assert secrets(tmp_path).set_key("openai", key, "keyring") == "keyring"
            assert secrets(tmp_path).key_for("openai") == key
            # Nothing stays of the one before.
            assert sum(map(len, ring.kept.values())) < len(key) + len("parts 99")
        secrets(tmp_path).delete_key("openai")
        assert ring.kept == {}
        assert secrets(tmp_path).key_for("openai") is None
    finally:
        keyring.set_keyring(before)


async def test_the_keyring_is_read_away_from_the_event_loop(
    tmp_path: Path, ring: MemoryKeyring
) -> None:
    secrets(tmp_path).set_key("openai", KEY, "keyring")
    ring.threads.clear()
    again = secrets(tmp_path)
    await again.load()
    assert again.key_for("openai") == KEY
    assert "MainThread" not in ring.threads


def test_looking_for_keys_does_not_open_the_keyring(tmp_path: Path, ring: MemoryKeyring) -> None:
    found = secrets(tmp_path, GROQ_API_KEY=KEY)
    found.keys()
    found.key_for("groq")
    found.key_for("openai")
    assert ring.threads == set()


@pytest.mark.parametrize(
    "ring_class", [fail.Keyring, null.Keyring, LockedKeyring, ForgetfulKeyring]
)
@pytest.mark.usefixtures("ring")
def test_without_a_real_keyring_a_key_lasts_for_this_session_only(
    tmp_path: Path, ring_class: type[KeyringBackend]
) -> None:
    keyring.set_keyring(ring_class())
    kept = secrets(tmp_path)
    assert kept.backend() == "session"
    assert kept.set_key("openai", KEY, "keyring") == "session"
    assert kept.key_for("openai") == KEY
    assert kept.keys() == (KeyInfo("openai", "session"),)
    assert KEY not in all_text(tmp_path)
    assert secrets(tmp_path).keys() == ()


@pytest.mark.usefixtures("no_ring")
async def test_what_is_meant_for_the_keyring_is_in_a_file_without_one_when_the_person_says_so(
    tmp_path: Path,
) -> None:
    """As the secrets of MCP servers are, and what their sign-ins gave."""
    settings = Settings(keep_keys_in_file=True)
    data = tmp_path / "data"
    app = await compose(
        lambda _: None, data_dir=data, config_dir=tmp_path, settings=settings, is_warmed=False
    )
    assert app.secrets.set_key("mcp.docs.token", KEY, "keyring") == "file"
    await app.close()
    assert secrets(tmp_path).key_for("mcp.docs.token") == KEY


def test_a_real_keyring_is_tried_out_and_left_as_it_was(
    tmp_path: Path, ring: MemoryKeyring
) -> None:
    assert secrets(tmp_path).backend() == "keyring"
    assert ring.kept == {}


@pytest.mark.usefixtures("no_ring")
def test_a_key_is_in_a_file_only_when_the_person_says_so(tmp_path: Path) -> None:
    kept = secrets(tmp_path)
    assert kept.set_key("anthropic", OTHER, "file") == "file"
    file = tmp_path / "keys.json"
    assert json.loads(file.read_text()) == {"anthropic": OTHER}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    again = secrets(tmp_path)
    assert again.keys() == (KeyInfo("anthropic", "file"),)
    assert again.key_for("anthropic") == OTHER
    again.delete_key("anthropic")
    assert not file.exists()
    assert again.keys() == ()


def test_a_key_that_moves_leaves_nothing_behind(tmp_path: Path, ring: MemoryKeyring) -> None:
    kept = secrets(tmp_path)
    kept.set_key("openai", KEY, "file")
    kept.set_key("openai", KEY, "keyring")
    assert KEY not in all_text(tmp_path)
    kept.set_key("openai", KEY, "session")
    assert ring.kept == {}
    assert kept.keys() == (KeyInfo("openai", "session"),)


def test_what_the_disk_refuses_leaves_the_key_that_was_there(
    tmp_path: Path, ring: MemoryKeyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = secrets(tmp_path)
    kept.set_key("anthropic", OTHER, "file")
    kept.set_key("openai", KEY, "keyring")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("desktop_agent.adapters.config.secrets.write_private", full)
    for provider in ("openai", "anthropic"):
        with pytest.raises(OSError, match="No space"):
            kept.set_key(provider, "sk-new-0123456789", "file")
    for now in (kept, secrets(tmp_path)):
        assert (now.key_for("openai"), now.key_for("anthropic")) == (KEY, OTHER)


def test_a_deleted_key_is_gone_from_the_keyring(tmp_path: Path, ring: MemoryKeyring) -> None:
    kept = secrets(tmp_path)
    kept.set_key("openai", KEY, "keyring")
    kept.delete_key("openai")
    assert ring.kept == {}
    assert (kept.key_for("openai"), secrets(tmp_path).key_for("openai")) == (None, None)


@pytest.fixture
def lockable(ring: MemoryKeyring, tmp_path: Path) -> LockableKeyring:
    """A locked keyring that holds a key."""
    keyring.set_keyring(made := LockableKeyring())
    secrets(tmp_path).set_key("openai", KEY, "keyring")
    made.is_locked = True
    return made


async def test_a_keyring_that_was_locked_is_used_once_it_is_unlocked(
    tmp_path: Path, lockable: LockableKeyring
) -> None:
    kept = secrets(tmp_path)
    await kept.load()
    assert (kept.backend(), kept.key_for("openai")) == ("session", None)
    lockable.is_locked = False
    assert (kept.key_for("openai"), kept.backend()) == (KEY, "keyring")


@pytest.mark.parametrize("is_restarted", [True, False])
async def test_a_key_that_was_deleted_while_the_keyring_was_locked_is_gone_once_it_is_not(
    tmp_path: Path, lockable: LockableKeyring, is_restarted: bool
) -> None:
    kept = secrets(tmp_path)
    kept.delete_key("openai")
    assert kept.keys() == ()
    lockable.is_locked = False
    await (secrets(tmp_path) if is_restarted else kept).load()
    assert lockable.kept == {}


async def test_a_key_that_was_given_again_is_not_deleted_later(
    tmp_path: Path, lockable: LockableKeyring
) -> None:
    kept = secrets(tmp_path)
    kept.delete_key("openai")
    lockable.is_locked = False
    secrets(tmp_path).set_key("openai", OTHER, "keyring")
    await kept.load()
    assert secrets(tmp_path).key_for("openai") == OTHER


@pytest.mark.usefixtures("ring")
def test_a_key_pasted_over_a_stale_variable_is_the_one_that_is_used(tmp_path: Path) -> None:
    kept = secrets(tmp_path, OPENAI_API_KEY="sk-stale-000000")
    kept.set_key("openai", KEY, "keyring")
    assert kept.key_for("openai") == KEY
    assert secrets(tmp_path, OPENAI_API_KEY="sk-stale-000000").key_for("openai") == KEY
    kept.delete_key("openai")
    assert kept.key_for("openai") == "sk-stale-000000"


def test_keys_that_two_copies_of_the_app_keep_are_all_kept(
    tmp_path: Path, ring: MemoryKeyring
) -> None:
    one, other = (Secrets(tmp_path, environment={}) for _ in range(2))
    one.set_key("openai", KEY, "file")
    other.set_key("anthropic", KEY, "file")
    one.set_key("gemini", KEY, "keyring")
    other.set_key("mistral", KEY, "keyring")
    other.delete_key("openai")
    again = Secrets(tmp_path, environment={})
    known = again.keys()
    found = {info.provider: info.origin for info in known}
    assert found == {"anthropic": "file", "gemini": "keyring", "mistral": "keyring"}
    assert {again.key_for(name) for name in found} == {KEY}


@pytest.mark.usefixtures("ring")
def test_a_variable_set_for_one_run_stands_before_what_was_stored(tmp_path: Path) -> None:
    secrets(tmp_path).set_key("openai", KEY, "keyring")
    assert secrets(tmp_path, OPENAI_API_KEY=OTHER).key_for("openai") == OTHER


@pytest.mark.parametrize("key", ["", "   ", "two words", "line\nbreak", "k\u00e9y", "a\x00b"])
@pytest.mark.usefixtures("no_ring")
def test_what_cannot_be_a_key_is_refused(tmp_path: Path, key: str) -> None:
    with pytest.raises(ValueError, match="a key has"):
        secrets(tmp_path).set_key("openai", key, "session")


@pytest.mark.parametrize("name", ["keys.json", "key-names.json"])
@pytest.mark.usefixtures("no_ring")
def test_a_damaged_file_is_kept_aside(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("{damaged")
    kept = secrets(tmp_path)
    kept.set_key("openai", KEY, "file")
    assert len(list(tmp_path.glob("*.damaged-20*.json"))) == 1
    assert secrets(tmp_path).key_for("openai") == KEY


# Where a key is not


def test_no_key_is_shown_or_logged(
    tmp_path: Path, ring: MemoryKeyring, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        kept = secrets(tmp_path, GROQ_API_KEY=KEY)
        kept.set_key("openai", KEY, "keyring")
        kept.set_key("anthropic", KEY, "file")
        kept.key_for("openai")
        keyring.set_keyring(LockedKeyring())
        kept.delete_key("openai")
    assert KEY not in repr(kept) + repr(kept.keys()) + str(vars(kept).keys()) + caplog.text
