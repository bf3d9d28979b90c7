"""Commands in bubblewrap, under a filter of system calls, in a network of their session."""

from __future__ import annotations

import asyncio
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from desktop_agent.adapters.sandbox import probes, seccomp
from desktop_agent.adapters.sandbox.deleting import delete
from desktop_agent.adapters.sandbox.enclosure import OF_NEW_ENOUGH, CommandEnclosure
from desktop_agent.adapters.sandbox.keeper import PROGRAMS, Keeper
from desktop_agent.adapters.sandbox.layout import Layout, Places
from desktop_agent.adapters.sandbox.made_files import MadeFiles
from desktop_agent.adapters.sandbox.packages import install_command, install_words
from desktop_agent.adapters.sandbox.private_caches import PrivateCaches
from desktop_agent.core.ids import SessionId
from desktop_agent.core.sandbox import Boundary, Enclosure, Fix, SandboxState
from desktop_agent.core.tool import ToolError
from desktop_agent.engine.permissions.protected_files import is_protected

_OPTION = re.compile(r"--[a-z][a-z-]*")
_OTHER_SYSTEMS = {"darwin": "macOS", "win32": "Windows"}
_APPARMOR = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
_FLATPAK = Path("/.flatpak-info")
_PROFILE = "/usr/share/apparmor/extra-profiles/bwrap-userns-restrict"
_LOAD_PROFILE = (
    f"Run: sudo apt install apparmor-profiles && sudo cp {_PROFILE} /etc/apparmor.d/ && "
    "sudo apparmor_parser -r /etc/apparmor.d/bwrap-userns-restrict"
)
# What an administrator may have set to 0, and what makes user namespaces possible again.
_SETTINGS = (("kernel.unprivileged_userns_clone", 1), ("user.max_user_namespaces", 15_000))
_IN_A_CONTAINER = (
    "In a container, start it with user namespaces allowed; if the container itself is the "
    "sandbox, say so with --sandbox off."
)
_TOO_OLD = SandboxState(
    reason="The bubblewrap on this computer is too old.",
    fix="other",
    remedy="Install bubblewrap 0.6 or later.",
)


class Programs(msgspec.Struct, frozen=True):
    """The programs that the sandbox is made of; empty when one is missing."""

    bwrap: str
    nsenter: str

    @staticmethod
    def find() -> Programs:
        """Look where the system keeps its programs, never in a folder of the person's."""
        found = (shutil.which(name, path=PROGRAMS) or "" for name in ("bwrap", "nsenter"))
        return Programs(*found)

    def options(self) -> frozenset[str]:
        """Return those that this bubblewrap names; none when it says nothing of them."""
        words = [self.bwrap, "--help"]
        told = subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL, check=False)
        return frozenset(_OPTION.findall((told.stdout + told.stderr).decode(errors="replace")))

    def identity(self) -> tuple[int, ...]:
        """Return what changes when a program is replaced; raises OSError without it."""
        states = [Path(path).stat() for path in (self.bwrap, self.nsenter)]
        return tuple(n for s in states for n in (s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns))


def caches_in(data_dir: Path) -> Path:
    """Return the folder of the private caches."""
    return data_dir / "sandbox" / "caches"


