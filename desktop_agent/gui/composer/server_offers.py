"""What MCP servers offer to the message box: prompts behind a `/`, resources behind an `@`."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from desktop_agent.core.mcp import McpPrompt, McpResource, McpState
from desktop_agent.gui.kit.safe_text import path_text


class ServerPrompt(msgspec.Struct, frozen=True):
    """A prompt, and the server in the `root` folder that has it."""

    root: str
    server: str
    prompt: McpPrompt

    @property
    def title(self) -> str:
        """What it is called in the list."""
        return f"{self.server}:{path_text(self.prompt.name)}"


class ServerSource(msgspec.Struct, frozen=True):
    """A resource, and the server in the `root` folder that lets it be read."""

    root: str
    server: str
    resource: McpResource

    @property
    def title(self) -> str:
        """What it is called in the list and on its chip."""
        return f"{self.server}: {path_text(self.resource.name)}"


def prompts_in(root: str, states: Iterable[McpState]) -> tuple[ServerPrompt, ...]:
    """Return all prompts of the servers of a folder that are on."""
    return tuple(
        ServerPrompt(root, state.server.name, prompt)
        for state in states
        if state.server.is_on
        for prompt in state.prompts
    )


def sources_in(root: str, states: Iterable[McpState]) -> tuple[ServerSource, ...]:
    """Return all resources of the servers of a folder that are on."""
    return tuple(
        ServerSource(root, state.server.name, resource)
        for state in states
        if state.server.is_on
        for resource in state.resources
    )
