"""A tool is a value: built-in ones, MCP ones and a test's are made the same way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeVar

import msgspec

from desktop_agent.core.approvals import Rule
from desktop_agent.core.ids import AgentId
from desktop_agent.core.messages import Display, ImagePart
from desktop_agent.core.parts.containment import Containment
from desktop_agent.core.parts.facts import Facts
from desktop_agent.core.parts.forms import FormAnswer, ServerForm
from desktop_agent.core.pipes.file_capture import FileWrite
from desktop_agent.core.sandbox import Boundary, Sandbox
from desktop_agent.core.workspace import Workspace

T = TypeVar("T")


class Access(Enum):
    """What a tool does to the world; the policy and the order of calls go by it."""

    INTERNAL = "internal"  # the app's own state only
    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    NETWORK = "network"
    SERVER = "server"  # an MCP server's: nobody here knows what it does


class ToolError(Exception):
    """An expected failure; its text goes to the model, which can react to it."""


class ToolOutput(msgspec.Struct, frozen=True):
    """What a tool gives: `text` and `images` for the model, `display` for the user.

    `facts` say what the text says, for those who must not read it.
    """

    text: str
    display: Display | None = None
    images: tuple[ImagePart, ...] = ()
    facts: Facts | None = None


class Preview(msgspec.Struct, frozen=True):
    """What a call would do, found out without doing it; the approval card shows this.

    `title` is a question (`Run a command?`). `paths` are the resolved files it would touch (of a
    command: the folder it runs in), `called` other names they were called by, `deletes` those it
    would remove, `protected` those the policy must always ask about, `command` the shell text,
    `host` and `port` where it sends something. `is_read_only` is set for a command proven to
    change nothing, `proven` are the numbers of its parts of which that is known, `containment`
    how the sandbox keeps it, None where none holds; `is_git_asked` tells that it changes a
    repository in a way that may not come back. `rules` are what *Allow always* may
    offer, `refusals` what *Refuse always* may; their scope is set by the card. Two equal
    previews mean the same effect: it is computed again after the user has allowed it, and a
    difference stops the call. `asked` is why it is asked about in every mode, whatever the rules.
    """

    title: str
    display: Display | None = None
    stakes: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    called: tuple[str, ...] = ()
    deletes: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    command: str = ""
    host: str = ""
    port: int = 0
    is_read_only: bool = False
    proven: tuple[int, ...] = ()
    containment: Containment | None = None
    is_git_asked: bool = False
    rules: tuple[Rule, ...] = ()
    refusals: tuple[Rule, ...] = ()
    fingerprint: str = ""
    asked: str = ""


class FileMemory(Protocol):
    """What an agent has read, so that `edit` can refuse a file that changed since."""

    def remember(self, path: Path, digest: str) -> None:
        """Note that the agent has seen this content (hex SHA-256) of the resolved path."""
        ...

    def digest_of(self, path: Path) -> str | None:
        """Return the digest last seen, or None when the file was never read."""
        ...

    def is_outdated(self, path: Path, written_at: float) -> bool:
        """Whether a file was written (seconds since 1970) after the agent may have seen it.

        Of one that it saw before a restart, of which nobody knows any more what it held.
        """
        ...


class OutputFile(Protocol):
    """A file that takes what is cut out of a result. A full disk or limit only ends the file."""

    @property
    def path(self) -> Path:
        """Where it is."""
        ...

    @property
    def size(self) -> int:
        """How many bytes it holds: the first ones that were written."""
        ...

    def write(self, content: bytes) -> None:
        """Append what there is room for; nothing any more after something was left out."""
        ...

    def close(self) -> None:
        """Let go of the file."""
        ...


class Outputs(Protocol):
    """The files of one session that hold what was cut out of results."""

    def create(self) -> OutputFile | None:
        """Make a file, None when the disk refuses."""
        ...

    def find(self, path: str) -> Path | None:
        """Return the file that a result named, None when none did; ToolError if it is deleted."""
        ...

    def open(self, path: Path) -> BinaryIO:
        """Open a file that `find` returned. Raises ToolError."""
        ...


class Changes(Protocol):
    """Keeps what one call changes in files, so that it can be undone."""

    async def write(self, write: FileWrite, do: Callable[[], T]) -> T:
        """Keep what is there, then have `do` write the file on a worker thread.

        What was begun is carried to its end also if the call is stopped meanwhile.
        """
        ...

    def goes_on(self, ended: Awaitable[object]) -> None:
        """The call leaves something running that changes files until then."""
        ...


class ToolContext(msgspec.Struct, frozen=True):
    """What one call may use. Passed as a parameter; nothing ambient.

    `boundary` is what it may reach: tools for files judge by it, and the sandbox keeps commands
    within it. `report` shows live output to the user. `ask_user` waits for the user's answer,
    `ask_form` for what an MCP server wants to know, None where nobody can be asked.
    `outputs` takes the whole of an output that was cut for the model. `jobs` and `tasks`
    are the agent's background commands and task list, `agent` and `steering` itself and its
    dealings with others; the tools that use them know their kind. A command that names no time
    limit has `command_time_s`. `judged` is the preview that the policy decided about, None when
    none was. `sandbox` is what commands of the session run in. `waited_s` is how long the call has
    waited for the user, who is in no hurry. `changes` keeps what the call changes in files, None
    where nothing is kept.
    """

    agent_id: AgentId
    call_id: str
    boundary: Boundary
    report: Callable[[str], None]
    ask_user: Callable[[str, tuple[str, ...]], Awaitable[str]]
    files: FileMemory
    outputs: Outputs
    jobs: Any = None
    tasks: Any = None
    agent_name: str = ""
    agent: Any = None
    steering: Any = None
    environment: Mapping[str, str] = {}
    command_time_s: int = 120
    judged: Preview | None = None
    sandbox: Sandbox | None = None
    waited_s: Callable[[], float] = float
    changes: Changes | None = None
    ask_form: Callable[[ServerForm], Awaitable[FormAnswer]] | None = None

    @property
    def workspace(self) -> Workspace:
        """The folders that were given; `/tmp` is the computer's own."""
        return self.boundary.folders

    def require_judged(self, resolved: Path) -> None:
        """Raise ToolError when a path leads elsewhere than it did when it was decided about."""
        judged = self.judged.paths if self.judged is not None else ()
        if judged and str(resolved) not in judged:
            raise ToolError(
                f"'{resolved}' is not where this path led when the call was checked; nothing was "
                "done. Look at the current state and call again."
            )


RunTool = Callable[[Any, ToolContext], Awaitable[ToolOutput]]
PreviewTool = Callable[[Any, ToolContext], Awaitable[Preview]]
ParseArguments = Callable[[Mapping[str, Any]], Any]


class Tool(msgspec.Struct, frozen=True):
    """`parse` checks a model's arguments and raises ToolError in words for the model.

    `schema` is the JSON schema of the arguments. `describe` gives the short activity text
    (`reading prices.csv`) from raw arguments. `preview` is there for every tool that may
    need approval; without one a call is shown by its arguments. `where` is the one folder that
    the tool is for, empty for all. `forward` returns the tool that is meant, and its arguments.
    """

    name: str
    description: str
    schema: Mapping[str, Any]
    access: Access
    parse: ParseArguments
    run: RunTool
    preview: PreviewTool | None = None
    describe: Callable[[Mapping[str, Any]], str] | None = None
    timeout_s: float | None = None
    where: str = ""
    forward: Callable[[Mapping[str, Any]], tuple[str, dict[str, Any]]] | None = None
