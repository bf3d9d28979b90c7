"""Puts the parts together behind the engine: for the window's engine thread and headless runs."""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from desktop_agent import paths
from desktop_agent.adapters.child_process import script_python
from desktop_agent.adapters.config import settings_file
from desktop_agent.adapters.config.secrets import KEYS_FILE, KeyStore, Secrets
from desktop_agent.adapters.config.update_check import UpdateCheck, find_source
from desktop_agent.adapters.models.catalog import ModelCatalog
from desktop_agent.adapters.models.host_process import HostProcess
from desktop_agent.adapters.models.hosted_model import HostedModel
from desktop_agent.adapters.models.local_servers import served_window
from desktop_agent.adapters.places.agents import PlacesOfAgents
from desktop_agent.adapters.places.install import ARCHIVE, archive_of
from desktop_agent.adapters.places.setup import PlaceSetup
from desktop_agent.adapters.skills.state import SkillState
from desktop_agent.adapters.store.reader import rules_in
from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.adapters.undo.process_history import ProcessHistory
from desktop_agent.core.approvals import Rule
from desktop_agent.core.events import EngineFailed, Event
from desktop_agent.core.faults import ModelError
from desktop_agent.core.models import ModelInfo
from desktop_agent.core.network.questions import AskHost
from desktop_agent.core.sandbox import Sandbox, SandboxInstaller, SandboxInventory
from desktop_agent.core.settings import Settings
from desktop_agent.core.tool import Tool
from desktop_agent.core.workspace import OwnPlaces
from desktop_agent.engine.engine import Engine, Environment
from desktop_agent.engine.permissions.checked_sandbox import FindPlaces
from desktop_agent.engine.skills.catalog import Places
from desktop_agent.engine.skills.registry import Skills
from desktop_agent.session_files.files import SessionFiles
from desktop_agent.tools.shell.jobs import Jobs

if TYPE_CHECKING:
    from desktop_agent.adapters.network.guarded_network import GuardedNetwork
    from desktop_agent.adapters.network.networked_sandbox import NetworkedSandbox
    from desktop_agent.adapters.skills.library import SkillLibrary
    from desktop_agent.engine.mcp.servers import Servers, Surroundings

_log = logging.getLogger(__name__)

SESSIONS_FILE = "sessions.db"
RUNS_FOLDER = "runs"
UNDO_FOLDER = "undo"
_RELEASES = "releases.json"
_OWN_SKILLS = "skills"

_DAMAGED = (
    "The file of your sessions was damaged. What could be read of it is here; the damaged file "
    "is kept as {path}."
)
_NOT_SAVED = "Your settings are not saved, so they hold until the app ends: {why}."


class SettingsFile(msgspec.Struct, frozen=True):
    """The settings file: read at the start, saved at the window's command."""

    path: Path

    def load(self) -> Settings:
        """Return what the file holds, with defaults for the rest."""
        return settings_file.load(self.path)

    def save(self, settings: Settings) -> None:
        """Replace the file. Raises OSError, which tells the user; the old one stays then."""
        try:
            settings_file.save(self.path, settings)
        except OSError as error:
            raise OSError(_NOT_SAVED.format(why=error.strerror or error)) from error


class ForThisRun(msgspec.Struct, frozen=True):
    """What holds beside what is stored: rules, and files of MCP servers.

    Without `keeps_changes` nothing is kept for an undo: the folders are copies. `model` takes the
    place of a model host; `host` is one that was started already. What runs at places goes on when
    the app ends if `is_back_later`: this app's next start finds it.
    """

    rules: Sequence[Rule] = ()
    mcp_files: Sequence[Path] = ()
    keeps_changes: bool = True
    model: HostedModel | None = None
    host: HostProcess | None = None
    is_back_later: bool = False


_NOTHING_MORE = ForThisRun()


class LazyLibrary:
    """The skill library, made when it is first asked for: it brings all of https and archives."""

    def __init__(self, make: Callable[[], SkillLibrary]) -> None:
        self._make = make
        self._made: SkillLibrary | None = None

    def get(self) -> SkillLibrary:
        """Return the library."""
        if self._made is None:
            self._made = self._make()
        return self._made

    async def close(self) -> None:
        """Let go of what it holds."""
        if self._made is not None:
            await self._made.close()


