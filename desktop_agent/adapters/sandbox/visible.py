"""What a command sees of the person's home: toolchains, and caches of its own.

Everything else in a home is hidden: keys, mail, browsers, other projects.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath

from desktop_agent.adapters.sandbox.made_files import MadeFiles
from desktop_agent.adapters.sandbox.mounts import Mounts, is_in
from desktop_agent.adapters.sandbox.small_file import read_small
from desktop_agent.engine.permissions.protected_files import HOME_SECRETS

_TOOLCHAINS = (
    ".pyenv", ".nvm", ".fnm", ".volta", ".asdf", ".sdkman", ".rustup", ".rbenv", ".rvm", ".opam",
    ".ghcup", ".deno", ".bun", ".dotnet", ".juliaup", "go", "miniconda3", "anaconda3",
    "miniforge3", "bin", ".local/bin", ".local/lib", ".local/share/uv", ".local/share/pipx",
    ".local/share/mise", ".local/share/pnpm", ".local/share/fnm", ".local/share/rtx",
    ".cargo/bin", ".cargo/registry", ".cargo/git", ".config/git/ignore",
)  # fmt: skip
# Where tools keep what they fetched and compiled: a folder of ours is behind each. Those that the
# person has none of are inside the first.
_CACHES = {".cache": "cache", ".cargo": "cargo", ".gradle": "gradle", ".m2": "maven"}
# A person may keep these elsewhere; a command has them here, in the home.
_CACHE_VARIABLES = {
    "XDG_CACHE_HOME": ".cache", "GOCACHE": ".cache/go-build", "GOMODCACHE": ".cache/go-mod",
    "npm_config_cache": ".cache/npm", "NUGET_PACKAGES": ".cache/nuget",
}  # fmt: skip
_CACHE_HOMES = {"CARGO_HOME": ".cargo", "GRADLE_USER_HOME": ".gradle"}
# Settings of tools, made without what is secret in them.
_MADE = (".gitconfig", ".npmrc", ".pip", ".config")
_NAMING = ("VIRTUAL_ENV", "CONDA_PREFIX", "JAVA_HOME", "PYENV_ROOT", "NVM_DIR", "RUSTUP_HOME")
_USUAL_VENVS = (".venv", "venv", "env", ".env")
# What leads to a display, a bus, an agent of keys: none of it answers.
WITHOUT = (
    "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK",
    "SSH_AGENT_PID", "GPG_AGENT_INFO", "XDG_RUNTIME_DIR",
)  # fmt: skip
_MOST_ENTRIES = 200


def homes(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the person's home, and the one that the environment names, as real paths."""
    import pwd  # only where there is a sandbox

    named = environment.get("HOME", "")
    try:
        listed = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:  # a user that only a container knows
        listed = ""
    found = (os.path.realpath(home) for home in (named, listed) if home.startswith("/"))
    return tuple(dict.fromkeys(home for home in found if home != "/" and os.path.isdir(home)))  # noqa: PTH112


