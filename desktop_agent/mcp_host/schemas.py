"""A tool's JSON schema as every provider takes it.

Servers write drafts of all ages, and a provider that can't read one schema refuses the whole
request: each message fails, whatever it is about. What is changed here is told more loosely at
worst; the server itself checks what it is called with.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, cast

Schema = dict[str, Any]

# What lies deeper is anything: nobody fills that in by its schema.
_DEEPEST = 40
_TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
_OF_NAMES = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_OF_ONE = ("items", "contains", "not", "propertyNames", "if", "then", "else")
_OF_MANY = ("anyOf", "allOf")
# At the top OpenAI and Anthropic take an object and nothing else.
_NOT_AT_THE_TOP = ("$schema", "$id", "id", "$ref", "enum", "const", "not", "if", "then", "else")


def plain_schema(schema: Mapping[str, Any]) -> Schema:
    """Return the schema of a tool's arguments: an object, in JSON Schema of 2020-12."""
    whole = _plain(schema, 0)
    top = _with_choices(_followed(whole, whole), whole)
    kept = {key: value for key, value in top.items() if key not in _NOT_AT_THE_TOP}
    definitions = {key: whole[key] for key in ("$defs", "definitions") if key in whole}
    properties = top.get("properties", {})
    return {**kept, **definitions, "type": "object", "properties": properties}


def _plain(node: Any, depth: int) -> Schema:
    if not isinstance(node, Mapping) or depth > _DEEPEST:
        return {}  # `true`: anything
    schema = _renewed(dict(cast("Mapping[str, Any]", node)))
    for key in _OF_NAMES:
        if key in schema:
            inner = schema[key]
            named = inner.items() if isinstance(inner, Mapping) else ()
            schema[key] = {name: _plain(one, depth + 1) for name, one in named}
    for key in _OF_ONE:
        if key in schema:
            schema[key] = _plain(schema[key], depth + 1)
    for key in _OF_MANY:
        if key in schema:
            schema[key] = [_plain(one, depth + 1) for one in _listed(schema[key])]
            if not schema[key]:
                del schema[key]
    if isinstance(schema.get("additionalProperties"), Mapping):
        schema["additionalProperties"] = _plain(schema["additionalProperties"], depth + 1)
    return _alone(schema)


def _renewed(schema: Schema) -> Schema:
    """Return one level of a schema without what older drafts wrote otherwise."""
    _renew_type(schema)
    _renew_array(schema)
    if "oneOf" in schema:  # Gemini knows of no other choice
        schema["anyOf"] = [*_listed(schema.get("anyOf")), *_listed(schema.pop("oneOf"))]
    for key, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(schema.get(key), bool) and schema.pop(key) and bound in schema:
            schema[key] = schema.pop(bound)
    if "required" in schema:
        names = (one for one in _listed(schema.pop("required")) if isinstance(one, str))
        if required := list(dict.fromkeys(names)):
            schema["required"] = required
    return schema


def _renew_type(schema: Schema) -> None:
    given = schema.pop("type", None)
    types = [given] if isinstance(given, str) else _listed(given)
    if known := [one for one in types if isinstance(one, str) and one in _TYPES]:
        schema["type"] = known if isinstance(given, list) else known[0]
    if "const" in schema and "enum" not in schema:
        schema["enum"] = [schema.pop("const")]
    values = _listed(schema.get("enum"))
    if "type" not in schema and values and all(isinstance(one, str) for one in values):
        schema["type"] = "string"


def _renew_array(schema: Schema) -> None:
    """A list is told by what its items are: tuples have two forms, and nobody takes both."""
    items, first = schema.get("items"), _listed(schema.pop("prefixItems", None))
    schema.pop("additionalItems", None)
    places = _listed(items) or first
    if places:
        schema["items"] = _any_of(places)
    elif "array" in _listed(schema.get("type")) or schema.get("type") == "array":
        schema["items"] = items if isinstance(items, Mapping) else {}
    elif items is not None and not isinstance(items, Mapping):
        del schema["items"]


def _alone(schema: Schema) -> Schema:
    """`allOf` of one is how some describe a reference."""
    parts = schema.get("allOf", ())
    if len(parts) != 1 or "$ref" in schema:
        return schema
    return {**parts[0], **{key: value for key, value in schema.items() if key != "allOf"}}


def _with_choices(top: Schema, whole: Schema) -> Schema:
    """Return the schema with the properties of its choices as its own."""
    parts = [_followed(one, whole) for one in top.pop("allOf", ())]
    choices = [_followed(one, whole) for one in top.pop("anyOf", ())]
    properties: dict[str, list[Any]] = {}
    for one in (top, *parts, *choices):
        for name, inner in one.get("properties", {}).items():
            properties.setdefault(name, []).append(inner)
    times = Counter(name for one in choices for name in set(_required([one])))
    in_all = (name for name in _required(choices[:1]) if times[name] == len(choices))
    if names := list(dict.fromkeys((*_required([top, *parts]), *in_all))):
        top["required"] = names
    return {**top, "properties": {name: _any_of(each) for name, each in properties.items()}}


def _any_of(schemas: Iterable[Any]) -> Any:
    """Return what takes all that one of these takes."""
    distinct = list({json.dumps(one, sort_keys=True): one for one in schemas}.values())
    return distinct[0] if len(distinct) == 1 else {"anyOf": distinct}


def _required(schemas: Iterable[Schema]) -> list[str]:
    return [name for one in schemas for name in one.get("required", ())]


def _followed(node: Schema, whole: Schema) -> Schema:
    """Return what a reference at the top of a schema names, with what stands beside it."""
    for _ in range(_DEEPEST):
        reference = node.get("$ref")
        if not isinstance(reference, str):
            break
        rest = {key: value for key, value in node.items() if key != "$ref"}
        node = {**_named(reference, whole), **rest}
    return dict(node)


def _named(reference: str, whole: Schema) -> Schema:
    _, _, path = reference.partition("#/")
    found: Any = whole if path else {}
    for name in path.split("/"):
        found = found.get(name, {}) if isinstance(found, Mapping) else {}
    return found if isinstance(found, dict) else {}


def _listed(value: Any) -> list[Any]:
    return list(cast("list[Any]", value)) if isinstance(value, list) else []
