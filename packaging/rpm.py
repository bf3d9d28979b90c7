"""Builds the RPM package out of the same tree as the Debian one has."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import linux_tree
from linux_tree import Build, run


def build_rpm(build: Build, work: Path, output: Path) -> Path | None:
    """Build the package and return its path; None where there is no rpmbuild."""
    if shutil.which("rpmbuild") is None:
        return None
    tree, top = work / "rpm-tree", work / "rpm"
    linux_tree.lay_out(build, tree, for_distribution=False)
    # Debian's own papers; the changelog of an RPM is in its spec.
    (tree / "usr/share/doc/desktop-agent/changelog.gz").unlink()
    top.mkdir(exist_ok=True)
    text = (linux_tree.HERE / "linux" / "desktop-agent.spec.in").read_text("utf-8")
    for word, value in (("@VERSION@", build.version), ("@TREE@", str(tree))):
        text = text.replace(word, value)
    spec = top / "desktop-agent.spec"
    spec.write_text(text, "utf-8")
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(build.moment)}
    fixed = ("use_source_date_epoch_as_buildtime 1", "clamp_mtime_to_source_date_epoch 1",
             f"_topdir {top}", f"_rpmdir {output}", "_buildhost reproducible",
             "_rpmfilename %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm")  # fmt: skip
    defines = [word for each in fixed for word in ("--define", each)]
    run("rpmbuild", "-bb", "--quiet", *defines, spec, env=environment)
    return next(output.glob(f"desktop-agent-{build.version}-*.rpm"))
