"""What signing in to servers gave, where secrets are: the access is of one address alone."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable

import msgspec

from desktop_agent.adapters.mcp.secret_store import SecretStore
from desktop_agent.core.keys.known_keys import KEYS
from desktop_agent.core.mcp import SIGN_INS, McpGrant

_decoder = msgspec.json.Decoder(McpGrant)


class Grants:
    """The engine's McpGrants."""

    def __init__(self, secrets: Callable[[], SecretStore]) -> None:
        self._secrets = secrets

    def of(self, url: str) -> McpGrant | None:
        """Return what is kept for an address; it is hidden from now on wherever it turns up."""
        kept = self._secrets().key_for(_owner(url))
        if kept is None:
            return None
        try:
            grant = _decoder.decode(base64.urlsafe_b64decode(kept))
        except (msgspec.DecodeError, binascii.Error, ValueError):
            return None
        for secret in grant.secrets:
            KEYS.remember(secret)
        return grant if grant.url == url else None

    def keep(self, grant: McpGrant) -> None:
        """Keep it; where no keyring works, as the user has keys kept then. Raises OSError."""
        body = base64.urlsafe_b64encode(msgspec.json.encode(grant)).decode()
        self._secrets().set_key(_owner(grant.url), body, "keyring")

    def forget(self, url: str) -> None:
        """Forget what is kept for an address. Raises OSError."""
        self._secrets().delete_key(_owner(url))


def _owner(url: str) -> str:
    return f"{SIGN_INS}{hashlib.sha256(url.encode()).hexdigest()[:32]}"
