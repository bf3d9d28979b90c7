"""`python -m tests.bench [--list] [NAME...]`: each benchmark in a process of its own."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile

BENCHMARKS = {
    "start": "process start to the first paint; memory before any message and after the first",
    "streams": "32 streams of 100 chunks a second for 20 s, with the text on screen",
    "overhead": "end of a response to the next request, over 300 steps with a shell call each",
    "sandbox": "what the sandbox adds to a command; gaps of the loop with ten test suites at once",
    "growth": "a session of 10,000 messages: open, first paint, scroll",
    "quiet": "the share of a transcript's height that is answer, change, command or question",
    "output": "a line of 1 MB and a command that prints 10 GB: gaps of the window, memory",
    "store": "the sessions file: appending events, listing 10,000 sessions",
    "history": "1,000 sessions with 1 million messages: start, search, opening one",
    "skills": "1,000 skills: the first look, one more look, in a folder that needs trust",
    "skills_window": "the page of 1,000 skills: open, search, switch",
    "agents": "8 live subagents on screen, a tree of 1,000, the registry's memory, stop",
    "tasks": "a list of 10,000 tasks, a graph of 500, 1,000 rapid changes, spinners",
    "proxy": "the guard of the network: start, bytes a second, processor time for a request",
    "undo": "looks at 10,000 files; typing, streaming and commands while 100,000 are looked at",
    "package": "sizes of the installers that were built",
    "installed": "the frozen app: double click to window, the demo's answer, the first request",
}
_TIMEOUT_S = 600


def main() -> int:
    arguments = _arguments()
    if arguments.list:
        sys.stdout.writelines(f"{name:14} {what}\n" for name, what in BENCHMARKS.items())
        return 0
    unknown = [name for name in arguments.names if name not in BENCHMARKS]
    if unknown:
        known = ", ".join(BENCHMARKS)
        sys.stderr.write(f"There is no benchmark {unknown[0]}; there are: {known}\n")
        return 2
    # A benchmark that breaks is told, and the others still run.
    peer = [arguments.beside] if arguments.beside else []
    names = ["overhead"] if peer else arguments.names or BENCHMARKS
    broken = [name for name in names if not _run(name, peer)]
    return 1 if broken else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench", description="Measure the app.")
    parser.add_argument("--list", action="store_true", help="name the benchmarks")
    parser.add_argument("--beside", choices=("pi",), help="overhead alone, beside a peer from npm")
    parser.add_argument("names", metavar="NAME", nargs="*", help="all of them without a name")
    return parser.parse_args()


def _run(name: str, arguments: list[str]) -> bool:
    with tempfile.TemporaryDirectory(prefix="bench-") as home:
        environment = {**os.environ, "DESKTOP_AGENT_HOME": home, "HOME": home}
        # Without this every start would compile the app anew, which no person's start does.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        environment.setdefault("QT_QPA_PLATFORM", "offscreen")
        command = [sys.executable, "-m", f"tests.bench.{name}", *arguments]
        # Two programs, two rounds each, and one to be installed.
        limit = _TIMEOUT_S * (4 if arguments else 1)
        try:
            done = subprocess.run(command, env=environment, timeout=limit, check=False)
        except subprocess.TimeoutExpired:
            sys.stderr.write(f"{name}: gave up after {limit} s\n")
            return False
    if done.returncode:
        sys.stderr.write(f"{name}: broke with exit code {done.returncode}\n")
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
