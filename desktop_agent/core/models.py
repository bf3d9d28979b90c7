"""Language models and the places they are found at, as the picker and the settings show them."""

from __future__ import annotations

from typing import Literal

from desktop_agent.core.faults import Fault
from desktop_agent.core.messages import Value

ServerKind = Literal["lmstudio", "ollama", "llamacpp", "llamacpp_python", "vllm", "openai"]


class ModelInfo(Value, frozen=True):
    """A model that can be picked. `name` is litellm's (`openai/gpt-5`), or `demo`.

    Prices are US dollars for a million tokens; `None` is unknown.
    """

    name: str
    title: str = ""
    provider: str = ""
    api_base: str = ""
    context_limit: int | None = None
    has_tools: bool | None = None
    has_images: bool | None = None
    input_price: float | None = None
    output_price: float | None = None
    is_ready: bool = True
    note: str = ""


class ServerInfo(Value, frozen=True):
    """A model server that answered on this computer, with the models it offers."""

    kind: ServerKind
    title: str
    api_base: str
    models: tuple[ModelInfo, ...] = ()


class ModelCheckup(Value, frozen=True):
    """How a model does, found out by real requests and by what its server says of it after them.

    `server` is empty where it is none of this computer's, or none that is known; `context` is as
    loaded. `has_tools` is None when the answer was cut before a call. `fault` is what kept a
    request from being answered: then the rest is unknown.
    """

    server: ServerKind | Literal[""] = ""
    context: int | None = None
    has_tools: bool | None = None
    tokens_per_s: float | None = None
    fault: Fault | None = None


class KeyInfo(Value, frozen=True):
    """Where a provider's key was found. The key itself is never in a value like this."""

    provider: str
    origin: Literal["environment", "keyring", "session", "file"]
    variable: str = ""


DEMO_MODEL = "demo"
