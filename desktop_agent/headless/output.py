"""What a headless run prints: every event as a JSON line, or readable text."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Sequence
from typing import Literal, Protocol, TextIO

import msgspec

from desktop_agent.core.agents import EndReason
from desktop_agent.core.approvals import Deny
from desktop_agent.core.events import (
    AgentEnded,
    AgentSpawned,
    ApprovalResolved,
    BudgetReached,
    CommandRefused,
    EngineFailed,
    Event,
    MachineSandboxChanged,
    McpChanged,
    MessageAdded,
    PartDelta,
    RetryScheduled,
    SessionOpened,
    SkillsChanged,
    ToolEnded,
    ToolStarted,
    TurnEnded,
)
from desktop_agent.core.faults import Fault
from desktop_agent.core.ids import AgentId
from desktop_agent.core.mcp import McpState
from desktop_agent.core.messages import FilesDisplay, Message, OutputDisplay, ToolCall, Value
from desktop_agent.core.skills import FolderTrust
from desktop_agent.core.usage import Usage

_EARLY: dict[EndReason, str] = {
    "step_limit": "Stopped: the limit of steps was reached.",
    "budget": "Stopped by the budget.",
    "timeout": "Stopped: the time was up.",
    "interrupted": "Stopped.",
}
_KEPT = {"\n", "\t"}
# A line for each tool is for a glance; what went wrong is read, and its end may be a path.
_LINE, _ERROR_LINE = 160, 1000
_AMBER, _PLAIN = "\x1b[33m", "\x1b[0m"
_ALL_ALLOWED = (
    "This machine is the sandbox: commands run as they are, and any file may be read and changed."
)


class RunEnded(Value, frozen=True):
    """The last line of a run. `text` is the main agent's last, `usage` all agents' of this run."""

    reason: EndReason
    text: str
    usage: Usage


class Printer(Protocol):
    """Where a run's events go."""

    def show(self, event: Event) -> None:
        """Print an event; raises OSError when the reader has closed the pipe."""
        ...

    def end(self, ended: RunEnded) -> None:
        """Print the end."""
        ...


def printer_for(output: Literal["text", "jsonl"]) -> Printer:
    """Return the printer for `--output`."""
    return JsonLines() if output == "jsonl" else Text(sys.stdout, sys.stderr)


class JsonLines:
    """One JSON object a line, written at once."""

    def __init__(self) -> None:
        self._encoder = msgspec.json.Encoder()

    def show(self, event: Event) -> None:
        """Print the event with its class name as `type`."""
        self._write(event)

    def end(self, ended: RunEnded) -> None:
        """Print the last line."""
        self._write(ended)

    def _write(self, value: Value) -> None:
        sys.stdout.buffer.write(self._encoder.encode(value) + b"\n")
        sys.stdout.buffer.flush()


