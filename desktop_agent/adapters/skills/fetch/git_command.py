"""The `git` command, run so that it reads no settings, asks nothing and starts nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from desktop_agent.adapters.child_process import exited
from desktop_agent.adapters.skills.fetch.address import Repository
from desktop_agent.adapters.skills.fetch.intake import MEGABYTE, size_of
from desktop_agent.core.pipes.no_window import NO_WINDOW
from desktop_agent.core.skill_install import SkillLibraryError
from desktop_agent.engine.workspace.programs import find_program

_LARGEST_OUTPUT = 4 * MEGABYTE
_LARGEST_COMPLAINT = 20_000
_LOOK_S = 0.25
_NO_GIT = (
    "Git is not installed on this computer. Install it from git-scm.com, or paste the address "
    "of a .zip instead."
)
_PASSED = (
    "PATH", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
    "http_proxy", "https_proxy", "no_proxy", "all_proxy",
)  # fmt: skip
# ssh needs to find the user's keys; it asks nothing.
_PASSED_TO_SSH = ("HOME", "USER", "LOGNAME", "USERPROFILE", "SSH_AUTH_SOCK", "SSH_AGENT_PID")
_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.attributesFile": os.devnull,
    "core.askPass": "",
    "credential.helper": "",
    "credential.interactive": "false",
    "protocol.version": "2",
    "http.lowSpeedLimit": "500",
    "http.lowSpeedTime": "20",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "submodule.recurse": "false",
    "fetch.writeCommitGraph": "false",
    # There is nothing to agree on: the repository here is empty. Objects asked for by name come so.
    "fetch.negotiationAlgorithm": "noop",
    "init.defaultBranch": "main",
}
_COMPLAINTS = (
    ("could not resolve host", "{host} was not found. Check the address and your connection."),
    ("host key verification failed",
     "This computer does not know {host} yet. Connect to it once with ssh in a terminal."),
    ("permission denied (publickey",
     "{host} did not take your ssh key, or has no such repository."),
    ("dubious ownership", "That repository belongs to another user of this computer. Copy it."),
    ("could not read username", "{private}"),
    ("unable to get password", "{private}"),
    ("terminal prompts disabled", "{private}"),
    ("authentication failed", "{private}"),
    ("couldn't find remote ref head",
     "That repository is empty, or there is none at that address."),
    ("not our ref", "There is no such commit in that repository. Check the address."),
    ("couldn't find remote ref", "There is no such commit in that repository. Check the address."),
    ("repository not found", "{missing}"),
    ("not found", "{missing}"),
    ("does not appear to be a git repository", "{missing}"),
    ("not a git repository", "{missing}"),
    ("failed to connect", "{host} can't be reached. Check the address and your connection."),
    ("ssh: connect to host", "{host} can't be reached. Check the address and your connection."),
    ("certificate", "{host} can't prove that it is {host}. Nothing was fetched."),
    ("not allowed", "{elsewhere}"),
    ("not supported or disabled", "{elsewhere}"),
    ("(in redirect)", "{elsewhere}"),
    ("is this a git repository", "{missing}"),
    ("returned error: 403", "{private}"),
    ("requested url returned error", "{host} answered with an error. Try again later."),
)  # fmt: skip
_PRIVATE = (
    "{host} asks for a sign-in: the repository is private, or there is none at that address. "
    "Use its ssh address, or download it and give the folder."
)
_ELSEWHERE = "{host} sends on to an address that is not encrypted. Nothing was fetched."
_MISSING = "There is no git repository at that address, or it is private. Check the address."


class GitMissing(SkillLibraryError):
    """There is no git on this computer."""

    def __init__(self) -> None:
        super().__init__(_NO_GIT)


class GitFailed(Exception):
    """Git ended with an error; `words` are for the user."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words


