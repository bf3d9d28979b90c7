"""Builds the Debian package, with Depends read out of the libraries themselves."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from pathlib import Path

import linux_tree
from linux_tree import PROGRAM, Build, run

_DESCRIPTION = """Description: let an AI agent work in a folder on your computer
 Pick a folder and say what you want. The agent reads, changes and runs things
 there, asks before it changes anything, and shows every step while it happens.
 .
 Any model: a server on this computer, a provider you have a key for, or the
 built-in demo model, which needs neither key nor network.
"""


def build_deb(build: Build, work: Path, output: Path) -> Path:
    """Build the package and return its path."""
    tree = work / "deb"
    linux_tree.lay_out(build, tree, for_distribution=True)
    _write_overrides(tree)
    machine = run("dpkg", "--print-architecture").strip()
    control = tree / "DEBIAN" / "control"
    control.parent.mkdir()
    control.write_text(_control(build, tree, machine), "utf-8")
    (control.parent / "md5sums").write_text(_sums(tree), "utf-8")
    for path in (control, control.parent / "md5sums"):
        path.chmod(0o644)
    linux_tree.normalise(tree / "usr/share/lintian", build.moment)
    target = output / f"desktop-agent_{build.version}_{machine}.deb"
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(build.moment)}
    command = ("dpkg-deb", "--root-owner-group", "-Zxz", "--build", tree, target)
    run(*command, env=environment)
    return target


def _control(build: Build, tree: Path, machine: str) -> str:
    size = sum(-(-p.lstat().st_size // 1024) for p in tree.rglob("*") if not p.is_dir())
    return (
        "Package: desktop-agent\n"
        f"Version: {build.version}\n"
        f"Architecture: {machine}\n"
        f"Maintainer: {linux_tree.maintainer()}\n"
        f"Installed-Size: {size}\n"
        f"Depends: {_depends(tree)}\n"
        "Recommends: bubblewrap, ripgrep, git, xdg-utils, fonts-noto-color-emoji\n"
        "Suggests: gnome-keyring\n"
        "Section: devel\n"
        "Priority: optional\n" + (f"Homepage: {build.page}\n" if build.page else "") + _DESCRIPTION
    )


def _depends(tree: Path) -> str:
    """Ask Debian's own tool which packages hold what the libraries ask for."""
    inside = (tree / PROGRAM / "_internal").resolve()
    own = {path.parent for path in inside.rglob("*.so*")}
    files = sorted(
        p for p in (tree / PROGRAM).rglob("*") if not p.is_symlink() and p.is_file() and _is_elf(p)
    )
    with tempfile.TemporaryDirectory() as place:
        debian = Path(place) / "debian"
        debian.mkdir()
        (debian / "control").write_text(
            "Source: desktop-agent\n\nPackage: desktop-agent\nArchitecture: any\n"
        )
        where = [f"-l{folder}" for folder in sorted(own)]
        quiet = ("--ignore-missing-info", "--warnings=0")
        found = run("dpkg-shlibdeps", "-O", *quiet, *where, *files, cwd=place)
    match = re.search(r"shlibs:Depends=(.*)", found)
    assert match, found
    return match[1].strip()


def _is_elf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def _write_overrides(tree: Path) -> None:
    source = linux_tree.HERE / "linux" / "lintian-overrides"
    target = tree / "usr/share/lintian/overrides/desktop-agent"
    target.parent.mkdir(parents=True)
    target.write_text(source.read_text("utf-8"), "utf-8")


def _sums(tree: Path) -> str:
    lines = [
        f"{_md5(path)}  {path.relative_to(tree)}"
        for path in sorted(tree.rglob("*"))
        if path.is_file() and not path.is_symlink() and "DEBIAN" not in path.parts
    ]
    return "\n".join(lines) + "\n"


def _md5(path: Path) -> str:
    return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
