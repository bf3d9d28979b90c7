"""What an update changes, as a unified diff; and whether two folders hold the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from desktop_agent.adapters.skills.fetch.intake import is_wanted
from desktop_agent.core.diffs.line_diff import hunks, opcodes
from desktop_agent.core.tool import ToolError
from desktop_agent.engine.skills import files

_LONGEST = 200_000
_LARGEST_COMPARED = 300_000
_MOST_LINES = 4_000


def digest_of(folder: Path) -> str:
    """Return the digest by which the engine knows what was installed. Raises OSError."""
    try:
        with files.held(str(folder.resolve())) as held:
            return held.digest(files.entries(held.folder))
    except (files.TooLarge, ToolError) as error:
        raise OSError(str(error)) from None


def compare(old: Path, new: Path) -> tuple[str, int]:
    """Return the diff from old to new, shortened when very long, and how many files differ."""
    before, after = _files(old), _files(new)
    parts: list[str] = []
    size = count = 0
    for name in sorted(before.keys() | after.keys()):
        was = before[name].read_bytes() if name in before else None
        is_now = after[name].read_bytes() if name in after else None
        if was == is_now:
            continue
        count += 1
        if size < _LONGEST:
            part = "".join(_of_file(name, was, is_now))
            parts.append(part)
            size += len(part)
    text = "".join(parts)
    if len(text) <= _LONGEST:
        return text, count
    rest = text.count("\n", _LONGEST)
    return f"{text[:_LONGEST]}\n… the rest is not shown ({rest:,} lines or more).\n", count


def _of_file(name: str, was: bytes | None, is_now: bytes | None) -> Iterator[str]:
    old_name = f"a/{name}" if was is not None else "/dev/null"
    new_name = f"b/{name}" if is_now is not None else "/dev/null"
    old, new = _lines(was), _lines(is_now)
    if old is None or new is None:
        sizes = f"{len(was or b''):,} bytes before, {len(is_now or b''):,} now"
        yield f"--- {old_name}\n+++ {new_name}\n@@ not compared line by line: {sizes} @@\n"
        return
    yield f"--- {old_name}\n+++ {new_name}\n"
    yield from hunks(old, new, opcodes(old, new))


def _lines(content: bytes | None) -> list[str] | None:
    if content is None:
        return []
    if len(content) > _LARGEST_COMPARED or b"\0" in content:
        return None
    try:
        # Not splitlines: that also breaks at characters which end no line for git or people.
        lines = content.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        return None
    lines = [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    return lines if len(lines) <= _MOST_LINES else None


def _files(folder: Path) -> dict[str, Path]:
    return {
        str(_relative(path, folder)): path
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and is_wanted(_relative(path, folder))
    }


def _relative(path: Path, folder: Path) -> PurePosixPath:
    return PurePosixPath(path.relative_to(folder).as_posix())
