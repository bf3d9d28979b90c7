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
STAND_IN = (
    "The AppImage has this project's own runtime in place of the official one, which releases "
    f"use: {RUNTIME} names its file (runtime-x86_64 of the project AppImage/type2-runtime)."
)
MISSING = (
    f"No AppImage was built: neither does {RUNTIME} name the official runtime's file, nor are gcc, "
    "libsquashfuse-dev, libfuse3-dev and libzstd-dev installed for this project's own. The folder "
    "that it would hold is {folder}, and runs as it is by its AppRun."
)
MAGIC = b"AI\x02"

_SOURCES = linux_tree.HERE / "linux" / "appimage_runtime"
_NEEDED = ("squashfuse/ll.h", "fuse3/fuse_lowlevel.h", "zstd.h")
# Our image is packed with zstd: what unpacks the others is never called, and need not be there.
_OTHERS = ("uncompress", "lzma_stream_buffer_decode", "lzma_alone_decoder", "lzma_code",
           "lzma_end", "lzo1x_decompress_safe", "LZ4_decompress_safe")  # fmt: skip
_LIBRARIES = ("squashfuse_ll", "squashfuse", "fuse3", "zstd")
_PACKAGES = ("libsquashfuse-dev", "libfuse3-dev", "libzstd-dev", "libc6-dev")


def compile_stand_in(work: Path) -> Path | None:
    """Return a runtime of our own, which needs nothing of the system; None without its parts."""
    headers = all(Path("/usr/include", name).is_file() for name in _NEEDED)
    if shutil.which("gcc") is None or not headers:
        return None
    target = work / "appimage-runtime"
    strict = ("-std=gnu11", "-Os", "-Wall", "-Wextra", "-Werror", "-static", "-s")
    # Debian 13's headers of squashfuse name those of libfuse without their folder.
    fuse = ("-isystem", "/usr/include/fuse3")
    others = [f"-Wl,--defsym={name}=abort" for name in _OTHERS]
    libraries = [f"-l{name}" for name in _LIBRARIES]
    run("gcc", *strict, *fuse, "-o", target, *sorted(_SOURCES.glob("*.c")), *others, *libraries)
    with target.open("r+b") as file:
        file.seek(8)
        file.write(MAGIC)
    return target


def _licences_of_stand_in() -> str:
    """Return what holds for the libraries that are a part of our own runtime."""
    lines = [
        "The AppImage begins with a program of this project, compiled from the folder",
        "packaging/linux/appimage_runtime under the project's own licence. These libraries, as",
        "Debian has them and their sources, are a part of it:",
    ]
    for name in _PACKAGES:
        text = Path("/usr/share/doc", name, "copyright")
        lines += ["", name, "=" * len(name), ""]
        lines.append(text.read_text("utf-8") if text.is_file() else f"See Debian's package {name}.")
    return "\n".join(lines) + "\n"


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
    official = os.environ.get(RUNTIME, "")
    runtime = Path(official) if official else compile_stand_in(work)
    if runtime and not official:
        print(STAND_IN)
        papers = folder / "usr/share/doc/desktop-agent/appimage-runtime.txt"
        papers.write_text(_licences_of_stand_in(), "utf-8")
    linux_tree.normalise(folder, build.moment)
    if runtime is None:
        return None
    image = work / "appimage.squashfs"
    image.unlink(missing_ok=True)
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(build.moment)}
    # Small blocks: a start reads little pieces of many files, and unpacks whole blocks for them.
    options = ("-root-owned", "-noappend", "-no-xattrs", "-comp", "zstd", "-b", "128K")
    run("mksquashfs", folder, image, *options, "-quiet", "-no-progress", env=environment)
    target = output / f"Desktop_Agent-{build.version}-{platform.machine()}.AppImage"
    with target.open("wb") as file:
        for part in (runtime, image):
            with part.open("rb") as source:
                shutil.copyfileobj(source, file)
    target.chmod(0o755)
    image.unlink()
    return target
