"""All skills, instructions and roles that hold in a folder: found on disk, then evaluated."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from desktop_agent.core.skills import FolderTrust, Skill
from desktop_agent.engine.skills import instructions as agents_md
from desktop_agent.engine.skills import trust
from desktop_agent.engine.skills.instructions import Instructions
from desktop_agent.engine.skills.role_files import RoleFile, RoleReader
from desktop_agent.engine.skills.roles import Role
from desktop_agent.engine.skills.rules import DESCRIPTION_LENGTH, escaped
from desktop_agent.engine.skills.scan import Found, Place, Scanner
from desktop_agent.engine.skills.trust import ProvidedContent, TrustRecord

_SKILL_FOLDERS = (".agents/skills", ".claude/skills")
_ROLE_FOLDER = ".agents/agents"


class SkillMemory(Protocol):
    """What is kept about skills and folders between runs. Never called on the window's thread.

    Writing raises OSError. A `root` is a folder, empty for none.
    """

    def is_on(self, name: str, root: str) -> bool:
        """Return the user's switch: the folder's own, else the general one, else on."""
        ...

    def switch(self, name: str, root: str, *, is_on: bool, only_here: bool) -> None:
        """Set the folder's own switch, or the general one (which ends the folder's own)."""
        ...

    def times_used(self, name: str) -> int:
        """Return how often a skill was loaded."""
        ...

    def count_use(self, name: str) -> None:
        """Count one more time."""
        ...

    def source_of(self, directory: str) -> tuple[str, str]:
        """Return where a skill was installed from and its commit; empty when unknown."""
        ...

    def installed_digest(self, directory: str) -> str:
        """Return the digest of what the user installed there; empty for anything else."""
        ...

    def trust_of(self, root: str) -> TrustRecord | None:
        """Return what the user said of a folder."""
        ...

    def set_trust(self, root: str, record: TrustRecord | None) -> None:
        """Keep it; None forgets."""
        ...


class Places(msgspec.Struct, frozen=True):
    """Where skills and roles are looked for besides the folder itself."""

    mine: Path | None = None
    other_apps: Sequence[Path] = ()
    bundled: Path | None = None
    roles: Sequence[Path] = ()


class Findings(msgspec.Struct, frozen=True):
    """What lies on disk, not yet evaluated; the winner of a name comes first."""

    root: str = ""
    skills: tuple[Found, ...] = ()
    instructions: tuple[Instructions, ...] = ()
    folder_roles: tuple[RoleFile, ...] = ()
    own_roles: tuple[RoleFile, ...] = ()
    servers: Instructions | None = None

    @property
    def provided(self) -> ProvidedContent:
        """What the folder itself brings."""
        return ProvidedContent(
            {self.relative(f.skill.directory): f.digest for f in self.skills if f.digest},
            {entry.path: entry.digest for entry in self.instructions},
            {self.relative(entry.path): entry.digest for entry in self.folder_roles},
            {self.servers.path: self.servers.digest} if self.servers is not None else {},
        )

    def relative(self, path: str) -> str:
        """Return a path as seen from the folder."""
        return Path(os.path.relpath(path, self.root)).as_posix()


class Catalog(msgspec.Struct, frozen=True):
    """What holds in a folder now. `section` is the prompt's list of skills, empty without any.

    `mcp_config` is the text of its `.mcp.json`, trusted or not.
    """

    skills: tuple[Skill, ...] = ()
    trust: FolderTrust = msgspec.field(default_factory=lambda: FolderTrust(""))
    instructions: tuple[Instructions, ...] = ()
    roles: dict[str, Role] = {}
    section: str = ""
    directories: tuple[str, ...] = ()
    mcp_config: str = ""
    is_mcp_trusted: bool = False

    @property
    def usable(self) -> tuple[Skill, ...]:
        """The skills agents may load, by name."""
        usable = [skill for skill in self.skills if skill.is_usable]
        return tuple(sorted(usable, key=lambda skill: skill.name))


def find(scanner: Scanner, reader: RoleReader, places: Places, root: str) -> Findings:
    """Look at the disk. For a worker thread."""
    wanted: list[Place] = []
    bounds = Path(os.path.realpath(root)) if root else None
    if bounds is not None:
        wanted += [Place(bounds / name, "folder", bounds) for name in _SKILL_FOLDERS]
    if places.mine is not None:
        wanted.append(Place(places.mine, "mine"))
    wanted += [Place(path, "other_app") for path in places.other_apps]
    if places.bundled is not None:
        wanted.append(Place(places.bundled, "bundled"))
    found: dict[str, Found] = {}
    for place in wanted:
        for one in scanner.scan(place):
            # The same folder by two ways is one skill.
            found.setdefault(one.skill.directory, one)
    return Findings(
        root=str(bounds) if bounds is not None else "",
        skills=tuple(found.values()),
        instructions=agents_md.find(str(bounds)) if bounds is not None else (),
        folder_roles=tuple(reader.find(bounds / _ROLE_FOLDER, bounds)) if bounds else (),
        own_roles=tuple(role for path in places.roles for role in reader.find(path)),
        servers=agents_md.servers_of(str(bounds)) if bounds is not None else None,
    )


def evaluate(
    findings: Findings,
    memory: SkillMemory,
    root: str,
    record: TrustRecord | None,
    needs: Mapping[str, tuple[str, ...]],
) -> Catalog:
    """Apply trust and switches: what comes out of here is what agents get.

    `needs` is what skills lack, by their directory.
    """
    skills = _evaluated_skills(findings, memory, root, record, needs)
    usable = sorted((s for s in skills if s.is_usable), key=lambda skill: skill.name)
    held = trust.evaluate(root, _unasked(findings, memory), record)

    def may_use(path: str, digest: str) -> bool:
        return trust.is_trusted(record, path, digest)

    roles: dict[str, Role] = {}
    for file in findings.folder_roles:
        if may_use(findings.relative(file.path), file.digest):
            roles.setdefault(file.role.name, file.role)
    for file in findings.own_roles:
        roles.setdefault(file.role.name, file.role)
    servers = findings.servers
    return Catalog(
        skills=tuple(skills),
        trust=held,
        instructions=tuple(e for e in findings.instructions if may_use(e.path, e.digest)),
        roles=roles,
        section=section_of(usable),
        directories=tuple(skill.directory for skill in usable),
        mcp_config=servers.text if servers is not None else "",
        is_mcp_trusted=servers is not None and may_use(servers.path, servers.digest),
    )


def _unasked(findings: Findings, memory: SkillMemory) -> ProvidedContent:
    """Return what a folder brings, without the skills that the user put there by this app."""
    provided = findings.provided
    skills = {
        findings.relative(found.skill.directory): found.digest
        for found in findings.skills
        if found.digest and not is_as_installed(found.skill, found.digest, memory)
    }
    return ProvidedContent(skills, provided.instructions, provided.roles, provided.servers)


def is_as_installed(skill: Skill, digest: str, memory: SkillMemory) -> bool:
    """Whether a folder's skill is exactly what the user installed into that folder."""
    return bool(digest) and memory.installed_digest(skill.directory) == digest


