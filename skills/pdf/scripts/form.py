"""List the fields of a PDF form, and fill them in."""

from __future__ import annotations

import argparse
import difflib
import json
import sys
from pathlib import Path
from typing import Any

# Nothing is written beside this file: it may belong to an installed program.
sys.dont_write_bytecode = True

from pdf_files import (  # noqa: E402
    EXIT_CODES,
    Trouble,
    add_options,
    open_pdf,
    pypdf,
    run,
    save,
    tell,
    tell_lost,
)

_KINDS = {"/Tx": "text", "/Btn": "button", "/Ch": "choice", "/Sig": "signature"}
_READ_ONLY, _REQUIRED = 1, 2
_RADIO, _PUSH, _EDITABLE, _SEVERAL = 1 << 15, 1 << 16, 1 << 18, 1 << 21
_OFF = "/Off"
_BUTTONS = {"checkbox", "radio"}


def show_fields(args: argparse.Namespace) -> None:
    """List the fields of a form with what they hold and may hold."""
    fields = _fields(open_pdf(args.file, args.password))
    if not fields:
        raise Trouble(f"{args.file} has no form fields that can be filled in.")
    if args.json:
        print(json.dumps(list(fields.values()), indent=2, ensure_ascii=False))
        return
    for field in fields.values():
        notes = [field["kind"]]
        if field["choices"]:
            notes.append("one of " + " | ".join(field["choices"]))
        if field["longest"]:
            notes.append(f"at most {field['longest']} characters")
        notes += [word for word in ("required", "read only") if field[word]]
        print(f"{field['name']} = {json.dumps(field['value'], ensure_ascii=False)}")
        print(f"    {', '.join(notes)}")


def fill(args: argparse.Namespace) -> None:
    """Fill in a form; every value is checked before anything is written."""
    reader = open_pdf(args.file, args.password)
    fields = _fields(reader)
    if not fields:
        raise Trouble(f"{args.file} has no form fields that can be filled in.")
    values = {name: _checked(name, value, fields) for name, value in _values(args).items()}
    writer = pypdf().PdfWriter(clone_from=reader)
    texts = {name: v for name, v in values.items() if fields[name]["kind"] not in _BUTTONS}
    _write(writer, texts)
    for name in values.keys() - texts.keys():
        _press(writer, name, values[name])
    writer.set_need_appearances_writer(True)
    save(args.out, args.force, writer.write)
    left = [f["name"] for f in fields.values() if f["required"] and not f["value"]]
    left = [name for name in left if name not in values]
    tell(f"{args.out}: {len(values)} of {len(fields)} fields filled in.")
    tell_lost([(args.file, reader)], writer, args.out)
    if "/XFA" in (reader.trailer["/Root"].get("/AcroForm") or {}):
        tell("It has an XFA form too: Acrobat may show that one, without what was filled in.")
    if left:
        tell(f"Required and still empty: {', '.join(left)}.")


def _fields(reader: Any) -> dict[str, dict[str, Any]]:
    """Return the fields by their full names, as plain values."""
    found: dict[str, dict[str, Any]] = {}
    for name, field in (reader.get_fields() or {}).items():
        flags = int(field.get("/Ff", 0) or 0)
        kind = _KINDS.get(str(field.get("/FT", "")), "")
        if kind == "button":
            kind = "" if flags & _PUSH else "radio" if flags & _RADIO else "checkbox"
        if not kind:
            continue
        found[name] = {
            "name": name,
            "kind": kind,
            "value": _plain(field.get("/V")),
            "choices": _choices(field, kind),
            "longest": _longest(field),
            "required": bool(flags & _REQUIRED),
            "read only": bool(flags & _READ_ONLY) or kind == "signature",
            "is open": kind == "choice" and bool(flags & _EDITABLE),
            "takes several": kind == "choice" and bool(flags & _SEVERAL),
        }
    return found


def _longest(field: Any) -> int:
    """Return how many characters fit in, 0 for any number; a viewer cuts off what is behind."""
    own = field.indirect_reference.get_object() if field.indirect_reference else field
    while "/MaxLen" not in own and "/Parent" in own:
        own = own["/Parent"].get_object()
    return int(own.get("/MaxLen", 0) or 0)


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    return "" if value is None else str(value)


def _choices(field: Any, kind: str) -> list[str]:
    if kind in _BUTTONS:
        states = [str(state) for state in field.get("/_States_", [])]
        return [state for state in states if state != _OFF] + [_OFF]
    if kind == "choice":
        options = [option.get_object() for option in field.get("/Opt", [])]
        return [str(option[0] if isinstance(option, list) else option) for option in options]
    return []


