"""A batch's results for people: lines for a terminal, and one HTML file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from desktop_agent.core.usage import Usage
from desktop_agent.headless.output import one_line, visible
from desktop_agent.outpost.results import Result

_PROMPT = 48
_TITLE = 200
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid #8884; padding: .4rem .6rem; text-align: left; }
th, td { vertical-align: top; }
td.number, th.number { text-align: right; white-space: nowrap; }
.failed { color: #b3261e; } @media (prefers-color-scheme: dark) { .failed { color: #ff8a80; } }
pre { background: #8881; overflow-x: auto; padding: .6rem; white-space: pre-wrap; }
summary { cursor: pointer; }
"""
_HUNK = re.compile(r"^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@", re.MULTILINE)


def text(results: Sequence[Result]) -> str:
    """Return a line for each result under a heading, and the sums."""
    rows = [("", "result", "seconds", "cost", "changes", "job")]
    rows += [
        (str(n), *_figures(one), one_line(one.prompt, _PROMPT)) for n, one in enumerate(results, 1)
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    lines = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]])
        for row in rows
    ]
    return "\n".join([*(line.rstrip() for line in lines), "", summary(results)])


def summary(results: Sequence[Result]) -> str:
    """Return what all of them came to, on one line."""
    done = sum(one.reason == "finished" for one in results)
    return (
        f"{done} of {len(results)} finished · {sum(one.seconds for one in results):.0f} s of work "
        f"· {money((one.usage.cost for one in results), lacks=any(map(lacks_cost, results)))}"
    )


def lacks_cost(result: Result) -> bool:
    """Whether it is not known what a job cost; one that failed without an answer cost nothing."""
    usage = result.usage
    return usage.cost is None and (usage != Usage() or result.reason == "finished")


def money(costs: Iterable[float | None], *, lacks: bool) -> str:
    """Return what amounts come to; `lacks`: there are more, which are not known."""
    known = [cost for cost in costs if cost is not None]
    if not lacks:
        return dollars(sum(known))
    return f"{dollars(sum(known))} + unknown" if known else "cost unknown"


def dollars(cost: float) -> str:
    """Return an amount of money."""
    return f"${cost:.2f}" if cost >= 0.005 or not cost else f"${cost:.4f}"


def page(results: Sequence[Result]) -> str:
    """Return a whole HTML page: no script, nothing from elsewhere, all that was said escaped."""
    return "".join(_page(results))


def _page(results: Sequence[Result]) -> Iterator[str]:
    yield (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Results</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>Results</h1>\n"
        f"<p>{escape(summary(results))}</p>\n<table>\n<tr><th>Job</th><th>Result</th>"
        '<th class="number">Seconds</th><th class="number">Cost</th>'
        '<th class="number">Changes</th><th>Place</th></tr>\n'
    )
    for one in results:
        reason, seconds, cost, changes = map(escape, _figures(one))
        kind = "" if one.reason == "finished" else ' class="failed"'
        yield (
            f"<tr><td><details><summary>{_said(one_line(one.prompt, _TITLE))}</summary>"
            f"{_block('Job', one.prompt)}{_block('Error', one.error)}"
            f"{_block('Answer', one.text)}{_block('Changes', one.patch)}</details></td>"
            f'<td{kind}>{reason}</td><td class="number">{seconds}</td>'
            f'<td class="number">{cost}</td><td class="number">{changes}</td>'
            f"<td>{_said(one.place)}</td></tr>\n"
        )
    yield "</table>\n</body>\n</html>\n"


def _figures(result: Result) -> tuple[str, str, str, str]:
    cost = result.usage.cost
    return (
        result.reason,
        f"{result.seconds:.1f}",
        "–" if cost is None else dollars(cost),
        _changes(result.patch),
    )


def _changes(patch: str) -> str:
    """Return how many lines a patch adds and removes, and in how many files."""
    files = added = removed = 0
    left = right = 0
    for line in patch.split("\n"):
        if left > 0 or right > 0:
            is_added, is_removed = line.startswith("+"), line.startswith("-")
            added, removed = added + is_added, removed + is_removed
            left -= not is_added and not line.startswith("\\")
            right -= not is_removed and not line.startswith("\\")
        elif line.startswith("diff --git "):
            files += 1
        elif found := _HUNK.match(line):
            left, right = (int(count) if count is not None else 1 for count in found.groups())
    if not files:
        return "none"
    return f"{files} {'file' if files == 1 else 'files'} +{added} −{removed}"


def _block(name: str, said: str) -> str:
    return f"<h4>{name}</h4><pre>{_said(said)}</pre>" if said.strip() else ""


def _said(words: str) -> str:
    return escape(visible(words))
