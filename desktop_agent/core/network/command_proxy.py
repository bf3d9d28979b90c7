"""The way to the network that commands in the sandbox are told of."""

from __future__ import annotations

import string

PORT = 3128
# In the session's own network; the guard listens there from outside.
ADDRESS = "127.0.0.1"
_PLAIN = frozenset(string.ascii_letters + string.digits + "-_.")
_LOCAL = "localhost,127.0.0.1,::1"


def proxy_environment(call_id: str = "") -> dict[str, str]:
    """Return the variables that lead a command's connections to the guard.

    With `call_id`, programs name it to the guard as their login, so that a question says whose
    it is. The session's own network is reached without. Nothing of socks: Python's clients
    need a package for it.
    """
    # Python's clients name nobody without a password.
    login = f"{call_id}:command@" if call_id and _PLAIN.issuperset(call_id) else ""
    proxy = f"http://{login}{ADDRESS}:{PORT}"
    named = {"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, "ALL_PROXY": proxy, "NO_PROXY": _LOCAL}
    small = {name.lower(): value for name, value in named.items()}
    return {**named, **small, "NODE_USE_ENV_PROXY": "1"}
