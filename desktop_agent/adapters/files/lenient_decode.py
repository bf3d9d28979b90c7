"""Reading records written by other versions or by hand: one wrong field costs only itself."""

from __future__ import annotations

from typing import Any, TypeVar, get_args, get_origin

import msgspec

_Record = TypeVar("_Record", bound=msgspec.Struct)


def convert_leniently(raw: object, kind: type[_Record]) -> tuple[_Record, tuple[str, ...]]:
    """Return the record and the names of the fields that were wrong and left at their default.

    Unknown fields are dropped. Raises msgspec.ValidationError when a field without a default
    is missing or wrong.
    """
    if not isinstance(raw, dict):
        raise msgspec.ValidationError(f"expected an object, got {type(raw).__name__}")
    good: dict[str, Any] = {}
    wrong: list[str] = []
    for field in msgspec.structs.fields(kind):
        if field.encode_name not in raw:
            continue
        try:
            good[field.name], inside = _value(raw[field.encode_name], field.type)
            wrong += [f"{field.name}.{name}" for name in inside]
        except msgspec.ValidationError:
            wrong.append(field.name)
    try:
        return kind(**good), tuple(wrong)
    except TypeError as error:
        raise msgspec.ValidationError(str(error)) from None


def _value(raw: object, kind: Any) -> tuple[Any, tuple[str, ...]]:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return convert_leniently(raw, kind)
    inside = get_args(kind)
    if get_origin(kind) is tuple and inside[1:] == (...,) and isinstance(raw, list):
        return _records(raw, inside[0])
    return msgspec.convert(raw, kind), ()


def _records(raw: list[Any], kind: Any) -> tuple[Any, tuple[str, ...]]:
    """Return what of a list can be read: one wrong entry costs no other."""
    good: list[Any] = []
    wrong: list[str] = []
    for number, one in enumerate(raw, start=1):
        try:
            good.append(msgspec.convert(one, kind))
        except msgspec.ValidationError:
            wrong.append(str(number))
    return tuple(good), tuple(wrong)
