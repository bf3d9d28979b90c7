"""Tells which packages are in a frozen app, under which licences; run by the build's Python.

python packaging/shipped.py WORK     WORK is PyInstaller's; prints a JSON list
"""

from __future__ import annotations

import platform
import re
import sqlite3
import ssl
import sys
import sysconfig
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

_LICENCE_FILE = re.compile(r"(licen[cs]e|copying|notice|authors)", re.IGNORECASE)
# Named by hand where a package's own words are missing or vague.
_KNOWN = {
    "pyside6-essentials": "LGPL-3.0-only",
    "shiboken6": "LGPL-3.0-only",
    "typing-extensions": "PSF-2.0",
}
_SPDX = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "MIT No Attribution License (MIT-0)": "MIT-0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
}


def names_in(*tables: Iterable[tuple[str, ...]]) -> set[str]:
    """Return the top-level names of what PyInstaller collected."""
    return {re.split(r"[./\\\\]", entry[0])[0] for table in tables for entry in table}


def licence_of(package: metadata.Distribution) -> str:
    """Return the licence, as an SPDX expression where the package allows that."""
    head: Any = package.metadata
    known = _KNOWN.get(head["Name"].lower().replace("_", "-"))
    if known or head["License-Expression"]:
        return known or head["License-Expression"]
    for line in head.get_all("Classifier") or []:
        if line.startswith("License ::"):
            last = line.rpartition(" :: ")[2]
            if last != "OSI Approved":
                return _SPDX.get(last, last)
    return (head["License"] or "see its text").splitlines()[0][:60]


def texts_of(package: metadata.Distribution) -> list[str]:
    """Return the texts of the package's licence files."""
    found: list[str] = []
    for file in package.files or ():
        if ".dist-info/" in str(file) and _LICENCE_FILE.search(file.name):
            found.append(Path(str(file.locate())).read_text("utf-8", errors="replace").strip())
    return found


def shipped(names: set[str]) -> list[dict[str, Any]]:
    """Return name, version, licence and licence texts of all that these names belong to."""
    owners = {
        owner.lower()
        for name, found in metadata.packages_distributions().items()
        if name in names
        for owner in found
    }
    # Metadata alone proves nothing: these are in the build's environment only.
    owners -= {"pyinstaller", "pyinstaller-hooks-contrib", "setuptools", "pip", "altgraph"}
    entries: list[dict[str, Any]] = []
    # Not along sys.path: there are copies of others that setuptools keeps for itself.
    installed = {sysconfig.get_path(kind) for kind in ("purelib", "platlib")}
    for package in metadata.distributions(path=sorted(installed)):
        name = package.metadata["Name"]
        if name.lower() in owners:
            entry = {"name": name, "version": package.version, "licence": licence_of(package)}
            entries.append({**entry, "texts": texts_of(package), "kind": "pypi"})
    entries += _interpreter()
    return sorted(entries, key=lambda entry: entry["name"].lower())


def _interpreter() -> list[dict[str, Any]]:
    place = Path(sys.base_prefix) / f"lib/python{sys.version_info[0]}.{sys.version_info[1]}"
    text = place / "LICENSE.txt"
    texts = [text.read_text("utf-8")] if text.is_file() else []
    openssl = ssl.OPENSSL_VERSION.split()[1]
    return [
        {"name": "Python", "version": platform.python_version(), "licence": "PSF-2.0",
         "texts": texts, "kind": "generic"},
        {"name": "OpenSSL", "version": openssl, "licence": "Apache-2.0", "texts": [],
         "kind": "generic"},
        {"name": "SQLite", "version": sqlite3.sqlite_version, "licence": "blessing",
         "texts": [], "kind": "generic"},
        {"name": "PyInstaller bootloader", "version": metadata.version("pyinstaller"),
         "licence": "GPL-2.0-or-later WITH Bootloader-exception", "texts": [],
         "kind": "generic"},
    ]  # fmt: skip
