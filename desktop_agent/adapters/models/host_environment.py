"""The environment of the model host: an allow-list, and what the provider in use needs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from desktop_agent.adapters.child_process import own_environment
from desktop_agent.core.keys.known_keys import KEYS
from desktop_agent.core.keys.redaction import is_secret_name
from desktop_agent.core.network.certificates import certificates_of_others
from desktop_agent.core.providers import find_provider

_ALLOWED = frozenset({
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP",
    # The way to the provider: proxies and certificates.
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "NIX_SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
    # Without these Windows opens no socket and finds no folder of its own.
    "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERNAME", "USERPROFILE",
    "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "NUMBER_OF_PROCESSORS",
    "PROCESSOR_ARCHITECTURE", "OS",
    # The interpreter's, and the way to its libraries.
    "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH", "PYTHONHASHSEED",
    "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "PYTHONUTF8", "PYTHONIOENCODING",
    "PYTHONWARNINGS", "DESKTOP_AGENT_DEMO_PACE",
})  # fmt: skip
_ALLOWED_BEGINNINGS = ("LC_", "_PYI_")

# Providers that need more than one key: their requests are signed, or name a project.
_OF_PROVIDERS: dict[str, tuple[str, ...]] = {
    "bedrock": ("AWS_",),
    "sagemaker": ("AWS_",),
    "sagemaker_chat": ("AWS_",),
    "vertex_ai": ("VERTEXAI_", "VERTEX_", "GOOGLE_", "CLOUDSDK_CONFIG"),
    "azure": ("AZURE_API_BASE", "AZURE_API_VERSION"),
}


def host_environment() -> dict[str, str]:
    """Return what the host is started with: nothing that is a secret, or redirects litellm."""
    kept = own_environment(
        lambda name: name.upper() in _ALLOWED or name.upper().startswith(_ALLOWED_BEGINNINGS)
    )
    kept |= certificates_of_others(kept)
    # A proxy can't reach the model servers of this computer.
    for name in ("no_proxy", "NO_PROXY"):
        kept[name] = ",".join(filter(None, (kept.get(name, ""), "127.0.0.1,localhost,::1")))
    return kept


def provider_environment(model: str, source: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables that litellm needs for this model beside the key; mostly none.

    What of it is secret is hidden from now on.
    """
    own = os.environ if source is None else source
    provider = model.partition("/")[0].lower() if "/" in model else ""
    beginnings = _OF_PROVIDERS.get(provider)
    if beginnings is None:
        # The keys of known providers go with the requests, and other variables would redirect
        # them; of the others litellm reads all from the environment, by the provider's name.
        is_known = not provider or find_provider(provider) is not None
        beginnings = () if is_known else (f"{provider.upper()}_",)
    if not beginnings:
        return {}
    found = {name: value for name, value in own.items() if name.upper().startswith(beginnings)}
    for name, value in found.items():
        # What only names a place of secrets would be found in every other path.
        if is_secret_name(name) and not (Path(value).is_absolute() or "://" in value):
            KEYS.remember(value)
    return found
