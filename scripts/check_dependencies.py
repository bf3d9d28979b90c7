"""Checks what was installed: hashes without host names, no bad release, no start-up hook unknown.

A `.pth` file runs when Python starts. Stolen releases have hidden in one, so a new one is an
error until somebody has read it and named it here.
"""

import re
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

# distutils-precedence comes with setuptools, which Python's own venv installs before 3.12.
KNOWN_PTH = {"desktop_agent.pth", "distutils-precedence.pth"}
REFUSED = {("litellm", "1.82.7"), ("litellm", "1.82.8")}
_HOST = re.compile(r"://|\b[a-z0-9-]+\.(?:org|com|net|io|dev)\b", re.IGNORECASE)
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)")


def lock_findings(text: str, name: str = "requirements.lock") -> Iterator[str]:
    """Yield what is wrong with a lock file."""
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if _HOST.search(line):
            yield f"{name}:{number} names a host: {line.strip()}"
        pin = _PIN.match(line)
        if pin is None:
            if line and not line.lstrip().startswith("--hash=sha256:"):
                yield f"{name}:{number} is neither a pin nor a hash: {line.strip()}"
            continue
        if (pin[1].lower(), pin[2]) in REFUSED:
            yield f"{name}:{number} pins a compromised release: {pin[1]} {pin[2]}"
        if not "".join(lines[number : number + 1]).lstrip().startswith("--hash="):
            yield f"{name}:{number} has no hash: {pin[1]}"


def hook_findings(packages: Path) -> Iterator[str]:
    """Yield start-up hooks that nobody has vetted."""
    for path in sorted(packages.glob("*.pth")):
        if path.name not in KNOWN_PTH:
            yield f"{path}: a start-up hook that is not on the list of known ones"


def main() -> int:
    root = Path(__file__).parent.parent
    beside = (root / "resources" / name for name in ("outpost.lock", "cluster.lock"))
    locks = (root / "requirements.lock", *beside)
    found = [
        *(line for lock in locks for line in lock_findings(lock.read_text("utf-8"), lock.name)),
        *hook_findings(Path(sysconfig.get_path("purelib"))),
    ]
    sys.stdout.writelines(f"{line}\n" for line in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
