"""The command: the window, `run` without one, or one of the private starts."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from desktop_agent import __version__, paths
from desktop_agent.core.events import Event
from desktop_agent.core.settings import Settings

if TYPE_CHECKING:
    from desktop_agent.compose import Backend

USAGE = """usage: desktop-agent [FOLDER]
       desktop-agent run "PROMPT" --workspace DIR [options]   (see desktop-agent run --help)
       desktop-agent batch JOBS.jsonl --out FILE [options]   (see desktop-agent batch --help)
       desktop-agent outpost [--name NAME]   (for batch --on; see desktop-agent outpost --help)
       desktop-agent undo SESSION [options]   (see desktop-agent undo --help)
       desktop-agent redo SESSION [options]
       desktop-agent sessions COMMAND [options]   (see desktop-agent sessions --help)
       desktop-agent mcp COMMAND [options]   (see desktop-agent mcp --help)
       desktop-agent --demo [FOLDER]
       desktop-agent --self-check
       desktop-agent --version"""

_WITHOUT_WINDOW = frozenset({
    "run", "batch", "undo", "redo", "sessions", "mcp", "--model-host", "--guard", "--file-history",
    "--mcp-host", "--python", "--demo-run", "outpost", "--outpost",
})  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Start what the arguments ask for. Qt is imported for the window alone."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    first, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    _prepare(first)
    starts: dict[str, Callable[[list[str]], int]] = {
        "run": _headless,
        "batch": _batch,
        "outpost": _outpost,
        "--outpost": _outpost_server,
        "undo": _undo,
        "redo": _redo,
        "sessions": _sessions,
        "mcp": _mcp,
        "--model-host": _model_host,
        "--guard": _guard,
        "--mcp-host": _mcp_host,
        "--python": _python,
        "--listener": _listener,
        "--share": _share,
        "--file-history": _file_history,
        "--sandbox-probe": _sandbox_probe,
        "--demo": _demo,
        "--demo-run": _demo_run,
        "--self-check": _self_check,
        "--version": lambda _: _print(f"desktop-agent {__version__}"),
        "--help": lambda _: _print(USAGE),
        "-h": lambda _: _print(USAGE),
    }
    if problem := _user_problem(first):
        return (_refuse if first in starts else _refuse_window)(problem)
    if first in starts:
        return starts[first](rest)
    if first.startswith("-") or rest:
        print(USAGE, file=sys.stderr)
        return 2
    return _window(first)


def _prepare(first: str) -> None:
    # Who starts a window may have switched off the collection of garbage: it has its own clock.
    if first in _WITHOUT_WINDOW:
        gc.enable()
    if sys.platform == "win32":
        # It would look for programs in the current folder first, where agents may work.
        os.environ["NODEFAULTCURRENTDIRECTORYINEXEPATH"] = "1"


def _user_problem(first: str) -> str:
    """Return why nothing can be found for who starts the app, in one sentence, or nothing."""
    if first.startswith("--"):  # a private start may be in a sandbox, where it needs none
        return ""
    try:
        Path.home()
    except RuntimeError:  # as in a container, with the number of a user that it does not know
        return "This user has no home folder: name one in HOME."
    return ""


def _refuse(problem: str) -> int:
    print(f"desktop-agent: {problem}", file=sys.stderr)
    return 1


def _refuse_window(problem: str) -> int:
    from desktop_agent.gui.startup.refusal import tell_refusal

    code = _refuse(problem)
    tell_refusal(problem)
    return code


# Each start imports what only it needs: none waits for another's parts.


def _headless(arguments: list[str]) -> int:
    from desktop_agent import headless

    return headless.main(arguments)


def _batch(arguments: list[str]) -> int:
    from desktop_agent.outpost import batch

    return batch.main(arguments)


def _outpost(arguments: list[str]) -> int:
    from desktop_agent.outpost import relay

    return relay.main(arguments)


def _outpost_server(arguments: list[str]) -> int:
    from desktop_agent.outpost import relay

    return relay.serve(arguments[0])


def _undo(arguments: list[str]) -> int:
    from desktop_agent.headless import undo

    return undo.main("undo", arguments)


def _redo(arguments: list[str]) -> int:
    from desktop_agent.headless import undo

    return undo.main("redo", arguments)


def _sessions(arguments: list[str]) -> int:
    from desktop_agent.headless import sessions

    return sessions.main(arguments)


def _mcp(arguments: list[str]) -> int:
    from desktop_agent.headless import mcp

    return mcp.main(arguments)


def _model_host(arguments: list[str]) -> int:
    from desktop_agent.model_host.__main__ import serve

    return serve(int(arguments[0]))


def _guard(arguments: list[str]) -> int:
    from desktop_agent.guard.__main__ import serve

    return serve(int(arguments[0]))


def _file_history(arguments: list[str]) -> int:
    from desktop_agent.file_history.process import serve

    return serve(int(arguments[0]), Path(arguments[1]))


def _python(arguments: list[str]) -> int:
    from desktop_agent import script_python

    return script_python.main(arguments)


def _mcp_host(arguments: list[str]) -> int:
    from desktop_agent.mcp_host.__main__ import serve

    return serve(int(arguments[0]))


def _listener(arguments: list[str]) -> int:
    from desktop_agent.guard.listener import hand_out

    return hand_out(*map(int, arguments))


def _share(arguments: list[str]) -> int:
    from desktop_agent.guard.share import share

    return share(*map(int, arguments))


def _sandbox_probe(arguments: list[str]) -> int:
    from desktop_agent.adapters.sandbox import probe_program

    return probe_program.main(arguments)


def _window(folder: str, settings: Settings | None = None) -> int:
    from desktop_agent.gui.startup.display import display_problem

    problem = display_problem() or _places_problem(folder)
    if problem:
        return _refuse_window(problem)
    # Nothing of what is loaded from here on is garbage; the window has its own clock for it.
    gc.disable()
    from desktop_agent.adapters.config import settings_file

    said: list[str] = []

    def load() -> Settings:
        return settings or settings_file.load(paths.config_dir() / "settings.json", said.append)

    try:
        from desktop_agent.gui.startup.run import run_window
    except ImportError as error:
        return _refuse_window(f"a system library is missing: {error}")
    # The demo's subagents work slowly enough that whoever watches can stop or steer them.
    os.environ.setdefault("DESKTOP_AGENT_DEMO_PACE", "slow")
    # An empty name means no folder was given; a relative one is meant from here.
    place = os.path.realpath(folder) if folder else ""
    return run_window(_compose, load, place, lambda: _start_logging(said), said)


def _places_problem(folder: str) -> str:
    """Return why a window can't work with its own folders or with this one, or nothing."""
    try:
        paths.config_dir()
        paths.images_dir()
    except OSError as error:
        return (
            f"The folder for settings and sessions can't be used: {error}. Make it writable, or "
            "name another one in DESKTOP_AGENT_HOME."
        )
    try:
        os.path.realpath(folder).encode()
    except UnicodeEncodeError:
        return f"A name in the path of {folder!r} is no text in UTF-8: rename it first."
    except OSError:  # a relative one, and the current folder was deleted
        return f"There is no folder {folder!r} here: the current folder is gone."
    return ""


