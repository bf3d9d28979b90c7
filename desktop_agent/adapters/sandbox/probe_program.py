"""Tries to break out, and says how it went. Runs by itself, outside and in the sandbox.

It only opens: whatever succeeds leaves the machine as it was. Nothing of the app is imported, so
that it starts at once: `python -I -S probe_program.py WHAT`, or `APP --sandbox-probe WHAT`.
WHAT is a JSON object; the answer is a line of JSON, `{name: [succeeded, words]}`.
"""

from __future__ import annotations

import json
import os
import socket
import sys

_NEW_USER = 0x10000000
# Who asks ends it before: this only names a hang.
_PATIENCE_S = 10.0


def main(arguments: list[str]) -> int:
    """Make the attempts; with `serves` then answer one connection, with `port` only ask there."""
    what = json.loads(arguments[0])
    if "port" in what:
        _say({"localhost": _outcome(lambda: _connect(("127.0.0.1", what["port"])))})
        return 0
    results = {name: _outcome(attempt) for name, attempt in _attempts(what).items()}
    if not what.get("serves"):
        _say(results)
        return 0
    with socket.create_server(("127.0.0.1", 0)) as server:
        _say({**results, "port": server.getsockname()[1]})
        # For as long as the one who asks takes to start: whoever started both ends this one.
        server.accept()[0].close()
    return 0


def _attempts(what):
    return {
        "inside": lambda: _touch(what["inside"]),
        "write": lambda: os.close(os.open(what["write"], os.O_WRONLY)),
        "read": lambda: _read(what["read"]),
        "tcp": lambda: _connect(("127.0.0.1", what["tcp"])),
        "udp": lambda: _send_udp(what["udp"], what["says"]),
        "path socket": lambda: _connect(what["path"]),
        "abstract socket": lambda: _connect("\0" + what["abstract"]),
        "signal": lambda: os.kill(what["pid"], 0),
        "user namespace": _new_user_namespace,
        "git": lambda: _rename(what["git"]),
    }


def _outcome(attempt):
    try:
        attempt()
    except (OSError, ValueError) as error:
        return [False, str(error)]
    return [True, ""]


def _touch(path):
    with open(path, "w") as file:  # noqa: PTH123 - pathlib takes as long to load as all of this
        file.write("written")


def _read(paths):
    """Any of them will do. They are looked at, not read: a home's file may be a pipe."""
    for path in paths:
        if os.path.lexists(path):
            os.stat(path, follow_symlinks=False)  # noqa: PTH116
            return
    raise FileNotFoundError(2, "nothing of it is there")


def _connect(address):
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as client:
        client.settimeout(_PATIENCE_S)
        client.connect(address)


def _send_udp(port, words):
    """Whether it arrives is for the one who waits for it to say."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.sendto(words.encode(), ("127.0.0.1", port))


def _new_user_namespace():
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    child = os.fork()
    if child == 0:
        refused = library.unshare(_NEW_USER)
        os._exit(ctypes.get_errno() or 1 if refused else 0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        raise OSError(code, os.strerror(code))


def _rename(path):
    os.rename(path, path + ".moved")  # noqa: PTH104
    os.rename(path + ".moved", path)  # noqa: PTH104


def _say(results):
    sys.stdout.write(json.dumps(results) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
