"""What servers ask the user for, cut to what the app takes, and the answer as the SDK's."""

from __future__ import annotations

import math
from typing import Any, cast
from urllib.parse import urlsplit

import mcp_types

from desktop_agent.core.parts.forms import FieldKind, FieldValue, FormAnswer, FormField, ServerForm
from desktop_agent.mcp_host.bounds import cut

MOST_FIELDS = 20
MOST_CHOICES = 100
LONGEST_NAME = 200
LONGEST_LINE = 300
LONGEST_MESSAGE = 2_000
LONGEST_ADDRESS = 2_000
LONGEST_VALUE = 10_000
_FORMS = frozenset({"email", "uri", "date", "date-time"})
_NUMBERS: dict[str, FieldKind] = {"number": "number", "integer": "integer"}
_LOCAL = frozenset({"127.0.0.1", "localhost", "::1"})


class Unfit(Exception):
    """A form that nobody can be asked to fill in; the text tells the server why."""


def form_of(asked: mcp_types.ElicitRequestParams) -> ServerForm:
    """Return what is asked for. Raises Unfit."""
    message = cut(asked.message.strip(), LONGEST_MESSAGE)
    if isinstance(asked, mcp_types.ElicitRequestURLParams):
        return ServerForm(message, url=_address(asked.url))
    properties = asked.requested_schema.get("properties", {})
    if not isinstance(properties, dict) or len(cast("dict[str, Any]", properties)) > MOST_FIELDS:
        raise Unfit(f"A form has at most {MOST_FIELDS} fields.")
    required = asked.requested_schema.get("required", ())
    needed = frozenset(map(str, cast("list[Any]", required))) if isinstance(required, list) else ()
    given = cast("dict[str, Any]", properties).items()
    return ServerForm(message, tuple(_field(name, one, name in needed) for name, one in given))


def elicit_result(answer: FormAnswer) -> mcp_types.ElicitResult:
    """Return the answer as it goes to the server."""
    if answer.action != "accept":
        return mcp_types.ElicitResult(action=answer.action)
    values: dict[str, Any] = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in answer.values.items()
    }
    return mcp_types.ElicitResult(action="accept", content=values)


def _address(url: str) -> str:
    """Return an address that a person may be shown: the web's, and whole. Raises Unfit."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        raise Unfit("This is no address.") from None
    is_known = parts.scheme == "https" or (parts.scheme == "http" and host in _LOCAL)
    if not is_known or not host or parts.username is not None or parts.password is not None:
        raise Unfit("An address has to begin with https:// and to hold no password.")
    if len(url) > LONGEST_ADDRESS or not url.isascii() or not url.isprintable() or " " in url:
        raise Unfit("The address is too long, or holds signs that an address can't hold.")
    return url


def _field(name: str, schema: Any, is_required: bool) -> FormField:
    if not isinstance(schema, dict) or not 0 < len(name) <= LONGEST_NAME:
        raise Unfit("A field has a name and a schema.")
    said = cast("dict[str, Any]", schema)
    kind, choices = _kind(said)
    limits = _limits(said, kind)
    return FormField(
        name,
        cut(_text(said.get("title")), LONGEST_NAME),
        kind,
        cut(_text(said.get("description")), LONGEST_LINE),
        is_required,
        choices,
        _default(said.get("default"), kind, choices),
        *limits,
        form if (form := _text(said.get("format"))) in _FORMS else "",
    )


def _kind(said: dict[str, Any]) -> tuple[FieldKind, tuple[tuple[str, str], ...]]:
    kind = said.get("type")
    if kind == "array" and isinstance(items := said.get("items"), dict):
        choices = _choices(cast("dict[str, Any]", items))
        if choices:
            return "choices", choices
    elif kind == "boolean":
        return "boolean", ()
    elif kind in _NUMBERS:
        return _NUMBERS[kind], ()
    elif kind == "string":
        choices = _choices(said)
        return ("choice", choices) if choices else ("text", ())
    raise Unfit("A field is a string, a number, a boolean or a choice.")


def _choices(said: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the values and their titles, in any of the forms of the protocol's versions."""
    values, names = said.get("enum"), said.get("enumNames")
    titled = said.get("oneOf", said.get("anyOf"))
    pairs: list[tuple[Any, Any]] = []
    if isinstance(values, list):
        listed = cast("list[Any]", values)
        shown = cast("list[Any]", names) if isinstance(names, list) else listed
        pairs = list(zip(listed, shown, strict=False))
    elif isinstance(titled, list):
        each = (one for one in cast("list[Any]", titled) if isinstance(one, dict))
        pairs = [(one.get("const"), one.get("title", one.get("const"))) for one in each]
    if len(pairs) > MOST_CHOICES:
        raise Unfit(f"There are at most {MOST_CHOICES} choices.")
    fit = ((one, name) for one, name in pairs if isinstance(one, str) and len(one) <= LONGEST_NAME)
    found = {value: cut(_text(title) or value, LONGEST_NAME) for value, title in fit}
    return tuple(found.items())


def _default(
    value: Any, kind: FieldKind, choices: tuple[tuple[str, str], ...]
) -> FieldValue | None:
    values = frozenset(dict(choices))
    match kind:
        case "boolean":
            return value if isinstance(value, bool) else None
        case "number" | "integer":
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            return value if is_number and math.isfinite(value) else None
        case "text":
            return value if isinstance(value, str) and len(value) <= LONGEST_VALUE else None
        case "choice":
            return value if isinstance(value, str) and value in values else None
        case "choices":
            listed = cast("list[Any]", value) if isinstance(value, list) else []
            return tuple(one for one in listed if isinstance(one, str) and one in values) or None


def _limits(said: dict[str, Any], kind: FieldKind) -> tuple[float | None, float | None]:
    names = {
        "text": ("minLength", "maxLength"),
        "choices": ("minItems", "maxItems"),
        "number": ("minimum", "maximum"),
        "integer": ("minimum", "maximum"),
    }.get(kind)
    found = [said.get(name) for name in names] if names is not None else [None, None]
    least, most = (
        float(one) if isinstance(one, int | float) and abs(one) < 1e300 else None for one in found
    )
    return least, most


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
