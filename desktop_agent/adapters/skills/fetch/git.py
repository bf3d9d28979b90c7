"""Skills out of a git repository, read object by object: nothing is ever checked out.

A repository can carry programs in its hooks, filters, monitors and submodules. None of them
has an occasion here: our own empty repository takes the objects, no configuration but ours is
read, and the files are written by us.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from desktop_agent.adapters.skills.fetch.address import Repository
from desktop_agent.adapters.skills.fetch.git_command import Git, GitFailed
from desktop_agent.adapters.skills.fetch.intake import (
    MEGABYTE,
    Intake,
    checked_path,
    is_below,
    is_wanted,
    shown,
    skill_folders,
)
from desktop_agent.core.skill_install import SkillLibraryError

_LARGEST_LIST = 16 * MEGABYTE
_LARGEST_REPOSITORY = 150 * MEGABYTE
_ASK_S = 30.0
_FETCH_S = 180.0
_READ_S = 60.0
_LINK = "120000"
_SUBMODULE = "160000"
_EXECUTABLE = "100755"
_STORED_ELSEWHERE = b"version https://git-lfs.github.com/spec/"
_NAME = "refs/heads/fetched"


class _Entry(msgspec.Struct, frozen=True):
    path: PurePosixPath
    mode: str
    object_id: str


async def fetch(place: Repository, folder: Path, intake: Intake, only: str = "") -> str:
    """Take the skills' files of the newest commit; return the commit.

    `folder` is an empty one for git's own files; `only` is a folder in the repository, if no
    other is wanted. Raises SkillLibraryError.
    """
    git = Git(folder, place)
    try:
        reference, within = await _reference(git, place)
        within = only or within
        await git.run("init", "--quiet", "--bare", "--template=", ".", time_s=_ASK_S)
        await git.run("config", "remote.origin.url", place.url, time_s=_ASK_S)
        await _fetch(git, "--depth=1", "--filter=blob:none", "origin", f"+{reference}:{_NAME}")
        commit = (await git.run("rev-parse", f"{_NAME}^{{commit}}", time_s=_ASK_S)).decode()
        entries = _plain_entries(await _tree(git, within), intake)
        if within and not entries:
            raise SkillLibraryError(f"There is no folder {shown(within)} in that repository.")
        await _take(git, entries, within, intake)
        return commit.strip()
    except GitFailed as failed:
        raise SkillLibraryError(failed.words) from failed


async def _reference(git: Git, place: Repository) -> tuple[str, str]:
    """Return what to fetch, and the folder: the names of branches may hold slashes."""
    if not place.tail:
        return "HEAD", ""
    parts = place.tail.split("/")
    if len(parts[0]) in {40, 64} and all(letter in "0123456789abcdef" for letter in parts[0]):
        return parts[0], "/".join(parts[1:])
    listing = await git.run(
        "ls-remote", "--quiet", "--", place.url, "refs/heads/*", "refs/tags/*", time_s=_ASK_S
    )
    known = {line.partition("\t")[2] for line in listing.decode("utf-8", "replace").splitlines()}
    for count in range(len(parts), 0, -1):
        name = "/".join(parts[:count])
        for kind in ("heads", "tags"):
            if f"refs/{kind}/{name}" in known:
                return f"refs/{kind}/{name}", "/".join(parts[count:])
    if parts[0] == "HEAD":
        return "HEAD", "/".join(parts[1:])
    raise SkillLibraryError(
        f"There is no branch or tag {shown(parts[0])} in that repository. Check the address."
    )


async def _fetch(git: Git, *words: str, lines: Iterable[str] = ()) -> None:
    await git.run(
        "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance",
        "--no-write-fetch-head", *words,
        time_s=_FETCH_S, stdin="".join(f"{line}\n" for line in lines).encode(),
        largest_folder=_LARGEST_REPOSITORY,
    )  # fmt: skip


async def _tree(git: Git, within: str) -> list[tuple[str, _Entry | str]]:
    """Return the files as (path as git has it, entry or the reason why it can't be taken)."""
    where = ["--", within] if within else []
    words = ("ls-tree", "-r", "-z", "--full-tree", _NAME, *where)
    listing = await git.run(*words, time_s=_READ_S, largest_output=_LARGEST_LIST)
    found: list[tuple[str, _Entry | str]] = []
    for line in listing.split(b"\0"):
        if not line:
            continue
        facts, _, raw = line.partition(b"\t")
        mode, _, object_id = facts.decode("ascii").split(" ")
        name = raw.decode("utf-8", "surrogateescape")
        try:
            if "\\" in name:
                raise ValueError("its name holds a backslash")
            found.append((name, _Entry(checked_path(name), mode, object_id)))
        except (ValueError, SkillLibraryError) as odd:
            found.append((name, str(odd).rstrip(".")))
    return found


def _plain_entries(tree: list[tuple[str, _Entry | str]], intake: Intake) -> list[_Entry]:
    found: list[_Entry] = []
    for name, entry in tree:
        if isinstance(entry, str):
            intake.skip(name, entry)
        elif entry.mode == _LINK:
            intake.skip(name, "it is a link")
        elif entry.mode == _SUBMODULE:
            intake.skip(name, "it is another repository; give its own address")
        elif is_wanted(entry.path):
            found.append(entry)
    return found


async def _take(git: Git, entries: list[_Entry], within: str, intake: Intake) -> None:
    folders = skill_folders((entry.path for entry in entries), intake.limits, within)
    chosen = [entry for entry in entries if is_below(entry.path, folders)]
    intake.require_room(len(chosen), 0)
    objects = list(dict.fromkeys(entry.object_id for entry in chosen))
    missing = await _missing(git)
    wanted = [name for name in objects if name in missing]
    if wanted:
        await _fetch(git, "--filter=blob:none", "--stdin", "origin", lines=wanted)
    sizes = await _sizes(git, objects)
    if any(sizes[name] is None for name in objects):
        raise SkillLibraryError("That repository is damaged: a part of it is missing.")
    intake.require_room(len(chosen), sum(sizes[entry.object_id] or 0 for entry in chosen))
    await _write(git, chosen, intake)


async def _missing(git: Git) -> set[str]:
    """Return the objects that the server left out, as it was asked to."""
    words = ("rev-list", "--objects", "--no-object-names", "--missing=print", _NAME)
    listing = await git.run(*words, time_s=_READ_S, largest_output=_LARGEST_LIST)
    return {line[1:] for line in listing.decode("ascii").splitlines() if line.startswith("?")}


async def _sizes(git: Git, objects: Sequence[str]) -> dict[str, int | None]:
    """Return the size of each object; None for one that is not here."""
    if not objects:
        return {}
    asked = "".join(f"{name}\n" for name in objects).encode()
    words = ("cat-file", "--batch-check=%(objectname) %(objectsize)")
    answer = await git.run(*words, stdin=asked, time_s=_READ_S)
    lines = answer.decode("ascii", "replace").splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines)
    return {name: int(size) if size.isdecimal() else None for name, size in pairs}


async def _write(git: Git, chosen: list[_Entry], intake: Intake) -> None:
    asked = "".join(f"{entry.object_id}\n" for entry in chosen).encode()
    # Each object comes with a line of its own; the sizes were looked at before.
    largest = intake.limits.size + 200 * (len(chosen) + 1)
    answer = await git.run(
        "cat-file", "--batch", stdin=asked, time_s=_READ_S, largest_output=largest
    )
    await asyncio.to_thread(_write_all, answer, chosen, intake)


def _write_all(answer: bytes, chosen: list[_Entry], intake: Intake) -> None:
    at = 0
    for entry in chosen:
        end = answer.index(b"\n", at)
        size = int(answer[at:end].rpartition(b" ")[2])
        content = answer[end + 1 : end + 1 + size]
        at = end + 1 + size + 1
        if content.startswith(_STORED_ELSEWHERE):
            intake.skip(str(entry.path), "its content is kept elsewhere (Git LFS)")
        else:
            intake.add(entry.path, (content,), is_executable=entry.mode == _EXECUTABLE)
