"""Files that are asked about in every mode: they run by themselves, they tell agents what to do,
or they hold secrets.

A file is evaluated by its absolute path, so that it does not matter from which folder it is named.
"""

from __future__ import annotations

import os
import re
import unicodedata
from fnmatch import fnmatchcase, translate
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import PurePath

from desktop_agent.core.workspace import Folders, OwnPlaces
from desktop_agent.engine.workspace.containment import shown

# What nobody's programs see of a home, and what is asked about before it is read.
HOME_SECRETS = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".pypirc", ".pgpass",
    ".git-credentials", ".vault-token", ".password-store", ".mozilla", ".thunderbird",
    ".config/gh", ".config/gcloud", ".config/git/credentials", ".config/google-chrome",
    ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge", ".config/op",
    ".config/rclone", ".config/Signal", ".config/Slack", ".config/desktop-agent",
    ".local/share/keyrings", ".local/share/desktop-agent", ".local/share/kwalletd",
    ".cargo/credentials", ".cargo/credentials.toml", ".m2/settings.xml", ".gem/credentials",
    ".bash_history", ".zsh_history", ".python_history", ".claude.json",
)  # fmt: skip
# The same of a home on macOS, where no sandbox hides it.
_MORE = "Library/Application Support"
SECRETS_ON_MACS = (
    "Library/Keychains", "Library/Cookies", "Library/Safari", "Library/Messages", "Library/Mail",
    "Library/Thunderbird", f"{_MORE}/Google/Chrome", f"{_MORE}/Chromium", f"{_MORE}/BraveSoftware",
    f"{_MORE}/Microsoft Edge", f"{_MORE}/Arc", f"{_MORE}/Firefox", f"{_MORE}/Signal",
    f"{_MORE}/Slack", f"{_MORE}/desktop-agent",
)  # fmt: skip
# What runs by itself: hooks, what editors start when they open a folder, CI.
_RUN_FOLDERS = {
    ".git", ".husky", ".githooks", ".vscode", ".idea", ".devcontainer", ".fleet", ".vs", ".zed",
    ".circleci", ".buildkite", ".woodpecker", ".direnv", ".mise", "launchagents", "launchdaemons",
}  # fmt: skip
# What agents take for configuration.
_AGENT_FOLDERS = {
    ".agents", ".aider", ".amazonq", ".augment", ".claude", ".clinerules", ".codex", ".continue",
    ".copilot", ".cursor", ".desktop_agent", ".desktop-agent", ".factory", ".gemini", ".goose",
    ".junie", ".kilocode", ".kiro", ".opencode", ".qwen", ".roo", ".trae", ".windsurf",
}  # fmt: skip
_AGENT_NAMES = (
    "agents.md", "agents.override.md", "claude.md", "claude.local.md", "gemini.md",
    "qwen.md", "copilot-instructions.md", ".mcp.json", ".aider.conf.yml", ".augment-guidelines",
    ".claude.json", ".cursorrules", ".goosehints", ".roomodes", ".rules", ".windsurfrules",
    "crush.json", ".crush.json", "opencode.json", "opencode.jsonc",
)  # fmt: skip

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
    "usercustomize.py", "sitecustomize.py", ".pre-commit-config.yaml", ".overcommit.yml",
    "lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".lefthook.yaml", ".simple-git-hooks.json",
    "mise.toml", ".mise.toml", ".nvim.lua", ".dir-locals.el", ".tmux.conf", ".screenrc",
    ".devcontainer.json", "*.code-workspace", "profile.ps1", "*_profile.ps1",
    ".gitlab-ci.yml", ".travis.yml", ".drone.yml", ".woodpecker.yml", ".appveyor.yml",
    "appveyor.yml", "azure-pipelines.yml", "bitbucket-pipelines.yml", "jenkinsfile",
    "cloudbuild.yaml", "cloudbuild.yml",
)  # fmt: skip

# Only these of what lies in a folder.
_PARTS_OF = {
    ".config": (
        "fish", "zsh", "systemd", "environment.d", "autostart", "direnv", "mise", "nvim", "gh",
        "gcloud", "git", "desktop-agent", "opencode", "goose", "crush", "zed",
    ),
    ".github": ("workflows", "actions", "instructions", "prompts", "chatmodes", "agents"),
    ".gitea": ("workflows",),
    ".forgejo": ("workflows",),
    "github-copilot": ("*",),
    "start menu": ("programs",),
}  # fmt: skip
_HARMLESS = ((".env.example",), (".env.sample",), (".env.template",), (".env.dist",))


_HOME_SECRETS = (*HOME_SECRETS, *SECRETS_ON_MACS)
_ASKED_FOLDERS = _RUN_FOLDERS | _AGENT_FOLDERS
_DOTTED = sorted(
    name
    for name in (*HOME_SECRETS, *_RUN_FOLDERS, *_AGENT_FOLDERS, *_SECRET_NAMES, *_RUN_NAMES)
    if name.startswith(".") and "/" not in name
)
_NOWHERE = OwnPlaces()
_Parts = tuple[str, ...]