class Homes:
    """Applies the rules for homes to the places of one command."""

    def __init__(
        self,
        environment: Mapping[str, str],
        roots: tuple[str, ...],
        hidden: tuple[str, ...] = (),
    ) -> None:
        """`hidden` are places that the person doesn't show, wherever they are named."""
        self.paths = homes(environment)
        self._environment = environment
        self._roots = roots
        self._hidden = hidden

    def hide(self, mounts: Mounts) -> None:
        """Hide homes, then show their toolchains."""
        for home in self.paths:
            mounts.hide(home)
        for path in (*self._toolchains(), *self._named(), *self._interpreters(), *self._of_app()):
            if self._is_kept_back(path):
                continue
            real = os.path.realpath(path)
            if mounts.is_hidden(real) and self.may_show(real):
                mounts.show(real)
            if path != real and mounts.is_hidden(path) and self.may_show(real):
                mounts.show(path, real)

    def show_programs(self, mounts: Mounts) -> None:
        """Show folders that programs are looked for in by a path that is hidden.

        Those are links, made for one terminal or one system: with the libraries beside them.
        """
        for entry in self._environment.get("PATH", "").split(os.pathsep):
            if not entry.startswith("/") or not mounts.is_hidden(entry):
                continue
            path = PurePath(os.path.normpath(entry))
            place = str(path.parent if path.name == "bin" else path)
            real = os.path.realpath(place)
            if self._is_kept_back(place):
                continue
            if place != real and self.may_show(real) and not mounts.is_hidden(real):
                mounts.show(place, real)

    def add_caches(self, mounts: Mounts, folder: Path) -> dict[str, str]:
        """Give the command caches of its own; return what its environment says of them.

        Those of the home that the environment names, which tools go by.
        """
        home = os.path.realpath(self._environment.get("HOME", ""))
        if home not in self.paths:
            return {}
        for name, ours in _CACHES.items():
            if name == ".cache" or os.path.isdir(f"{home}/{name}"):  # noqa: PTH112
                os.makedirs(folder / ours, mode=0o700, exist_ok=True)  # noqa: PTH103
                mounts.open(f"{home}/{name}", f"{folder}/{ours}")
        places = {name: f"{home}/{place}" for name, place in _CACHE_VARIABLES.items()}
        for name, place in _CACHE_HOMES.items():
            has_own = os.path.isdir(f"{home}/{place}")  # noqa: PTH112
            places[name] = f"{home}/{place if has_own else f'.cache/{place}'}"
        fetched = self._environment.get("GOPATH", "").partition(":")[0] or f"{home}/go"
        # What the person's Go has fetched is taken from there, as from a mirror.
        mirror = f"file://{fetched}/pkg/mod/cache/download"
        others = self._environment.get("GOPROXY", "") or "direct"
        return {**places, "GOPROXY": f"{mirror},{others}"}

    def add_settings(self, mounts: Mounts, made: MadeFiles) -> dict[str, str]:
        """Show the person's settings of tools, without what is secret in them.

        Returns those that are copied into a home, by path, and the file of ours each is.
        """
        root = self._roots[0] if self._roots else "/"
        copied: dict[str, str] = {}
        for home in self.paths:
            place = mounts.at(home)
            if place is None or place.kind != "empty":
                continue
            for target, source in made.of(home, root).items():
                # Only in a folder that is empty at first: a link in it would be followed.
                if mounts.at(os.path.dirname(target)) == place:  # noqa: PTH120
                    copied[target] = source
                else:
                    mounts.show(target, source)
            ignored = made.ignored(home, root)
            if ignored and os.path.isfile(ignored) and self.may_show(ignored):  # noqa: PTH113
                mounts.show(ignored)
        return copied

    def hide_secrets(self, mounts: Mounts) -> None:
        """Hide what is secret in a home that is shown as a whole."""
        for home in self.paths:
            place = mounts.at(home)
            if place is not None and place.kind == "empty":
                continue
            for path in (f"{home}/{name}" for name in HOME_SECRETS):
                if path not in self._roots and os.path.lexists(path):
                    mounts.hide(os.path.realpath(path))

    def may_show(self, path: str) -> bool:
        """Whether a place is neither a home as a whole, nor secret in it, nor hidden."""
        if path == "/" or not os.path.lexists(path) or self._is_kept_back(path):
            return False
        return not any(is_in(home, path) or _is_secret(path, home) for home in self.paths)

    def _is_kept_back(self, path: str) -> bool:
        return any(is_in(path, place) for place in self._hidden)

    def _toolchains(self) -> Iterator[str]:
        for home in self.paths:
            for name in _TOOLCHAINS:
                if os.path.lexists(f"{home}/{name}"):
                    yield f"{home}/{name}"

    def _named(self) -> Iterator[str]:
        """Yield what the environment names, where programs are looked for among it."""
        for name in _NAMING:
            if (value := self._environment.get(name, "")).startswith("/"):
                yield os.path.realpath(value)
        for entry in self._environment.get("PATH", "").split(os.pathsep):
            if entry.startswith("/"):
                yield os.path.realpath(entry)

    def _interpreters(self) -> Iterator[str]:
        """Yield the homes of the Pythons that virtual environments stand on."""
        named = [f"{root}/{name}" for root in self._roots for name in _USUAL_VENVS]
        for venv in (*named, self._environment.get("VIRTUAL_ENV", "")):
            if venv and (prefix := _base_of(venv)):
                yield prefix

    def _of_app(self) -> Iterator[str]:
        """Yield where the app is: its own Python runs skills' scripts."""
        for place in app_places():
            if not any(is_in(place, root) for root in self._roots):
                yield place


def hidden_entries(shown: tuple[str, ...]) -> list[str]:
    """Return what lies in homes and no command may see; `shown` is seen for other reasons."""
    seen = {name.partition("/")[0] for name in (*_TOOLCHAINS, *_CACHES, *_MADE)}
    found: list[str] = []
    seen_through_links: list[str] = []
    for home in homes(os.environ):
        seen_through_links += [os.path.realpath(f"{home}/{name}") for name in _TOOLCHAINS]
        with contextlib.suppress(OSError):
            found += [f"{home}/{name}" for name in os.listdir(home) if name not in seen]  # noqa: PTH208
        found += [f"{home}/{name}" for name in HOME_SECRETS]
    # They are all one argument of a program.
    apart = (*shown, *seen_through_links)
    hidden = [path for path in found if not any(is_in(place, path) for place in apart)]
    return hidden[-_MOST_ENTRIES:]


def app_places() -> tuple[str, ...]:
    """Return where the interpreter, or the frozen app, and its libraries are."""
    bundle = getattr(sys, "_MEIPASS", "")
    given = (sys.prefix, sys.base_prefix, os.path.dirname(sys.executable), bundle)  # noqa: PTH120
    return tuple(dict.fromkeys(os.path.realpath(path) for path in given if path))


def _is_secret(path: str, home: str) -> bool:
    return (
        any(is_in(path, f"{home}/{name}") for name in HOME_SECRETS) if is_in(path, home) else False
    )


def _is_python(prefix: str) -> bool:
    """Whether there is a standard library; in a folder that can't be read there is none."""
    try:
        names = os.listdir(f"{prefix}/lib")  # noqa: PTH208
    except OSError:
        return False
    libraries = (f"{prefix}/lib/{name}/os.py" for name in names if name.startswith("python3."))
    return any(map(os.path.isfile, libraries))


def _base_of(venv: str) -> str:
    """Return the prefix of the Python that an environment names, nothing if it is none.

    A hostile folder may name any place: only what has a standard library is one.
    """
    for line in read_small(f"{venv}/pyvenv.cfg").splitlines():
        name, _, value = line.partition("=")
        if name.strip() == "home" and value.strip().startswith("/"):
            prefix = os.path.dirname(os.path.realpath(value.strip()))  # noqa: PTH120
            return prefix if _is_python(prefix) else ""
    return ""
