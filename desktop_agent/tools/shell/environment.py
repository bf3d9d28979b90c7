"""The environment commands get: what they need to work, and no secret."""

from __future__ import annotations

import os
from collections.abc import Mapping

from desktop_agent.core.keys.redaction import is_secret_name

# What shells and common tools need, here and on Windows.
_ALLOWED = frozenset({
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "DISPLAY",
    "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
    "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_DIRS", "XDG_CONFIG_DIRS", "VIRTUAL_ENV",
    "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYENV_ROOT", "NVM_DIR", "PNPM_HOME", "BUN_INSTALL",
    "JAVA_HOME", "ANDROID_HOME", "GOPATH", "GOROOT", "CARGO_HOME", "RUSTUP_HOME", "SSL_CERT_FILE",
    "SSL_CERT_DIR", "NIX_PATH", "NIX_SSL_CERT_FILE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
    "ALL_PROXY", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP",
    "USERNAME", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA",
    "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "NUMBER_OF_PROCESSORS",
    "PROCESSOR_ARCHITECTURE", "OS",
})  # fmt: skip
_FIXED = {
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    # A look at the state of a repository writes nothing into it.
    "GIT_OPTIONAL_LOCKS": "0",
    "PYTHONUNBUFFERED": "1",
    # What Python writes beside a script of a trusted skill would be a change of that skill.
    "PYTHONDONTWRITEBYTECODE": "1",
}


def command_environment(
    extra: Mapping[str, str], source: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the environment for a command, from the app's own (`source`) and `extra`.

    Only known names pass, and none that looks like a secret or holds a password in an address.
    """
    own = os.environ if source is None else source
    kept = {name: value for name, value in own.items() if _is_allowed(name, value)}
    kept |= {name: value for name, value in extra.items() if not is_secret_name(name)}
    if "PATH" in kept:
        # A relative entry would run whatever lies in the folder under a command's name.
        entries = [p for p in kept["PATH"].split(os.pathsep) if os.path.isabs(p)]  # noqa: PTH117 - a dozen each time
        kept["PATH"] = os.pathsep.join(entries)
    return kept | _FIXED


def _is_allowed(name: str, value: str) -> bool:
    upper = name.upper()
    if upper not in _ALLOWED and not upper.startswith("LC_"):
        return False
    if upper.endswith("_PROXY"):
        return "@" not in value
    return not is_secret_name(upper)
