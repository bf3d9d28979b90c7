"""`desktop-agent run`: the engine without a window, for scripts."""

from __future__ import annotations

from collections.abc import Sequence

from desktop_agent.adapters.models.host_process import begin_host
from desktop_agent.headless.arguments import parse
from desktop_agent.headless.command_line import carry_out


def main(argv: Sequence[str]) -> int:
    """Run with the arguments behind `run`; return the exit code."""

    def work() -> int:
        options = parse(argv)
        # Beside what is loaded here: no request can be made before the host has loaded its part.
        host = begin_host()
        # The engine and its adapters take long to load: a typing mistake is reported at once.
        from desktop_agent.headless.run import run

        return run(options, host)

    return carry_out("run", work, (OSError,))