class Backend(msgspec.Struct, frozen=True):
    """Everything behind the bridge. Made, used and closed on the engine thread."""

    engine: Engine
    model: HostedModel
    store: SqliteStore
    secrets: Secrets
    catalog: ModelCatalog
    settings: SettingsFile
    library: LazyLibrary
    files: SessionFiles
    warming: asyncio.Task[None] | None = None
    network: GuardedNetwork | None = None

    @property
    def keys(self) -> KeyStore:
        """The keys, for the window."""
        return KeyStore(self.secrets)

    @property
    def skills(self) -> SkillLibrary:
        """What installs, updates and removes skills."""
        return self.library.get()

    @property
    def updates(self) -> UpdateCheck:
        """What asks for a newer version, when the person wants that."""
        source = find_source(paths.resource(_RELEASES))
        return UpdateCheck(self.settings.path.parent, source)

    @property
    def places(self) -> PlaceSetup:
        """What tests places and installs there, when the person asks for it."""
        return PlaceSetup(_outpost_archive)

    async def close(self) -> None:
        """Stop every agent, then let go of the model host and the sessions file."""
        if self.warming is not None:
            self.warming.cancel()
        try:
            await self.library.close()
            await self.engine.close()
        finally:
            try:
                if self.network is not None:
                    await self.network.close()
                await self.model.close()
            finally:
                self.store.close()


async def compose(
    emit: Callable[[Event], None],
    *,
    data_dir: Path,
    config_dir: Path,
    settings: Settings | None = None,
    store_path: Path | None = None,
    is_warmed: bool = True,
    is_machine_sandbox: bool = False,
    more: ForThisRun = _NOTHING_MORE,
) -> Backend:
    """Open the sessions and start the engine, with the file's settings where none are given.

    `is_warmed` starts the model host and checks the sandbox meanwhile; commands run as they are
    with `is_machine_sandbox`; `more` holds too. Raises StoreLocked if another copy has the file.
    """
    file = SettingsFile(config_dir / "settings.json")
    secrets = Secrets(config_dir, without_ring=lambda: engine.keys_without_ring)
    model = more.model or _hosted(secrets, more.host)
    network = None if is_machine_sandbox else _network(lambda asked: engine.ask_host(asked))
    path = store_path or _private(data_dir) / SESSIONS_FILE
    store = SqliteStore(path)
    try:
        engine = Engine(
            model=model,
            store=store,
            tools=_tools,
            settings=settings or file.load(),
            emit=emit,
            spill_dir=_beside(path, "outputs"),
            environment=_environment(model, data_dir, config_dir, network, more, path, secrets),
        )
        _start(engine, store, emit)
    except BaseException:
        store.close()
        raise
    library = LazyLibrary(lambda: _library(data_dir, config_dir, engine.rescan_skills))
    warming = asyncio.create_task(_warm(model, engine)) if is_warmed else None
    parts = (library, SessionFiles(path, store, engine), warming, network)
    return Backend(engine, model, store, secrets, ModelCatalog(secrets, model), file, *parts)


def users_rules(data_dir: Path) -> tuple[Rule, ...]:
    """Return the rules that the user made, also while the app has them open. Raises StoreError."""
    path = data_dir / SESSIONS_FILE
    return rules_in(path) if path.exists() else ()


def _given_rules(more: ForThisRun, data_dir: Path, store_path: Path) -> Sequence[Rule]:
    """Sessions in a file of their own go by the user's rules too, in a copy by what refuses."""
    if store_path == data_dir / SESSIONS_FILE:
        return more.rules
    rules = [one for one in users_rules(data_dir) if one.scope != "session"]
    return [*more.rules, *(one for one in rules if one.is_deny or more.keeps_changes)]


def _hosted(secrets: Secrets, host: HostProcess | None) -> HostedModel:
    return HostedModel(key_for=secrets.key_for, on_died=_on_host_died, host=host)


def _start(engine: Engine, store: SqliteStore, emit: Callable[[Event], None]) -> None:
    engine.start()
    if store.set_aside is not None:
        emit(EngineFailed("sessions", _DAMAGED.format(path=store.set_aside)))


def _environment(
    model: HostedModel,
    data_dir: Path,
    config_dir: Path,
    network: GuardedNetwork | None,
    more: ForThisRun,
    store_path: Path,
    secrets: Secrets,
) -> Environment:
    sandbox = _sandbox(data_dir, network) if network is not None else None

    def describe(name: str) -> Awaitable[ModelInfo | None]:
        return model.call("model_info", model=name)

    return Environment(
        new_jobs=Jobs,
        new_skills=lambda emit: _skills(data_dir, config_dir, emit),
        own=_own_places(data_dir, config_dir),
        describe_model=describe,
        # A model that is asked elsewhere has its server there too.
        served_window=served_window if more.model is None else None,
        sandbox=sandbox,
        registries=_registries(sandbox, data_dir) if sandbox is not None else None,
        served=sandbox,
        inventory=_inventory(data_dir),
        installer=_installer(),
        is_machine_sandbox=network is None,
        rules=_given_rules(more, data_dir, store_path),
        history=ProcessHistory(_beside(store_path, UNDO_FOLDER)) if more.keeps_changes else None,
        new_mcp=partial(_servers, data_dir, config_dir, secrets, more.mcp_files),
        places=PlacesOfAgents(
            model, describe, model.forget, store_path, goes_on=more.is_back_later
        ),
    )


