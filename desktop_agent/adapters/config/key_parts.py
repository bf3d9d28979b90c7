"""A keyring that takes long keys: Windows keeps no more than 1,280 characters under a name."""

from __future__ import annotations

import contextlib
from typing import Any

_MOST = 1200
# No key holds a blank, so none is taken for this.
_PARTS = "parts "


class KeyParts:
    """A backend of `keyring` whose long keys are in parts, which are counted under their name."""

    def __init__(self, ring: Any) -> None:
        self._ring = ring  # backends have no common type

    def get_password(self, service: str, name: str) -> str | None:
        """Return a key; None when there is none, or a part of it is missing."""
        found: str | None = self._ring.get_password(service, name)
        if found is None or not found.startswith(_PARTS):
            return found
        parts = [self._ring.get_password(service, one) for one in _names(name, found)]
        return None if None in parts else "".join(parts)

    def set_password(self, service: str, name: str, key: str) -> None:
        """Keep a key in place of what was there; its name comes last."""
        before = self._ring.get_password(service, name) or ""
        parts = [key[at : at + _MOST] for at in range(0, len(key), _MOST)]
        kept = f"{_PARTS}{len(parts)}" if len(parts) > 1 else key
        if len(parts) > 1:
            for one, part in zip(_names(name, kept), parts, strict=True):
                self._ring.set_password(service, one, part)
        self._ring.set_password(service, name, kept)
        self._drop(service, [one for one in _names(name, before) if one not in _names(name, kept)])

    def delete_password(self, service: str, name: str) -> None:
        """Delete a key with all its parts."""
        before = self._ring.get_password(service, name) or ""
        self._drop(service, _names(name, before))
        self._ring.delete_password(service, name)

    def _drop(self, service: str, names: list[str]) -> None:
        for one in names:
            with contextlib.suppress(Exception):  # backends raise anything where it is gone
                self._ring.delete_password(service, one)


def _names(name: str, kept: str) -> list[str]:
    """Return where the parts of a key are; none where it is whole."""
    count = kept.removeprefix(_PARTS) if kept.startswith(_PARTS) else ""
    return [f"{name}/{number}" for number in range(int(count or 0))]
