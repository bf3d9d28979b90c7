"""What goes over the pipe between the app and the process that speaks MCP.

The app starts the servers that are commands: what they write is handed over as it is.
"""

from __future__ import annotations

from typing import Any

import msgspec

from desktop_agent.core.mcp import McpGrant, McpOffer
from desktop_agent.core.messages import ImagePart, Value
from desktop_agent.core.parts.forms import FormAnswer, ServerForm


class ServerOpened(Value, frozen=True):
    """Begin to speak with a server; without `url` over ServerWrote and HostWrote.

    `grant` is what an earlier sign-in gave. `signs_in`: the user wants to sign in now; as the app
    `client_id`, if there is one, else as one that is registered for it.
    """

    id: int
    url: str = ""
    headers: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    is_sse: bool = False
    grant: McpGrant | None = None
    signs_in: bool = False
    client_id: str = ""
    client_secret: str = ""


class ServerWrote(Value, frozen=True):
    """What a server's command wrote; empty at the end."""

    id: int
    data: bytes


class ServerClosed(Value, frozen=True):
    """Nothing more is wanted of a server."""

    id: int


class ToolCalled(Value, frozen=True):
    """Call a tool of a server."""

    id: int
    server: int
    tool: str
    arguments: dict[str, Any]


class PromptAsked(Value, frozen=True):
    """Ask a server for the text of a prompt."""

    id: int
    server: int
    prompt: str
    arguments: dict[str, str]


class ResourceAsked(Value, frozen=True):
    """Ask a server for what a resource holds."""

    id: int
    server: int
    uri: str


Request = ToolCalled | PromptAsked | ResourceAsked


class CallCancelled(Value, frozen=True):
    """Nobody waits for the answer to a request any more."""

    id: int


class FormAnswered(Value, frozen=True):
    """What became of a form that a server has asked for."""

    id: int
    server: int
    answer: FormAnswer


class HostWrote(Value, frozen=True):
    """What a server's command is to read."""

    id: int
    data: bytes


class ServerListed(Value, frozen=True):
    """A server has begun to work, or has something else to offer now."""

    id: int
    offer: McpOffer


class ServerFailed(Value, frozen=True):
    """A server can't be spoken with, or not any more."""

    id: int
    message: str
    needs_sign_in: bool = False


class SignInAsked(Value, frozen=True):
    """The user is to sign in at this address, in a browser; the host waits for it."""

    id: int
    url: str


class GrantKept(Value, frozen=True):
    """What a sign-in, or a refresh, gave."""

    id: int
    grant: McpGrant


class CallAnswered(Value, frozen=True):
    """The answer to a request, bounded."""

    id: int
    text: str
    images: tuple[ImagePart, ...] = ()
    is_error: bool = False


class CallFailed(Value, frozen=True):
    """A request that got no answer."""

    id: int
    message: str


class FormAsked(Value, frozen=True):
    """A server asks the user for something in the middle of a request."""

    id: int
    call: int
    form: ServerForm


class FormWithdrawn(Value, frozen=True):
    """Nobody waits any more for the answer to a form."""

    id: int


ToMcpHost = ServerOpened | ServerWrote | ServerClosed | Request | CallCancelled | FormAnswered
OfServer = HostWrote | ServerListed | ServerFailed | SignInAsked | GrantKept
FromMcpHost = OfServer | CallAnswered | CallFailed | FormAsked | FormWithdrawn
