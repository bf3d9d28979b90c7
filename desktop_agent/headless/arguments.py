"""The command line of `desktop-agent run`. A mistake is one sentence and exit code 2."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NoReturn, cast

import msgspec

from desktop_agent.adapters.mcp.formats import read_config
from desktop_agent.core.approvals import Mode, Rule
from desktop_agent.core.mcp import McpError
from desktop_agent.core.network.hosts import HostError
from desktop_agent.engine.permissions.host_rules import given_rule
from desktop_agent.engine.workspace.containment import with_home

_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


SandboxUse = Literal["auto", "on", "off"]


class Options(msgspec.Struct, frozen=True):
    """What the command line says; `mode` is None when it does not say.

    `hosts` are rules for the hosts that commands may reach. `allows_all` lets the run use the
    whole disk. `mcp_files` hold more MCP servers.
    """

    prompt: str
    workspace: Path
    model: str = ""
    api_base: str = ""
    mode: Mode | None = None
    max_steps: int | None = None
    timeout_s: float | None = None
    session: str = ""
    is_trusted: bool = False
    sandbox: SandboxUse = "auto"
    output: Literal["text", "jsonl"] = "text"
    hosts: tuple[Rule, ...] = ()
    allows_all: bool = False
    mcp_files: tuple[Path, ...] = ()


class UsageError(Exception):
    """The command line is wrong; the text is one sentence for the user."""


class Parser(argparse.ArgumentParser):
    """Raises UsageError in place of ending the program."""

    def error(self, message: str) -> NoReturn:
        """Raise it."""
        raise UsageError(message.removeprefix("argument "))


def parse(argv: Sequence[str]) -> Options:
    """Read the arguments behind `run`. Raises UsageError; `--help` prints and exits."""
    given = make_parser().parse_args(argv)
    if not given.prompt.strip():
        raise UsageError("PROMPT is empty: say what to do")
    if given.api_base and not given.model:
        raise UsageError("--api-base needs --model, such as --model openai/NAME")
    if given.allow_all and given.sandbox != "off":
        raise UsageError("--allow-all needs --sandbox off: it is for a machine set apart for this")
    return Options(
        # Bytes of a command line that are no text would be refused by store and provider.
        prompt=os.fsencode(given.prompt).decode("utf-8", "replace"),
        workspace=given.workspace,
        model=given.model or "",
        api_base=given.api_base or "",
        mode=cast(Mode | None, given.mode),
        max_steps=given.max_steps,
        timeout_s=given.timeout,
        session=given.session or "",
        is_trusted=given.trust,
        sandbox=cast(SandboxUse, given.sandbox),
        output=given.output,
        hosts=tuple(given.allow_host),
        allows_all=given.allow_all,
        mcp_files=tuple(given.mcp_config),
    )


def make_parser() -> argparse.ArgumentParser:
    """Return the options of `run`; the man page is written from them."""
    parser = Parser(
        prog="desktop-agent run",
        description="Let an agent work in a folder, without a window.",
        epilog="Exit codes: 0 finished, 1 model or engine error, 2 wrong usage, 3 stopped by a "
        "limit, 130 interrupted. Keys come from the environment or the keyring.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("prompt", metavar="PROMPT", help="what to do")
    add("--workspace", metavar="DIR", type=folder, required=True, help="the folder to work in")
    add("--model", metavar="NAME", type=_name, help="“demo”, or a name for litellm")
    add("--api-base", metavar="URL", type=http_address, help="a server's address")
    add("--mode", choices=("look", "ask", "free"), help="what is allowed; ask refuses (default)")
    add("--max-steps", metavar="N", type=_count, help="stop after so many model calls of an agent")
    add("--timeout", metavar="S", type=_seconds, help="stop after this many seconds")
    add("--session", metavar="ID", type=session_id, help="continue or begin it")
    _add_rights(parser)
    add(
        "--output", choices=("text", "jsonl"), default="text", help="jsonl: every event, one a line"
    )
    return parser


def _add_rights(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--allow-host",
        metavar="HOST[:PORT]",
        type=_host,
        action="append",
        default=[],
        help="let commands and web_fetch reach it; ports 80 and 443 without one (repeatable)",
    )
    add(
        "--sandbox",
        choices=("auto", "on", "off"),
        default="auto",
        help="where commands run: in it where it holds (auto), only there (on), or as they are, "
        "since this machine is a sandbox itself (off)",
    )
    add(
        "--allow-all",
        action="store_true",
        help="with --sandbox off: the file tools may use the whole disk too, for this run",
    )
    add(
        "--mcp-config",
        metavar="FILE",
        type=_file,
        action="append",
        default=[],
        help="use the MCP servers in this file too, for this run (repeatable)",
    )
    add("--trust", action="store_true", help="trust what the folder itself sets up, for this run")


def folder(text: str) -> Path:
    """Return a folder that is there as an argument; raises ArgumentTypeError."""
    try:
        found = with_home(text).resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        raise argparse.ArgumentTypeError(f"there is no folder {text!r}") from None
    if not found.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is not a folder")
    try:
        str(found).encode()
    except UnicodeEncodeError:  # neither the sessions nor a provider can be told of it
        why = f"a name in the path of {text!r} is no text in UTF-8: rename it first"
        raise argparse.ArgumentTypeError(why) from None
    return found


def _file(text: str) -> Path:
    path = with_home(text)
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"there is no file {text!r}")
    try:
        read_config(path.read_text(encoding="utf-8-sig"), "run")
    except (McpError, OSError, UnicodeDecodeError) as error:
        raise argparse.ArgumentTypeError(f"{text!r} can't be used: {error}") from None
    return path.resolve()


def _name(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("the name is empty")
    return text.strip()


def http_address(text: str) -> str:
    """Return an address as an argument; raises ArgumentTypeError."""
    if not re.match(r"https?://[^/\s]+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not an http or https address")
    return text


def _host(text: str) -> Rule:
    try:
        return given_rule(text.strip())
    except HostError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no host to allow: {error}") from None


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of steps, 1 or more")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 10**7:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return seconds


def session_id(text: str) -> str:
    """Return an id of a session as an argument; raises ArgumentTypeError."""
    if not _SESSION.fullmatch(text):
        raise argparse.ArgumentTypeError("an id has up to 64 letters, digits and the signs - _ .")
    return text
