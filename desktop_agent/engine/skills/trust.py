"""What a folder brings along, held against what the user trusted: by content, not by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from desktop_agent.core.skills import FolderTrust
from desktop_agent.engine.base.digests import sha256
from desktop_agent.engine.skills.rules import visible

_MOST_NAMED = 2


class TrustRecord(msgspec.Struct, frozen=True):
    """What the user said of a folder: the digests that were trusted, by path below it."""

    digests: Mapping[str, str] = {}
    is_ignored: bool = False


class ProvidedContent(msgspec.Struct, frozen=True):
    """All that a folder brings, by kind: paths below it with their digests."""

    skills: Mapping[str, str] = {}
    instructions: Mapping[str, str] = {}
    roles: Mapping[str, str] = {}
    servers: Mapping[str, str] = {}

    @property
    def digests(self) -> dict[str, str]:
        """Everything by path."""
        return {**self.skills, **self.instructions, **self.roles, **self.servers}

    @property
    def digest(self) -> str:
        """One digest over everything; empty when there is nothing."""
        if not self.digests:
            return ""
        found = sha256()
        for path, digest in sorted(self.digests.items()):
            name = path.encode("utf-8", "surrogateescape")
            found.update(b"%d:%s:%s:" % (len(name), name, digest.encode()))
        return found.hexdigest()

    def as_text(self) -> tuple[str, ...]:
        """Say what it is, for the user."""
        words = [_count(len(self.skills), "skill")] if self.skills else []
        words += _files(list(self.instructions))
        words += [_count(len(self.roles), "role")] if self.roles else []
        words += ["MCP servers"] if self.servers else []
        return tuple(words)


def evaluate(root: str, provided: ProvidedContent, record: TrustRecord | None) -> FolderTrust:
    """Return how a folder stands."""
    is_trusted = record is not None and not record.is_ignored
    changed: Sequence[str] = ()
    if record is not None and is_trusted:
        now = provided.digests
        changed = [path for path in now if record.digests.get(path) != now[path]]
    return FolderTrust(
        root=root,
        is_trusted=is_trusted,
        is_ignored=record is not None and record.is_ignored,
        brings=provided.as_text(),
        changed=tuple(sorted(map(_on_one_line, changed))),
        digest=provided.digest,
        has_servers=bool(provided.servers),
    )


def is_trusted(record: TrustRecord | None, path: str, digest: str) -> bool:
    """Whether exactly this content at this path was trusted."""
    if record is None or record.is_ignored or not digest:
        return False
    return record.digests.get(path) == digest


def _files(paths: Sequence[str]) -> list[str]:
    if len(paths) > _MOST_NAMED:
        return [f"instructions in {len(paths)} folders"]
    return list(map(_on_one_line, paths))


def _on_one_line(path: str) -> str:
    return " ".join(visible(path).split())


def _count(number: int, thing: str) -> str:
    return f"1 {thing}" if number == 1 else f"{number} {thing}s"
