"""Front matter as PyYAML's safe parser sees it, with bounds; and what is left when it can't."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

import msgspec
import yaml

_DEEPEST = 20
_MOST_ALIASES = 50
# With what aliases stand for.
_MOST_VALUES = 10_000

_TAB = re.compile(r"^[ ]*[A-Za-z][A-Za-z0-9_-]*:[ ]*\t", re.MULTILINE)
_LINE = re.compile(r"([A-Za-z][A-Za-z0-9_-]*):(.*)")
_parse: Any = getattr(yaml, "parse")  # noqa: B009 - it has no types
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class YamlFields(msgspec.Struct, frozen=True):
    """What was read; `problem` tells why nothing was."""

    fields: dict[str, object] = {}
    warnings: tuple[str, ...] = ()
    problem: str = ""


class _TooMuch(Exception):
    """The head goes beyond the bounds; the text says which."""


def read(head: str) -> YamlFields:
    """Read a head; one that is not YAML is repaired, or else read line by line."""
    try:
        return _Reading(head).whole()
    except _TooMuch as error:
        return YamlFields(problem=str(error))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        first = _error_text(error)
    try:
        mended = _Reading(_quoted(head)).whole()
        if not mended.problem:
            return YamlFields(mended.fields, (*mended.warnings, _REPAIRED.format(first)))
    except _TooMuch as error:
        return YamlFields(problem=str(error))
    except (yaml.YAMLError, ValueError, RecursionError):
        pass
    lines: dict[str, object] = dict(_lines(head))
    if not lines:
        return YamlFields(problem=f"Its front matter can't be read as YAML: {first}")
    return YamlFields(lines, (_BY_LINE.format(first),))


_REPAIRED = "Its front matter is not quite YAML and was repaired: {}"
_BY_LINE = "Its front matter is not YAML and was read line by line: {}"


class _Reading(msgspec.Struct):
    """One pass over a head's events. All values stay text."""

    head: str
    _anchors: dict[str, tuple[object, int]] = {}
    _odd: dict[str, None] = {}
    _aliases: int = 0
    _depth: int = 0
    _values: int = 0

    def whole(self) -> YamlFields:
        # The parser hands out events one by one: nothing is built that was not counted.
        events: Iterator[Any] = _parse(self.head, Loader=_Loader)
        next(events)  # the stream
        value: object = ""
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                value = self._value(next(events), events)
                break
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                raise yaml.YAMLError("it holds more than one document")
        if not isinstance(value, dict):
            return YamlFields(problem="Its front matter is not a list of fields.")
        if _TAB.search(self.head):
            self._odd["a tab behind a field's colon"] = None
        warnings = tuple(f"The standard's validator refuses {what}." for what in self._odd)
        return YamlFields(cast(dict[str, object], value), warnings)

    def _value(self, event: Any, events: Iterator[Any]) -> object:
        before = self._values
        self._count(1)
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event.anchor)
        if event.tag is not None and not (isinstance(event, yaml.ScalarEvent) and event.style):
            self._odd["a tag (!)"] = None
        value = self._collection(event, events)
        if event.anchor is not None:
            self._odd["an anchor (&)"] = None
            self._anchors[event.anchor] = (value, self._values - before)
        return value

    def _alias(self, anchor: str) -> object:
        self._aliases += 1
        if self._aliases > _MOST_ALIASES:
            raise _TooMuch(f"Its front matter has more than {_MOST_ALIASES} aliases.")
        if anchor not in self._anchors:
            raise yaml.YAMLError(f"the alias {anchor!r} has no anchor")
        value, size = self._anchors[anchor]
        self._count(size)
        return value

    def _count(self, values: int) -> None:
        self._values += values
        if self._values > _MOST_VALUES:
            raise _TooMuch(f"Its front matter grows to more than {_MOST_VALUES:,} values.")

    def _collection(self, event: Any, events: Iterator[Any]) -> object:
        if isinstance(event, yaml.ScalarEvent):
            return str(event.value)
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _TooMuch(f"Its front matter is nested more than {_DEEPEST} deep.")
        if event.flow_style:
            self._odd["lists and maps in brackets"] = None
        is_map = isinstance(event, yaml.MappingStartEvent)
        value = self._map(events) if is_map else self._list(events)
        self._depth -= 1
        return value

    def _list(self, events: Iterator[Any]) -> list[object]:
        values: list[object] = []
        for event in events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            values.append(self._value(event, events))
        return values

    def _map(self, events: Iterator[Any]) -> dict[str, object]:
        values: dict[str, object] = {}
        for event in events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            key = self._value(event, events)
            if not isinstance(key, str):
                raise yaml.YAMLError("a key is a list or a map")
            if key in values:
                self._odd[f"the field {key[:40]!r} twice"] = None
            values[key] = self._value(next(events), events)
        return values


def _quoted(head: str) -> str:
    """Put quotes around the values of top-level fields that are text and should have had them."""
    lines: list[str] = []
    for line in head.split("\n"):
        found = _LINE.fullmatch(line)
        value = found[2].strip() if found is not None else ""
        if found is None or not value or not _lacks_quotes(line, value):
            lines.append(line)
            continue
        if value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1]  # it holds quotes that seem to end it
        value = value.replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'{found[1]}: "{value}"')
    return "\n".join(lines)


def _lacks_quotes(line: str, value: str) -> bool:
    """Whether a value is plain text, which may hold colons, or begins like something else."""
    first = value[0]
    if first in "|>":
        return False
    if first in "&*!":
        return not _stands_alone(line)
    closing = {"[": "]", "{": "}", "'": "'", '"': '"'}.get(first)
    # What ends on a later line is left as it is.
    return closing is None or (closing in value[1:] and not _stands_alone(line))


def _stands_alone(line: str) -> bool:
    try:
        for _ in _parse(line, Loader=_Loader):
            pass
    except (yaml.YAMLError, ValueError, RecursionError):
        return False
    return True


def _lines(head: str) -> Iterator[tuple[str, str]]:
    """Yield the top-level fields, with the indented lines that follow joined to them."""
    key, parts = "", list[str]()
    for line in head.split("\n"):
        found = _LINE.fullmatch(line)
        if found is None:
            if key and line.strip() and line[0] in " \t":
                parts.append(line.strip())
            continue
        if key:
            yield key, _unquoted(" ".join(parts))
        key, parts = found[1], [found[2].strip()]
    if key:
        yield key, _unquoted(" ".join(parts))


def _unquoted(value: str) -> str:
    value = value.removeprefix("|").removeprefix(">").strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1]
    return value


def _error_text(error: Exception) -> str:
    """Say what the parser did not like, with the line in the file."""
    problem = getattr(error, "problem", None) or str(error).split("\n", 1)[0]
    mark = getattr(error, "problem_mark", None)
    # The head begins in the line of dashes.
    where = f" (line {mark.line + 1})" if mark is not None else ""
    return f"{str(problem).rstrip('.')[:200]}{where}."
