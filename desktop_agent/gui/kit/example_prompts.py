"""What to offer in an empty session, by the files of the folder."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path, PurePath

from PySide6.QtCore import QCoreApplication

translate = QCoreApplication.translate

_LISTED = 400
_KINDS = {
    "code": ".py .js .ts .tsx .jsx .go .rs .java .kt .c .h .cpp .hpp .cs .rb .php .swift .sh .lua",
    "tables": ".csv .tsv .xlsx .xls .ods .parquet",
    "documents": ".md .txt .docx .pdf .odt .rtf .tex .pptx",
    "pictures": ".png .jpg .jpeg .gif .webp .heic .tif .tiff .svg",
    "web": ".html .css .htm",
}
_KIND_OF = {suffix: kind for kind, suffixes in _KINDS.items() for suffix in suffixes.split()}


_PROJECT_FILES = {
    *("pyproject.toml", "setup.py", "package.json", "cargo.toml", "go.mod", "pom.xml"),
    *("build.gradle", "gemfile", "makefile", "cmakelists.txt", "composer.json", "meson.build"),
}
_USUAL = ("readme", "changelog", "license", "licence", "contributing", "requirements", "copying")


def folder_names(folder: str) -> tuple[str, ...]:
    """Return some names directly in a folder; empty when it can't be read."""
    names: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not entry.name.startswith("."):
                    names.append(entry.name)
                if len(names) >= _LISTED:
                    break
    except OSError:
        return ()
    return tuple(sorted(names))


def example_prompts(names: Iterable[str]) -> tuple[str, str, str]:
    """Return three things to ask for that fit the files with these names."""
    listed = tuple(names)
    kinds = Counter(_kind(name) for name in listed)
    del kinds[""]
    if any(name.lower() in _PROJECT_FILES for name in listed):
        # A project keeps most of its code in folders of its own.
        kinds["code"] += len(listed)
    if not listed:
        return _for_empty()
    offers: list[str] = []
    for kind, _ in kinds.most_common():
        offers.extend(_for_kind(kind, _first_of(listed, kind)))
    offers.extend(_for_any())
    first, second, third = tuple(dict.fromkeys(offers))[:3]
    return first, second, third


def demo_prompts() -> tuple[str, str, str]:
    """Return what the demo model, a script, really does; its commands are English."""
    return "Look around and write an overview.", "List files.", "Ask me something."


def first_folder(home: Path) -> Path:
    """Return the new empty folder that first run offers."""
    return home / "desktop_agent" / "first"


def _kind(name: str) -> str:
    if name.lower().startswith(_USUAL):
        return ""
    return _KIND_OF.get(PurePath(name).suffix.lower(), "")


def _first_of(names: Iterable[str], kind: str) -> str:
    return next((name for name in names if _kind(name) == kind), "")


def _for_empty() -> tuple[str, str, str]:
    return (
        translate("Examples", "Write a packing list for a weekend hike into packing.md."),
        translate("Examples", "Make a small web page that counts down to a date I choose."),
        translate("Examples", "Draft a meeting agenda, then ask me what is missing."),
    )


def _for_any() -> tuple[str, ...]:
    return (
        translate("Examples", "Survey this folder and write what is in it to OVERVIEW.md."),
        translate("Examples", "Which files here are duplicates or leftovers? Only list them."),
        translate("Examples", "Suggest a tidier structure for this folder. Don't move anything."),
    )


def _for_kind(kind: str, name: str) -> tuple[str, ...]:
    offers = {
        "code": (
            translate("Examples", "Explain how this project works and where to start reading."),
            translate("Examples", "Run the tests and fix what fails."),
        ),
        "tables": (
            translate("Examples", "Summarise {file}: totals, trends and odd values."),
            translate("Examples", "Check the tables here for gaps and doubled rows."),
        ),
        "documents": (
            translate("Examples", "Summarise {file} in ten lines."),
            translate("Examples", "Find where the documents here contradict each other."),
        ),
        "pictures": (
            translate("Examples", "Suggest clear names for the pictures here, as a list."),
        ),
        "web": (translate("Examples", "Check the pages here for broken links and typos."),),
    }
    return tuple(offer.replace("{file}", name) for offer in offers[kind])