class _Session:
    """What the commands of one session share."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.keeper: Keeper | None = None
        self.lock = asyncio.Lock()


class BubblewrapSandbox:
    """Contains commands on Linux; elsewhere it says that it doesn't. One event loop's own.

    `data_dir` holds what is the sandbox's: caches by folder, temporary files by session.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        programs: Programs | None = None,
        machine: str = "",
        protects: Callable[[str], bool] = is_protected,
    ) -> None:
        self._folder = data_dir / "sandbox"
        self._given, self._programs = programs, programs or Programs.find()
        self._filter = seccomp.program(machine or platform.machine())
        self._caches = PrivateCaches(caches_in(data_dir))
        self._layout = Layout(protects, MadeFiles(self._folder / "made"))
        self._sessions: dict[SessionId, _Session] = {}
        self._state = SandboxState()
        self._checked: tuple[int, ...] = ()
        self._options = frozenset[str]()
        self._checking = asyncio.Lock()

    @property
    def state(self) -> SandboxState:
        """What the last check found."""
        return self._state

    async def check(self) -> SandboxState:
        """Run the probes, and return what they found.

        What holds is not tried again until bubblewrap is another one.
        """
        async with self._checking:
            if not (self._state.holds and self._is_unchanged()):
                self._state = await self._look()
        return self._state

    async def enclose(
        self, boundary: Boundary, directory: str, environment: Mapping[str, str]
    ) -> Enclosure:
        """Prepare to run one command in `directory`. Raises ToolError; never a way without."""
        if not (self._state.holds and self._is_unchanged()) and not (await self.check()).holds:
            raise ToolError(f"the sandbox doesn't hold here: {self._state.reason}")
        try:
            return await self._enclose(boundary, directory, environment)
        except OSError as error:
            raise ToolError(f"the sandbox could not be made: {error}.") from None

    async def forget(self, session_id: SessionId) -> None:
        """End what a session's commands share: its network, its temporary folder."""
        session = self._sessions.pop(session_id, None)
        if session is None:
            session = _Session(self._temporary(session_id))
        async with session.lock:
            if session.keeper is not None:
                await asyncio.to_thread(session.keeper.close)
            await asyncio.to_thread(delete, session.folder)

    async def look_ahead(self, roots: Sequence[str]) -> None:
        """Find what is protected in folders that commands will change, so that none waits."""
        await asyncio.to_thread(self._layout.look_ahead, roots)

    def temporary_folder(self, session_id: SessionId) -> str:
        """Return the real path of what a session's commands see as `/tmp`, made if need be."""
        folder = self._temporary(session_id)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.path.realpath(folder)

    async def keeper(self, session_id: SessionId) -> Keeper:
        """Return who keeps a session's network, made if need be. Raises ToolError."""
        session = self._sessions.get(session_id)
        if session is None:
            session = self._sessions[session_id] = _Session(self._temporary(session_id))
        # Not cut short by a stop: what a thread has begun to make is then nobody's to end.
        return await asyncio.shield(asyncio.create_task(self._kept(session)))

    async def _kept(self, session: _Session) -> Keeper:
        async with session.lock:
            if session.keeper is not None and not session.keeper.is_alive:
                await asyncio.to_thread(session.keeper.close)
                session.keeper = None
            if session.keeper is None:
                session.keeper = await asyncio.to_thread(self._new_keeper)
            return session.keeper

    async def _enclose(
        self, boundary: Boundary, directory: str, environment: Mapping[str, str]
    ) -> Enclosure:
        keeper = await self.keeper(boundary.session_id)
        return await asyncio.to_thread(
            self._prepare, keeper, boundary, directory, dict(environment)
        )

    def _prepare(
        self, keeper: Keeper, boundary: Boundary, directory: str, environment: dict[str, str]
    ) -> CommandEnclosure:
        places = self._places(boundary)
        plan = self._layout.plan(boundary, directory, environment, places)
        assert self._filter is not None
        start = (*keeper.words, self._programs.bwrap)
        return CommandEnclosure(
            start,
            self._filter,
            plan,
            lambda: self._layout.set_aside(plan),
            options=self._options,
        )

    def _places(self, boundary: Boundary) -> Places:
        root = (*boundary.write_roots, *boundary.read_roots, "")[0]
        temporary = self._temporary(boundary.session_id)
        temporary.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Places(temporary, self._caches.make(root))

    def _temporary(self, session_id: SessionId) -> Path:
        return self._folder / "tmp" / session_id

    def _new_keeper(self) -> Keeper:
        return Keeper(self._programs.bwrap, self._programs.nsenter)

    def _is_unchanged(self) -> bool:
        try:
            return self._programs.identity() == self._checked
        except OSError:
            return False

    async def _look(self) -> SandboxState:
        # They may have been installed since.
        self._programs = self._given or Programs.find()
        missing = self._missing()
        if missing is not None:
            return missing
        try:
            self._checked = self._programs.identity()
            self._options = await asyncio.to_thread(self._programs.options)
            if self._options and OF_NEW_ENOUGH not in self._options:
                return _TOO_OLD
            results = await probes.run(self._prepare, self._new_keeper, self._folder)
        except (OSError, ToolError) as error:
            return _refused(str(error))
        failed = [probe for probe in results if not probe.held]
        if not failed:
            return SandboxState(holds=True, reason="", probes=results)
        reason = "; ".join(probe.words for probe in failed)
        return SandboxState(
            reason=f"{reason[:1].upper()}{reason[1:]}.", fix="other", probes=results
        )

    def _missing(self) -> SandboxState | None:
        if sys.platform != "linux":
            system = _OTHER_SYSTEMS.get(sys.platform, "this system")
            return SandboxState(reason=f"Commands are not contained on {system} yet.")
        if _FLATPAK.exists():
            # Its own sandbox lets nothing in it make another one.
            words = "Commands can't be contained by an app that is itself installed as a Flatpak."
            return _state(words, "other", "Install the app in another way: .deb, .rpm or AppImage.")
        if self._filter is None:
            words = f"There is no filter of system calls for {platform.machine()} processors."
            return SandboxState(reason=words)
        if not Path(self._programs.bwrap or "-").is_file():
            return _not_installed("bubblewrap", "bubblewrap")
        if not Path(self._programs.nsenter or "-").is_file():
            return _not_installed("nsenter", "util-linux")
        return None


def _state(reason: str, fix: Fix, remedy: str) -> SandboxState:
    return SandboxState(reason=reason, fix=fix, remedy=remedy)


def _not_installed(program: str, package: str) -> SandboxState:
    return SandboxState(
        reason=f"{program} is not installed.",
        fix="install",
        remedy=install_words(package, PROGRAMS),
        command=install_command(package, PROGRAMS),
    )


def _refused(words: str) -> SandboxState:
    """Say why the system would not make the namespaces."""
    if _is_restricted_by_apparmor():
        reason = "Ubuntu's AppArmor keeps bubblewrap from making a user namespace."
        return _state(reason, "apparmor", _LOAD_PROFILE)
    for name, value in _SETTINGS:
        if _is_zero(name):
            reason = f"User namespaces are switched off here: {name} is 0."
            allowed = f"An administrator allows them by: sudo sysctl {name}={value}."
            return _state(reason, "other", f"{allowed} {_IN_A_CONTAINER}")
    # What comes after the first sentence is where to read more.
    reason = f"The system refuses what bubblewrap needs: {words.partition('. ')[0].rstrip('.')}."
    remedy = f"A policy, such as AppArmor's, may forbid it. {_IN_A_CONTAINER}"
    return _state(reason, "other", remedy)


def _is_zero(setting: str) -> bool:
    try:
        return Path("/proc/sys", *setting.split(".")).read_text().strip() == "0"
    except OSError:
        return False


def _is_restricted_by_apparmor() -> bool:
    try:
        return os.geteuid() != 0 and _APPARMOR.read_text().strip() == "1"
    except OSError:
        return False
