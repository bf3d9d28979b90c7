"""`desktop-agent run`: the engine without a window, for scripts."""

from desktop_agent.headless.run import main

__all__ = ["main"]
