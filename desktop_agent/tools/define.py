"""`@tool`: an async function with a msgspec struct of its arguments becomes a core Tool."""

from __future__ import annotations

import functools
import inspect
import json
import typing
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import msgspec

from desktop_agent.core.tool import Access, Preview, Tool, ToolContext, ToolError, ToolOutput

_SHOWN_ERRORS = 5
# Where in the value msgspec found it: "Expected `str`, got `int` - at `$[0].name`".
_PLACE = " - at `$"


class Arguments(msgspec.Struct, frozen=True):
    """The arguments of a tool; what a model adds on its own is left out silently."""


ArgumentsT = TypeVar("ArgumentsT", bound=Arguments)


def tool(
    *,
    access: Access,
    preview: Callable[[ArgumentsT, ToolContext], Awaitable[Preview]] | None = None,
    describe: Callable[[Mapping[str, Any]], str] | None = None,
    timeout_s: float | None = None,
) -> Callable[[Callable[[ArgumentsT, ToolContext], Awaitable[ToolOutput]]], Tool]:
    """Make the decorated `name(args: SomeArguments, ctx: ToolContext)` a Tool.

    Its docstring is the description that models read.
    """

    def make(run: Callable[[ArgumentsT, ToolContext], Awaitable[ToolOutput]]) -> Tool:
        name = getattr(run, "__name__", "tool")
        arguments: type[ArgumentsT] = typing.get_type_hints(run)["args"]
        return Tool(
            name=name,
            description=inspect.cleandoc(run.__doc__ or ""),
            schema=schema_of(arguments),
            access=access,
            parse=lambda raw: parse(arguments, raw),
            run=run,
            preview=preview,
            describe=describe,
            timeout_s=timeout_s,
        )

    return make


def parse(arguments: type[ArgumentsT], raw: Mapping[str, Any]) -> ArgumentsT:
    """Check raw arguments; raises ToolError in words for the model.

    Nulls count as absent, and a list, object or number sent as text is read: models do all three.
    """
    try:
        json.dumps(raw, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ToolError("the arguments hold half a character (a lone surrogate).") from None
    values: dict[str, Any] = {}
    problems: list[str] = []
    for field in _fields(arguments):
        given = raw.get(field.name)
        if given is not None:
            try:
                values[field.name] = _converted(given, field.type)
            except msgspec.ValidationError as error:
                problems.append(_error_text(field.name, field.type, error))
        elif field.required:
            problems.append(f"{field.name} is required")
    if problems:
        raise ToolError("; ".join(problems[:_SHOWN_ERRORS]) + ".")
    return arguments(**values)


@functools.cache
def _fields(arguments: type[Arguments]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(arguments)


def _converted(value: Any, kind: Any) -> Any:
    try:
        return msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError as as_given:
        if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")):
            raise
        try:
            return msgspec.json.decode(value, type=kind, strict=False)
        except msgspec.ValidationError:
            raise
        except (msgspec.DecodeError, RecursionError):
            raise as_given from None


def _error_text(name: str, kind: Any, error: msgspec.ValidationError) -> str:
    message, _, place = str(error).partition(_PLACE)
    if message.startswith("Invalid enum value"):
        # It repeats the value, which may be long, and keeps what was expected to itself.
        allowed = msgspec.json.schema(kind).get("enum", [])
        message = f"Expected one of {', '.join(map(str, allowed))}" if allowed else "Invalid value"
    return f"{name}{place.rstrip('`')}: {message}"


def schema_of(arguments: type[Arguments]) -> dict[str, Any]:
    """Return the JSON schema of the arguments as every provider takes it.

    Without references, titles and null unions, and with a type beside each enumeration.
    """
    full = msgspec.json.schema(arguments)
    plain = _plain(full, full["$defs"])
    plain.pop("description", None)
    if not plain["required"]:
        del plain["required"]
    return plain


def _plain(node: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(node, list | tuple):
        return [_plain(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = definitions[node["$ref"].rsplit("/", 1)[-1]]
        node = {**target, **{key: value for key, value in node.items() if key != "$ref"}}
    options = node.get("anyOf")
    if options and {"type": "null"} in options:
        real = [option for option in options if option != {"type": "null"}]
        if len(real) == 1:
            node = {**{key: value for key, value in node.items() if key != "anyOf"}, **real[0]}
    if "enum" in node:
        node = {"type": "string", **node}
    result: dict[str, Any] = {}
    for key, value in node.items():
        if key == "properties":
            result[key] = {name: _plain(inner, definitions) for name, inner in value.items()}
        elif key not in ("title", "$defs") and not (key == "default" and value is None):
            result[key] = _plain(value, definitions)
    return result
