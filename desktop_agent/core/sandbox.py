"""The boundary that a command runs within, and whether this machine keeps it (RULES W5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from desktop_agent.core.approvals import Rule
from desktop_agent.core.ids import SessionId
from desktop_agent.core.messages import Value
from desktop_agent.core.workspace import OwnPlaces, Workspace

Fix = Literal["", "install", "apparmor", "other"]


class Probe(Value, frozen=True):
    """One attempt to break out, or to work inside, and how it went (`words`, for people)."""

    name: str
    held: bool
    words: str = ""


class SandboxState(Value, frozen=True):
    """Whether commands are contained here.

    `reason` says in one sentence why not, `fix` what kind of remedy there is and `remedy` its
    words. `command` is a remedy that the app can start, once the person has agreed to it.
    """

    holds: bool = False
    reason: str = "The sandbox has not been checked yet."
    fix: Fix = ""
    remedy: str = ""
    probes: tuple[Probe, ...] = ()
    command: tuple[str, ...] = ()


class SandboxOptions(Value, frozen=True):
    """What the person opened and hid of their own.

    `has_gpu` gives commands the graphics processors. `hidden` are toolchains in the home folder
    (real absolute paths) that commands don't see.
    """

    has_gpu: bool = False
    hidden: tuple[str, ...] = ()


class PrivateCache(Value, frozen=True):
    """What tools fetched and compiled in the sandbox for one folder.

    `id` names it, `folder` is empty where that is not known, `size` is in bytes on disk.
    """

    id: str
    folder: str
    size: int


class SandboxContents(Value, frozen=True):
    """What commands see of the home folder besides a session's own, and the private caches."""

    toolchains: tuple[str, ...] = ()
    caches: tuple[PrivateCache, ...] = ()


class Boundary(Value, frozen=True):
    """What an agent's tools for files, a command or a server may reach.

    `folders` are the read-set and the write-set; of what lies in them `refusals`, the deny rules
    of the session's folder, take what they name. `temporary` is the real path of what is called
    `/tmp`, empty where that is the computer's own. `options` are the switches of the settings.
    `is_offline` leaves no network, not the session's either: connections don't all say whose they
    are. `local_ports` are ports of this computer that are reached at `localhost`.

    The rest is of one command: `is_changing` is false where it may write nothing,
    `is_git_writable` opens git's own files, except those that make git run a program. `call_id` is
    whose command it is. `named` are protected files that the command itself names: the person was
    asked about it with them.
    """

    session_id: SessionId
    folders: Workspace
    own: OwnPlaces = OwnPlaces()
    refusals: tuple[Rule, ...] = ()
    temporary: str = ""
    options: SandboxOptions = SandboxOptions()
    is_offline: bool = False
    local_ports: tuple[int, ...] = ()
    is_changing: bool = True
    is_git_writable: bool = False
    call_id: str = ""
    named: tuple[str, ...] = ()

    @property
    def root(self) -> str:
        """Where relative paths start, and what rules are relative to."""
        return self.folders.root

    @property
    def read_roots(self) -> tuple[str, ...]:
        """Every folder that may be read."""
        return self.folders.read_roots

    @property
    def write_roots(self) -> tuple[str, ...]:
        """Every folder that may be written."""
        return self.folders.write_roots


class Enclosure(Protocol):
    """How to start one command within a boundary; close it once the command was started."""

    @property
    def words(self) -> tuple[str, ...]:
        """The arguments that come before the shell's own."""
        ...

    @property
    def environment(self) -> Mapping[str, str]:
        """What is set in the command's environment, besides its own."""
        ...

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The file descriptors that the first of `words` inherits."""
        ...

    def close(self) -> None:
        """Close the descriptors on this side."""
        ...

    def has_started(self, exit_code: int) -> bool:
        """Whether the command itself ran, asked once after its end.

        Else what was printed are the sandbox's words, which say why it did not.
        """
        ...

    async def finished(self) -> tuple[str, ...]:
        """Once all of the command has ended: put right what it may not leave behind, and say so.

        Returns a line for each thing that was removed or set aside.
        """
        ...


class Sandbox(Protocol):
    """Runs commands within a boundary that the operating system keeps."""

    @property
    def state(self) -> SandboxState:
        """What the last check found."""
        ...

    async def check(self) -> SandboxState:
        """Run the probes, and return what they found."""
        ...

    async def enclose(
        self, boundary: Boundary, directory: str, environment: Mapping[str, str]
    ) -> Enclosure:
        """Prepare to run one command in `directory`. Raises ToolError; never a way without."""
        ...

    async def look_ahead(self, roots: Sequence[str]) -> None:
        """Find what is protected in folders that commands will change, so that none waits."""
        ...

    def temporary_folder(self, session_id: SessionId) -> str:
        """Return the real path of what a session's commands see as `/tmp`, made if need be."""
        ...

    async def forget(self, session_id: SessionId) -> None:
        """End what a session's commands share: its network, its temporary folder."""
        ...


class ServedPorts(Protocol):
    """Knows what commands of a session serve in the session's own network."""

    def served_ports(self, session_id: SessionId) -> tuple[int, ...]:
        """Return the ports that they listen on."""
        ...

    async def share_port(self, session_id: SessionId, port: int) -> int:
        """Have this computer's programs reach such a port; return where. Raises ToolError."""
        ...


class SandboxInstaller(Protocol):
    """Installs what the sandbox needs, as the person has agreed to; never for an agent."""

    async def install(self, command: Sequence[str]) -> str:
        """Run the command to its end; return why it failed, or nothing."""
        ...


class SandboxInventory(Protocol):
    """Knows what is in the sandbox, for the person to look at."""

    async def contents(self, root: str) -> SandboxContents:
        """Return what commands of a session in `root` would see, and every private cache."""
        ...

    async def empty_cache(self, cache_id: str) -> None:
        """Delete what is in a private cache; an id that is none is ignored."""
        ...
