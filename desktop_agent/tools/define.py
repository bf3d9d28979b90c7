"""`@tool`: an async function with a pydantic model of its arguments becomes a core Tool."""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from desktop_agent.core.tool import Access, Preview, Tool, ToolContext, ToolError, ToolOutput

_SHOWN_ERRORS = 5


class Arguments(BaseModel):
    """The arguments of a tool; what a model adds on its own is left out silently."""

    model_config = ConfigDict(extra="ignore", frozen=True)


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

    Nulls count as absent, and a list or object sent as JSON text is read: models do both.
    """
    try:
        json.dumps(raw, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ToolError("the arguments hold half a character (a lone surrogate).") from None
    given = {key: value for key, value in raw.items() if value is not None}
    try:
        return arguments.model_validate(given)
    except ValidationError as error:
        first = error
    unpacked = {key: _unpacked(arguments, key, value) for key, value in given.items()}
    if unpacked != given:
        try:
            return arguments.model_validate(unpacked)
        except ValidationError as error:
            first = error
    raise ToolError(_in_words(first)) from None


def schema_of(arguments: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of the arguments, without references, titles and null unions."""
    full = arguments.model_json_schema()
    definitions = full.pop("$defs", {})
    plain = _plain(full, definitions)
    plain.pop("description", None)
    plain.setdefault("properties", {})
    return plain


def _plain(node: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
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
    result: dict[str, Any] = {}
    for key, value in node.items():
        if key == "properties":
            result[key] = {name: _plain(inner, definitions) for name, inner in value.items()}
        elif not (key == "title" or (key == "default" and value is None)):
            result[key] = _plain(value, definitions)
    return result


def _unpacked(arguments: type[BaseModel], key: str, value: Any) -> Any:
    known = arguments.model_fields.get(key)
    if known is None or known.annotation is str or not isinstance(value, str):
        return value
    if not value.lstrip().startswith(("[", "{")):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _in_words(error: ValidationError) -> str:
    lines: list[str] = []
    for problem in error.errors(include_url=False, include_context=False)[:_SHOWN_ERRORS]:
        where = ".".join(str(step) for step in problem["loc"])
        missing = problem["type"] == "missing"
        says = f"{where} is required" if missing else f"{where}: {problem['msg']}"
        lines.append(says if where else problem["msg"])
    return "; ".join(lines) + "."
