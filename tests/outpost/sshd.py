"""A real sshd on loopback, with keys of its own."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
HAS_SSHD = SSHD is not None and shutil.which("ssh") is not None


@contextmanager
def loopback_ssh(folder: Path, environment: Mapping[str, str] | None = None) -> Iterator[str]:
    """Start it with its files in a folder; gives the command that logs in there.

    `environment` is what who logs in has besides. Raises RuntimeError where it does not start.
    """
    keys = folder / "keys"
    keys.mkdir(mode=0o700)
    for name in ("host", "mine"):
        made = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(keys / name)]
        subprocess.run(made, check=True)
    shutil.copy(keys / "mine.pub", keys / "authorized")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    said = {
        "ListenAddress": f"127.0.0.1:{port}",
        "HostKey": keys / "host",
        "AuthorizedKeysFile": keys / "authorized",
        "PidFile": "none",
        "StrictModes": "no",
        "UsePAM": "no",
    }
    if environment:
        said["SetEnv"] = " ".join(f'"{name}={value}"' for name, value in environment.items())
    (keys / "sshd").write_text("".join(f"{name} {value}\n" for name, value in said.items()))
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    command = [str(SSHD), "-D", "-e", "-f", str(keys / "sshd")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        if not any("Server listening" in line for line in server.stderr):
            raise RuntimeError("sshd does not start here")
        yield (
            f"ssh -T -p {port} -i {keys / 'mine'} -o BatchMode=yes -o IdentitiesOnly=yes "
            f"-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR "
            f"{getpass.getuser()}@127.0.0.1"
        )
        server.terminate()
        server.stderr.read()
