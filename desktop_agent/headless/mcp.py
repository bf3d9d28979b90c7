"""`desktop-agent mcp`: list, add, import, remove and test MCP servers. Only `test` starts one."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from desktop_agent import paths
from desktop_agent.adapters.config import settings_file
from desktop_agent.adapters.config.secrets import Secrets
from desktop_agent.adapters.files.temporary_folder import temporary_folder
from desktop_agent.adapters.mcp.servers_file import McpFile
from desktop_agent.core.commands import KeyPlace
from desktop_agent.core.mcp import McpError, McpServer, McpState, clean_name, hidden_values
from desktop_agent.engine.base.ports import StoreError
from desktop_agent.headless.arguments import Parser, UsageError, http_address
from desktop_agent.headless.command_line import carry_out
from desktop_agent.headless.output import one_line

_LINE = 1000


def main(argv: Sequence[str]) -> int:
    """Do what the arguments behind `mcp` say; return the exit code."""

    def work() -> int:
        given = _parse(argv)
        asked: Callable[[argparse.Namespace], int] = given.work
        return asked(given)

    return carry_out("mcp", work, (McpError, StoreError, OSError, UnicodeDecodeError))


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    # What stands behind -- is another program's, with options of its own.
    at = list(argv).index("--") if "--" in argv else len(argv)
    given = make_parser().parse_args(argv[:at])
    given.program = list(argv[at + 1 :])
    if given.work is not _add:
        if at < len(argv):
            raise UsageError("only `add` takes a command")
    elif bool(given.program) == bool(given.url):
        raise UsageError("add takes either --url URL, or a command behind --")
    return given


def make_parser() -> Parser:
    """Return the commands below `mcp`."""
    parser = Parser(
        prog="desktop-agent mcp",
        description="List, add, import, remove and test MCP servers.",
        epilog="Exit codes: 0 done, 1 failed, 2 wrong usage. They are kept in mcp.json beside the "
        "settings, in the form that other apps use.",
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, what: str, work: Callable[[argparse.Namespace], int]) -> Parser:
        made = commands.add_parser(name, help=what, description=what, allow_abbrev=False)
        made.set_defaults(work=work)
        made.add_argument("--json", action="store_true", help="print JSON")
        return made

    command("list", "list your MCP servers", _list)
    added = command("add", "add a server: NAME -- COMMAND…, or NAME --url URL", _add)
    added.add_argument("--url", metavar="URL", type=http_address, help="a server's address")
    taken = command("import", "add the servers in a file of another app", _import)
    taken.add_argument("file", metavar="FILE", type=Path, help="mcpServers, VS Code's or Goose's")
    removed = command("remove", "remove a server, with its secrets", _remove)
    tested = command("test", "start a server, list its tools, and end it", _test)
    for one in (added, removed, tested):
        one.add_argument("name", metavar="NAME", type=_name, help="the name of a server")
    return parser


def _name(text: str) -> str:
    if clean_name(text) != text:
        raise argparse.ArgumentTypeError("a name has up to 64 letters, digits and the signs - _ .")
    return text


# -- the commands ----------------------------------------------------------------------------


def _list(given: argparse.Namespace) -> int:
    rows = [_row(server) for server in _file().servers()]
    if given.json:
        _print(rows)
    for row in [] if given.json else rows:
        state = "" if row["is_on"] else " (off)"
        _say(f"{row['name']} {row['url'] or ' '.join([row['command'], *row['args']])}{state}")
    return 0


def _add(given: argparse.Namespace) -> int:
    file = _file()
    if given.name.lower() in _taken(file):
        raise McpError(f"there is a server {given.name} already.")
    command, *arguments = given.program or [""]
    server = McpServer(given.name, command, tuple(arguments), url=given.url or "")
    return _told(given, [file.save(server)], [])


def _import(given: argparse.Namespace) -> int:
    file = _file()
    found = file.read(given.file.read_text(encoding="utf-8-sig"))
    known = _taken(file)
    added: list[McpServer] = []
    kept: list[str] = []
    wrong: list[str] = []
    for server in found:
        if server.name.lower() in known:
            kept.append(server.name)
            continue
        try:
            added.append(file.save(server))
            known.add(server.name.lower())
        except McpError as error:
            wrong.append(f"{server.name} was not added: {error}")
    code = _told(given, added, kept)
    if wrong:
        raise McpError(" ".join(wrong))
    return code


def _remove(given: argparse.Namespace) -> int:
    _known(given.name)
    _file().remove(given.name)
    if given.json:
        _print({"removed": given.name})
    return 0


def _test(given: argparse.Namespace) -> int:
    state = asyncio.run(_tested(_known(given.name)))
    is_running = state.phase == "running"
    if given.json:
        tools = [tool.name for tool in state.tools]
        told = {"name": given.name, "phase": state.phase, "problem": state.problem, "tools": tools}
        _print(told)
    elif is_running:
        for tool in state.tools:
            _say(f"{tool.name} {tool.description}".rstrip())
    if not is_running:
        raise McpError(state.problem or f"{given.name} did not start.")
    return 0


async def _tested(server: McpServer) -> McpState:
    from desktop_agent.compose import SESSIONS_FILE, compose

    # Sessions of its own: the app may have the others open.
    with temporary_folder("desktop-agent-") as place:
        backend = await compose(
            lambda _: None,
            data_dir=paths.data_dir(),
            config_dir=paths.config_dir(),
            store_path=place / SESSIONS_FILE,
            is_warmed=False,
        )
        try:
            await backend.engine.sandbox_state()
            return await backend.engine.test_mcp(str(place), server)
        finally:
            await backend.close()


# -- parts -----------------------------------------------------------------------------------


def _taken(file: McpFile) -> set[str]:
    """Return the names that are taken; by upper and lower case no two servers' secrets differ."""
    return {one.name.lower() for one in file.servers()}


def _file() -> McpFile:
    directory = paths.config_dir()
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    return McpFile(directory, lambda: Secrets(directory, without_ring=_without_ring))


def _without_ring() -> KeyPlace:
    """Nothing of this command outlives it but what is on the disk."""
    if settings_file.load(paths.config_dir() / "settings.json").keep_keys_in_file:
        return "file"
    raise McpError(
        "this computer has no keyring to keep its secrets in. Name variables in their place, such "
        "as ${API_KEY}, or choose a private file in Settings, Models and keys."
    )


def _known(name: str) -> McpServer:
    found = next((one for one in _file().servers() if one.name == name), None)
    if found is None:
        raise McpError(f"there is no server {name}. See desktop-agent mcp list.")
    return found


def _row(server: McpServer) -> dict[str, Any]:
    return {
        "name": server.name,
        "command": server.command,
        "args": list(server.args),
        "url": server.url,
        "env": hidden_values(server.env),
        "headers": hidden_values(server.headers),
        "is_on": server.is_on,
    }


def _told(given: argparse.Namespace, added: Sequence[McpServer], kept: Sequence[str]) -> int:
    if given.json:
        _print({"added": [_row(server) for server in added], "kept": list(kept)})
        return 0
    for server in added:
        _say(f"added {server.name}")
    for name in kept:
        _say(f"kept {name} (there is one already)")
    return 0


def _say(text: str) -> None:
    sys.stdout.write(one_line(text, _LINE) + "\n")


def _print(value: Any) -> None:
    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")
