"""A folder in place of the system's programs, with stand-ins for what asks for a password."""

from __future__ import annotations

from pathlib import Path

_PKEXEC = """#!/bin/sh
echo "$@" >> {log}
if [ -e {refusal} ]; then echo; echo "Error executing command: {words}"; exit $(cat {refusal}); fi
[ "$1" = --disable-internal-agent ] && shift
exec "$@"
"""
REFUSED = "Not authorized"


class StandInPrograms:
    """`pkexec` runs what it is given, at once; `apt-get` puts a link to `bwrap` beside itself."""

    def __init__(self, folder: Path, bwrap: str, nsenter: str) -> None:
        folder.mkdir()
        self.folder, self._refusal, self._log = folder, folder / "refusal", folder / "log"
        (folder / "nsenter").symlink_to(nsenter)
        self.add("apt-get", f"#!/bin/sh\necho Reading\nln -s {bwrap} {folder}/bwrap\n")

    def add(self, name: str, text: str) -> None:
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)

    def add_pkexec(self) -> None:
        self.add("pkexec", _PKEXEC.format(log=self._log, refusal=self._refusal, words=REFUSED))

    def refuse(self, exit_code: int | None) -> None:
        """Let pkexec end with this code and install nothing; None lets it work again."""
        self._refusal.unlink(missing_ok=True)
        if exit_code is not None:
            self._refusal.write_text(str(exit_code))

    @property
    def command(self) -> tuple[str, ...]:
        """What installs bubblewrap here."""
        words = ("--disable-internal-agent", f"{self.folder}/apt-get", "install", "-y")
        return (f"{self.folder}/pkexec", *words, "bubblewrap")

    @property
    def ran(self) -> list[str]:
        """What pkexec was started with, each time."""
        return self._log.read_text().splitlines() if self._log.exists() else []
