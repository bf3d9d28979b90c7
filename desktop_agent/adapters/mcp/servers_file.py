"""`mcp.json` beside the settings, the secrets in it, and how the tools were described."""

from __future__ import annotations

import base64
import contextlib
import json
import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from desktop_agent.adapters.files.private_file import set_aside, write_private, write_through
from desktop_agent.adapters.mcp import other_apps
from desktop_agent.adapters.mcp.formats import (
    CLIENT_KEYS,
    entries_in,
    entry_of,
    read_config,
    read_foreign,
    without_comments,
)
from desktop_agent.adapters.mcp.grants import Grants
from desktop_agent.adapters.mcp.secret_store import SecretStore
from desktop_agent.core.keys.known_keys import KEYS
from desktop_agent.core.keys.redaction import is_secret_name
from desktop_agent.core.mcp import McpError, McpServer, clean_name

_log = logging.getLogger(__name__)

MCP_FILE = "mcp.json"
_TOOLS_FILE = "mcp-tools.json"
_KEY = "mcpServers"
_KEPT = "keyring:"
# A name of its own among the secrets of a server.
_CLIENT_SECRET = "OAUTH_CLIENT_SECRET"
# Before a secret that no key can be like.
_CODED = "base64-of:"
_VARIABLE = re.compile(r"\$\{([^{}$]{1,200})\}")
_HEADERS = frozenset({"authorization", "cookie", "x-api-key"})


class _Tools(msgspec.Struct, frozen=True):
    """The file of tools: digests by server and tool; switches of servers of folders."""

    digests: dict[str, dict[str, str]] = {}


