"""Lays the frozen app out as Linux systems expect it: program, menu entry, icons, papers."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import icons
import man
import papers

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
APP_ID = "io.github.desktop_agent.DesktopAgent"
PROGRAM = Path("usr/lib/desktop-agent")

# Libraries that a distribution has itself, and mends there; an AppImage can't count on them.
_OF_THE_DISTRIBUTION = re.compile(
    r"lib(xcb-(cursor|icccm|image|keysyms|render-util|util)|xkbcommon|xkbcommon-x11|ssl|crypto|"
    r"sqlite3|ffi|bz2|lzma|z|uuid)\.so\.[0-9.]+"
)


@dataclass(frozen=True)
class Build:
    """What is packed: the frozen folder, its version, and the one date that all files get."""

    frozen: Path
    shipped: Path
    version: str
    moment: int
    page: str = ""

    @property
    def parts(self) -> list[papers.Entry]:
        """What is in the app, as PyInstaller found it."""
        return json.loads(self.shipped.read_text("utf-8"))


def lay_out(build: Build, tree: Path, *, for_distribution: bool) -> None:
    """Fill `tree` with what is unpacked to `/`."""
    shutil.rmtree(tree, ignore_errors=True)
    program = tree / PROGRAM
    shutil.copytree(build.frozen, program, symlinks=True)
    if for_distribution:
        for library in (program / "_internal").iterdir():
            if _OF_THE_DISTRIBUTION.fullmatch(library.name):
                library.unlink()
    _forget_build_paths(program)
    _link(tree / "usr/bin/desktop-agent", "../lib/desktop-agent/desktop-agent")
    _lay_out_menu(build, tree / "usr/share")
    _lay_out_papers(build, tree / "usr/share")
    normalise(tree, build.moment)


def _forget_build_paths(program: Path) -> None:
    """Take the folder of a Python that was built by hand out of its libraries."""
    if shutil.which("patchelf") is None or sys.base_prefix == "/usr":
        return
    for path in (program / "_internal").rglob("*.so*"):
        is_pythons = "lib-dynload" in path.parts or path.name.startswith("libpython")
        if is_pythons and not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF":
            run("patchelf", "--remove-rpath", path)


def _lay_out_menu(build: Build, share: Path) -> None:
    linux = HERE / "linux"
    for name in ("desktop-agent.desktop", "with-desktop-agent.desktop"):
        _copy(linux / name, share / "applications" / name)
    _copy(linux / "servicemenu.desktop", share / "kio/servicemenus/desktop-agent.desktop")
    action = share / "file-manager/actions/desktop-agent.desktop"
    _copy(linux / "file-manager-action.desktop", action)
    for size in icons.SIZES:
        target = share / f"icons/hicolor/{size}x{size}/apps/desktop-agent.png"
        _copy(icons.PLACE / f"{size}.png", target)
    drawings = {"scalable": "desktop-agent", "symbolic": "desktop-agent-symbolic"}
    for kind, name in drawings.items():
        _copy(icons.PLACE / f"{name}.svg", share / f"icons/hicolor/{kind}/apps/{name}.svg")
    metainfo = (linux / "metainfo.xml").read_text("utf-8")
    day = datetime.fromtimestamp(build.moment, UTC).strftime("%Y-%m-%d")
    urls = f'  <url type="homepage">{build.page}</url>\n' if build.page else ""
    for word, value in (("@VERSION@", build.version), ("@DATE@", day), ("@URLS@", urls)):
        metainfo = metainfo.replace(word, value)
    _write(share / f"metainfo/{APP_ID}.metainfo.xml", metainfo)


def _lay_out_papers(build: Build, share: Path) -> None:
    doc = share / "doc/desktop-agent"
    licence = (ROOT / "LICENSE").read_text("utf-8")
    _write(doc / "copyright", papers.copyright_text(build.parts, licence))
    texts = papers.licence_texts(build.parts, ROOT / "resources")
    _pack(doc / "licenses.txt.gz", texts)
    _pack(doc / "NEWS.gz", (ROOT / "CHANGELOG.md").read_text("utf-8"))
    _pack(doc / "changelog.gz", _debian_changelog(build))
    bill = papers.bill_of_materials(build.parts, build.version, build.moment)
    _pack(doc / "sbom.cdx.json.gz", bill)
    _pack(share / "man/man1/desktop-agent.1.gz", man.man_page(build.moment))


def _debian_changelog(build: Build) -> str:
    moment = datetime.fromtimestamp(build.moment, UTC).strftime("%a, %d %b %Y %H:%M:%S +0000")
    return (
        f"desktop-agent ({build.version}) unstable; urgency=medium\n\n"
        "  * What is new is told in NEWS.gz.\n\n"
        f" -- {maintainer()}  {moment}\n"
    )


def maintainer() -> str:
    """Return who answers for the package: whoever builds it, if they say so."""
    given = os.environ.get("DESKTOP_AGENT_MAINTAINER")
    return given or "Desktop Agent contributors <desktop-agent@users.noreply.github.com>"


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _write(target: Path, text: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, "utf-8")


def _pack(target: Path, text: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


def _link(place: Path, target: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target)


def normalise(tree: Path, moment: int) -> None:
    """Give everything the same date, and the rights of a system's files."""
    for path in [tree, *tree.rglob("*")]:
        if not path.is_symlink():
            is_program = path.is_dir() or path.parent.name == path.name == "desktop-agent"
            path.chmod(0o755 if is_program else 0o644)
        os.utime(path, (moment, moment), follow_symlinks=False)


def run(
    *command: str | Path, cwd: Path | str | None = None, env: dict[str, str] | None = None
) -> str:
    """Run a program of the system and return what it prints; its complaint ends the build."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, cwd=cwd, env=env, check=False)
    if done.returncode:
        sys.stderr.write(done.stderr[-4000:])
        raise SystemExit(f"{words[0]} failed with exit code {done.returncode}")
    return done.stdout