def _values(args: argparse.Namespace) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if args.values:
        try:
            values = json.loads(Path(args.values).read_text(encoding="utf-8-sig"))
        except (OSError, ValueError) as error:
            raise Trouble(f"{args.values} can't be read as JSON: {error}") from None
        if not isinstance(values, dict):
            raise Trouble(f'{args.values} must hold an object: {{"field": "value"}}.')
    for word in args.set:
        name, sign, value = word.partition("=")
        if not sign:
            raise Trouble(f"{word!r} is not of the form NAME=VALUE.")
        values[name] = value
    if not values:
        raise Trouble("No values were given: use --values FILE.json or --set NAME=VALUE.")
    return values


def _checked(name: str, value: Any, fields: dict[str, dict[str, Any]]) -> Any:
    field = fields.get(name)
    if field is None:
        near = difflib.get_close_matches(name, fields, 1, 0.5)
        hint = f" Did you mean {near[0]!r}?" if near else " The command `fields` lists them."
        raise Trouble(f"There is no field {name!r}.{hint}")
    if field["read only"]:
        raise Trouble(f"The field {name!r} is read only.")
    choices = field["choices"]
    if field["kind"] in _BUTTONS:
        return _state(name, value, choices)
    if isinstance(value, list) and field["takes several"]:
        return [_option(name, entry, field) for entry in value]
    return _option(name, value, field)


def _option(name: str, value: Any, field: dict[str, Any]) -> str:
    if isinstance(value, (dict, list, bool)) or value is None:
        raise Trouble(f"The value of {name!r} must be a text.")
    text = str(value)
    if field["choices"] and text not in field["choices"] and not field["is open"]:
        raise Trouble(f"{name!r} takes one of: {' | '.join(field['choices'])}.")
    if 0 < field["longest"] < len(text):
        told = f"{name!r} takes {field['longest']} characters at most; {text!r} has {len(text)}."
        raise Trouble(told)
    return text


def _state(name: str, value: Any, choices: list[str]) -> str:
    """Return the state's own name for true, false, or a name with or without its slash."""
    word = str(value).strip()
    on = [choice for choice in choices if choice != _OFF]
    if word.lower() in {"false", "off", "no", "0", ""}:
        return _OFF
    if word.lower() in {"true", "on", "yes", "1", "x"} and len(on) == 1:
        return on[0]
    named = f"/{word.lstrip('/')}"
    if named not in choices:
        raise Trouble(f"{name!r} takes one of: {' | '.join(choices)}.")
    return named


def _write(writer: Any, texts: dict[str, Any]) -> None:
    """Set texts and choices, each field under a name of its own for the time being.

    pypdf fills in `spouse.name` as well when it is given `name`.
    """
    generic = pypdf().generic
    as_name, as_text = generic.NameObject, generic.TextStringObject
    places = {name: f"field-{at}" for at, name in enumerate(texts)}
    own: list[tuple[Any, Any]] = []
    for _, field, name in _widgets(writer):
        if name in places and field["/T"] != places[name]:
            own.append((field, field["/T"]))
            field[as_name("/T")] = as_text(places[name])
    values = {places[name]: value for name, value in texts.items()}
    writer.update_page_form_field_values(None, values, auto_regenerate=False)
    for field, name in own:
        field[as_name("/T")] = name


def _press(writer: Any, name: str, state: str) -> None:
    """Set a check box or a group of radio buttons: the field, and how each button looks."""
    as_name = pypdf().generic.NameObject
    for button, field, full_name in _widgets(writer):
        if full_name == name:
            looks = button.get("/AP", {}).get("/N", {})
            button[as_name("/AS")] = as_name(state if state in looks else _OFF)
            field[as_name("/V")] = as_name(state)


def _widgets(writer: Any) -> list[tuple[Any, Any, str]]:
    """Return what is seen of the fields on the pages, with the field and its full name."""
    found: list[tuple[Any, Any, str]] = []
    for page in writer.pages:
        for annotation in page.get("/Annots") or []:
            widget = annotation.get_object()
            field = widget if "/T" in widget else widget.get("/Parent", widget).get_object()
            if widget.get("/Subtype") == "/Widget" and "/T" in field:
                found.append((widget, field, _full_name(field)))
    return found


def _full_name(field: Any) -> str:
    names: list[str] = []
    for _ in range(50):
        if "/T" in field:
            names.insert(0, str(field["/T"]))
        if "/Parent" not in field:
            break
        field = field["/Parent"].get_object()
    return ".".join(names)


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    made = argparse.ArgumentParser(
        description=__doc__, epilog=EXIT_CODES, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    fields = commands.add_parser(
        "fields", help=show_fields.__doc__, description=show_fields.__doc__
    )
    add_options(fields, ["file", "--password"])
    fields.add_argument("--json", action="store_true", help="print JSON")
    fields.set_defaults(run=show_fields)
    filled = commands.add_parser("fill", help=fill.__doc__, description=fill.__doc__)
    add_options(filled, ["file", "out", "--password", "--force"])
    filled.add_argument("--values", default="", help='a JSON file: {"field": "value", "box": true}')
    filled.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    filled.set_defaults(run=fill)
    return made


if __name__ == "__main__":
    sys.exit(run(parser()))