class Text:
    """The main agent's words as they come, a line for each tool call; trouble to `errors`.

    A subagent's words come whole, and all of its lines begin with its name.
    """

    def __init__(self, out: TextIO, errors: TextIO) -> None:
        self._out = out
        self._errors = errors
        self._calls: dict[str, ToolCall] = {}
        self._doing: dict[str, str] = {}
        self._names: dict[AgentId, str] = {}
        self._unused: tuple[str, ...] = ()
        self._servers: dict[str, str] = {}
        self._streamed = ""
        self._is_mid_line = False

    def show(self, event: Event) -> None:
        """Print what a user wants to know of the event, often nothing."""
        match event:
            case PartDelta(kind="text", text=text) if event.agent_id not in self._names:
                self._streamed = event.message_id
                self._write(text)
            case MessageAdded(message=message) if message.role == "assistant":
                self._on_message(message, self._names.get(event.agent_id, ""))
            case SessionOpened(agents=agents):
                self._names |= {a.id: a.name for a in agents if a.parent_id is not None}
            case AgentSpawned(agent_id=agent_id, spec=spec):
                self._names[agent_id] = spec.name
            case ToolStarted(call=call, doing=doing):
                self._doing[call.id] = doing
            case ToolEnded():
                self._on_tool(event)
            case ApprovalResolved(decision=Deny(by="unattended")):
                pass  # the tool's own line tells it
            case _:
                self._on_trouble(event)

    def end(self, ended: RunEnded) -> None:
        """Say why it ended early, if it did."""
        if ended.reason in _EARLY:
            self._line(self._errors, _EARLY[ended.reason])
        self._new_line()
        self._out.flush()

    def _on_message(self, message: Message, name: str) -> None:
        for call in message.tool_calls:
            self._calls[call.id] = call
        if name:
            lines = [line for line in message.text.splitlines() if line.strip()]
            for line in lines:
                self._line(self._out, f"[{name}] {line}")
            return
        if message.text and self._streamed != message.id:
            self._write(message.text)
        self._new_line()

    def _on_tool(self, ended: ToolEnded) -> None:
        call_id = ended.result.call_id
        call = self._calls.pop(call_id, None)
        doing = self._doing.pop(call_id, "") or _named(call)
        sign = "•" if ended.outcome == "ok" else "✗"
        self._line(self._out, f"{self._whose(ended.agent_id)}{sign} {doing}: {_told(ended)}")

    def _whose(self, agent_id: AgentId) -> str:
        name = self._names.get(agent_id, "")
        return f"[{name}] " if name else ""

    def _on_trouble(self, event: Event) -> None:
        match event:
            case RetryScheduled(delay_s=delay, fault=fault):
                whose = self._whose(event.agent_id)
                self._line(self._errors, f"{whose}Trying again in {delay:.0f} s: {fault.message}")
            case TurnEnded(fault=Fault(message=message)):
                self._line(self._errors, f"{self._whose(event.agent_id)}Error: {message}")
            case AgentEnded(status="stopped" | "over_budget" as status):
                whose = self._whose(event.agent_id)
                self._line(self._errors, f"{whose}Ended: {status.replace('_', ' ')}.")
            case McpChanged(servers=servers):
                self._on_servers(servers)
            case SkillsChanged(trust=trust):
                self._on_trust(trust)
            case MachineSandboxChanged(session_ids=ids) if ids:
                self._warning(_ALL_ALLOWED)
            case BudgetReached():
                self._on_budget(event)
            case EngineFailed(message=message) | CommandRefused(message=message):
                self._line(self._errors, f"Error: {message}")
            case _:
                pass

    def _on_budget(self, reached: BudgetReached) -> None:
        words = {
            "cost": "The limit in dollars can't be measured: the price of the model is not known. "
            "Limit tokens or steps instead.",
            "tokens": "The limit of tokens can't be measured: the provider does not count them. "
            "Limit steps instead.",
        }
        for limit in reached.spent.unmeasured(reached.budget):
            self._line(self._errors, f"{self._whose(reached.agent_id)}{words[limit]}")

    def _on_servers(self, servers: Sequence[McpState]) -> None:
        for state in servers:
            name, problem = state.server.name, state.problem
            is_news = self._servers.get(name) != problem
            self._servers[name] = problem
            if problem and is_news and state.phase in ("failed", "waiting", "sign_in"):
                self._line(self._errors, f"MCP server {name}: {problem}")

    def _on_trust(self, trust: FolderTrust) -> None:
        unused = trust.changed if trust.is_trusted else trust.brings
        if unused and unused != self._unused:
            why = "since it changed" if trust.is_trusted else "since the folder is not trusted"
            self._line(self._errors, f"Not used, {why} (see --trust): {', '.join(unused)}.")
        self._unused = unused

    def _warning(self, text: str) -> None:
        """Print a text of ours in amber, where there is colour."""
        has_colour = self._errors.isatty() and not os.environ.get("NO_COLOR")
        self._new_line()
        self._errors.write(f"{_AMBER}{text}{_PLAIN}\n" if has_colour else f"{text}\n")
        self._errors.flush()

    def _line(self, stream: TextIO, text: str) -> None:
        self._new_line()
        limit = _ERROR_LINE if stream is self._errors else _LINE
        stream.write(one_line(text, limit) + "\n")
        stream.flush()

    def _new_line(self) -> None:
        if self._is_mid_line:
            self._out.write("\n")
            self._is_mid_line = False

    def _write(self, text: str) -> None:
        shown = visible(text)
        self._out.write(shown)
        self._out.flush()
        if shown:
            self._is_mid_line = not shown.endswith("\n")


def visible(text: str) -> str:
    """Return the text without what a terminal would obey or hide: escapes, bidi, controls."""
    return "".join(
        char if char in _KEPT or unicodedata.category(char) not in {"Cc", "Cf", "Cs"} else ""
        for char in text
    )


def one_line(text: str, limit: int) -> str:
    """Return the text on one line, cut with `…`."""
    line = " ".join(visible(text[: limit * 8]).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def _named(call: ToolCall | None) -> str:
    if call is None:
        return "a tool"
    about = next((str(value) for value in call.arguments.values()), "")
    return f"{call.name} {one_line(about, 60)}".strip()


def _told(ended: ToolEnded) -> str:
    result = ended.result
    match result.display:
        case FilesDisplay(summary=summary) if summary:
            return summary
        case OutputDisplay(text=text, exit_code=code, seconds=seconds):
            last = text.strip().splitlines()[-1:] or ["no output"]
            return f"exit code {code}, {seconds:.1f} s, {last[0]}"
        case _:
            first = next((line for line in result.text.splitlines() if line.strip()), "done")
            return first.removeprefix("Error: ")
