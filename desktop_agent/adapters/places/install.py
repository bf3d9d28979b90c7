"""Installs this version of the app at a place, in a folder of its own.

Our files go there as an archive, on the stream of a shell; the pip there fetches the packages of
`resources/outpost.lock`, each with its hash, or of `resources/cluster.lock`, which has Ray as well.
Nothing else there is changed.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
from asyncio.subprocess import DEVNULL
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from desktop_agent.adapters.child_process import exited
from desktop_agent.adapters.places.commands import in_shell
from desktop_agent.adapters.places.stream import begin, end, last_words
from desktop_agent.core.network.places import Place

if TYPE_CHECKING:
    import tarfile

ARCHIVE = "outpost.tar.gz"
_LOCK, _CLUSTER_LOCK = "outpost.lock", "cluster.lock"
# No window is opened there.
_NOT_NEEDED = frozenset({
    "gui", "_resources/app-icon", "_resources/fonts", "_resources/icons", "_resources/screenshots",
    f"_resources/{_LOCK}", f"_resources/{_CLUSTER_LOCK}", f"_resources/{ARCHIVE}",
})  # fmt: skip
_DATE = 315532800  # 1980, before which some programs take a date for a mistake
_LONGEST_S = 1800.0
_WORDS_S = 2.0
# Without single quotes and backslashes: it goes through the shell of whoever logs in.
_SCRIPT = """set -eu
umask 077
root="${XDG_DATA_HOME:-$HOME/.local/share}/desktop-agent-outpost"
python=
for one in python3 python3.14 python3.13 python3.12 python3.11; do
    if "$one" -c "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))" 2>/dev/null
    then python=$one; break; fi
done
if [ -z "$python" ]; then
    echo "Python 3.11 or newer with venv is needed there (Debian: python3-venv)." >&2
    exit 1
fi
mkdir -p "$root"
new=$(mktemp -d "$root/new.XXXXXX")
clean() { rm -rf "$new"; }
trap clean EXIT
trap "exit 1" HUP INT TERM
tar -xzf - -C "$new"
"$python" -m venv "$new/venv"
python=$new/venv/bin/python
"$python" -m pip --disable-pip-version-check --no-input install --quiet --require-hashes \
--requirement "$new/$1"
mv "$new/desktop_agent" "$("$python" -c "import site; print(site.getsitepackages()[0])")"
rm -rf "$root/$0"
mv "$new" "$root/$0"
""".replace("\\\n", "")


class NotInstalled(Exception):
    """What was said there when it failed, on one line."""


async def install(place: Place, version: str, archive: bytes) -> None:
    """Install; raises NotInstalled, OSError, and ValueError for a place without a shell."""
    lock = _CLUSTER_LOCK if place.has_ray else _LOCK
    command = (*in_shell(place, _SCRIPT, version), lock)
    process = await begin(*command, stdout=DEVNULL)
    assert process.stdin is not None
    assert process.stderr is not None
    said = asyncio.create_task(last_words(process.stderr))
    try:
        async with asyncio.timeout(_LONGEST_S):
            with contextlib.suppress(ConnectionError):  # it has ended, and said why
                process.stdin.write(archive)
                await process.stdin.drain()
            process.stdin.close()
            if await exited(process):
                await asyncio.wait([said], timeout=_WORDS_S)
                words = said.result() if said.done() else ""
                raise NotInstalled(words or "it said nothing")
    except TimeoutError:
        raise NotInstalled("it took too long") from None
    finally:
        said.cancel()
        await end(process)


def archive_of(package: Path, resources: Path, skills: Path) -> bytes:
    """Return our own files as they are installed, and what they need, as a tar file in gzip."""
    # Here, since they bring compressors along, 3 ms, and are rarely needed.
    import gzip
    import tarfile

    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for lock in (_LOCK, _CLUSTER_LOCK):
            archive.add(resources / lock, lock, filter=_without_circumstances)
        for folder, name in ((package, ""), (resources, "_resources"), (skills, "_skills")):
            for path in _needed(folder, name):
                inside = Path("desktop_agent", name, path.relative_to(folder)).as_posix()
                archive.add(path, inside, filter=_without_circumstances)
    return gzip.compress(packed.getvalue(), mtime=0)


def _without_circumstances(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Take out whose file it was, and since when: installers hold it, and are to be the same."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = _DATE
    entry.mode = 0o755 if entry.mode & 0o100 else 0o644
    return entry


def _needed(folder: Path, name: str) -> Iterator[Path]:
    without = {folder / one.removeprefix(f"{name}/") for one in _NOT_NEEDED}
    if not name:
        # An installed package has these two within it.
        without |= {folder / "_resources", folder / "_skills"}
    for path in sorted(folder.rglob("*")):
        if (
            path.is_file()
            and "__pycache__" not in path.parts
            and without.isdisjoint((path, *path.parents))
        ):
            yield path
