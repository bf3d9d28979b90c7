"""Where the secrets of servers are."""

from __future__ import annotations

from typing import Protocol

from desktop_agent.core.commands import KeyPlace


class SecretStore(Protocol):
    """The app's keys, as the code for servers uses them."""

    def key_for(self, model_or_provider: str) -> str | None:
        """Return a secret by its owner."""
        ...

    def set_key(self, provider: str, key: str, where: KeyPlace) -> KeyPlace:
        """Keep a secret. Raises ValueError for what can't be one, OSError."""
        ...

    def delete_key(self, provider: str) -> None:
        """Forget a secret."""
        ...
