"""What the demo model writes: the summary on the screen and the text of the overview file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from desktop_agent.model_host.demo.folder import kinds, top_level
from desktop_agent.model_host.demo.history import Hit, Reading
from desktop_agent.model_host.demo.markdown import (
    code,
    codes,
    counted,
    fence,
    joined,
    plain,
    quote,
    table,
)

SIGNATURE = (
    "*Made by the demo model of Desktop Agent, which is a script and not an AI: it counted "
    "files and copied lines, and understood nothing.*"
)
_HEADING = re.compile(r"^#{1,3}\s+(.+)$")
_DEFINITION = re.compile(r"^(?:async\s+)?(?:def|class|function|func|fn)\s+(\w+)")
_MARK = re.compile(r"\bto-?do\b|\bfix-?me\b|^\s*[-*] \[ \]", re.I)


class Survey(NamedTuple):
    """All that the tools told. There are more files than `paths` when `is_cut`."""

    paths: Sequence[str]
    readings: Sequence[Reading]
    hits: Sequence[Hit]
    is_cut: bool
    has_more_hits: bool


def summary(survey: Survey) -> str:
    """Return what is shown before the overview is written."""
    points = _open_points(survey)
    least = "At least " if survey.has_more_hits else ""
    marked = f"{least}{counted(len(points), 'line is', 'lines are')} marked as still to do."
    return joined(
        f"**{_size(survey)}** Here they are by kind:",
        _kinds_table(survey, most=8),
        _section("At the top of the folder:", fence(_tree(survey), limit=12)),
        _section("What I read:", _one_lines(survey)),
        marked if points else "",
    )


def overview(
    survey: Survey, *, is_short: bool, said: Sequence[str], reports: Sequence[tuple[str, str]]
) -> str:
    """Return the text of the overview file; the same survey always gives the same text."""
    points = [f"- {code(p.path)}, line {p.line}: {code(p.text)}" for p in _open_points(survey)]
    found = [f"{plain(n, 60)}:\n\n{fence(text.splitlines(), limit=8)}" for n, text in reports[:4]]
    sections = (
        _section("## At the top", fence(_tree(survey), limit=30)),
        _section("## What I read", *map(_about, survey.readings)),
        _section("## Still to do", "\n".join(points[:12])),
        _section("## What my subagents found", *found),
    )
    head = ("# Overview of this folder", SIGNATURE, _size(survey))
    kinds_found = _kinds_table(survey, most=5 if is_short else 15)
    asked = _section("## You asked", *map(quote, said[:10]))
    body = (_one_lines(survey),) if is_short else sections
    return joined(*head, kinds_found, *body, asked) + "\n"


def _section(title: str, *parts: str) -> str:
    return joined(title, *parts) if any(parts) else ""


def one_line(reading: Reading) -> str:
    """Return the length and the beginning of a file, or why there is none."""
    if not reading.lines:
        return f"{code(reading.path)}: {reading.remark}"
    start = next((line for line in reading.lines if line.strip()), "")
    heading = _HEADING.match(start)
    told = f", starts with {code(heading.group(1) if heading else start, 70)}" if start else ""
    return f"{code(reading.path)}: {counted(reading.total, 'line')}{told}"


def _one_lines(survey: Survey) -> str:
    return "\n".join(f"- {one_line(reading)}" for reading in survey.readings)


def _size(survey: Survey) -> str:
    if not survey.paths:
        return "The folder has no files yet."
    least = "At least " if survey.is_cut else ""
    folders = {path.rpartition("/")[0] for path in survey.paths} | {""}
    return f"{least}{counted(len(survey.paths), 'file')} in {counted(len(folders), 'folder')}."


def _kinds_table(survey: Survey, *, most: int) -> str:
    found = kinds(survey.paths) or [("None", 0)]
    if rest := sum(count for _, count in found[most:]):
        found[most:] = [("Everything else", rest)]
    return table(("Kind of file", "Files"), [(plain(kind), f"{n:,}") for kind, n in found])


def _tree(survey: Survey) -> list[str]:
    top = [(plain(name, 60), count) for name, count in top_level(survey.paths)]
    shown = [f"{name}  {counted(count, 'file')}" if count else name for name, count in top]
    return shown or ["(empty)"]


def _about(reading: Reading) -> str:
    title, why = f"### {code(reading.path)}", reading.remark
    if not reading.lines:
        return joined(title, f"{why[0].upper()}{why[1:]}.")
    filled = [line for line in reading.lines if line.strip()]
    found = [_HEADING.match(line) or _DEFINITION.match(line) for line in reading.lines]
    named = list(dict.fromkeys(match.group(1).strip() for match in found if match))
    return joined(
        title,
        f"{counted(reading.total, 'line')}. It starts like this:",
        fence(filled[:4] or ["(empty)"]),
        f"It holds: {codes(named[:12], 60)}." if named else "",
    )


def _open_points(survey: Survey) -> list[Hit]:
    return [hit for hit in survey.hits if _MARK.search(hit.text)]
