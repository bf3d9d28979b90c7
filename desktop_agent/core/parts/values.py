"""The base of all frozen records."""

from __future__ import annotations

import msgspec


class Value(msgspec.Struct, frozen=True, tag=True):
    """A frozen record. Encodes to JSON and msgpack with its class name under `type`."""
