"""The command line of `desktop-agent batch`."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from desktop_agent import paths
from desktop_agent.adapters.config import settings_file
from desktop_agent.adapters.places.commands import place_named
from desktop_agent.core.network.places import Place
from desktop_agent.engine.workspace.containment import with_home
from desktop_agent.headless.arguments import Parser, UsageError

_DEFAULTS = ("workspace", "model", "api_base", "mode", "max_steps", "timeout", "sandbox")
_MOST_AT_ONCE = 256


class BatchOptions(msgspec.Struct, frozen=True):
    """What the command line says. `defaults` are for lines that don't say it themselves.

    `on` is None for this computer.
    """

    jobs: Path
    out: Path
    defaults: dict[str, Any]
    on: Place | None = None
    at_most: int = 4
    max_cost: float | None = None
    html: Path | None = None
    is_json: bool = False


def parse(argv: Sequence[str]) -> BatchOptions:
    """Read the arguments behind `batch`. Raises UsageError; `--help` prints and exits."""
    given = make_parser().parse_args(argv)
    defaults = {name: getattr(given, name) for name in _DEFAULTS}
    for file in (given.out, given.html):
        if file is not None and not file.parent.is_dir():
            raise UsageError(f"there is no folder {str(file.parent)!r}")
    page = given.html and given.html.resolve()
    if page and ((page.exists() and not page.is_file()) or page in _others(given)):
        raise UsageError(f"--html can't be {str(given.html)!r}: it is something else")
    return BatchOptions(
        jobs=given.jobs,
        out=given.out.resolve(),
        defaults={name: value for name, value in defaults.items() if value is not None},
        on=_place(given.on),
        at_most=given.at_most,
        max_cost=given.max_cost,
        html=page,
        is_json=given.json,
    )


def _others(given: argparse.Namespace) -> tuple[Path, Path]:
    return given.jobs.resolve(), given.out.resolve()


def make_parser() -> argparse.ArgumentParser:
    """Return the options of `batch`."""
    parser = Parser(
        prog="desktop-agent batch",
        description="Run many jobs, each in a copy of its folder. A job is a line of JSON: "
        '{"prompt": "…", "workspace": "…"}, and the options of `desktop-agent run` by name '
        "(model, mode, max_steps, timeout, sandbox, trust, …). The folders stay as they are: what "
        "a job changed is in its result, as a patch. Running it again goes on with the jobs that "
        "have no result yet.",
        epilog="Exit codes: 0 all finished, 1 a job did not, 2 wrong usage, 130 interrupted. "
        "Nobody is asked anything: what a mode would ask is refused.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("jobs", metavar="JOBS.jsonl", type=with_home, help="the jobs, one JSON object a line")
    add("--out", metavar="FILE", type=with_home, required=True, help="results are added to it")
    add(
        "--on",
        metavar="PLACE",
        default="local",
        help="where they run: local (default), the name of a place in the settings, ssh:HOST, "
        "container:NAME (docker), pod:NAME (kubectl), or “command: …”, which is anything that "
        "starts desktop-agent elsewhere with a byte stream; +ray behind it (ssh:HEAD+ray) spreads "
        "them over the Ray cluster there. Requests to models are made from here: no key goes there",
    )
    add("--at-most", metavar="N", type=_count, default=4, help="jobs at a time (default: 4)")
    add("--max-cost", metavar="USD", type=_money, help="stop when all results cost this much")
    add("--html", metavar="FILE", type=with_home, help="write the results as a page too")
    add("--json", action="store_true", help="print the sums as JSON in place of a table")
    said = parser.add_argument_group("for jobs that don't say it themselves, as in `run`")
    for name in ("workspace", "model", "api-base", "mode", "sandbox"):
        said.add_argument(f"--{name}", metavar=name.upper())
    said.add_argument("--max-steps", metavar="N", type=int)
    said.add_argument("--timeout", metavar="S", type=float)
    return parser


def _place(on: str) -> Place | None:
    if on == "local":
        return None
    known = settings_file.load(paths.config_dir() / "settings.json").places
    try:
        return place_named(on, known)
    except ValueError as error:
        raise UsageError(f"--on: {error}") from None


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _MOST_AT_ONCE:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to {_MOST_AT_ONCE}")
    return int(text)


def _money(text: str) -> float:
    try:
        money = float(text)
    except ValueError:
        money = 0.0
    if not (math.isfinite(money) and money > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not an amount of dollars above 0")
    return money
