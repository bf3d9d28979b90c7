"""What lies in a fetched folder, as skills to choose from."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

import msgspec

from desktop_agent.adapters.skills.fetch.intake import Limits, is_below, skill_folders
from desktop_agent.core.skill_install import FoundSkill, SkillLibraryError
from desktop_agent.core.skills import SkillFile
from desktop_agent.core.tool import ToolError
from desktop_agent.engine.skills import files
from desktop_agent.engine.skills.files import Entry, TooLarge
from desktop_agent.engine.skills.front_matter import parse
from desktop_agent.engine.skills.rules import (
    DESCRIPTION_LENGTH,
    NAME_LENGTH,
    declared,
    tokens_of,
    visible,
)
from desktop_agent.engine.skills.scan import location_in, scripts_in
from desktop_agent.engine.workspace import windows_names

_LARGEST_SHOWN = 200_000
_LONGEST_NAME = 120  # bytes: disks take 255, with what is put in front of it
_PLACE_LENGTH = 60  # of its path, which agents are shown
CLASH = "Replaces your skill {name}."
_TWIN = "Has the name of the one in {place}."


def found_skills(
    root: Path, limits: Limits, installed: Mapping[str, str]
) -> tuple[FoundSkill, ...]:
    """Return the skills below a folder of ours, by path.

    `installed` are the user's own: casefolded names, and the words for each.
    """
    paths = [
        PurePosixPath(path.relative_to(root).as_posix())
        for path in sorted(root.rglob("*"))
        if path.is_file()
    ]
    folders = skill_folders(paths, limits)
    return _twinned([_found(root, folder, installed) for folder in sorted(_outermost(folders))])


def directory_name(name: str, folder: str) -> str:
    """Return the name for the directory of a skill: its own, as far as a directory can have it."""
    candidates = (name, PurePosixPath(folder).name)
    for candidate in candidates:
        plain = unicodedata.normalize("NFKC", visible(candidate)).strip()
        slug = re.sub(r"[^\w.-]+", "-", plain).strip("-._")[:NAME_LENGTH]
        slug = slug.encode()[:_LONGEST_NAME].decode("utf-8", "ignore").strip("-._")
        if slug and not windows_names.refusal(slug):
            return slug
    return "skill"


def text_of(root: Path, folder: str, path: str) -> str:
    """Return a fetched file as text to look at; for what is no text, a sentence."""
    place = root.joinpath(*PurePosixPath(folder, path).parts)
    try:
        text, is_utf8 = files.read_text(str(root), str(place), 20_000_000)
    except ToolError as error:
        raise SkillLibraryError(str(error).removeprefix("Error: ")) from None
    if not is_utf8 or "\0" in text:
        size = place.stat().st_size
        return f"This file is not text ({size:,} bytes), so it can't be shown."
    text = text.removeprefix("\ufeff")
    if len(text) > _LARGEST_SHOWN:
        rest = len(text) - _LARGEST_SHOWN
        return f"{text[:_LARGEST_SHOWN]}\n\n… {rest:,} more characters."
    return text


def _outermost(folders: frozenset[str]) -> Iterator[str]:
    """Leave out what lies in another skill: it is a part of that. The top holds others beside."""
    for folder in folders:
        if folder == "" or not is_below(PurePosixPath(folder), folders - {""}):
            yield folder


def _twinned(found: list[FoundSkill]) -> tuple[FoundSkill, ...]:
    """Of several of a name, mark all but the one nearest to the top."""
    first: dict[str, FoundSkill] = {}
    for skill in sorted(found, key=lambda one: (one.folder.count("/"), one.folder)):
        if not skill.problem:
            first.setdefault(_taken_name(skill), skill)
    twins: list[FoundSkill] = []
    for skill in found:
        other = first.get(_taken_name(skill), skill)
        if other is not skill and not skill.problem:
            twin = _TWIN.format(place=other.folder or "the top folder")
            skill = msgspec.structs.replace(skill, twin=twin)
        twins.append(skill)
    return tuple(twins)


def _taken_name(skill: FoundSkill) -> str:
    return directory_name(skill.name, skill.folder).casefold()


def _found(root: Path, folder: str, installed: Mapping[str, str]) -> FoundSkill:
    directory = root.joinpath(*PurePosixPath(folder).parts)
    try:
        listed = files.entries(str(directory))
        location = location_in(listed)
        text, is_utf8 = files.read_text(str(root), str(directory / location))
    except (TooLarge, ToolError) as error:
        name = PurePosixPath(folder).name or "skill"
        return FoundSkill(name, "", folder, problem=str(error).removeprefix("Error: "))
    front = parse(text)
    name = directory_name(front.text("name"), folder)
    says = declared(front, name)
    problem = says.problem if is_utf8 else "Its SKILL.md is not UTF-8 text."
    replaced = installed.get(says.name.casefold()) or installed.get(name.casefold())
    return FoundSkill(
        name=says.name,
        description=says.description,
        folder=folder,
        license=says.license,
        compatibility=says.compatibility,
        allowed_tools=says.allowed_tools,
        files=tuple(SkillFile(entry.path, entry.size) for entry in _main_first(listed, location)),
        scripts=scripts_in(listed),
        warnings=says.warnings,
        problem=problem,
        clash=CLASH.format(name=replaced) if replaced else "",
        tokens=tokens_of(says.name, says.description[:DESCRIPTION_LENGTH], " " * _PLACE_LENGTH),
    )


def _main_first(listed: tuple[Entry, ...], location: str) -> list[Entry]:
    return sorted(listed, key=lambda entry: (entry.path != location, entry.path))
