"""Language models and the places they are found at, as the picker and the settings show them."""

from __future__ import annotations

from typing import Literal

from desktop_agent.core.messages import Value

ServerKind = Literal["lmstudio", "ollama", "llamacpp", "vllm", "openai"]


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


class KeyInfo(Value, frozen=True):
    """Where a provider's key was found. The key itself is never in a value like this."""

    provider: str
    origin: Literal["environment", "keyring", "session", "file"]
    variable: str = ""


DEMO_MODEL = "demo"
