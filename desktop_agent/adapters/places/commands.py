"""The command that starts `desktop-agent` at a place and gives its input and output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from desktop_agent import __version__
from desktop_agent.core.network.places import Place, PlaceKind, is_target
from desktop_agent.core.prose.command_words import words_of

# What *Install* put there counts before what else there is. No single quotes: see `in_shell`.
# That nothing is there is said by us: the shell says it in the language of whoever logs in.
_PROGRAM = """p="${XDG_DATA_HOME:-$HOME/.local/share}/desktop-agent-outpost/$0/venv/bin/python"
if [ -x "$p" ]; then exec "$p" -P -m desktop_agent "$@"; fi
command -v desktop-agent >/dev/null || { echo "desktop-agent: not found" >&2; exit 127; }
exec desktop-agent "$@\""""
_RAY = "+ray"
_SSH = (
    "ssh", "-T", "-oBatchMode=yes", "-oConnectTimeout=15", "-oServerAliveInterval=15",
    "-oServerAliveCountMax=3", "--",
)  # fmt: skip


def command_of(place: Place) -> tuple[str, ...]:
    """Return what starts the app there; options of it may follow. Raises ValueError."""
    if place.kind == "command" and is_target(place.kind, place.target):
        return words_of(place.target)
    return in_shell(place, _PROGRAM, __version__)


def outpost_of(place: Place, *options: str) -> tuple[str, ...]:
    """Return what starts the outpost there. Raises ValueError."""
    return (*command_of(place), "outpost", *(("--ray",) if place.has_ray else ()), *options)


def in_shell(place: Place, script: str, name: str) -> tuple[str, ...]:
    """Return what runs a script there, whose `$0` is the name; more arguments may follow.

    The script has no single quotes: a host of ssh gives it to the shell of whoever logs in.
    Raises ValueError.
    """
    if place.kind == "command" or not is_target(place.kind, place.target):
        raise ValueError(f"{place.target!r} is no {place.kind} with a shell")
    assert "'" not in script
    match place.kind:
        case "ssh":
            return (*_SSH, place.target, "exec", "sh", "-c", f"'{_on_one_line(script)}'", name)
        case "container":
            return ("docker", "exec", "-i", place.target, "sh", "-c", script, name)
        case "pod":
            return ("kubectl", "exec", "-i", place.target, "--", "sh", "-c", script, name)


def _on_one_line(script: str) -> str:
    """Join lines, of which each is a command: a C shell takes no line break between quotes."""
    *lines, last = (line.strip() for line in script.splitlines())
    joined = (f"{line} " if line.endswith((" do", " then")) else f"{line}; " for line in lines)
    return "".join((*joined, last))


def place_named(said: str, known: Sequence[Place]) -> Place:
    """Return the place of a name, or what `KIND:TARGET` says itself. Raises ValueError."""
    for place in known:
        if place.name == said:
            return place
    kind, _, target = said.removesuffix(_RAY).partition(":")
    for one in get_args(PlaceKind):
        if kind == one and is_target(one, target.strip()):
            return Place(said, one, target.strip(), said.endswith(_RAY))
    raise ValueError(
        f"{said!r} is neither local, the name of a place in the settings, ssh:HOST, "
        "container:NAME, pod:NAME nor “command: …”, each with +ray behind it where it is a node of "
        "a Ray cluster"
    )
