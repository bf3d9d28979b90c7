"""One message to an agent, followed until nothing runs any more."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from pathlib import Path

import msgspec

from desktop_agent import paths
from desktop_agent.adapters.config import settings_file
from desktop_agent.adapters.config.secrets import Secrets
from desktop_agent.adapters.files.file_lock import StoreLocked
from desktop_agent.adapters.files.log_file import start_logging
from desktop_agent.compose import RUNS_FOLDER, Backend, ForThisRun, compose
from desktop_agent.core.approvals import Mode
from desktop_agent.core.events import EngineFailed
from desktop_agent.core.ids import SessionId, new_note_id, new_session_id
from desktop_agent.core.notes import Note
from desktop_agent.core.providers import key_owner
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.settings import Settings
from desktop_agent.core.usage import Usage
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.base.ports import StoreError
from desktop_agent.headless.arguments import Options
from desktop_agent.headless.follow import Follower
from desktop_agent.headless.output import EndReason, Printer, RunEnded, printer_for

_log = logging.getLogger(__name__)

_EXIT_CODES: dict[EndReason, int] = {
    "finished": 0,
    "error": 1,
    "step_limit": 3,
    "budget": 3,
    "timeout": 3,
    "interrupted": 130,
}
_USAGE = 2
# A stopped tool gets 2 s to end; what takes longer than this is left to the end of the process.
_STOP_S = 8.0


class NoSandbox(Exception):
    """The command line asks for a sandbox that doesn't hold here; the text says why."""


def run(options: Options) -> int:
    """Carry out what the command line says; return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal of another encoding must not end the run.
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        with asyncio.Runner() as runner:
            reason = runner.run(_run(options, printer_for(options.output)))
    except KeyboardInterrupt:
        reason = "interrupted"
    except NoSandbox as error:
        print(f"desktop-agent run: {error}", file=sys.stderr)
        return _USAGE
    except BrokenPipeError:
        # Python flushes at exit, and would complain about the closed pipe there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return _EXIT_CODES[reason]


async def _run(options: Options, printer: Printer) -> EndReason:
    follower = Follower(printer)
    _listen_for_signals(follower)
    session_id = SessionId(options.session) if options.session else new_session_id()
    try:
        start_logging(paths.log_dir(), name="desktop-agent-run")
        backend = await _open(options, session_id, follower)
    except (StoreLocked, StoreError, OSError) as error:
        printer.show(EngineFailed("store", f"The sessions can't be opened: {error}."))
        printer.end(RunEnded("error", "", Usage()))
        return "error"
    try:
        follower.attach(backend.engine)
        # Before the first request: the prompt says how commands run.
        state = await backend.engine.sandbox_state()
        if options.sandbox == "on" and not state.holds:
            raise NoSandbox(f"the sandbox doesn't hold here. {state.reason} {state.remedy}".strip())
        lend_key(options, backend.secrets)
        await _work(options, session_id, backend, follower)
    except NoSandbox:
        raise
    except Exception as error:  # noqa: BLE001 - a script must get its last line, whatever happens
        _log.exception("the run failed")
        follower.hear(EngineFailed("run", f"{type(error).__name__}: {error}"))
        follower.reason = "error"
    finally:
        await backend.close()
    if follower.broken is not None:
        raise follower.broken
    printer.end(RunEnded(follower.reason, follower.text, follower.usage))
    return follower.reason


async def _open(options: Options, session_id: SessionId, follower: Follower) -> Backend:
    """Open the sessions; while another copy of the app has them, a file of the run's own."""
    data_dir, config_dir = paths.data_dir(), paths.config_dir()
    settings = settings_file.load(config_dir / "settings.json")
    if options.max_steps is not None:
        settings = msgspec.structs.replace(settings, max_steps=options.max_steps)
    apart = data_dir / RUNS_FOLDER / f"{session_id}.db"
    try:
        return await compose(
            follower.hear,
            data_dir=data_dir,
            config_dir=config_dir,
            settings=settings,
            store_path=apart if apart.exists() else None,
            is_machine_sandbox=options.sandbox == "off",
            more=ForThisRun(options.hosts, options.mcp_files),
        )
    except StoreLocked:
        if options.session:
            raise
    return await _open_apart(apart, settings, follower, options)


async def _open_apart(
    path: Path, settings: Settings, follower: Follower, options: Options
) -> Backend:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    print(f"The app is open, so this session is kept in {path}.", file=sys.stderr)
    return await compose(
        follower.hear,
        data_dir=paths.data_dir(),
        config_dir=paths.config_dir(),
        settings=settings,
        store_path=path,
        is_machine_sandbox=options.sandbox == "off",
        more=ForThisRun(options.hosts, options.mcp_files),
    )


async def _work(
    options: Options, session_id: SessionId, backend: Backend, follower: Follower
) -> None:
    """Send the message and wait for the end; what runs too long is stopped."""
    if options.is_trusted:
        # Before anything is sent: it holds for what the first look at the folder finds.
        backend.engine.trust_folder(str(options.workspace), "trust", is_kept=False)
    _open_session(options, session_id, backend, follower)
    if follower.session is None or follower.is_cut:
        return
    if options.allows_all:
        backend.engine.set_machine_sandbox(follower.session.id, True)
    backend.engine.send(follower.session.main_agent, Note(new_note_id(), options.prompt))
    try:
        async with asyncio.timeout(options.timeout_s):
            await follower.idle.wait()
    except TimeoutError:
        follower.cut("timeout")
        await _wait_for_stop(follower)


async def _wait_for_stop(follower: Follower) -> None:
    try:
        async with asyncio.timeout(_STOP_S):
            await follower.idle.wait()
    except TimeoutError:
        return


def _open_session(
    options: Options, session_id: SessionId, backend: Backend, follower: Follower
) -> None:
    """Continue the session under its own settings, but for what the command line says."""
    engine, known = backend.engine, follower.sessions.get(session_id)
    workspace = Workspace(str(options.workspace))
    if known is None:
        mode = options.mode or "ask"
        model, base = options.model, options.api_base
        engine.new_session(session_id, workspace, model=model, api_base=base, mode=mode)
        return
    if known.workspace.root != workspace.root:
        engine.set_workspace(session_id, workspace)
    engine.set_mode(session_id, options.mode or _unattended(known))
    if options.model:
        engine.set_model(session_id, options.model, options.api_base)
    engine.open_session(session_id)


def _unattended(known: SessionInfo) -> Mode:
    """Work without asking is never taken over from the window: a run has to say it."""
    return "look" if known.mode == "look" else "ask"


def lend_key(options: Options, secrets: Secrets) -> None:
    """Give a server named on the command line the environment's key for the model's provider.

    Both were put there for this run. A key from the keyring belongs to its provider alone.
    """
    if not options.api_base or secrets.key_for(options.api_base) is not None:
        return
    owner = key_owner(options.model)
    key = secrets.key_for(owner)
    found = secrets.keys()
    if key and any(info.provider == owner and info.origin == "environment" for info in found):
        secrets.set_key(options.api_base, key, "session")


def _listen_for_signals(follower: Follower) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, follower.cut, "interrupted")
        except NotImplementedError:  # Windows: its loop has no signals of its own
            signal.signal(
                number,
                lambda *_: loop.call_soon_threadsafe(follower.cut, "interrupted"),
            )
