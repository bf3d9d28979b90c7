"""What a skill says that it needs, held against what this computer has."""

from __future__ import annotations

import functools
import importlib.util
import re
import shutil

from desktop_agent.core.skills import Skill

# Names of metadata fields: `pypdf, python-docx (docx)` and `git, pandoc`.
PACKAGES, COMMANDS = "python-packages", "commands"

_PACKAGE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\s*\(\s*([A-Za-z_][A-Za-z0-9_.]*)\s*\))?")


def missing_needs(skill: Skill) -> tuple[str, ...]:
    """Return a sentence for each thing that is missing, with how to get it."""
    says = dict(skill.metadata)
    missing: list[str] = []
    for entry in _entries(says.get(PACKAGES, "")):
        found = _PACKAGE.fullmatch(entry)
        if found is None:
            continue
        module = found[2] or found[1].replace("-", "_").lower()
        if not _has_module(module):
            missing.append(f"Python package {found[1]}: pip install {found[1]}")
    missing += [
        f"The program {name}: install it and start the app again"
        for name in _entries(says.get(COMMANDS, ""))
        if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]*", name) and not _has_command(name)
    ]
    return tuple(missing)


def _entries(text: str) -> list[str]:
    return [entry.strip() for entry in text.split(",") if entry.strip()][:20]


@functools.lru_cache(maxsize=256)
def _has_module(name: str) -> bool:
    # Of a dotted name the first part alone: finding the others would import it.
    try:
        return importlib.util.find_spec(name.split(".", 1)[0]) is not None
    except (ImportError, ValueError):
        return False


@functools.lru_cache(maxsize=256)
def _has_command(name: str) -> bool:
    return shutil.which(name) is not None


def forget() -> None:
    """Look again at the next question: something may have been installed."""
    _has_module.cache_clear()
    _has_command.cache_clear()
