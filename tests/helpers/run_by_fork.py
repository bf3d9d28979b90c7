"""Stands for a script that runs in a fork: it is started quickly, ends with it, and takes it along.

Where what forks can't be reached, as in a sandbox, the script runs here.
"""

import json
import os
import socket
import sys


def main(address: str, script: list[str]) -> int:
    """Have the script run with this process's environment, folder, input and output."""
    start = {
        "what": "script",
        "arguments": script,
        "environment": dict(os.environ),
        "folder": os.getcwd(),  # noqa: PTH109 - pathlib takes as long to load as all else
    }
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as channel:
        try:
            channel.connect(bytes.fromhex(address))
        except OSError:
            os.execv(sys.executable, [sys.executable, *script])
        socket.send_fds(channel, [json.dumps(start).encode()], [0, 1, 2])
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(nothing, number)
        channel.recv(32)  # its id
        code = int(channel.recv(32) or 1)
    if code < 0:
        os.kill(os.getpid(), -code)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
