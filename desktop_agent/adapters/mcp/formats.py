"""Configurations of servers as apps write them: `mcpServers`, VS Code's `servers`, Goose's YAML.

Nothing is started or resolved here: `${…}` stays as it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

import msgspec

from desktop_agent.core.mcp import McpError, McpOrigin, McpServer, clean_name

LARGEST_FILE = 1_000_000
MOST_SERVERS = 100
CLIENT_KEYS = ("clientId", "clientSecret")
_NO_SERVERS = "There are no MCP servers in it."


def read_config(text: str, origin: McpOrigin) -> tuple[McpServer, ...]:
    """Return the servers in a configuration of any of the known forms. Raises McpError."""
    if len(text) > LARGEST_FILE:
        raise McpError("The file is too large.")
    try:
        found: Any = json.loads(without_comments(text))
    except (ValueError, RecursionError) as error:
        found = _yaml(text, error)
    entries = entries_in(_table(found))
    servers: dict[str, McpServer] = {}
    for name, entry in list(entries.items())[:MOST_SERVERS]:
        server = server_of(clean_name(name), _table(entry), origin)
        if server is not None:
            servers.setdefault(server.name, server)
    return tuple(servers.values())


def read_foreign(text: str) -> tuple[McpServer, ...]:
    """Return the servers in a file that the user takes over. Raises McpError.

    Whoever wrote it doesn't decide that one runs outside the sandbox: the user does, on its page.
    """
    found = read_config(text, "mine")
    return tuple(msgspec.structs.replace(one, is_outside=False) for one in found)


def server_of(name: str, entry: Mapping[str, Any], origin: McpOrigin) -> McpServer | None:
    """Return one server; None where the entry names neither a command nor an address."""
    command = _text(entry, "command", "cmd")
    url = "" if command else _text(entry, "url", "httpUrl", "uri", "serverUrl")
    if not command and not url.startswith(("http://", "https://", "${")):
        return None
    kind = _text(entry, "type", "transport")
    client_id, client_secret = _client(entry) if url else ("", "")
    is_on = entry.get("disabled") is not True and entry.get("enabled") is not False
    return McpServer(
        name=name,
        command=command,
        args=_texts(entry.get("args")),
        env=_variables(entry.get("env")) | _variables(entry.get("envs")) | _named(entry),
        cwd=_text(entry, "cwd"),
        url=url,
        headers=_variables(entry.get("headers")),
        is_sse=bool(url) and (kind == "sse" or (not kind and url.rstrip("/").endswith("/sse"))),
        is_on=is_on,
        tools_off=_texts(entry.get("disabledTools")),
        is_outside=entry.get("outsideSandbox") is True and origin == "mine",
        origin=origin,
        client_id=client_id,
        client_secret=client_secret,
    )


def entry_of(server: McpServer) -> dict[str, Any]:
    """Return a server in the `mcpServers` form, without what has its usual value."""
    entry: dict[str, Any] = {
        "type": "sse" if server.is_sse else "http" if server.url else "stdio",
        "command": server.command,
        "args": list(server.args),
        "env": dict(server.env),
        "cwd": server.cwd,
        "url": server.url,
        "headers": dict(server.headers),
        "disabled": not server.is_on,
        "disabledTools": list(server.tools_off),
        "outsideSandbox": server.is_outside,
        "oauth": {
            key: value
            for key, value in zip(
                CLIENT_KEYS, (server.client_id, server.client_secret), strict=True
            )
            if value
        },
    }
    return {key: value for key, value in entry.items() if value}


def without_comments(text: str) -> str:
    """Return JSON without its comments and commas before an end. Linear; texts stay as they are."""
    out: list[str] = []
    at, length = 0, len(text)
    while at < length:
        one = text[at]
        if one == '"':
            end = _end_of_text(text, at)
            out.append(text[at:end])
            at = end
        elif text.startswith("//", at):
            end = text.find("\n", at)
            at = length if end < 0 else end
        elif text.startswith("/*", at):
            end = text.find("*/", at + 2)
            at = length if end < 0 else end + 2
        else:
            out.append(one)
            at += 1
    return _without_last_commas(out)


def _end_of_text(text: str, at: int) -> int:
    end = at + 1
    while end < len(text) and text[end] != '"':
        end += 2 if text[end] == "\\" else 1
    return end + 1


def _without_last_commas(pieces: list[str]) -> str:
    comma = -1
    for place, piece in enumerate(pieces):
        if piece == ",":
            comma = place
        elif piece in ("}", "]") and comma >= 0:
            pieces[comma] = ""
            comma = -1
        elif not piece.isspace():
            comma = -1
    return "".join(pieces)


def _yaml(text: str, error: Exception) -> Any:
    import yaml  # of Goose alone

    if text.lstrip().startswith(("{", "[")) or "&" in text:  # aliases may grow without end
        raise McpError(f"It is not valid JSON: {error}.") from None
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        raise McpError("It is neither JSON nor YAML that can be read.") from None


def entries_in(whole: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table of servers in any of the known forms, itself. Raises McpError."""
    for key in ("mcpServers", "servers", "extensions", "mcp"):
        inner = whole.get(key)
        if isinstance(inner, dict):
            nested = cast("dict[str, Any]", inner)
            return entries_in(nested) if key == "mcp" else nested
    raise McpError(_NO_SERVERS)


def _table(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _text(entry: Mapping[str, Any], *names: str) -> str:
    values = (entry.get(name) for name in names)
    return next((value.strip() for value in values if isinstance(value, str)), "")


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(str(one) for one in cast("list[Any]", value) if isinstance(one, str | int | float))


def _variables(value: Any) -> dict[str, str]:
    plain = {
        name: str(one)
        for name, one in _table(value).items()
        if isinstance(one, str | int | float) and not isinstance(one, bool)
    }
    return {name: one for name, one in plain.items() if "\0" not in name + one and "=" not in name}


def _client(entry: Mapping[str, Any]) -> tuple[str, str]:
    """Return the app that a server is signed in to as: `oauth` of most apps, `auth` of Cursor."""
    named, cursors = _table(entry.get("oauth")), _table(entry.get("auth"))
    id_ = _text(named, CLIENT_KEYS[0]) or _text(cursors, "CLIENT_ID")
    secret = _text(named, CLIENT_KEYS[1]) or _text(cursors, "CLIENT_SECRET")
    return (id_, secret) if id_ else ("", "")


def _named(entry: Mapping[str, Any]) -> dict[str, str]:
    """Variables that are only named (Goose) are taken from the environment."""
    return {name: f"${{{name}}}" for name in _texts(entry.get("env_keys"))}
