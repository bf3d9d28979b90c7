"""One message to an agent, followed until nothing runs any more."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from desktop_agent import paths
from desktop_agent.adapters.config import settings_file
from desktop_agent.adapters.config.secrets import Secrets
from desktop_agent.adapters.files.file_lock import StoreLocked
from desktop_agent.adapters.files.log_file import start_logging
from desktop_agent.adapters.models.host_process import HostProcess
from desktop_agent.compose import RUNS_FOLDER, Backend, ForThisRun, compose
from desktop_agent.core.agents import EndReason
from desktop_agent.core.approvals import Mode
from desktop_agent.core.events import EngineFailed, Event
from desktop_agent.core.ids import SessionId, new_note_id, new_session_id
from desktop_agent.core.notes import Note
from desktop_agent.core.providers import key_owner
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.usage import Usage
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.base.ports import StoreError
from desktop_agent.headless.apart import file_of
from desktop_agent.headless.arguments import Options, UsageError
from desktop_agent.headless.command_line import INTERRUPTED, listen_for_signals
from desktop_agent.headless.follow import Follower
from desktop_agent.headless.output import Printer, RunEnded, printer_for, visible

_log = logging.getLogger(__name__)

_EXIT_CODES: dict[EndReason, int] = {
    "finished": 0,
    "error": 1,
    "step_limit": 3,
    "budget": 3,
    "timeout": 3,
    "interrupted": INTERRUPTED,
}
# A stopped tool gets 2 s to end; what takes longer than this is left to the end of the process.
_STOP_S = 8.0


class NoSandbox(UsageError):
    """The command line asks for a sandbox that doesn't hold here; the text says why."""


def run(options: Options, host: HostProcess | None = None) -> int:
    """Carry out what the command line says, with this model host; return the exit code.

    Raises UsageError for what only shows once the sessions are open.
    """
    with asyncio.Runner() as runner:
        return _EXIT_CODES[runner.run(_run(options, printer_for(options.output), host))]


async def _run(options: Options, printer: Printer, host: HostProcess | None) -> EndReason:
    follower = Follower(printer)
    listen_for_signals(lambda: follower.cut("interrupted"))
    session_id = SessionId(options.session) if options.session else new_session_id()
    try:
        start_logging(paths.log_dir(), name="desktop-agent-run")
        backend = await _open(options, session_id, follower, host)
    except (StoreLocked, StoreError, OSError) as error:
        said = str(error).removesuffix(".")
        printer.show(EngineFailed("store", f"The sessions can't be opened: {said}."))
        printer.end(RunEnded("error", "", Usage()))
        return "error"
    try:
        follower.attach(backend.engine)
        await need_sandbox(options, backend)
        lend_key(options, backend.secrets)
        await _work(options, session_id, backend, follower)
    except UsageError:
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


async def _open(
    options: Options, session_id: SessionId, follower: Follower, host: HostProcess | None
) -> Backend:
    """Open the sessions; while another copy of the app has them, a file of the run's own."""
    more = ForThisRun(options.hosts, options.mcp_files, host=host)
    apart = file_of(session_id) if options.session else None
    try:
        return await open_engine(options, follower.hear, apart, more)
    except StoreLocked:
        if options.session:
            raise
    apart = paths.data_dir() / RUNS_FOLDER / f"{session_id}.db"
    apart.parent.mkdir(mode=0o700, exist_ok=True)
    print(f"The app is open, so this session is kept in {apart}.", file=sys.stderr)
    return await open_engine(options, follower.hear, apart, more)


async def open_engine(
    options: Options, hear: Callable[[Event], None], store: Path | None, more: ForThisRun
) -> Backend:
    """Put the engine together as the options say. Raises StoreLocked, StoreError or OSError."""
    config_dir = paths.config_dir()
    settings = settings_file.load(config_dir / "settings.json", _tell)
    if options.max_steps is not None:
        settings = msgspec.structs.replace(settings, max_steps=options.max_steps)
    return await compose(
        hear,
        data_dir=paths.data_dir(),
        config_dir=config_dir,
        settings=settings,
        store_path=store,
        is_machine_sandbox=options.sandbox == "off",
        more=more,
    )


def _tell(text: str) -> None:
    _log.error("%s", text)
    print(visible(text), file=sys.stderr)


async def need_sandbox(options: Options, backend: Backend) -> None:
    """Raise NoSandbox where the options ask for one that doesn't hold.

    To be awaited before the first request: the prompt says how commands run.
    """
    state = await backend.engine.sandbox_state()
    if options.sandbox == "on" and not state.holds:
        raise NoSandbox(f"the sandbox doesn't hold here. {state.reason} {state.remedy}".strip())


async def _work(
    options: Options, session_id: SessionId, backend: Backend, follower: Follower
) -> None:
    """Send the message and wait for the end."""
    if options.is_trusted:
        # Before anything is sent: it holds for what the first look at the folder finds.
        backend.engine.trust_folder(str(options.workspace), "trust", is_kept=False)
    _open_session(options, session_id, backend, follower)
    if follower.session is None or follower.is_cut:
        return
    if options.allows_all:
        backend.engine.set_machine_sandbox(follower.session.id, True)
    backend.engine.send(follower.session.main_agent, Note(new_note_id(), options.prompt))
    await follow(follower, options.timeout_s)


async def follow(follower: Follower, timeout_s: float | None) -> None:
    """Wait until nothing runs any more; what runs too long is stopped."""
    try:
        async with asyncio.timeout(timeout_s):
            await follower.idle.wait()
    except TimeoutError:
        follower.cut("timeout")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_STOP_S):
                await follower.idle.wait()


def _open_session(
    options: Options, session_id: SessionId, backend: Backend, follower: Follower
) -> None:
    """Continue the session under its own settings, but for what the command line says.

    Raises UsageError for one that is deleted: it is to come back whole, if at all.
    """
    if session_id in follower.deleted:
        way = f"take it back first with desktop-agent sessions restore {session_id}"
        raise UsageError(f"the session {session_id} is deleted: {way}")
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
    if options.model and (options.model, options.api_base) != (known.model, known.api_base):
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
