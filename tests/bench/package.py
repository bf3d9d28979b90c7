"""Sizes of what `scripts/package` built, and of what it installs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.bench.report import report

ROOT = Path(__file__).resolve().parents[2]


def frozen() -> Path | None:
    """Return the frozen app's folder: what is named, built here, or installed."""
    named = os.environ.get("DESKTOP_AGENT_FROZEN", "")
    places = (Path(named), ROOT / "build/package/desktop-agent", Path("/usr/lib/desktop-agent"))
    return next((one for one in places if (one / "desktop-agent").is_file()), None)


def main() -> None:
    dist = Path(os.environ.get("DESKTOP_AGENT_DIST", ROOT / "dist"))
    packages = sorted(dist.glob("*.deb"))
    if not packages:
        sys.stderr.write("package: there is none; build one with scripts/package deb\n")
        return
    package = packages[-1]
    report("package_deb", package.stat().st_size / 1e6)
    asked = ["dpkg-deb", "-f", str(package), "Installed-Size"]
    told = subprocess.run(asked, capture_output=True, text=True, check=True)
    report("package_installed", int(told.stdout) * 1024 / 1e6)
    for image in dist.glob("*.AppImage"):
        report("package_appimage", image.stat().st_size / 1e6)


if __name__ == "__main__":
    main()
