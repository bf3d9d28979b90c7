"""Words and numbers of the page of usage, and the same as a file. What is unknown is never 0."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from datetime import date, timedelta
from typing import Literal

from PySide6.QtCore import QDate, QLocale

from desktop_agent.core.usage import UsageLine, UsageReport
from desktop_agent.gui.kit.safe_text import one_line, with_marks
from desktop_agent.gui.kit.text import short_count, translate, with_plural

Grouping = Literal["model", "session", "day"]
Measure = Literal["cost", "tokens"]
# Days of a period; 0 is all there is.
PERIODS = (7, 30, 90, 0)
# So many bars can still be told apart.
_MOST_BARS = 120
_MONTH = len("2026-11")
_LONGEST = 300
_FIELDS = ("requests", "input_tokens", "output_tokens", "cached_tokens", "cost")
_UNKNOWN = ("uncounted", "unpriced")


def first_day(days: int, today: date) -> str:
    """Return the first day of a period that ends today; empty for all there is."""
    return (today - timedelta(days - 1)).isoformat() if days else ""


def amount(line: UsageLine, measure: Measure) -> float:
    """Return what is known of it."""
    return line.cost if measure == "cost" else float(line.tokens)


def unknown(line: UsageLine, measure: Measure) -> int:
    """Return of how many requests it is not known."""
    return line.unpriced if measure == "cost" else line.uncounted


def amount_text(line: UsageLine, measure: Measure) -> str:
    """Return it for people: `$1.20`, `12.4k`, `unknown`, `$1.20 + unknown`."""
    if not line.requests:
        return "–"
    lacks = unknown(line, measure)
    if lacks == line.requests:
        return translate("Usage", "unknown")
    known = _money(line.cost) if measure == "cost" else short_count(line.tokens)
    return translate("Usage", "{known} + unknown").format(known=known) if lacks else known


def _money(dollars: float) -> str:
    return "<$0.01" if 0 < dollars < 0.005 else f"${dollars:,.2f}"


def count_text(line: UsageLine, count: int) -> str:
    """Return a number of tokens of one kind; one that nobody counted is unknown."""
    if not count and line.uncounted:
        return translate("Usage", "unknown")
    return f"{count:,}"


def summary_text(total: UsageLine) -> str:
    """Return what was used, on one line."""
    if not total.requests:
        return ""
    requests = with_plural(translate("Usage", "{n} request(s)"), total.requests)
    tokens = translate("Usage", "{tokens} tokens").format(tokens=amount_text(total, "tokens"))
    if total.uncounted == total.requests:
        tokens = translate("Usage", "tokens unknown")
    cost = amount_text(total, "cost")
    if total.unpriced == total.requests:
        cost = translate("Usage", "cost unknown")
    return " · ".join((cost, tokens, requests.format(n=f"{total.requests:,}")))


def unknown_text(total: UsageLine) -> str:
    """Return of how many requests something is not known; empty if of none."""
    said: list[str] = []
    if total.unpriced:
        words = translate("Usage", "the price of {n} request(s) is not known")
        said.append(with_plural(words, total.unpriced).format(n=f"{total.unpriced:,}"))
    if total.uncounted:
        words = translate("Usage", "the tokens of {n} request(s) are not known")
        said.append(with_plural(words, total.uncounted).format(n=f"{total.uncounted:,}"))
    text = translate("Usage", ", and ").join(said)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def name_text(line: UsageLine, grouping: Grouping) -> str:
    """Return what a line is called. The names of models and sessions are anybody's words."""
    if line.stands_for > 1 and not line.key:
        others = translate("Usage", "{n} others")
        return others.format(n=f"{line.stands_for:,}")
    if grouping == "day":
        return day_text(line.key)
    if grouping == "model":
        return _safe(line.key) or translate("Usage", "Unknown model")
    if not line.key:
        return translate("Usage", "Erased sessions")
    return _safe(line.title) or translate("Usage", "Untitled")


def _safe(text: str) -> str:
    return with_marks(one_line(text[:_LONGEST]))


def day_text(key: str, *, is_short: bool = False) -> str:
    """Return a day or a month as people write it."""
    if len(key) == _MONTH:
        shown = QDate.fromString(f"{key}-01", "yyyy-MM-dd")
        return QLocale().toString(shown, "MMM yyyy")
    shown = QDate.fromString(key, "yyyy-MM-dd")
    return QLocale().toString(shown, "d MMM" if is_short else "ddd d MMM yyyy")


def bars(report: UsageReport, today: date) -> list[UsageLine]:
    """Return a line for each day of the period, or month, also for those without a request."""
    known = {line.key: line for line in report.days}
    keys = _months(report, today) if not report.since else _days(report.since, today)
    return [known.get(key) or UsageLine(key) for key in keys]


def _days(since: str, today: date) -> list[str]:
    first = date.fromisoformat(since)
    count = min((today - first).days + 1, _MOST_BARS)
    return [(today - timedelta(back)).isoformat() for back in reversed(range(count))]


def _months(report: UsageReport, today: date) -> list[str]:
    first = report.days[0].key if report.days else ""
    year, month, keys = today.year, today.month, list[str]()
    while len(keys) < _MOST_BARS:
        keys.append(f"{year:04}-{month:02}")
        if keys[-1] <= first or not first:
            break
        year, month = (year, month - 1) if month > 1 else (year - 1, 12)
    return keys[::-1]


def lines_of(report: UsageReport, grouping: Grouping, measure: Measure) -> list[UsageLine]:
    """Return the lines of a table: the newest day first, else what used the most."""
    if grouping == "day":
        return list(report.days[::-1])
    lines = report.models if grouping == "model" else report.sessions
    return sorted(lines, key=lambda line: -amount(line, measure))


def as_csv(report: UsageReport) -> str:
    """Return all of it for a spreadsheet. A sum that lacks something is empty if all is lacking."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(("by", "name", *_FIELDS, *(f"{name}_requests" for name in _UNKNOWN)))
    writer.writerows(_csv_rows("day", report.days))
    writer.writerows(_csv_rows("model", report.models))
    writer.writerows(_csv_rows("session", report.sessions))
    return file.getvalue()


def _csv_rows(grouping: Grouping, lines: Iterable[UsageLine]) -> Iterable[tuple[object, ...]]:
    for line in lines:
        is_day = grouping == "day" and line.key
        name = line.key if is_day else name_text(line, grouping)
        tokens = (line.input_tokens, line.output_tokens, line.cached_tokens)
        shown = ("", "", "") if line.uncounted == line.requests else tokens
        cost = "" if line.unpriced == line.requests else f"{line.cost:.6f}"
        yield (
            grouping,
            _no_formula(name),
            line.requests,
            *shown,
            cost,
            line.uncounted,
            line.unpriced,
        )


def _no_formula(text: str) -> str:
    """A spreadsheet would run what begins like a formula."""
    return f"'{text}" if text[:1] in "=+-@\t\r" and text else text
