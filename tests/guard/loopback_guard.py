"""The guard as a process, in a network of the test's: names and addresses that it is told of.

`python -m tests.guard.loopback_guard JSON FD`; the app itself can't be told any of this.
"""

from __future__ import annotations

import json
import sys

from desktop_agent.guard.__main__ import serve
from desktop_agent.guard.limits import Limits
from desktop_agent.guard.reach import Network


def main() -> int:
    told = json.loads(sys.argv[1])
    names: dict[str, list[list[str]]] = told["names"]

    async def resolve(host: str, port: int) -> tuple[str, ...]:
        answers = names.get(host)
        if answers is None:
            return ("127.0.0.1",) if host.endswith(".test") else ()
        # The last answer stays; one before it is given once, as a name that is rebound does.
        return tuple(answers.pop(0) if len(answers) > 1 else answers[0])

    network = Network(resolve)
    if told["is_loopback_allowed"]:
        network = Network(resolve, lambda address: address in {"127.0.0.1", "::1"})
    return serve(int(sys.argv[2]), network, Limits(**told["limits"]))


if __name__ == "__main__":
    raise SystemExit(main())
