"""Finding skills on disk. Runs on a worker thread; one bad file never hides the others."""

from __future__ import annotations

import os
import re
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path

import msgspec

from desktop_agent.core.skills import Skill, SkillOrigin
from desktop_agent.core.tool import ToolError
from desktop_agent.engine.skills import files
from desktop_agent.engine.skills.files import Entry, Held, TooLarge
from desktop_agent.engine.skills.front_matter import parse
from desktop_agent.engine.skills.rules import DESCRIPTION_LENGTH, declared, tokens_of, visible
from desktop_agent.engine.workspace.containment import is_within

DEEPEST = 6
MOST_FOLDERS = 2_000
_LEFT_OUT = frozenset({".git", "node_modules"})
# The standard's folders in a skill: a SKILL.md there is a template, or an example.
_OWN_FOLDERS = _LEFT_OUT | {"assets", "references", "scripts"}
_NO_FILE = "SKILL.md is a folder."

_LANGUAGES = {
    ".py": "Python",
    ".sh": "shell",
    ".bash": "shell",
    ".zsh": "shell",
    ".ps1": "PowerShell",
    ".bat": "batch",
    ".cmd": "batch",
    ".js": "JavaScript",
    ".mjs": "JavaScript",
    ".cjs": "JavaScript",
    ".ts": "TypeScript",
    ".rb": "Ruby",
    ".pl": "Perl",
    ".php": "PHP",
    ".lua": "Lua",
    ".r": "R",
}
_NUMBERED = re.compile(r"(\d+)")


class Place(msgspec.Struct, frozen=True):
    """A folder that may hold skills. With `bounds`, links in it may not lead out of those."""

    path: Path
    origin: SkillOrigin
    bounds: Path | None = None

    def holds(self, real: str) -> bool:
        """Whether a real path is within the bounds."""
        return self.bounds is None or is_within(real, str(self.bounds))


class Found(msgspec.Struct, frozen=True):
    """A skill as it lies on disk. `digest` is there for what needs trust."""

    skill: Skill
    digest: str = ""


class Scanner(msgspec.Struct):
    """Reads skills, and remembers what it read until the files change."""

    _kept: dict[str, tuple[tuple[Entry, ...], Found]] = {}

    def scan(self, place: Place) -> list[Found]:
        """Return the skills of a place, by folder; what can't be read is among them, in words."""
        found: list[Found] = []
        for directory, real in _skill_folders(place):
            try:
                found.append(self._read(place, directory, real))
            except (OSError, ToolError) as error:
                problem = f"It can't be read: {_error_text(error)}"
                found.append(_broken(place, directory, problem))
        return found

    def _read(self, place: Place, directory: str, real: str) -> Found:
        if not files.is_utf8(real):
            return _broken(place, directory, "Its folder's name is not UTF-8.")
        if not place.holds(real):
            return _broken(place, directory, "It is a link that leads out of this folder.")
        needs_trust = place.bounds is not None
        try:
            listed = files.entries(real, is_whole=needs_trust)
        except TooLarge as error:
            # One's own skill may be as large as one likes; its scripts are not counted then.
            if needs_trust:
                return _broken(place, directory, f"{error} It can't be checked for changes.")
            listed = _main_file(real)
        if needs_trust and (problem := _unchecked(listed)):
            return _broken(place, directory, problem)
        kept = self._kept.get(real)
        if kept is not None and kept[0] == listed and kept[1].skill.origin == place.origin:
            return kept[1]
        with files.held(real, str(place.bounds) if needs_trust else None) as folder:
            found = (
                _trustable(place, folder, listed) if needs_trust else _own(place, folder, listed)
            )
        self._kept[real] = (listed, found)
        return found


def _trustable(place: Place, folder: Held, listed: tuple[Entry, ...]) -> Found:
    """Read a skill and its digest at once: what is said of it is what is trusted."""
    name = main_file_of(listed)
    digest, content = folder.digest_and_content(listed, name)
    return Found(_skill(place, folder.folder, listed, *files.decoded(content, name)), digest)


def _own(place: Place, folder: Held, listed: tuple[Entry, ...]) -> Found:
    name = location_in(listed)
    if not name:
        raise ToolError(_NO_FILE)
    if any(entry.path == name and entry.is_link for entry in listed):
        path = os.path.join(folder.folder, name)  # noqa: PTH118
        return Found(_skill(place, folder.folder, listed, *files.read_text(folder.folder, path)))
    return Found(_skill(place, folder.folder, listed, *folder.text(name)))


def _unchecked(listed: tuple[Entry, ...]) -> str:
    """Say why a digest can't tell all changes of a skill; empty when it can."""
    link = next((entry for entry in listed if entry.leads_out), None)
    if link is None:
        return ""
    path = " ".join(visible(link.path).split())
    return f"{path} is a link that leads outside the skill. It can't be checked for changes."


