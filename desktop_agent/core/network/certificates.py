"""Certificates of authorities that the environment names, such as a company's own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl

# What httpx goes by.
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


def are_named(environment: Mapping[str, str]) -> bool:
    """Whether the person, or who looks after the computer, names authorities."""
    return any(environment.get(name) for name in (*_NAMES, *_OF_OTHERS))


def accept_older(context: ssl.SSLContext, environment: Mapping[str, str]) -> ssl.SSLContext:
    """Ask no more of authorities that are named than Python did before 3.13; return the context.

    A company's own often lacks what RFC 5280 wants of it, such as key identifiers. Signatures,
    names and dates are checked as ever.
    """
    import ssl

    if are_named(environment):
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context
