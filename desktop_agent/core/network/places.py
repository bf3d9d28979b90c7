"""Places: computers, containers and pods, besides this computer, where work can run."""

from __future__ import annotations

import re
from typing import Literal

from desktop_agent.core.ids import AgentId
from desktop_agent.core.messages import Value
from desktop_agent.core.prose.command_words import words_of

PlaceKind = Literal["ssh", "container", "pod", "command"]
PlaceProblem = Literal[
    "", "no_program", "unreachable", "unknown_key", "refused", "absent", "missing", "version",
    "silent", "not_installed", "no_cluster", "other",
]  # fmt: skip

LONGEST_NAME = 32
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_WORD = re.compile(r"[^\s-]\S*")
_LOCAL = "local"


class Place(Value, frozen=True):
    """Where work can run, under the person's name for it.

    `target` is a host of ssh, the name of a container or pod, or a whole command that starts
    `desktop-agent` there and gives a byte stream. Where it `has_ray` it is a node of a Ray cluster,
    and work is spread over the nodes.
    """

    name: str
    kind: PlaceKind
    target: str
    has_ray: bool = False


class PlaceCheck(Value, frozen=True):
    """What a test found at a place. `said` are words of a program elsewhere, on one line.

    Without a `problem` the rest is known: version of the app, operating system, processors, git's
    version (empty: none), why commands can't be contained there (empty: they are), and what cluster
    it is a node of.
    """

    problem: PlaceProblem = ""
    said: str = ""
    version: str = ""
    system: str = ""
    cpus: int = 0
    git: str = ""
    no_sandbox: str = ""
    cluster: str = ""


class PlaceFollowed(Value, frozen=True):
    """How far an agent's work at its place is known here: the newest one counts.

    `key` is what it is called there, `there` its id there once it has begun. What the outpost told
    in an `epoch` up to a `number` is on disk here. So many `stops` were ordered; `stopped_by` says
    by whom, while the place has not said that it is stopped. `not_sent` are the first of the files
    that stayed here. `at` is when something was heard of it, `outpost` what its outpost is called.
    """

    agent_id: AgentId
    key: str
    there: AgentId = AgentId("")
    epoch: str = ""
    number: int = 0
    stops: int = 0
    stopped_by: str = ""
    is_paused: bool = False
    not_sent: tuple[str, ...] = ()
    at: float = 0.0
    outpost: str = ""


def can_install(place: Place, check: PlaceCheck) -> bool:
    """Whether the app can be sent where a test found none, or another version."""
    return place.kind != "command" and check.problem in ("missing", "version", "not_installed")


def end_of(said: str, most: int) -> str:
    """Return the end of what a program said, from a whole word on: the reason stands last."""
    if len(said) <= most:
        return said
    end = said[2 - most :]
    return f"… {end.partition(' ')[2] or end}"


def is_place_name(name: str) -> bool:
    """Whether a place can have this name: one word, as models and command lines repeat it."""
    fits = len(name) <= LONGEST_NAME and _NAME.fullmatch(name) is not None
    return fits and name.casefold() != _LOCAL


def is_target(kind: PlaceKind, target: str) -> bool:
    """Whether a target can be one of this kind: a word that is no option, or a command."""
    if kind != "command":
        return _WORD.fullmatch(target) is not None
    try:
        return bool(words_of(target))
    except ValueError:
        return False