def _skill_folders(place: Place) -> Iterator[tuple[str, str]]:
    """Yield the folders with a SKILL.md, as they are called and as they really are."""
    top = os.path.realpath(place.path)
    if not place.holds(top):
        if os.path.isdir(top):  # noqa: PTH112
            yield str(place.path), top  # to be refused in words
        return
    waiting = deque([(str(place.path), top, 0, _LEFT_OUT)])
    # What lies in skills comes last: a large one must not keep others from being found.
    inside: deque[tuple[str, str, int, frozenset[str]]] = deque()
    seen = {top}
    while waiting or inside:
        shown, real, depth, left_out = (waiting or inside).popleft()
        names = _listed(real)
        following = waiting if left_out is _LEFT_OUT else inside
        if depth and any(name.lower() == "skill.md" for name, _ in names):
            yield shown, real
            following, left_out = inside, _OWN_FOLDERS
        if depth >= DEEPEST:
            continue
        for name, is_link in sorted(names, key=lambda entry: _natural(entry[0])):
            if is_link is None or name in left_out:
                continue
            inner = os.path.join(real, name)  # noqa: PTH118 - thousands of them
            target = os.path.realpath(inner) if is_link else inner
            if target in seen or len(seen) >= MOST_FOLDERS:
                continue
            seen.add(target)
            if is_link and not place.holds(target):
                yield os.path.join(shown, name), target  # noqa: PTH118
                continue
            path = os.path.join(shown, name)  # noqa: PTH118
            following.append((path, target, depth + 1, left_out))


def _listed(folder: str) -> list[tuple[str, bool | None]]:
    """Return a folder's entries: for a folder whether it is a link, None for anything else."""
    try:
        with os.scandir(folder) as found:
            return [(entry.name, _folder_link(entry)) for entry in found]
    except OSError:
        return []


def _folder_link(entry: os.DirEntry[str]) -> bool | None:
    try:
        is_link = entry.is_symlink()
        return is_link if entry.is_dir() else None
    except OSError:
        return None


def _natural(name: str) -> list[tuple[int, str]]:
    """Sort `2` before `10`."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in _NUMBERED.split(name)]


def _main_file(real: str) -> tuple[Entry, ...]:
    listed: list[Entry] = []
    with os.scandir(real) as found:
        for entry in found:
            if entry.name.lower() == "skill.md":
                status = entry.stat(follow_symlinks=False)
                mark = (status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
                listed.append(Entry(entry.name, status.st_size, mark, status.st_mode))
    return tuple(listed)


def location_in(listed: tuple[Entry, ...]) -> str:
    """Return the name of the SKILL.md among a skill's files: the standard's spelling first."""
    names = [entry.path for entry in listed if entry.path.lower() == "skill.md"]
    return min(names, key=lambda name: (name != "SKILL.md", name != "skill.md", name), default="")


def main_file_of(listed: tuple[Entry, ...]) -> str:
    """Return the ordinary file that is read as SKILL.md, which may be a link to it.

    Raises ToolError in words when there is none.
    """
    name = location_in(listed)
    main = next((entry for entry in listed if entry.path == name), None)
    if main is None:
        raise ToolError(_NO_FILE)
    if main.is_link:
        main = next((entry for entry in listed if entry.path == main.end), None)
        if main is None or main.is_link:
            raise ToolError(f"{name} is a link that leads nowhere.")
    if not main.is_file:
        raise ToolError(f"{name} is not a regular file.")
    return main.path


def _skill(place: Place, real: str, listed: tuple[Entry, ...], text: str, is_utf8: bool) -> Skill:
    name = location_in(listed)
    says = declared(parse(text), os.path.basename(real))  # noqa: PTH119
    warnings = says.warnings
    if not is_utf8:
        warnings = ("It is not UTF-8 text; some characters are lost.", *warnings)
    if name not in {"SKILL.md", "skill.md"}:
        warnings = (*warnings, f"Its file is called {name}, not SKILL.md.")
    return Skill(
        name=says.name,
        description=says.description,
        directory=real,
        location=os.path.join(real, name),  # noqa: PTH118
        origin=place.origin,
        license=says.license,
        compatibility=says.compatibility,
        allowed_tools=says.allowed_tools,
        metadata=says.metadata,
        warnings=warnings,
        problem=says.problem,
        scripts=scripts_in(listed),
        tokens=tokens_of(says.name, says.description[:DESCRIPTION_LENGTH], real),
    )


def scripts_in(listed: tuple[Entry, ...]) -> tuple[str, ...]:
    """Say how many scripts there are, by language."""
    kinds = Counter[str]()
    for entry in listed:
        ending = os.path.splitext(entry.path)[1].lower()  # noqa: PTH122
        language = _LANGUAGES.get(ending)
        if language or (entry.is_program and not ending):
            kinds[language or "other"] += 1
    return tuple(f"{count} {language}" for language, count in sorted(kinds.items()))


def _broken(place: Place, directory: str, problem: str) -> Found:
    directory = directory.encode("utf-8", "replace").decode()
    name = visible(Path(directory).name) or "unnamed"
    location = os.path.join(directory, "SKILL.md")  # noqa: PTH118
    return Found(Skill(name, "", directory, location, place.origin, problem=problem))


def _error_text(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.strerror or error}."
    text = str(error).removeprefix("Error: ")
    return f"{text[:1].upper()}{text[1:]}"