def section_of(usable: Sequence[Skill]) -> str:
    """Return `<available_skills>` for the prompt; nothing when there is none."""
    if not usable:
        return ""
    lines = ["<available_skills>"]
    for skill in usable:
        lines += [
            "<skill>",
            f"<name>{_one_line(skill.name)}</name>",
            f"<description>{_one_line(skill.description, DESCRIPTION_LENGTH)}</description>",
            f"<location>{_one_line(skill.location)}</location>",
            "</skill>",
        ]
    return "\n".join([*lines, "</available_skills>"])


def _evaluated_skills(
    findings: Findings,
    memory: SkillMemory,
    root: str,
    record: TrustRecord | None,
    needs: Mapping[str, tuple[str, ...]],
) -> list[Skill]:
    winners: dict[str, str] = {}
    skills: list[Skill] = []
    for found in findings.skills:
        skill = found.skill
        is_trusted, is_changed = True, False
        if skill.origin == "folder":
            path = findings.relative(skill.directory)
            is_trusted = trust.is_trusted(record, path, found.digest) or is_as_installed(
                skill, found.digest, memory
            )
            known = record is not None and not record.is_ignored and path in record.digests
            is_changed = known and not is_trusted
        source, commit = memory.source_of(skill.directory)
        winner = ""
        # What can't be used does not shadow a skill of the same name.
        if is_trusted and not skill.problem:
            winner = winners.setdefault(skill.name, skill.directory)
        skills.append(
            msgspec.structs.replace(
                skill,
                is_enabled=memory.is_on(skill.name, root),
                is_trusted=is_trusted,
                is_changed=is_changed,
                shadowed_by=winner if winner != skill.directory else "",
                needs=needs.get(skill.directory, ()),
                source=source,
                commit=commit,
                times_used=memory.times_used(skill.name),
            )
        )
    return skills


def _one_line(text: str, limit: int = 4096) -> str:
    flat = " ".join(text.split())
    return escaped(flat if len(flat) <= limit else f"{flat[: limit - 1]}…")