def _servers(
    data_dir: Path, config_dir: Path, secrets: Secrets, files: Sequence[Path], around: Surroundings
) -> Servers:
    from desktop_agent.adapters.mcp.hosted_servers import HostedServers
    from desktop_agent.adapters.mcp.servers_file import McpFile
    from desktop_agent.engine.mcp.servers import Servers
    from desktop_agent.tools.shell.environment import command_environment

    connector = HostedServers(lambda: command_environment({}))
    memory = McpFile(config_dir, lambda: secrets, files)
    return Servers(connector, memory, data_dir / "mcp", around)


def _inventory(data_dir: Path) -> SandboxInventory:
    from desktop_agent.adapters.sandbox.inventory import Inventory
    from desktop_agent.adapters.sandbox.sandbox import caches_in

    return Inventory(caches_in(data_dir))


def _installer() -> SandboxInstaller:
    from desktop_agent.adapters.sandbox.packages import PackageInstaller

    return PackageInstaller()


def _sandbox(data_dir: Path, network: GuardedNetwork) -> NetworkedSandbox:
    # Elsewhere than on Linux it says that it doesn't hold, and why.
    from desktop_agent.adapters.network.networked_sandbox import NetworkedSandbox
    from desktop_agent.adapters.sandbox.sandbox import BubblewrapSandbox

    return NetworkedSandbox(BubblewrapSandbox(data_dir), network)


def _registries(sandbox: Sandbox, data_dir: Path) -> FindPlaces:
    from desktop_agent.adapters.sandbox.registries import PackageRegistries
    from desktop_agent.tools.shell.environment import command_environment

    folder = data_dir / "sandbox" / "empty"
    return PackageRegistries(sandbox, folder, lambda: command_environment({})).places


def _network(ask: AskHost) -> GuardedNetwork:
    from desktop_agent.adapters.network.guarded_network import GuardedNetwork

    return GuardedNetwork(ask)


async def _warm(model: HostedModel, engine: Engine) -> None:
    engine.check_sandbox()
    try:
        await model.start()
    except ModelError as error:
        # The first message tries again, and tells the person.
        _log.warning("the model host did not start: %s", error)


def _tools() -> Sequence[Tool]:
    # A window that nobody has written in does without.
    from desktop_agent.tools.builtin import builtin_tools

    return builtin_tools()


def _skills(data_dir: Path, config_dir: Path, emit: Callable[[Event], None]) -> Skills:
    shared = paths.shared_folders()
    places = Places(
        mine=data_dir / _OWN_SKILLS,
        other_apps=[folder / "skills" for folder in shared],
        bundled=paths.builtin_skills(),
        roles=[config_dir / "agents", *(folder / "agents" for folder in shared)],
    )
    words = script_python()
    own = shlex.join(words)
    if sys.platform == "win32":
        # PowerShell's: a path in quotes alone would be printed.
        own = " ".join(["&", *("'{}'".format(word.replace("'", "''")) for word in words)])
    return Skills(places, SkillState(config_dir), emit, own_python=own)


def _library(data_dir: Path, config_dir: Path, changed: Callable[[], None]) -> SkillLibrary:
    from desktop_agent.adapters.skills.library import SkillLibrary

    return SkillLibrary(
        mine=data_dir / _OWN_SKILLS,
        removed=data_dir / "removed",
        config_dir=config_dir,
        changed=changed,
    )


def _own_places(data_dir: Path, config_dir: Path) -> OwnPlaces:
    """Return where the app's own files are: rules and sessions, settings, trust and keys."""
    given = [Path(os.path.realpath(path)) for path in (config_dir, data_dir)]
    folders = list(dict.fromkeys([*given, *paths.own_folders()]))
    names = (KEYS_FILE, SESSIONS_FILE, RUNS_FOLDER, UNDO_FOLDER)
    return OwnPlaces(
        kept=tuple(map(str, folders)),
        private=tuple(str(folder / name) for folder in folders for name in names),
        program=tuple(map(str, paths.program_folders())),
    )


def _beside(store_path: Path, name: str) -> Path:
    """Return a folder that goes with a sessions file: another file's process has another."""
    is_main = store_path.name == SESSIONS_FILE
    return store_path.with_name(name if is_main else f"{store_path.stem}.{name}")


def _on_host_died() -> None:
    # Steps that were running fail with a Fault of their own; the next one starts a new host.
    _log.warning("the model host ended by itself")


def _private(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    return path


def _outpost_archive() -> bytes:
    """Return what is installed at a place; a frozen app has no files to pack, but the archive."""
    packed = paths.resource(ARCHIVE)
    if packed.exists():
        return packed.read_bytes()
    return archive_of(Path(__file__).parent, paths.resource(""), paths.builtin_skills())
