"""Builds the installers that this system can build; `scripts/package` calls it.

    python packaging/package.py [--output DIR] [--work DIR] [KIND...]

Kinds: `deb`, `appimage`, `rpm` and `tree` on Linux, `setup` on Windows, `dmg` on macOS. Without
one, all that this system can. Beside them lie checksums and a bill of materials.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import appimage
import deb
import freeze
import linux_tree
import papers
import rpm
from linux_tree import Build

import desktop_agent

ROOT = Path(__file__).resolve().parent.parent
Builder = Callable[[Build, Path, Path], Path | None]


def _tree(build: Build, work: Path, output: Path) -> Path:
    target = work / "tree"
    linux_tree.lay_out(build, target, for_distribution=False)
    return target


def _setup(build: Build, work: Path, output: Path) -> Path:
    target = output / f"Desktop-Agent-{build.version}-setup.exe"
    script = ROOT / "packaging" / "windows" / "setup.nsi"
    values = {"VERSION": build.version, "FROZEN": build.frozen, "TARGET": target, "ROOT": ROOT}
    defines = [f"-D{name}={value}" for name, value in values.items()]
    linux_tree.run("makensis", "-V2", "-WX", *defines, script)
    return target


def _dmg(build: Build, work: Path, output: Path) -> Path:
    target = output / f"Desktop-Agent-{build.version}.dmg"
    linux_tree.run("sh", ROOT / "packaging/macos/dmg", build.frozen.parent, target)
    return target


_KINDS: dict[str, dict[str, Builder]] = {
    "linux": {"deb": deb.build_deb, "appimage": appimage.build_appimage, "rpm": rpm.build_rpm},
    "win32": {"setup": _setup},
    "darwin": {"dmg": _dmg},
}
_EXTRA: dict[str, Builder] = {"tree": _tree}


def main() -> int:
    """Freeze, pack, and say what came of it."""
    given = _arguments()
    kinds = _KINDS.get(sys.platform, {})
    chosen = given.kinds or list(kinds)
    if unknown := [kind for kind in chosen if kind not in kinds | _EXTRA]:
        sys.stderr.write(f"This system can't build: {', '.join(unknown)}\n")
        return 2
    work, output = given.work.resolve(), given.output.resolve()
    work.mkdir(parents=True, exist_ok=True)
    output.mkdir(parents=True, exist_ok=True)
    build = prepare(work, is_frozen=given.frozen)
    made: list[Path] = []
    for kind in chosen:
        target = (kinds | _EXTRA)[kind](build, work, output)
        if target is not None:
            made.append(target)
            _say(target)
        elif kind == "appimage":
            print(appimage.MISSING.format(folder=work / "Desktop Agent.AppDir"))
        else:
            print(f"No {kind} was built: its tool is not installed.")
    _write_papers(build, output, [target for target in made if target.is_file()])
    return 0


def prepare(work: Path, *, is_frozen: bool) -> Build:
    """Freeze the app, or take what was frozen before, and note what is in it."""
    frozen = work / "desktop-agent" if is_frozen else freeze.freeze(work)
    shipped = work / "work" / "desktop_agent" / "shipped.json"
    moment = int(os.environ.get("SOURCE_DATE_EPOCH") or freeze.commit_time())
    page = os.environ.get("DESKTOP_AGENT_HOMEPAGE", "")
    return Build(frozen, shipped, desktop_agent.__version__, moment, page)


def _write_papers(build: Build, output: Path, made: list[Path]) -> None:
    bill = papers.bill_of_materials(build.parts, build.version, build.moment)
    name = f"desktop-agent-{build.version}-{sys.platform}.cdx.json"
    (output / name).write_text(bill, "utf-8")
    lines = [f"{_sha256(file)}  {file.name}\n" for file in (*made, output / name)]
    (output / f"SHA256SUMS-{sys.platform}").write_text("".join(lines), "utf-8")


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _say(target: Path) -> None:
    size = f", {target.stat().st_size / 1e6:.1f} MB" if target.is_file() else ""
    print(f"{target}{size}", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/package", description="Build the installers.")
    parser.add_argument("kinds", metavar="KIND", nargs="*", help="deb, appimage, rpm, tree …")
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="for the installers")
    parser.add_argument("--work", type=Path, default=ROOT / "build/package", help="for the rest")
    parser.add_argument("--frozen", action="store_true", help="pack what was frozen before")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
