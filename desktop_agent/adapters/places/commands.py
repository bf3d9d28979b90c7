"""The command that starts `desktop-agent` at a place and gives its input and output."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import get_args

from desktop_agent.core.network.places import Place, PlaceKind, is_target

_PROGRAM = "desktop-agent"
_SSH = (
    "ssh", "-T", "-oBatchMode=yes", "-oConnectTimeout=15", "-oServerAliveInterval=15",
    "-oServerAliveCountMax=3", "--",
)  # fmt: skip


def command_of(place: Place) -> tuple[str, ...]:
    """Return what starts the app there; options of it may follow. Raises ValueError."""
    if not is_target(place.kind, place.target):
        raise ValueError(f"{place.target!r} is no {place.kind}")
    match place.kind:
        case "ssh":
            return (*_SSH, place.target, _PROGRAM)
        case "container":
            return ("docker", "exec", "-i", place.target, _PROGRAM)
        case "pod":
            return ("kubectl", "exec", "-i", place.target, "--", _PROGRAM)
        case "command":
            return tuple(shlex.split(place.target))


def place_named(said: str, known: Sequence[Place]) -> Place:
    """Return the place of a name, or what `KIND:TARGET` says itself. Raises ValueError."""
    for place in known:
        if place.name == said:
            return place
    kind, _, target = said.partition(":")
    for one in get_args(PlaceKind):
        if kind == one and is_target(one, target.strip()):
            return Place(said, one, target.strip())
    raise ValueError(
        f"{said!r} is neither local, the name of a place in the settings, ssh:HOST, "
        "container:NAME, pod:NAME nor “command: …”"
    )