def _start_logging(said: Sequence[str] = ()) -> None:
    import logging

    from desktop_agent.adapters.files.log_file import start_logging

    start_logging(paths.log_dir())
    for text in said:
        logging.getLogger(__name__).error("%s", text)


def _demo(arguments: list[str]) -> int:
    """Open the window with the demo model, leaving no trace in the person's own settings.

    Those may be at `DESKTOP_AGENT_HOME`: the demo has another.
    """
    from desktop_agent.adapters.files.temporary_folder import temporary_folder

    with (
        temporary_folder("desktop-agent-") as home,
        temporary_folder("desktop-agent-demo-") as place,
    ):
        paths.move_home(home)
        folder = arguments[0] if arguments else _demo_folder(place)
        return _window(folder, Settings(model="demo"))


def _demo_folder(place: Path) -> str:
    """Return a copy of the demo folder, free to be changed."""
    import shutil

    return str(shutil.copytree(paths.resource("demo"), place / "garden"))


def _demo_run(arguments: list[str]) -> int:
    """Do the demo's job in the real window without a display, and say what happens."""
    import argparse

    from desktop_agent.adapters.files.temporary_folder import temporary_folder

    parser = argparse.ArgumentParser(prog="desktop-agent --demo-run")
    parser.add_argument("folder", metavar="FOLDER", type=Path)
    parser.add_argument("--screenshot", metavar="FILE", type=Path)
    given = parser.parse_args(arguments)
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    with temporary_folder("desktop-agent-") as home:
        paths.move_home(home)
        from desktop_agent.gui.startup.demo_run import run_demo

        _start_logging()
        return run_demo(_compose, given.folder.resolve(), given.screenshot, _say)


def _self_check(_: list[str]) -> int:
    """Try out everything the app is made of, and say a line for each."""
    from desktop_agent.self_check.run import run

    return run(_compose, _say)


async def _compose(emit: Callable[[Event], None]) -> Backend:
    # Runs on the engine thread, behind the first paint.
    from desktop_agent.compose import ForThisRun, compose

    if sys.platform == "darwin":
        import asyncio

        from desktop_agent.adapters.login_path import take_login_path

        await asyncio.to_thread(take_login_path, os.environ)
    more = ForThisRun(is_back_later=True)
    return await compose(emit, data_dir=paths.data_dir(), config_dir=paths.config_dir(), more=more)


def _say(text: str) -> None:
    try:
        print(text, flush=True)
    except BrokenPipeError:  # who read it has gone, and what is done is done to its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print(text: str) -> int:
    _say(text)
    return 0
