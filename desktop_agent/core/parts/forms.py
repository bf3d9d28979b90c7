"""What an MCP server asks the user for in the middle of a call: a form, or an address to open."""

from __future__ import annotations

from typing import Literal

import msgspec

from desktop_agent.core.parts.values import Value

FieldKind = Literal["text", "number", "integer", "boolean", "choice", "choices"]
FormAction = Literal["accept", "decline", "cancel"]
FieldValue = str | int | float | bool | tuple[str, ...]


class FormField(Value, frozen=True):
    """One thing to fill in, already bounded. `choices` are pairs of a value and its title.

    `default` is what it holds at first. `least` and `most` bound a number, the length of a text
    or how many of several choices there may be. `form` is `email`, `uri`, `date` or `date-time`.
    """

    name: str
    title: str = ""
    kind: FieldKind = "text"
    about: str = ""
    is_required: bool = False
    choices: tuple[tuple[str, str], ...] = ()
    default: FieldValue | None = None
    least: float | None = None
    most: float | None = None
    form: str = ""


class ServerForm(Value, frozen=True):
    """What a server asks for; with a `url` the user is to open that, and there are no fields."""

    message: str
    fields: tuple[FormField, ...] = ()
    url: str = ""
    server: str = ""


class FormAnswer(Value, frozen=True):
    """What became of a form. `values` are by the name of their field, of the fields' kinds."""

    action: FormAction
    values: dict[str, FieldValue] = msgspec.field(default_factory=dict[str, FieldValue])


def number_of(field: FormField, text: str) -> int | float | None:
    """Return what was typed as the field's kind of number; None if it is none."""
    try:
        if field.kind == "integer":
            return int(text) if len(text) <= 30 else None
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < float("inf") else None


def is_within(field: FormField, size: float) -> bool:
    """Whether a number, a length or a count is within the bounds of its field."""
    least = field.least if field.least is not None else size
    most = field.most if field.most is not None else size
    return least <= size <= most
