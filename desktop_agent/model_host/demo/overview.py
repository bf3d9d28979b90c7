"""What the demo model writes: the summary on the screen and the text of the overview file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from desktop_agent.model_host.demo.folder import kinds, top_level
from desktop_agent.model_host.demo.history import FileText, Hit
from desktop_agent.model_host.demo.markdown import code, counted, fence, plain, quote, table
from desktop_agent.model_host.demo.step import joined

SIGNATURE = (
    "*Made by the demo model of Desktop Agent, which is a script and not an AI: it counted "
    "files and copied lines, and understood nothing.*"
)
_HEADING = re.compile(r"^#{1,3}\s+(.+)$")
_DEFINITION = re.compile(r"^(?:async\s+)?(?:def|class|function|func|fn)\s+(\w+)")
_MARK = re.compile(r"\bto-?do\b|\bfix-?me\b|^\s*[-*] \[ \]", re.I)


@dataclass(frozen=True, slots=True)
class Reading:
    """A file that was read; `problem` is set instead of `text` when that failed."""

    path: str
    text: FileText = field(default_factory=FileText)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Survey:
    """All that the tools told. There are more files than `paths` when `is_cut`."""

    paths: tuple[str, ...]
    readings: tuple[Reading, ...] = ()
    hits: tuple[Hit, ...] = ()
    is_cut: bool = False
    has_more_hits: bool = False


def summary(survey: Survey) -> str:
    """Return what is shown before the overview is written."""
    parts = [f"**{_size(survey)}** Here they are by kind:"]
    parts.append(_kinds_table(survey, most=8))
    parts.append("At the top of the folder:")
    parts.append(fence(_tree(survey), limit=12))
    if survey.readings:
        parts.append("What I read:")
        parts.append("\n".join(f"- {_one_line(reading)}" for reading in survey.readings))
    if open_points := _open_points(survey):
        least = "At least " if survey.has_more_hits else ""
        marked = counted(len(open_points), "line is", "lines are")
        parts.append(f"{least}{marked} marked as still to do.")
    return "\n\n".join(parts)


def overview(
    survey: Survey, *, is_short: bool, said: Sequence[str], reports: Sequence[tuple[str, str]] = ()
) -> str:
    """Return the text of the overview file; the same survey always gives the same text."""
    parts = ["# Overview of this folder", SIGNATURE, _size(survey)]
    parts.append(_kinds_table(survey, most=5 if is_short else 15))
    if is_short:
        listed = "\n".join(f"- {_one_line(reading)}" for reading in survey.readings)
        parts.extend([listed] if listed else [])
    else:
        parts.extend(["## At the top", fence(_tree(survey), limit=30)])
        if survey.readings:
            parts.append("## What I read")
        parts.extend(_about(reading) for reading in survey.readings)
        if open_points := _open_points(survey):
            lines = [
                f"- {code(hit.path)}, line {hit.line}: {code(hit.text)}" for hit in open_points
            ]
            parts.extend(["## Still to do", "\n".join(lines[:12])])
        if reports:
            parts.append("## What my subagents found")
        parts.extend(
            f"{plain(name, 60)}:\n\n{fence(text.splitlines(), limit=8)}"
            for name, text in reports[:4]
        )
    if said:
        parts.extend(["## You asked", "\n\n".join(quote(text) for text in said[:10])])
    return "\n\n".join(parts) + "\n"


def _size(survey: Survey) -> str:
    if not survey.paths:
        return "The folder has no files yet."
    least = "At least " if survey.is_cut else ""
    return f"{least}{counted(len(survey.paths), 'file')} in {_folders(survey.paths)}."


def _folders(paths: Sequence[str]) -> str:
    inner = {path.rsplit("/", 1)[0] for path in paths if "/" in path}
    return counted(len(inner) + 1, "folder")


def _kinds_table(survey: Survey, *, most: int) -> str:
    rows = [(plain(kind), f"{count:,}") for kind, count in kinds(survey.paths)]
    rest = sum(count for _, count in kinds(survey.paths)[most:])
    shown = rows[:most] + ([("Everything else", f"{rest:,}")] if rest else [])
    return table(("Kind of file", "Files"), shown or [("None", "0")])


def _tree(survey: Survey) -> list[str]:
    if not survey.paths:
        return ["(empty)"]
    return [
        f"{plain(name, 60)}  {counted(count, 'file')}" if count else plain(name, 60)
        for name, count in top_level(survey.paths)
    ]


def _one_line(reading: Reading) -> str:
    name, text = code(reading.path), reading.text
    if reading.problem or not text.lines:
        return f"{name}: {_why_not(reading)}"
    start = next((line for line in text.lines if line.strip()), "")
    heading = _HEADING.match(start)
    first = heading.group(1) if heading else start
    told = f", starts with {code(first, 70)}" if first else ""
    return f"{name}: {counted(text.total, 'line')}{told}"


def _about(reading: Reading) -> str:
    title, text = f"### {code(reading.path)}", reading.text
    if reading.problem or not text.lines:
        why = _why_not(reading)
        return joined(title, f"{why[0].upper()}{why[1:]}.")
    parts = [title, f"{counted(text.total, 'line')}. It starts like this:"]
    parts.append(fence(_first_lines(text.lines)))
    named = _named(text.lines)
    if named:
        parts.append(f"It holds: {', '.join(code(name, 60) for name in named[:12])}.")
    return joined(*parts)


def _why_not(reading: Reading) -> str:
    if reading.problem:
        return f"could not be read ({code(reading.problem, 90)})"
    return f"no text to show ({code(reading.text.remark, 90)})"


def _first_lines(lines: Sequence[str]) -> list[str]:
    filled = [line for line in lines if line.strip()]
    return filled[:4] or ["(empty)"]


def _named(lines: Sequence[str]) -> list[str]:
    found = [_HEADING.match(line) or _DEFINITION.match(line) for line in lines]
    return list(dict.fromkeys(match.group(1).strip() for match in found if match))


def _open_points(survey: Survey) -> list[Hit]:
    return [hit for hit in survey.hits if _MARK.search(hit.text)]
