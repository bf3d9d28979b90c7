"""Files that are asked about in every mode: they run by themselves, or they hold secrets."""

from __future__ import annotations

import unicodedata
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import PurePath

_SECRET_FOLDERS = {".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker"}
_RUN_FOLDERS = {".git", ".husky", ".githooks"}

_SECRET_NAMES = (
    ".env", ".env.*", "*.env", ".netrc", "_netrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc",
    ".pgpass", ".my.cnf", ".git-credentials", ".htpasswd", ".dockercfg", ".vault-token", ".envrc",
    "credentials", "credentials.json", "credentials.toml", "credentials.yml", "credentials.yaml",
    "client_secret*.json", "service-account*.json", "service_account*.json", "secrets.json",
    "secrets.yml", "secrets.yaml", "secrets.toml", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519",
    "*.pem", "*.key", "*.p12", "*.pfx", "*.keystore", "*.jks", "*.kdbx", "*.ppk",
)  # fmt: skip

# Start-up files of shells, and of tools that run what they find.
_RUN_NAMES = (
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile",
    ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc",
    ".login", ".xprofile", ".xinitrc", ".xsession", ".inputrc", ".gitconfig", ".gitmodules",
    ".gdbinit", ".lldbinit", ".vimrc", ".nvimrc", ".exrc", ".emacs", ".pdbrc", ".pythonrc",
    "usercustomize.py", "sitecustomize.py", ".pre-commit-config.yaml", ".mcp.json",
)  # fmt: skip

# Editors run these when the folder is opened.
_EDITOR_FILES = {
    ".vscode": ("tasks.json", "settings.json", "launch.json", "extensions.json", "mcp.json"),
    ".devcontainer": ("*",),
    ".idea": ("*",),
    ".cursor": ("*",),
    ".claude": ("*",),
    ".config": ("fish", "systemd", "autostart", "gh", "gcloud", "git", "desktop-agent"),
    "github-copilot": ("*",),
    "share": ("desktop-agent",),
    "application support": ("desktop-agent",),
}
_HARMLESS = ([".env.example"], [".env.sample"], [".env.template"], [".env.dist"])


def is_protected(path: str | PurePath) -> bool:
    """Whether changing this file is asked about in every mode, however it is spelled."""
    parts = _folded_parts(path)
    if any(part in _RUN_FOLDERS or part.endswith(".git") for part in parts):
        return True
    for folder, name in pairwise(parts):
        if any(fnmatchcase(name, wanted) for wanted in _EDITOR_FILES.get(folder, ())):
            return True
    return _matches(parts, _RUN_NAMES) or is_secret(path)


def is_secret(path: str | PurePath) -> bool:
    """Whether even reading this file is asked about: keys, passwords, tokens."""
    parts = _folded_parts(path)
    if any(part in _SECRET_FOLDERS for part in parts):
        return True
    return parts[-1:] not in _HARMLESS and _matches(parts, _SECRET_NAMES)


def search_exclusions() -> tuple[str, ...]:
    """Return globs of what a search leaves out, since its contents are asked about."""
    return (".git", *sorted(_SECRET_FOLDERS), *_SECRET_NAMES)


def _matches(parts: list[str], patterns: tuple[str, ...]) -> bool:
    return bool(parts) and any(fnmatchcase(parts[-1], pattern) for pattern in patterns)


def _folded_parts(path: str | PurePath) -> list[str]:
    return [_folded(part) for part in PurePath(path).parts]


def _folded(part: str) -> str:
    """Compare as a case-insensitive, forgiving file system would."""
    plain = unicodedata.normalize("NFKC", part).casefold()
    shown = "".join(c for c in plain if unicodedata.category(c) != "Cf")
    return shown.rstrip(". ") or shown
