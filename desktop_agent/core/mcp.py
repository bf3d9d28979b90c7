"""Servers of the Model Context Protocol as values: what is configured, how it stands, what it has.

What a server says of itself (names, descriptions, marks, errors) is untrusted text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from desktop_agent.core.messages import ImagePart, Value

# `mine` stands in the user's file, `folder` in a folder's own, `run` on a command line.
McpOrigin = Literal["mine", "folder", "run"]
# `reads` is only what the server says; one that says nothing is `unknown`, and may do anything.
McpMark = Literal["reads", "changes", "unknown"]
# `idle` is on and starts with the next message; `sign_in` waits until the user signs in.
McpPhase = Literal["off", "idle", "waiting", "starting", "running", "failed", "sign_in"]

LONGEST_NAME = 64
# So many lines of what a server wrote are kept.
MOST_LOG_LINES = 1_000
# Where secrets are, those of sign-ins begin so; they are shown with their server.
SIGN_INS = "mcp-sign-in."
_UNFIT = re.compile(r"[^A-Za-z0-9_.-]+")


class McpError(Exception):
    """A server could not be started, reached or asked; the text is for a person."""


class McpServer(Value, frozen=True):
    """One configured server: a `command` that is started, or a `url`.

    Values of `env` and `headers` may hold `${NAME}`, which is resolved at the start; `${keyring:…}`
    stands for a secret that is kept elsewhere. `is_sse` is the older form of HTTP. `tools_off` are
    switched off. `is_outside` tells that the user lets the command run outside the sandbox. With a
    `client_id` it is signed in to as that app of the user's own; `client_secret` may be empty.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    cwd: str = ""
    url: str = ""
    headers: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    is_sse: bool = False
    is_on: bool = True
    tools_off: tuple[str, ...] = ()
    is_outside: bool = False
    origin: McpOrigin = "mine"
    client_id: str = ""
    client_secret: str = ""

    @property
    def is_local(self) -> bool:
        """Whether it is a command that is started here."""
        return bool(self.command)


class McpGrant(Value, frozen=True):
    """What a sign-in to the server at `url` gave: a secret, as a whole.

    `expires_at` is in seconds since 1970, 0.0 when unknown. `issuer` is the authorization server,
    `resource` what it calls the server. `wanted_scope` is asked for at the next sign-in, because
    the server wants more than `scope`.
    """

    url: str
    access_token: str = ""
    refresh_token: str = ""
    scope: str = ""
    expires_at: float = 0.0
    client_id: str = ""
    client_secret: str = ""
    auth_method: str = ""
    issuer: str = ""
    authorization_endpoint: str = ""
    token_endpoint: str = ""
    resource: str = ""
    wanted_scope: str = ""

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must appear nowhere."""
        return tuple(filter(None, (self.access_token, self.refresh_token, self.client_secret)))

    def __repr__(self) -> str:
        return f"McpGrant({self.url!r})"


class McpTool(Value, frozen=True):
    """A tool as its server describes it, already bounded. `digest` is over the whole of it."""

    name: str
    description: str = ""
    schema: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    mark: McpMark = "unknown"
    digest: str = ""


class McpArgument(Value, frozen=True):
    """What a prompt is to be given, as a text."""

    name: str
    description: str = ""
    is_required: bool = False


class McpPrompt(Value, frozen=True):
    """A text that a server writes for the user to send, already bounded."""

    name: str
    description: str = ""
    arguments: tuple[McpArgument, ...] = ()


class McpResource(Value, frozen=True):
    """Something that a server lets be read by its `uri`, already bounded. `size` is in bytes."""

    uri: str
    name: str
    description: str = ""
    media_type: str = ""
    size: int | None = None


class McpLine(Value, frozen=True):
    """A line that a server's command wrote beside its messages; `at` in seconds since 1970."""

    at: float
    text: str


class McpOffer(Value, frozen=True):
    """What a server has; `left_out` is how many tools were too large or too many.

    `refused` are names of those that are described as the protocol does not allow.
    """

    tools: tuple[McpTool, ...] = ()
    prompts: tuple[McpPrompt, ...] = ()
    resources: tuple[McpResource, ...] = ()
    left_out: int = 0
    refused: tuple[str, ...] = ()


class McpState(Value, frozen=True):
    """A server and how it stands. `problem` says why it failed or what it waits for.

    `needs_trust`: the user does not trust the folder that brings it. `needs_consent`: no sandbox
    holds, and the user has not said that it may run without one.
    `is_contained` tells that its command runs in the sandbox. `since` is when it began to run.
    `changed` are the tools that are described otherwise than when they were last allowed.
    `sign_in_url` is what the user is to open in a browser to sign in, while that is waited for.
    """

    server: McpServer
    phase: McpPhase = "off"
    problem: str = ""
    tools: tuple[McpTool, ...] = ()
    since: float = 0.0
    needs_trust: bool = False
    needs_consent: bool = False
    is_contained: bool = False
    changed: tuple[str, ...] = ()
    prompts: tuple[McpPrompt, ...] = ()
    resources: tuple[McpResource, ...] = ()
    sign_in_url: str = ""
    is_signed_in: bool = False


class McpAnswer(Value, frozen=True):
    """What a tool call, a prompt or a resource gave; a server's own error is an answer too."""

    text: str
    images: tuple[ImagePart, ...] = ()
    is_error: bool = False


def clean_name(name: str) -> str:
    """Return a server's name as it is kept: letters, digits and `_.-`, at most 64."""
    return _UNFIT.sub("-", name.strip()).strip("-.")[:LONGEST_NAME] or "server"


def hidden_values(values: Mapping[str, str]) -> dict[str, str]:
    """Return the values with all but their variables hidden, for a person to look at."""
    return {name: value if "${" in value else "•••" for name, value in values.items()}
