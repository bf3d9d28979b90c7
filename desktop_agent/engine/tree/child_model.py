"""On which model a subagent runs, and whether the person's word covers it.

A model's name decides where everything goes that an agent has read: litellm takes names of
any provider, some with an address inside, and finds keys by itself. So a name counts as agreed
only when it is the parent's own, or stands on the person's list.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

import msgspec

from desktop_agent.core.agents import AgentSpec
from desktop_agent.core.models import DEMO_MODEL, ModelInfo
from desktop_agent.core.providers import find_provider, key_owner, provider_title
from desktop_agent.core.settings import ListedModel
from desktop_agent.core.tool import ToolError
from desktop_agent.engine.permissions.scope import Scope

_LONGEST = 200
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,20}://\S*")


class ChildModel(msgspec.Struct, frozen=True):
    """`name` is empty for the session's model, whichever that is. `is_agreed`: run it unasked."""

    name: str = ""
    api_base: str = ""
    is_agreed: bool = True

    @property
    def provider(self) -> str:
        """The provider's name for people."""
        return provider_title(_provider(self.name))

    @property
    def address(self) -> str:
        """Where its requests go, as far as the name tells."""
        inside = _ADDRESS.search(self.name)
        if inside is not None:  # litellm lets it win over any other address
            return inside[0]
        known = find_provider(_provider(self.name))
        usual = known.openai_base or known.models_url if known is not None else ""
        return self.api_base or urlsplit(usual).hostname or "the provider's usual address"


def choose(
    wanted: str, parent: Scope, spec: AgentSpec | None, listed: Sequence[ListedModel]
) -> ChildModel:
    """Return a subagent's model; `spec` is its parent's own, None for a main agent.

    Raises ToolError for what can't be a model's name.
    """
    name = wanted.strip()
    if name in {"", parent.model}:
        has_own = spec is not None and spec.has_own_model
        return ChildModel(parent.model, parent.api_base) if has_own else ChildModel()
    if len(name) > _LONGEST or not name.isprintable() or " " in name:
        raise ToolError("a model's name has no blanks and at most 200 characters")
    if name == DEMO_MODEL:  # it reaches nobody
        return ChildModel(name)
    addresses = [one.api_base for one in listed if one.name == name]
    if addresses:
        is_there = parent.api_base in addresses
        return ChildModel(name, parent.api_base if is_there else addresses[0])
    is_same = _provider(name) == _provider(parent.model)
    return ChildModel(name, parent.api_base if is_same else "", is_agreed=False)


def price_text(model: ChildModel, info: ModelInfo | None) -> str:
    """Return what it costs; a price list says nothing of another address."""
    is_elsewhere = bool(model.api_base or _ADDRESS.search(model.name))
    if is_elsewhere or info is None or info.input_price is None or info.output_price is None:
        return "price unknown"
    return f"${info.input_price:g} in, ${info.output_price:g} out per million tokens"


def _provider(name: str) -> str:
    start = name.partition("/")[0] if "/" in name else key_owner(name)
    known = find_provider(start)
    return known.name if known is not None else start
