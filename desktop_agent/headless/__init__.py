"""`desktop-agent run`: the engine without a window, for scripts."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from desktop_agent.headless.arguments import UsageError, parse

_USAGE = 2


def main(argv: Sequence[str]) -> int:
    """Run with the arguments behind `run`; return the exit code."""
    try:
        options = parse(argv)
    except UsageError as error:
        print(f"desktop-agent run: {error}. See desktop-agent run --help.", file=sys.stderr)
        return _USAGE
    # The engine and its adapters take long to load: a typing mistake is reported at once.
    from desktop_agent.headless.run import run

    return run(options)
