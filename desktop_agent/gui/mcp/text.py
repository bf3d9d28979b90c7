"""Servers and their tools, as rows and words."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

import msgspec
from PySide6.QtCore import QCoreApplication

from desktop_agent.core.mcp import McpLine, McpServer, McpState, McpTool, clean_name
from desktop_agent.core.prose.command_words import command_of, words_of
from desktop_agent.gui.kit.safe_text import duration_text, path_text, with_marks

translate = QCoreApplication.translate
_MOST_SHOWN = 300
_MOST_NAMES, _LONGEST_NAME = 6, 60
_VARIABLE = re.compile(r"\s*([^=:\s]+)\s*[=:]\s?(.*)")
_PLACE = re.compile(r"[\"']?([./]|[A-Za-z]:[\\/])")


class SwitchRow(msgspec.Struct, frozen=True):
    """A row of two lines with a switch (None: it has none), a word at the end and its tone.

    With an `action`, a button with these words stands in place of the word at the end.
    """

    key: str
    title: str
    below: str
    tone: str = ""
    trailing: str = ""
    badge: str = ""
    badge_tone: str = ""
    icon: str = ""
    # Before what is below: an icon, or `dot` or `ring`.
    mark: str = ""
    action: str = ""
    is_on: bool | None = None

    @property
    def spoken(self) -> str:
        """What a screen reader says of it."""
        switch = {True: translate("Mcp", "on"), False: translate("Mcp", "off"), None: ""}[
            self.is_on
        ]
        words = (self.title, self.below, self.trailing, self.badge, self.action, switch)
        return ", ".join(word for word in words if word)


def server_row(state: McpState) -> SwitchRow:
    """Return a server's row in the list."""
    server = state.server
    words, tone = state_words(state)
    return SwitchRow(
        key=server.name,
        title=with_marks(server.name),
        below=words,
        tone=tone,
        mark=state_mark(state),
        trailing=" · ".join(filter(None, (count_words(state), origin_words(server)))),
        action=translate("Mcp", "Look and trust…") if state.needs_trust else "",
        icon="server" if server.is_local else "globe",
        is_on=server.is_on,
    )


def tool_row(tool: McpTool, state: McpState) -> SwitchRow:
    """Return a tool's row in the list of a server's."""
    is_changed = tool.name in state.changed
    return SwitchRow(
        key=tool.name,
        title=with_marks(tool.name[:120]),
        below=with_marks(" ".join(tool.description.split())[:_MOST_SHOWN]),
        badge=translate("Mcp", "changed since allowed") if is_changed else mark_words(tool),
        badge_tone="warn" if is_changed or tool.mark == "changes" else "",
        is_on=tool.name not in state.server.tools_off,
    )


def state_words(state: McpState) -> tuple[str, str]:
    """Return how a server stands, and the colour of it."""
    problem = with_marks(" ".join(state.problem.split()))
    if state.sign_in_url:
        return translate("Mcp", "Waits until you have signed in"), "warn"
    return {
        "off": (translate("Mcp", "Off"), "subtle"),
        "idle": (translate("Mcp", "Starts with your next message"), "muted"),
        "waiting": (problem, "warn"),
        "starting": (translate("Mcp", "Starting…"), "muted"),
        "running": (translate("Mcp", "Running"), "ok"),
        "failed": (translate("Mcp", "Failed: {why}").format(why=problem), "err"),
        "sign_in": (translate("Mcp", "Needs sign-in. {why}").format(why=problem), "warn"),
    }[state.phase]


def state_mark(state: McpState) -> str:
    """Return the mark of how a server stands: an icon, `dot`, `ring`, or nothing."""
    if state.sign_in_url:
        return "circle-alert"
    return {
        "off": "ring",
        "idle": "ring",
        "waiting": "circle-alert",
        "starting": "circle-dashed",
        "running": "dot",
        "failed": "circle-x",
        "sign_in": "circle-alert",
    }[state.phase]


def since_words(state: McpState) -> str:
    """Return the state with how long it has been so."""
    if state.phase != "running" or not state.since:
        return state_words(state)[0]
    age = duration_text(max(0.0, time.time() - state.since))
    return translate("Mcp", "Running for {time}").format(time=age)


def count_words(state: McpState) -> str:
    """Return how many tools a server has."""
    every = len(state.tools)
    off = sum(1 for tool in state.tools if tool.name in state.server.tools_off)
    if not every:
        return translate("Mcp", "no tools") if state.phase == "running" else ""
    if off:
        return translate("Mcp", "{n} of {all} tools").format(n=every - off, all=every)
    return (
        translate("Mcp", "1 tool") if every == 1 else translate("Mcp", "{n} tools").format(n=every)
    )