def names_of(folders: Folders, given: str, path: PurePath) -> tuple[PurePath, ...]:
    """Return both paths that a file is evaluated by: as it was named, and where that leads.

    `.bashrc` may be a link to a file of another name, and `notes` one to `.bashrc`.
    """
    resolved = PurePath(shown(folders, path))
    called = PurePath(os.path.join(folders.root, os.path.expanduser(given)))  # noqa: PTH111, PTH118
    return (resolved,) if called == resolved else (resolved, called)


def is_protected(path: str | PurePath, own: OwnPlaces = _NOWHERE) -> bool:
    """Whether changing this file is asked about in every mode, however it is spelled.

    `own` are the app's own places, as real paths.
    """
    parts = _folded_parts(path)
    if any(part in _ASKED_FOLDERS or part.endswith(".git") for part in parts):
        return True
    for folder, name in pairwise(parts):
        if any(fnmatchcase(name, wanted) for wanted in _PARTS_OF.get(folder, ())):
            return True
    if _matches(parts, _asked_name()):
        return True
    return is_secret(path, own) or any(_is_below(parts, _folded_parts(place)) for place in own.kept)


def is_program(path: str | PurePath, own: OwnPlaces) -> bool:
    """Whether it is part of the app itself: commands only read it, a write is asked about."""
    parts = _folded_parts(path)
    return any(_is_below(parts, _folded_parts(place)) for place in own.program)


def is_secret(path: str | PurePath, own: OwnPlaces = _NOWHERE) -> bool:
    """Whether even reading this file is asked about: keys, passwords, tokens."""
    parts = _folded_parts(path)
    if _home_secret().search(f"/{'/'.join(parts)}/"):
        return True
    if any(_begins_with(parts, _folded_parts(place)) for place in own.private):
        return True
    return parts[-1:] not in _HARMLESS and _matches(parts, _secret_name())


def search_exclusions() -> tuple[str, ...]:
    """Return globs of what a search leaves out, since its contents are asked about."""
    places = (f"**/{name}" if "/" in name else name for name in _HOME_SECRETS)
    return (".git", *places, *_SECRET_NAMES)


def may_name_protected(pattern: str) -> bool:
    """Whether a pattern of the shell's (`.g?t/config`) may stand for a protected name.

    Only what begins with a dot is looked at: `*` alone does not find such names.
    """
    parts = _folded_parts(pattern)
    dotted = [part for part in parts if part.startswith(".") and set(part) & set("*?[")]
    return any(fnmatchcase(name, part) for part in dotted for name in _DOTTED)


def private_below(folder: PurePath, own: OwnPlaces) -> tuple[str, ...]:
    """Return the beginnings of the app's private files below a folder, relative to it."""
    inner = (PurePath(place) for place in own.private)
    below = (place.relative_to(folder) for place in inner if place.is_relative_to(folder))
    return tuple(place.as_posix() for place in below)


# Compiled when the first path is looked at: it takes 3 ms.
@cache
def _asked_name() -> re.Pattern[str]:
    return re.compile("|".join(map(translate, (*_RUN_NAMES, *_AGENT_NAMES))))


@cache
def _secret_name() -> re.Pattern[str]:
    return re.compile("|".join(map(translate, _SECRET_NAMES)))


@cache
def _home_secret() -> re.Pattern[str]:
    return re.compile(f"/(?:{'|'.join(re.escape(n.casefold()) for n in _HOME_SECRETS)})/")


def _is_below(parts: _Parts, folder: _Parts) -> bool:
    return parts[: len(folder)] == folder


def _begins_with(parts: _Parts, place: _Parts) -> bool:
    """Whether it is the place, lies in it, or is a file beside it whose name goes on from it."""
    start, end = place[:-1], len(place)
    return parts[: end - 1] == start and len(parts) >= end and parts[end - 1].startswith(place[-1])


def _matches(parts: _Parts, names: re.Pattern[str]) -> bool:
    return bool(parts) and names.match(parts[-1]) is not None


def _folded_parts(path: str | PurePath) -> _Parts:
    return _folded_once(str(path))


# The same few hundred places are compared with each path of each command.
@lru_cache(1024)
def _folded_once(path: str) -> _Parts:
    return tuple(folded(part) for part in PurePath(path).parts)


@lru_cache(1024)
def folded(part: str) -> str:
    """Compare as a case-insensitive, forgiving file system would."""
    if part.isascii():  # of a hundred thousand names all but a few
        shown = part.lower()
    else:
        plain = unicodedata.normalize("NFKC", part).casefold()
        shown = "".join(c for c in plain if unicodedata.category(c) != "Cf")
    return shown.rstrip(". ") or shown