class Git:
    """Runs git for one repository, in one folder of ours."""

    def __init__(self, folder: Path, place: Repository) -> None:
        self._folder = folder
        self._host = place.host
        self._program = find_program("git")
        if not self._program:
            raise GitMissing
        self._environment = _environment(folder, place.protocol)

    async def run(
        self,
        *words: str,
        time_s: float,
        stdin: bytes = b"",
        largest_output: int = _LARGEST_OUTPUT,
        largest_folder: int = 0,
    ) -> bytes:
        """Return what it prints. Raises GitFailed; ends the whole process group then."""
        settings = [word for pair in _SETTINGS.items() for word in ("-c", "=".join(pair))]
        process = await asyncio.create_subprocess_exec(
            self._program, *settings, *words,
            cwd=self._folder, env=self._environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True, creationflags=NO_WINDOW,
        )  # fmt: skip
        try:
            async with asyncio.timeout(time_s):
                watch = _watch(self._folder, largest_folder)
                output, complaint = await _talk(process, stdin, largest_output, watch)
                await exited(process)
        except TimeoutError:
            raise GitFailed(f"Git took longer than {time_s:.0f} s. Try again later.") from None
        finally:
            _end(process)
            await exited(process)
        if process.returncode:
            raise GitFailed(_error_text(complaint.decode("utf-8", "replace"), self._host))
        return output


async def _talk(
    process: asyncio.subprocess.Process,
    stdin: bytes,
    largest_output: int,
    watch: Coroutine[Any, Any, None],
) -> tuple[bytes, bytes]:
    """Write and read at the same time, while a watch may raise."""
    output = asyncio.ensure_future(_read(process.stdout, largest_output, cuts=False))
    complaint = asyncio.ensure_future(_read(process.stderr, _LARGEST_COMPLAINT, cuts=True))
    whole = asyncio.gather(output, complaint, _feed(process, stdin))
    watching = asyncio.ensure_future(watch)
    try:
        await asyncio.wait((whole, watching), return_when=asyncio.FIRST_COMPLETED)
        if watching.done():
            watching.result()
        await whole
        return output.result(), complaint.result()
    finally:
        whole.cancel()
        watching.cancel()
        await asyncio.gather(whole, watching, return_exceptions=True)


async def _read(stream: asyncio.StreamReader | None, largest: int, *, cuts: bool) -> bytes:
    assert stream is not None
    content = bytearray()
    while chunk := await stream.read(1 << 16):
        if len(content) + len(chunk) <= largest:
            content += chunk
        elif not cuts:
            raise GitFailed("That repository is too large. Give the address of a .zip instead.")
    return bytes(content)


async def _feed(process: asyncio.subprocess.Process, content: bytes) -> None:
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(content)
        await process.stdin.drain()
        process.stdin.close()


async def _watch(folder: Path, largest: int) -> None:
    """Raise once a fetch has downloaded too much: git knows no limit of its own."""
    if not largest:
        await asyncio.Event().wait()
    while True:
        await asyncio.sleep(_LOOK_S)
        if await asyncio.to_thread(size_of, folder) > largest:
            raise GitFailed(
                f"That repository is larger than {largest // MEGABYTE} MB. "
                "Give the address of a .zip instead."
            )


def _end(process: asyncio.subprocess.Process) -> None:
    """End git and what it started, unless it has ended by itself."""
    if process.returncode is not None:
        return
    if sys.platform == "win32":
        words = ["taskkill", "/T", "/F", "/PID", str(process.pid)]
        subprocess.run(words, capture_output=True, check=False, timeout=10, creationflags=NO_WINDOW)
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _environment(folder: Path, protocol: str) -> dict[str, str]:
    names = _PASSED + (_PASSED_TO_SSH if protocol == "ssh" else ())
    kept = {name: os.environ[name] for name in names if name in os.environ}
    own = {} if protocol == "ssh" else {"HOME": str(folder), "USERPROFILE": str(folder)}
    return kept | own | {
        "LC_ALL": "C",
        "XDG_CONFIG_HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": protocol,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",
        "SSH_ASKPASS": "",
        "GIT_SSH_COMMAND": "ssh -o BatchMode=yes -o ConnectTimeout=10",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_CEILING_DIRECTORIES": str(folder.parent),
    }  # fmt: skip


def _error_text(complaint: str, host: str) -> str:
    lowered = complaint.casefold()
    name = host or "The folder"
    for part, words in _COMPLAINTS:
        if part in lowered:
            whole = words.replace("{private}", _PRIVATE).replace("{missing}", _MISSING)
            whole = whole.replace("{elsewhere}", _ELSEWHERE)
            return whole.replace("{host}", name)
    lines = [line for line in complaint.splitlines() if line.startswith(("fatal:", "error:"))]
    said = (lines or complaint.splitlines() or ["nothing"])[0]
    return f"Git could not fetch it: {said.partition(':')[2].strip() or said}"
