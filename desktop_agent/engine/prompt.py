"""The system prompt: a template filled with what holds for this session."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterable

from desktop_agent.core.approvals import MODE_TITLES
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.paths import resource


class Prompt:
    """Fills `resources/prompts/system.md`. The text is stable within a day, so that
    providers can cache it.
    """

    def __init__(self) -> None:
        self._template = resource("prompts/system.md").read_text(encoding="utf-8")

    def text(self, info: SessionInfo, tool_names: Iterable[str]) -> str:
        """Return the prompt for one request."""
        workspace = info.workspace
        others = [f"{path} (read)" for path in workspace.readable]
        others += [f"{path} (read and write)" for path in workspace.writable]
        values = {
            "workspace": workspace.root,
            "read_folders": ", ".join(others) or "none",
            "mode": MODE_TITLES[info.mode],
            "date": time.strftime("%Y-%m-%d"),
            "os": f"{platform.system()} {platform.release()}",
            "tool_names": ", ".join(tool_names),
        }
        text = self._template
        for name, value in values.items():
            text = text.replace("{{" + name + "}}", value)
        return text
