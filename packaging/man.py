"""Writes the man page from what `--help` says, so that the two can't differ."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from desktop_agent import __version__
from desktop_agent.app import USAGE
from desktop_agent.headless.arguments import make_parser
from desktop_agent.outpost import arguments

_STARTS = {
    "[FOLDER]": "Open the window, on this folder if one is named. When a window is open already, "
    "it takes the folder.",
    'run "PROMPT"': "Work without a window; see below.",
    "batch JOBS.jsonl": "Work on many jobs at once, without a window; see below.",
    "outpost": "Run such jobs for an app on another computer, over standard input and output.",
    "undo SESSION": "Take back what agents changed in files during a session's last message that "
    "changed some; --help tells how to take back something else.",
    "redo SESSION": "Undo the last undo.",
    "sessions COMMAND": "List, search, show, export, import, fork, delete and restore sessions.",
    "mcp COMMAND": "List, add, import, test and remove MCP servers.",
    "--demo": "Open the window with the built-in demo model, on a copy of the demo folder. It "
    "needs neither key nor network, and leaves no trace in your settings.",
    "--self-check": "Try out everything the app is made of, without a display and without a "
    "network, and say a line for each. Exit code 0 when all of it works.",
    "--version": "Print the version.",
    "--help": "Print a short usage.",
}


def man_page(moment: int) -> str:
    """Return the page in roff."""
    day = datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d")
    lines = [
        f'.TH DESKTOP\\-AGENT 1 "{day}" "Desktop Agent {__version__}" "User Commands"',
        ".SH NAME",
        "desktop\\-agent \\- let an AI agent work in a folder on your computer",
        ".SH SYNOPSIS",
    ]
    for number, line in enumerate(USAGE.splitlines()):
        words = line.removeprefix("usage:").strip().partition("   (")[0]
        lines += [".br"] * (number > 0) + [_plain(words)]
    lines += [".SH DESCRIPTION", *_paragraph(_DESCRIPTION), ".SH STARTS"]
    for start, words in _STARTS.items():
        lines += [".TP", f".B {_plain(start)}", _plain(words)]
    lines += _command_section("RUN", make_parser())
    lines += _command_section("BATCH", arguments.make_parser())
    for title, body in _SECTIONS.items():
        lines += [f".SH {title}", *body]
    return "\n".join(lines) + "\n"


def _command_section(title: str, parser: argparse.ArgumentParser) -> list[str]:
    lines = [f".SH {title}", *_paragraph(parser.description or "")]
    for action in parser._actions:
        lines += [".TP", f".B {_plain(_name(action))}", _plain(action.help or "")]
    return [*lines, ".PP", _plain(parser.epilog or "")]


def _name(action: argparse.Action) -> str:
    value = action.metavar or ("|".join(map(str, action.choices)) if action.choices else "")
    return f"{', '.join(action.option_strings)} {value}".strip()


def _paragraph(text: str) -> list[str]:
    return [".PP", _plain(text)]


def _plain(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = text.replace("“", "\\(lq").replace("”", "\\(rq").replace("—", "\\(em")
    return f"\\&{text}" if text.startswith((".", "'")) else text


_DESCRIPTION = (
    "Desktop Agent is a native app in which an AI agent works in a folder, with any model. It "
    "reads, changes and runs things there, asks before it changes anything, and shows every step "
    "while it happens."
)
_SECTIONS = {
    "ENVIRONMENT": [
        ".TP",
        ".B DESKTOP_AGENT_HOME",
        "A folder to keep sessions, settings and logs in, in place of the usual ones.",
        ".TP",
        ".B OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY and others",
        "Keys of model providers. They are used for their provider alone.",
    ],
    "FILES": [
        ".TP",
        ".I ~/.local/share/desktop\\-agent",
        "Sessions and logs.",
        ".TP",
        ".I ~/.config/desktop\\-agent",
        "Settings. Keys are in the system\\(aqs keyring.",
    ],
}


if __name__ == "__main__":
    sys.stdout.write(man_page(int(sys.argv[1])))
