"""Builds the AppImage: one file that runs without being installed and without root."""

from __future__ import annotations

import os
import platform
import shutil
from pathlib import Path

import icons
import linux_tree
from linux_tree import Build, run

# The official type 2 runtime, which mounts what stands behind it. It is not fetched here: a
# build that runs what it has just downloaded should say so where people look, in the workflow.
RUNTIME = "DESKTOP_AGENT_APPIMAGE_RUNTIME"
MISSING = (
    f"No AppImage was built: set {RUNTIME} to the official runtime's file (runtime-x86_64 of the "
    "project AppImage/type2-runtime). The folder that it would hold is {folder}, and runs as it "
    "is by its AppRun."
)


def build_appimage(build: Build, work: Path, output: Path) -> Path | None:
    """Build the AppImage and return its path; without a runtime only the folder is laid out."""
    folder = work / "Desktop Agent.AppDir"
    linux_tree.lay_out(build, folder, for_distribution=False)
    shutil.copyfile(
        folder / "usr/share/applications/desktop-agent.desktop", folder / "desktop-agent.desktop"
    )
    shutil.copyfile(icons.PLACE / "256.png", folder / "desktop-agent.png")
    for name, target in (
        (".DirIcon", "desktop-agent.png"),
        ("AppRun", "usr/lib/desktop-agent/desktop-agent"),
    ):
        (folder / name).symlink_to(target)
    linux_tree.settle(folder, build.moment)
    runtime = os.environ.get(RUNTIME, "")
    if not runtime:
        return None
    image = work / "appimage.squashfs"
    image.unlink(missing_ok=True)
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(build.moment)}
    options = ("-root-owned", "-noappend", "-no-xattrs", "-comp", "zstd", "-b", "1M", "-quiet")
    run("mksquashfs", folder, image, *options, "-no-progress", env=environment)
    target = output / f"Desktop_Agent-{build.version}-{platform.machine()}.AppImage"
    with target.open("wb") as file:
        for part in (Path(runtime), image):
            with part.open("rb") as source:
                shutil.copyfileobj(source, file)
    target.chmod(0o755)
    image.unlink()
    return target
