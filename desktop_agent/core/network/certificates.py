"""Certificates that the environment names for other programs, by names that httpx goes by."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_NAMES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
# Of requests and of curl: where a proxy reads along, often nothing else is set.
_OF_OTHERS = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


def certificates_of_others(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variable to be set beside the others, if none of httpx's own is."""
    if any(environment.get(name) for name in _NAMES):
        return {}
    for place in filter(None, map(environment.get, _OF_OTHERS)):
        if Path(place).is_dir():
            return {"SSL_CERT_DIR": place}
        if Path(place).is_file():
            return {"SSL_CERT_FILE": place}
    return {}