class McpFile:
    """The engine's McpMemory. What other apps wrote into the file and we don't know stays.

    `more` are files that count for this run, whose servers nothing is kept about.
    """

    def __init__(
        self,
        directory: Path,
        secrets: Callable[[], SecretStore],
        more: Sequence[Path] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._path = directory / MCP_FILE
        self._tools_path = directory / _TOOLS_FILE
        self._secrets = secrets
        self.grants = Grants(secrets)
        self._more = more
        self._environment = os.environ if environment is None else environment
        # By the folder that brings it, empty for none, and its name.
        self._switched: dict[tuple[str, str], McpServer] = {}
        self._known: _Tools | None = None

    def servers(self) -> tuple[McpServer, ...]:
        """Return the user's own servers, and those of this run; the latter win a name."""
        found = {server.name: server for server in self._own()}
        for path in self._more:
            found.update({one.name: one for one in read_file(path, "run")})
        return tuple(self._as_switched(one) for one in found.values())

    def folder_servers(self, root: str, text: str) -> tuple[McpServer, ...]:
        """Return the servers that the `.mcp.json` of a folder holds. Raises McpError."""
        return tuple(self._as_switched(one, root) for one in read_config(text, "folder"))

    def read(self, text: str) -> tuple[McpServer, ...]:
        """Return the servers in a configuration that the user gives. Raises McpError."""
        return read_foreign(text)

    def found(self) -> tuple[tuple[str, tuple[McpServer, ...]], ...]:
        """Return the servers of other apps, by app."""
        return other_apps.found()

    def save(self, server: McpServer, replaces: str = "") -> McpServer:
        """Keep a server, its secrets apart, and return it as it is kept. Raises McpError.

        One that is renamed keeps the secrets that it had; what it needs no more is forgotten.
        """
        known = [one for one in self._own() if one.name in (replaces, server.name)]
        for name in _secret_names(server) if replaces else ():
            if (secret := self._secrets().key_for(_owner(replaces, name))) is not None:
                self._secrets().set_key(_owner(server.name, name), secret, "keyring")
        env = {name: self._kept(server.name, name, value) for name, value in server.env.items()}
        headers = {
            name: self._kept(server.name, name, value, is_header=True)
            for name, value in server.headers.items()
        }
        secret = self._kept(server.name, _CLIENT_SECRET, server.client_secret)
        kept = msgspec.structs.replace(
            server, env=env, headers=headers, client_secret=secret, origin="mine"
        )

        def changed(servers: dict[str, Any]) -> None:
            there = servers.pop(_key(servers, replaces or kept.name), {})
            old = cast("dict[str, Any]", there if isinstance(there, dict) else {})
            rest = {key: value for key, value in old.items() if key not in _OURS}
            servers[kept.name] = {**rest, **_with_oauth(entry_of(kept), old.get("oauth"))}

        self._change(changed)
        for before in known:
            if (before.url, before.client_id) != (kept.url, kept.client_id):
                self._sign_out(before)
        self._forget({each for one in known for each in _owners(one)} - _owners(kept))
        return kept

    def remove(self, name: str) -> None:
        """Forget a server and its secrets.

        How its tools were described stays: rules for them do too, and another server of its name is
        not to be used by those before the user was asked.
        """
        known = [server for server in self._own() if server.name == name]
        self._change(lambda servers: servers.pop(_key(servers, name), None))
        for server in known:
            self._sign_out(server)
            self._forget(_owners(server))

    def switch(self, server: McpServer, root: str) -> None:
        """Keep whether it is on, and which tools are off; what is not the user's for this run."""
        if server.origin != "mine":
            self._switched[root if server.origin == "folder" else "", server.name] = server
            return

        def changed(servers: dict[str, Any]) -> None:
            entry = servers.get(_key(servers, server.name))
            if isinstance(entry, dict):
                now = entry_of(server)
                for key in ("disabled", "disabledTools", "outsideSandbox"):
                    cast("dict[str, Any]", entry).pop(key, None)
                    if key in now:
                        entry[key] = now[key]

        self._change(changed)

    def resolved(self, server: McpServer, root: str) -> McpServer:
        """Return it with the variables in it replaced. Raises McpError that names one missing."""

        def filled(text: str) -> str:
            return _VARIABLE.sub(lambda found: self._value(server, found[1], root), text)

        whole = msgspec.structs.replace(
            server,
            command=filled(server.command),
            args=tuple(map(filled, server.args)),
            env={name: filled(value) for name, value in server.env.items()},
            cwd=filled(server.cwd),
            url=filled(server.url),
            headers={name: filled(value) for name, value in server.headers.items()},
            client_id=filled(server.client_id),
            client_secret=filled(server.client_secret),
        )
        for secret in _secrets_in(whole):  # it may tell of them, wherever they are kept
            KEYS.remember(secret)
        return whole

    def secret(self, server: McpServer, variable: str) -> str:
        """Return a kept secret of a server's, to be looked at. Raises McpError."""
        return self._value(server, f"{_KEPT}{variable}", "")

    def known_digests(self, server: str) -> Mapping[str, str]:
        """Return the digests of a server's tools as they were last accepted, by tool."""
        return self._tools().digests.get(server, {})

    def accept(self, server: str, digests: Mapping[str, str]) -> None:
        """Remember how tools are described; what another copy of the app kept stays.

        Raises OSError.
        """
        ours, theirs = self._tools().digests, self._read_tools().digests
        known = {**ours.get(server, {}), **theirs.get(server, {}), **digests}
        self._known = _Tools({**ours, **theirs, server: known})
        write_private(self._tools_path, msgspec.json.encode(self._known))

    # -- inside ------------------------------------------------------------------------------

    def _own(self) -> tuple[McpServer, ...]:
        try:
            return read_file(self._path, "mine") if self._path.exists() else ()
        except McpError as error:
            _log.warning("mcp.json was not read: %s", error)
            return ()

    def _sign_out(self, server: McpServer) -> None:
        """Forget what a sign-in to its address gave."""
        with contextlib.suppress(McpError, OSError):  # of a variable that is missing now
            if server.url:
                self.grants.forget(self.resolved(server, "").url)

    def _forget(self, owners: Iterable[str]) -> None:
        for owner in owners:
            with contextlib.suppress(OSError):  # the servers are as the user wants them
                self._secrets().delete_key(owner)

    def _as_switched(self, server: McpServer, root: str = "") -> McpServer:
        known = self._switched.get((root, server.name))
        if known is None or known.origin != server.origin:
            return server
        return msgspec.structs.replace(server, is_on=known.is_on, tools_off=known.tools_off)

    def _change(self, change: Callable[[dict[str, Any]], object]) -> None:
        whole = self._whole()
        try:
            servers = entries_in(whole)
        except McpError:
            servers = whole[_KEY] = {}
        change(servers)
        write_through(self._path, json.dumps(whole, indent=2, ensure_ascii=False).encode() + b"\n")

    def _whole(self) -> dict[str, Any]:
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return {}
        try:
            whole = json.loads(without_comments(content.decode("utf-8-sig")))
        except (ValueError, RecursionError):
            whole = None
        if not isinstance(whole, dict):
            _log.error("mcp.json was damaged; it is kept as %s", set_aside(self._path))
            return {}
        return cast("dict[str, Any]", whole)

    def _kept(self, server: str, name: str, value: str, *, is_header: bool = False) -> str:
        """Return what stands in the file for a value: a secret is put where secrets are."""
        is_secret = is_secret_name(name) or (is_header and name.lower() in _HEADERS)
        if not is_secret or not value.strip() or "${" in value:
            return value
        scheme, blank, secret = _parts_of(value) if is_header else ("", "", value)
        self._secrets().set_key(_owner(server, name), _coded(secret), "keyring")
        return f"{scheme}{blank}${{{_KEPT}{name}}}"

    def _value(self, server: McpServer, variable: str, root: str) -> str:
        if variable.startswith(_KEPT):
            name = variable.removeprefix(_KEPT)
            if server.origin == "folder":  # what is kept is one of the user's own servers'
                raise McpError(f"A folder's server gets no secret that is kept here, as {name} is.")
            secret = self._secrets().key_for(_owner(server.name, name))
            if secret is None:
                raise McpError(f"The secret {name} is not known any more: enter it again.")
            return _decoded(secret)
        if variable in ("workspaceFolder", "CLAUDE_PROJECT_DIR"):
            return root
        name, has_default, default = variable.removeprefix("env:").partition(":-")
        found = self._environment.get(name)
        if found is None and not has_default:
            raise McpError(f"The variable {name} is not set.")
        return found if found is not None else default

    def _tools(self) -> _Tools:
        if self._known is None:
            self._known = self._read_tools()
        return self._known

    def _read_tools(self) -> _Tools:
        try:
            return msgspec.json.decode(self._tools_path.read_bytes(), type=_Tools)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return _Tools()


_OURS = frozenset({
    "type", "transport", "command", "cmd", "args", "env", "envs", "env_keys", "cwd", "url",
    "httpUrl", "uri", "serverUrl", "headers", "disabled", "enabled", "disabledTools",
    "outsideSandbox", "oauth", "auth",
})  # fmt: skip


def _with_oauth(entry: dict[str, Any], before: Any) -> dict[str, Any]:
    """Return it with what another app wrote about signing in beside the client."""
    if not isinstance(before, dict):
        return entry
    others = cast("dict[str, Any]", before).items()
    oauth = {key: value for key, value in others if key not in CLIENT_KEYS}
    oauth |= entry.get("oauth", {})
    return {**entry, "oauth": oauth} if oauth else entry


def read_file(path: Path, origin: Any) -> tuple[McpServer, ...]:
    """Return the servers in a file. Raises McpError."""
    try:
        return read_config(path.read_text(encoding="utf-8-sig"), origin)
    except (OSError, UnicodeDecodeError) as error:
        raise McpError(f"{path.name} can't be read: {error}.") from None


def _key(servers: Mapping[str, Any], name: str) -> str:
    """Return what a server is called in the file: somebody may have written it by hand."""
    return next((key for key in servers if clean_name(key) == name), name)


def _secret_names(server: McpServer) -> set[str]:
    """Return what the secrets are called that a server refers to."""
    values = (*server.env.values(), *server.headers.values(), server.client_secret)
    found = (one for value in values for one in _VARIABLE.findall(value))
    return {one.removeprefix(_KEPT) for one in found if one.startswith(_KEPT)}


def _parts_of(header: str) -> tuple[str, str, str]:
    """Return scheme, blank and secret of a header: `Bearer …`."""
    whole = header.strip()
    return whole.partition(" ") if " " in whole else ("", "", header)


def _secrets_in(server: McpServer) -> Iterator[str]:
    """Yield what is secret of a server, judging by names."""
    yield server.client_secret
    yield from (value for name, value in server.env.items() if is_secret_name(name))
    for name, value in server.headers.items():
        if is_secret_name(name) or name.lower() in _HEADERS:
            yield _parts_of(value)[2]


def _owners(server: McpServer) -> set[str]:
    return {_owner(server.name, name) for name in _secret_names(server)}


def _coded(secret: str) -> str:
    """Return a secret as keys are kept, without blanks: a password may hold anything."""
    is_plain = secret.isascii() and secret.isprintable() and " " not in secret
    if is_plain and not secret.startswith(_CODED):
        return secret
    return _CODED + base64.urlsafe_b64encode(secret.encode("utf-8", "surrogatepass")).decode()


def _decoded(kept: str) -> str:
    if not kept.startswith(_CODED):
        return kept
    secret = base64.urlsafe_b64decode(kept.removeprefix(_CODED)).decode("utf-8", "surrogatepass")
    KEYS.remember(secret)
    return secret


def _owner(server: str, name: str) -> str:
    return f"mcp.{server}.{name}".lower()
