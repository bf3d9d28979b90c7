"""Real places that skills come from: git repositories, zips, folders, and servers of both."""

from __future__ import annotations

import asyncio
import io
import os
import subprocess
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from desktop_agent.adapters.skills.fetch.intake import Limits
from desktop_agent.adapters.skills.library import SkillLibrary

_GIT = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ALLOW_PROTOCOL": "file",
}


def skill_text(name: str, body: str = "Do it well.", description: str = "") -> str:
    return f"---\nname: {name}\ndescription: {description or f'Does {name}.'}\n---\n\n{body}\n"


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def git(folder: Path, *words: str, stdin: bytes | None = None) -> str:
    done = subprocess.run(
        ["git", *words],
        cwd=folder,
        env={**os.environ, **_GIT},
        input=stdin,
        capture_output=True,
        check=True,
    )
    return done.stdout.decode().strip()


@dataclass
class Repo:
    """A repository that is worked in."""

    path: Path

    def commit(self, files: Mapping[str, str | bytes | None], message: str = "work") -> str:
        for name, content in files.items():
            if content is None:
                git(self.path, "rm", "-rq", name)
            else:
                write_files(self.path, {name: content})
        git(self.path, "add", "--all")
        git(self.path, "commit", "--quiet", "--message", message)
        return self.head

    @property
    def head(self) -> str:
        return git(self.path, "rev-parse", "HEAD")


def make_repository(path: Path, files: Mapping[str, str | bytes]) -> Repo:
    path.mkdir(parents=True)
    git(path, "init", "--quiet", "--initial-branch=main")
    repo = Repo(path)
    if files:
        repo.commit(files)
    return repo


def zipped(files: Mapping[str, str | bytes], comment: bytes = b"") -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        archive.comment = comment
    return packed.getvalue()


@dataclass
class Home:
    """Where a library keeps things, and what it told."""

    top: Path
    changes: list[int] = field(default_factory=list)

    @property
    def mine(self) -> Path:
        return self.top / "config" / "skills"

    @property
    def removed(self) -> Path:
        return self.top / "data" / "removed"

    def library(
        self, limits: Limits | None = None, *, allows_loopback_http: bool = True
    ) -> SkillLibrary:
        return SkillLibrary(
            mine=self.mine,
            removed=self.removed,
            config_dir=self.top / "config",
            changed=lambda: self.changes.append(1),
            limits=limits,
            allows_loopback_http=allows_loopback_http,
        )


def snapshot(*folders: Path) -> dict[str, tuple[int, bytes]]:
    """Everything below some folders, to see that none of it changed."""
    return {
        str(path): (path.lstat().st_mode, path.read_bytes() if _is_file(path) else b"")
        for folder in folders
        for path in folder.rglob("*")
    }


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def git_over_http(root: Path) -> Callable[[web.Request], object]:
    """Answer as a git server does, with git's own CGI program."""
    program = Path(git(root, "--exec-path")) / "git-http-backend"

    async def answer(request: web.Request) -> web.StreamResponse:
        environment = {
            **os.environ,
            **_GIT,
            "GIT_PROJECT_ROOT": str(root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
            "REQUEST_METHOD": request.method,
            "PATH_INFO": request.path,
            "QUERY_STRING": request.query_string,
            "CONTENT_TYPE": request.headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
        }
        process = await asyncio.create_subprocess_exec(
            str(program),
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        output, _ = await process.communicate(await request.read())
        head, _, body = output.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        status = int(headers.pop("Status", "200 OK").split(" ")[0])
        return web.Response(status=status, headers=headers, body=body)

    return answer
