"""What a headless run prints as text: readable, one line a tool, harmless to a terminal."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from desktop_agent.core.agents import EndReason
from desktop_agent.core.events import (
    CommandRefused,
    EngineFailed,
    Event,
    MessageAdded,
    PartDelta,
    RetryScheduled,
    ToolEnded,
    ToolStarted,
    TurnEnded,
)
from desktop_agent.core.faults import Fault
from desktop_agent.core.ids import AgentId, MessageId
from desktop_agent.core.messages import (
    FilesDisplay,
    Message,
    OutputDisplay,
    TextPart,
    ToolCall,
    ToolResult,
)
from desktop_agent.core.usage import Usage
from desktop_agent.headless.arguments import parse
from desktop_agent.headless.command_line import listen_for_signals
from desktop_agent.headless.output import RunEnded, Text, one_line, visible
from tests.helpers.patience import HANG_S

AGENT, MESSAGE = AgentId("ag_1"), MessageId("me_1")
CALL = ToolCall("c1", "read", {"path": "a.txt"})


def printed(*events: Event, reason: EndReason = "finished") -> tuple[str, str]:
    out, errors = io.StringIO(), io.StringIO()
    text = Text(out, errors)
    for event in events:
        text.show(event)
    text.end(RunEnded(reason, "", Usage()))
    return out.getvalue(), errors.getvalue()


def said(text: str, *calls: ToolCall) -> MessageAdded:
    return MessageAdded(AGENT, Message(MESSAGE, "assistant", (TextPart(text), *calls)))


def delta(text: str) -> PartDelta:
    return PartDelta(AGENT, MESSAGE, "text", text)


def ended(result: ToolResult) -> ToolEnded:
    return ToolEnded(AGENT, result, "failed" if result.is_error else "ok")


def test_streamed_text_is_printed_once_and_ends_with_a_line_break() -> None:
    assert printed(delta("Hel"), delta("lo"), said("Hello")) == ("Hello\n", "")


def test_an_answer_that_was_not_streamed_is_printed_too() -> None:
    assert printed(said("Hello")) == ("Hello\n", "")


def test_thinking_is_not_printed() -> None:
    assert printed(PartDelta(AGENT, MESSAGE, "thinking", "hm"), said("Hello")) == ("Hello\n", "")


def test_a_tool_is_one_line_with_its_result() -> None:
    result = ToolResult("c1", "1\tx", display=FilesDisplay(("a.txt",), "1 line"))
    out, _ = printed(said("", CALL), ToolStarted(AGENT, CALL, "reading a.txt"), ended(result))
    assert out == "• reading a.txt: 1 line\n"


def test_a_command_shows_its_exit_code_and_its_last_line() -> None:
    shown = OutputDisplay("a\n3 failed\n", exit_code=1, seconds=2.04)
    out, _ = printed(said("", CALL), ended(ToolResult("c1", "…", display=shown)))
    assert out == "• read a.txt: exit code 1, 2.0 s, 3 failed\n"


def test_a_call_that_never_started_is_named_by_what_it_was_to_do() -> None:
    refused = ToolResult("c1", "Error: read was refused by the mode.", is_error=True)
    out, _ = printed(said("", CALL), ended(refused))
    assert out == "✗ read a.txt: read was refused by the mode.\n"


def test_a_tool_line_begins_on_a_line_of_its_own() -> None:
    out, _ = printed(delta("Let me see"), ended(ToolResult("c9", "ok")))
    assert out == "Let me see\n• a tool: ok\n"


def test_trouble_goes_to_the_other_stream() -> None:
    fault = Fault("rate_limit", "Too many requests.")
    out, errors = printed(
        RetryScheduled(AGENT, 1, 2.0, fault),
        TurnEnded(AGENT, "error", fault=fault),
        EngineFailed("agent", "boom"),
        CommandRefused("send", "Your message was not sent. The disk is full."),
    )
    assert out == ""
    assert errors.splitlines() == [
        "Trying again in 2 s: Too many requests.",
        "Error: Too many requests.",
        "Error: boom",
        "Error: Your message was not sent. The disk is full.",
    ]


@pytest.mark.parametrize("reason", ["step_limit", "timeout", "budget", "interrupted"])
def test_an_early_end_is_said(reason: EndReason) -> None:
    _, errors = printed(delta("half a sen"), reason=reason)
    assert errors.startswith("Stopped")


def test_nothing_that_is_printed_can_command_the_terminal() -> None:
    hostile = "\x1b]0;owned\x07\x1b[2J\rgone\u202etxt.exe\x9b31m"
    out, errors = printed(
        delta(hostile),
        said(hostile, ToolCall("c1", hostile, {"path": hostile})),
        ended(ToolResult("c1", hostile)),
        EngineFailed("x", hostile),
        CommandRefused("x", hostile),
    )
    for text in (out, errors):
        assert not set(text) & {"\x1b", "\x07", "\r", "\u202e", "\x9b"}


def test_the_end_of_an_error_is_told_where_it_names_a_file() -> None:
    _, errors = printed(EngineFailed("sessions", f"It is kept as /{'long/' * 60}sessions.db."))
    assert errors.endswith("/sessions.db.\n")


def test_long_or_many_lined_text_stays_on_one_line() -> None:
    line = one_line("a\nb " * 10_000, 80)
    assert len(line) == 80
    assert "\n" not in line
    assert visible("a\tb\nc") == "a\tb\nc"


LISTS = [("mcp", "list", "--json"), ("sessions", "list", "--output", "json")]


def command_ended(*arguments: str, reader_stays: bool) -> subprocess.CompletedProcess[bytes]:
    out, into = os.pipe()
    if not reader_stays:
        os.close(out)
    try:
        command = [sys.executable, "-m", "desktop_agent", *arguments]
        return subprocess.run(
            command, stdout=into, stderr=subprocess.PIPE, timeout=HANG_S, check=False
        )
    finally:
        os.close(into)
        if reader_stays:
            os.close(out)


@pytest.mark.parametrize("arguments", LISTS)
def test_a_reader_that_goes_away_ends_a_command_quietly(arguments: tuple[str, ...]) -> None:
    """As `desktop-agent mcp list | head -1` does."""
    assert command_ended(*arguments, reader_stays=True).returncode == 0
    left = command_ended(*arguments, reader_stays=False)
    assert (left.returncode, left.stderr) == (1, b"")


@pytest.mark.skipif(sys.platform == "win32", reason="sh closes them")
@pytest.mark.parametrize("closed", ["2>&-", "<&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("arguments", LISTS)
def test_a_command_works_with_streams_that_a_script_has_closed(
    arguments: tuple[str, ...], closed: str
) -> None:
    """As `desktop-agent sessions list 2>&-` does, to see no words about trouble."""
    shell = ["sh", "-c", f'exec "$@" {closed}', "sh"]
    command = [*shell, sys.executable, "-m", "desktop_agent", *arguments]
    ended = subprocess.run(command, stdout=subprocess.PIPE, timeout=HANG_S, check=False)
    assert ended.returncode == 0
    assert bool(ended.stdout) is (">&- " not in closed)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no such device")
def test_a_run_whose_output_can_not_be_written_says_so_in_one_line(tmp_path: Path) -> None:
    """As `desktop-agent run … > file` does on a full disk."""
    options = ["Look around", "--workspace", str(tmp_path), "--model", "demo"]
    for output in ("text", "jsonl"):
        command = [sys.executable, "-m", "desktop_agent", "run", *options, "--output", output]
        with Path("/dev/full").open("wb") as full:
            ended = subprocess.run(
                command, stdout=full, stderr=subprocess.PIPE, timeout=HANG_S, check=False
            )
        said = ended.stderr.decode()
        assert (ended.returncode, said.count("\n")) == (1, 1), said
        assert said.startswith("desktop-agent run: ")
        assert "No space left" in said


@pytest.mark.parametrize("command", ["run", "mcp", "sessions", "undo", "redo", "batch"])
def test_a_mistake_is_one_line_that_leads_to_the_help(command: str) -> None:
    wrong = command_ended(command, "--no-such-option", reader_stays=True)
    assert wrong.returncode == 2
    assert wrong.stderr.decode().startswith(f"desktop-agent {command}: ")
    assert wrong.stderr.decode().endswith(f"See desktop-agent {command} --help.\n")


def test_a_prompt_that_is_no_text_is_taken_as_far_as_it_is_one() -> None:
    assert parse(["say a\udcffb", "--workspace", "."]).prompt == "say a\ufffdb"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGHUP")
@pytest.mark.parametrize("is_to_outlive_it", [False, True])
async def test_a_terminal_that_is_closed_interrupts_what_is_not_to_outlive_it(
    is_to_outlive_it: bool,
) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN if is_to_outlive_it else signal.SIG_DFL)
    try:
        listen_for_signals(lambda: None)
        loop = asyncio.get_running_loop()
        heard = [loop.remove_signal_handler(one) for one in (signal.SIGTERM, signal.SIGHUP)]
        assert heard == [True, not is_to_outlive_it]
        loop.remove_signal_handler(signal.SIGINT)
    finally:
        signal.signal(signal.SIGHUP, before)
