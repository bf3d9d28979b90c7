"""Clients of HTTP that come into being whatever the environment names as a proxy."""

from __future__ import annotations

import logging
import os
from typing import Any

from desktop_agent.core.network.certificates import (
    accept_older,
    are_named,
    certificates_of_others,
)
from desktop_agent.core.network.imports import import_httpx

_log = logging.getLogger(__name__)

# A proxy that the environment names can't reach this computer's own addresses.
_NEAR = ("all://127.0.0.1", "all://localhost", "all://[::1]")


def new_client(**options: Any) -> Any:
    """Return a client of httpx that follows no redirect; close it.

    Where httpx can't use what the environment names (a proxy of the kind `socks`, certificates
    that are not there), only this computer is reached: whoever wants a proxy is not to be led
    past it. Any other request raises an httpx.ProxyError then, which tells why.
    """
    import_httpx()  # not before someone asks
    import httpx

    try:
        near: dict[str, Any] = dict.fromkeys(_NEAR)
        if are_named(os.environ):
            options["verify"] = _context()
        return httpx.AsyncClient(follow_redirects=False, mounts=near, **options)
    except (ImportError, ValueError, OSError, httpx.InvalidURL) as error:
        why = f"What the environment names as a proxy or as certificates can't be used: {error}"
        _log.warning("%s", why)

    async def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ProxyError(why, request=request)

    direct = httpx.AsyncHTTPTransport(trust_env=False)
    return httpx.AsyncClient(
        follow_redirects=False,
        trust_env=False,
        transport=httpx.MockTransport(refuse),
        mounts=dict.fromkeys(_NEAR, direct),
        **options,
    )


def _context() -> Any:
    import ssl

    named = {**os.environ, **certificates_of_others(os.environ)}
    file, folder = named.get("SSL_CERT_FILE") or None, named.get("SSL_CERT_DIR") or None
    return accept_older(ssl.create_default_context(cafile=file, capath=folder), os.environ)