def on_words(state: McpState) -> str:
    """Return how many of a server's tools are on."""
    every = len(state.tools)
    off = sum(1 for tool in state.tools if tool.name in state.server.tools_off)
    return translate("Mcp", "{n} of {all} on").format(n=every - off, all=every)


def log_text(lines: Sequence[McpLine]) -> str:
    """Return what a server wrote, each line with its time."""
    return "\n".join(
        f"{time.strftime('%H:%M:%S', time.localtime(line.at))}  {with_marks(line.text)}"
        for line in lines
    )


def listed_words(names: Sequence[str]) -> str:
    """Return the first of many names, and how many more there are."""
    shown = ", ".join(path_text(name[:_LONGEST_NAME]) for name in names[:_MOST_NAMES])
    more = len(names) - _MOST_NAMES
    words = translate("Mcp", "{names} and {n} more")
    return words.format(names=shown, n=more) if more > 0 else shown


def origin_words(server: McpServer) -> str:
    """Return whose a server is."""
    return {
        "mine": translate("Mcp", "yours"),
        "folder": translate("Mcp", "this folder’s"),
        "run": translate("Mcp", "for this run"),
    }[server.origin]


def mark_words(tool: McpTool) -> str:
    """Return what the server says that a tool does."""
    return {
        "reads": translate("Mcp", "reads"),
        "changes": translate("Mcp", "changes"),
        "unknown": translate("Mcp", "unknown"),
    }[tool.mark]


def command_text(server: McpServer) -> str:
    """Return the command or the address of a server."""
    return server.url or command_of((server.command, *server.args))


def variables_text(server: McpServer) -> str:
    """Return variables, or headers, a line each, as they are kept."""
    values = server.env if server.is_local else server.headers
    return "\n".join(f"{name}={value}" for name, value in values.items())


def server_from(
    name: str,
    command: str,
    variables: str,
    *,
    is_outside: bool,
    client: tuple[str, str] = ("", ""),
    before: McpServer | None = None,
) -> McpServer | str:
    """Return what was typed as a server, or a sentence that says what is missing."""
    command = command.strip()
    if not command:
        return translate("Mcp", "Type a command or an address.")
    is_address = command.startswith(("http://", "https://"))
    try:
        words = () if is_address else words_of(command)
    except ValueError:
        return translate("Mcp", "A quotation mark is missing in the command.")
    values, rest = _left_as_they_are(variables, before, is_address=is_address)
    for line in filter(str.strip, rest.splitlines()):
        found = _VARIABLE.fullmatch(line)
        if found is None:
            return translate("Mcp", "“{line}” is no NAME=value.").format(line=with_marks(line[:60]))
        values[found[1]] = found[2]
    return McpServer(
        name=clean_name(name or suggested_name(command)),
        command=words[0] if words else "",
        args=words[1:],
        env={} if is_address else values,
        url=command if is_address else "",
        headers=values if is_address else {},
        is_sse=is_address and _is_sse(command, before),
        cwd=before.cwd if before is not None else "",
        tools_off=before.tools_off if before is not None else (),
        is_on=before.is_on if before is not None else True,
        is_outside=is_outside and not is_address,
        client_id=client[0].strip() if is_address else "",
        client_secret=client[1].strip() if is_address and client[0].strip() else "",
    )


def _left_as_they_are(
    text: str, before: McpServer | None, *, is_address: bool
) -> tuple[dict[str, str], str]:
    """Return the values that were not changed, and the rest: one may have lines of its own."""
    kept: dict[str, str] = {}
    known = {} if before is None else before.headers if is_address else before.env
    rest = f"\n{text}\n"
    for name, value in known.items():
        lines = f"\n{name}={value}\n".replace("\r\n", "\n")
        if lines in rest:
            rest = rest.replace(lines, "\n", 1)
            kept[name] = value
    return kept, rest


def _is_sse(address: str, before: McpServer | None) -> bool:
    """Whether a server speaks the older way: what was said of its address before still holds."""
    if before is not None and before.url == address:
        return before.is_sse
    return address.rstrip("/").endswith("/sse")


def suggested_name(command: str) -> str:
    """Return a name for a command or an address: what a person would call it."""
    if command.startswith(("http://", "https://")):
        host = command.split("/")[2].split("@")[-1].split(":")[0]
        parts = [part for part in host.split(".") if part not in ("www", "mcp", "api")]
        return parts[0] if parts else host
    words = [word for word in command.split() if not word.startswith("-")]
    known = [word for word in words[1:] if not _PLACE.match(word)] or words[:1]
    name = re.split(r"[/\\]", known[0])[-1].split("@")[0] if known else ""
    return re.sub(r"^(mcp-)?(server-)?|(-mcp)?(-server)?$", "", name) or name
