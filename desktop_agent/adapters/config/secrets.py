"""Keys of model providers: from the environment, the system's keyring, memory, or a file."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from desktop_agent.adapters.config.key_parts import KeyParts
from desktop_agent.adapters.files.private_file import set_aside, write_private
from desktop_agent.adapters.files.unknown_fields import encode_keeping, what_is_in
from desktop_agent.core.commands import KeyPlace
from desktop_agent.core.keys.known_keys import KEYS
from desktop_agent.core.mcp import SIGN_INS
from desktop_agent.core.models import KeyInfo
from desktop_agent.core.providers import PROVIDERS, find_provider, key_owner

_log = logging.getLogger(__name__)


KEYS_FILE = "keys.json"
_KEYRING_NAME = "desktop-agent"


class _Names(msgspec.Struct):
    """Whose keys the keyring holds (it can't be listed), and which stand before a variable.

    `deleted` are those that it still holds because it was locked when they were deleted.
    """

    keyring: list[str] = []
    preferred: list[str] = []
    deleted: list[str] = []


class Secrets:
    """Finds and keeps keys. Safe to use from several threads; no key is logged or shown.

    For one provider the first of these counts: a key the user set while the environment
    had one too, the environment, the keyring, this session's memory, the file.
    `without_ring` says where a key goes that is meant for the keyring where none works.
    `load` reads the keyring in a thread of its own: it may wait for the user's password. One
    that did not answer is asked again when a key of it is wanted: it may be unlocked by then.
    """

    def __init__(
        self,
        directory: Path,
        *,
        environment: Mapping[str, str] | None = None,
        without_ring: Callable[[], KeyPlace] = lambda: "session",
    ) -> None:
        self._without_ring = without_ring
        self._names_path = directory / "key-names.json"
        self._file_path = directory / KEYS_FILE
        self._environment = os.environ if environment is None else environment
        self._guard = threading.RLock()
        self._session: dict[str, str] = {}
        self._from_ring: dict[str, str] = {}
        self._file: dict[str, str] = {}
        self._names = _Names()
        self._saved_names = b""
        self._read_again()
        self._ring: Any = None
        self._may_have_ring = True

    async def load(self) -> None:
        """Read the keys from the keyring, off the event loop."""
        await asyncio.to_thread(self._load_ring)

    def key_for(self, model_or_provider: str) -> str | None:
        """Return the key for a provider, a litellm model name or a server's address.

        Wherever it turns up from now on, it is hidden.
        """
        with self._guard:
            key = self._key_of(key_owner(model_or_provider))
        KEYS.remember(key)
        return key

    def keys(self) -> tuple[KeyInfo, ...]:
        """Return whose keys are known and where each was found, without asking the keyring.

        Those to sign in to MCP servers are left out.
        """
        with self._guard:
            owners = dict.fromkeys(each.name for each in PROVIDERS)
            owners.update(dict.fromkeys([*self._names.keyring, *self._session, *self._file]))
            found = (self._where(owner) for owner in owners if not owner.startswith(SIGN_INS))
            return tuple(info for info in found if info is not None)

    def set_key(self, provider: str, key: str, where: KeyPlace) -> KeyPlace:
        """Keep a key and return where: as `without_ring` says when the keyring refused it.

        Raises ValueError for what can't be a key, OSError when the file can't be written.
        """
        key = key.strip()
        if not key or not (key.isascii() and key.isprintable()) or " " in key:
            raise ValueError("a key has no blanks or line breaks")
        owner = key_owner(provider)
        with self._changing():
            if where == "keyring" and not self._put_in_ring(owner, key):
                where = self._without_ring()
            if where == "session":
                self._session[owner] = key
            elif where == "file":
                self._file[owner] = key
                self._save_file()
            self._forget(owner, but=where)  # not before: the disk may refuse the new one
            if self._variable(owner) and owner not in self._names.preferred:
                self._names.preferred.append(owner)
            self._save_names()
        return where

    def delete_key(self, provider: str) -> None:
        """Forget a key everywhere but in the environment, which is not ours to change."""
        owner = key_owner(provider)
        with self._changing():
            self._forget(owner, but=None)
            if owner in self._names.preferred:
                self._names.preferred.remove(owner)
            self._save_names()

    def backend(self) -> Literal["keyring", "session"]:
        """Return where a key can be kept: `session` on systems without a real keyring.

        The first call tries the keyring out, which can take a while.
        """
        with self._guard:
            return "session" if self._open_ring() is None else "keyring"

    # Inside, with the guard held

    @contextlib.contextmanager
    def _changing(self) -> Generator[None]:
        """What the disk refuses is not kept here either: it would be gone with the app."""
        with self._guard:
            self._read_again()
            try:
                yield
            except OSError:
                self._read_again()
                raise

    def _read_again(self) -> None:
        """Before every change: what another copy of the app has kept meanwhile stays."""
        file, names = _read(self._file_path, dict[str, str]), _read(self._names_path, _Names)
        self._file = self._file if file is None else file
        self._names = self._names if names is None else names
        self._saved_names = msgspec.json.encode(self._names)

    def _key_of(self, owner: str) -> str | None:
        info = self._where(owner)
        if info is None:
            return None
        if info.origin == "environment":
            return self._environment[info.variable].strip()
        if info.origin == "keyring":
            return self._ring_key(owner)
        return (self._session if info.origin == "session" else self._file)[owner]

    def _where(self, owner: str) -> KeyInfo | None:
        variable = self._variable(owner)
        if variable and owner not in self._names.preferred:
            return KeyInfo(owner, "environment", variable)
        if owner in self._names.keyring:
            return KeyInfo(owner, "keyring")
        if owner in self._session:
            return KeyInfo(owner, "session")
        if owner in self._file:
            return KeyInfo(owner, "file")
        return KeyInfo(owner, "environment", variable) if variable else None

    def _variable(self, owner: str) -> str:
        provider = find_provider(owner)
        names = provider.variables if provider else ()
        return next((name for name in names if self._environment.get(name, "").strip()), "")

    def _forget(self, owner: str, *, but: KeyPlace | None) -> None:
        if but != "session":
            self._session.pop(owner, None)
        if but != "file" and self._file.pop(owner, None) is not None:
            self._save_file()
        if but != "keyring" and owner in self._names.keyring:
            self._names.keyring.remove(owner)
            self._from_ring.pop(owner, None)
            if not self._delete_from_ring(owner) and owner not in self._names.deleted:
                self._names.deleted.append(owner)

    def _save_file(self) -> None:
        if self._file:
            write_private(self._file_path, msgspec.json.encode(self._file))
        else:
            self._file_path.unlink(missing_ok=True)

    def _save_names(self) -> None:
        body = msgspec.json.encode(self._names)
        if body != self._saved_names:
            kept = encode_keeping(self._names, what_is_in(self._names_path))
            write_private(self._names_path, kept)
            self._saved_names = body

    def _load_ring(self) -> None:
        with self._guard:
            is_wanted = self._names.keyring or self._names.deleted
            if not is_wanted or self._open_ring() is None:
                return
            for owner in self._names.keyring:
                self._ring_key(owner)
            if self._names.deleted:
                _quietly(self._delete_at_last)

    def _delete_at_last(self) -> None:
        """Delete from the keyring what could not be deleted while it was locked."""
        self._read_again()
        gone = [o for o in self._names.deleted if self._delete_from_ring(o)]
        self._names.deleted = [o for o in self._names.deleted if o not in gone]
        self._save_names()

    def _delete_from_ring(self, owner: str) -> bool:
        """Return whether the keyring holds it no more."""
        ring = self._open_ring()
        if ring is None:
            return False
        _quietly(lambda: ring.delete_password(_KEYRING_NAME, owner))
        return _quietly(lambda: ring.get_password(_KEYRING_NAME, owner) is None) is True

    def _ring_key(self, owner: str) -> str | None:
        if owner not in self._from_ring:
            ring = self._open_ring()
            if ring is None:
                return None
            key = _quietly(lambda: ring.get_password(_KEYRING_NAME, owner))
            if key is None:
                return None
            self._from_ring[owner] = key
        return self._from_ring[owner]

    def _put_in_ring(self, owner: str, key: str) -> bool:
        ring = self._open_ring()
        if ring is None:
            return False
        _quietly(lambda: ring.set_password(_KEYRING_NAME, owner, key))
        if _quietly(lambda: ring.get_password(_KEYRING_NAME, owner)) != key:
            return False
        self._from_ring[owner] = key
        if owner not in self._names.keyring:
            self._names.keyring.append(owner)
        if owner in self._names.deleted:
            self._names.deleted.remove(owner)
        return True

    def _open_ring(self) -> Any:
        if self._ring is None and self._may_have_ring:
            ring = _real_ring()
            self._may_have_ring = ring is not None
            self._ring = ring if ring is not None and _quietly(lambda: _keeps(ring)) else None
        return self._ring


class KeyStore:
    """The same keys for the window, off the loop: a keyring may wait for the user's password."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets

    async def keys(self) -> tuple[KeyInfo, ...]:
        """Return whose keys are known and where each was found."""
        return await asyncio.to_thread(self._secrets.keys)

    async def has_keyring(self) -> bool:
        """Whether this system has a keyring that keeps keys."""
        return await asyncio.to_thread(self._secrets.backend) == "keyring"

    async def set_key(self, provider: str, key: str, where: KeyPlace) -> KeyPlace:
        """Keep a key, and return where it is kept. Raises as Secrets.set_key does."""
        return await asyncio.to_thread(self._secrets.set_key, provider, key, where)

    async def delete_key(self, provider: str) -> None:
        """Forget a key everywhere but in the environment."""
        await asyncio.to_thread(self._secrets.delete_key, provider)


def _real_ring() -> Any:
    """Return the system's keyring, locked or not, or None: headless systems have none."""
    import keyring  # looks for backends on import: not at the app's start

    ring = _quietly(keyring.get_keyring)
    return KeyParts(ring) if ring is not None and _is_real(ring) else None


def _keeps(ring: Any) -> bool:
    """Try a keyring out. Raises whatever it does while it is locked."""
    name, value = f"probe-{os.urandom(4).hex()}", os.urandom(8).hex()
    ring.set_password(_KEYRING_NAME, name, value)
    is_kept = ring.get_password(_KEYRING_NAME, name) == value
    if is_kept:
        _quietly(lambda: ring.delete_password(_KEYRING_NAME, name))
    return is_kept


def _is_real(ring: Any) -> bool:
    # A chain writes to its first member. keyrings.alt keeps keys in files anyone can read.
    first = next(iter(getattr(ring, "backends", None) or [ring]))
    if type(first).__module__.startswith("keyrings.alt"):
        return False
    priority = _quietly(lambda: first.priority)
    return isinstance(priority, int | float) and priority > 0


def _quietly(call: Any) -> Any:
    """Return the call's result, or None when the keyring failed: it is then not used."""
    try:
        return call()
    except Exception as error:  # noqa: BLE001 - backends raise anything, D-Bus errors included
        _log.info("the keyring did not answer: %s", type(error).__name__)
        return None


def _read(path: Path, kind: Any) -> Any:
    """Return what a file holds, nothing where there is none; None when it can't be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return {} if kind is not _Names else _Names()
    except OSError as error:
        _log.error("%s can't be read: %s", path.name, type(error).__name__)
        return None
    except (msgspec.DecodeError, UnicodeDecodeError):
        _log.error("%s was damaged; it is kept as %s", path.name, set_aside(path))
        return None
