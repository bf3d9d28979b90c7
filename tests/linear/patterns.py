"""Finds every regular expression in the package, by reading its source."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import desktop_agent

PACKAGE = Path(desktop_agent.__file__).parent
# Whatever is called on these names has them in its source.
_NAMES_ONE = re.compile(r"\b(?:re|regex)\b")
_CALLS = frozenset({"search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"})


@dataclass(frozen=True, slots=True)
class Found:
    """One expression: `place` is module and name, or module, function and number there.

    `pattern` is None where it is only made when the code runs.
    """

    place: str
    pattern: re.Pattern[Any] | None
    methods: frozenset[str]


def modules() -> Iterator[tuple[str, Path]]:
    """Yield the name of each module, without the package's, and its file."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if "_resources" in path.parts or "_skills" in path.parts:
            continue
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        yield name.removesuffix(".__init__"), path


def find() -> list[Found]:
    """Return all that is compiled or used as an expression anywhere in the package."""
    found: list[Found] = []
    for name, path in modules():
        source = path.read_text("utf-8")
        # Each worker does this when it collects: most modules need not be parsed for it.
        if _NAMES_ONE.search(source) and any(_calls(tree := ast.parse(source))):
            found += _in_module(name, tree, _uses(tree))
    return found


def _uses(tree: ast.Module) -> dict[str, set[str]]:
    """Return by which methods each name of a module is used there."""
    uses: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            uses.setdefault(node.value.id, set()).add(node.attr)
    return uses


def _in_module(name: str, tree: ast.Module, uses: dict[str, set[str]]) -> Iterator[Found]:
    whole = f"desktop_agent.{name}" if name else "desktop_agent"
    module = importlib.import_module(whole)
    for statement in tree.body:
        if not any(_calls(statement)):
            continue
        names = _assigned(statement)
        if names:
            for one in names:
                yield from _constant(name, one, getattr(module, one), uses)
        else:
            yield from _in_code(name, statement, module)


def _assigned(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.Assign):
        return [target.id for target in statement.targets if isinstance(target, ast.Name)]
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return [statement.target.id]
    return []


def _constant(module: str, name: str, value: object, uses: dict[str, set[str]]) -> Iterator[Found]:
    patterns = list(_held(value))
    assert patterns, f"{module}:{name} holds no expression that could be found"
    methods = frozenset(uses.get(name, set()) & _CALLS) or frozenset({"finditer"})
    for number, pattern in enumerate(patterns):
        place = f"{module}:{name}" + (f"[{number}]" if len(patterns) > 1 else "")
        yield Found(place, pattern, methods)


def _held(value: object) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        for entry in value.items():
            yield from _held(entry)
    elif isinstance(value, (tuple, list, set, frozenset)):
        for entry in value:
            yield from _held(entry)


def _in_code(module_name: str, statement: ast.stmt, module: ModuleType) -> Iterator[Found]:
    functions = [
        n for n in ast.walk(statement) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    seen: set[int] = set()
    # The innermost function first: it gives the name.
    for function in reversed(functions):
        for number, call in enumerate(c for c in _calls(function) if id(c) not in seen):
            seen.add(id(call))
            assert isinstance(call.func, ast.Attribute)
            method = call.func.attr if call.func.attr != "compile" else "finditer"
            pattern = _evaluated(call, module)
            yield Found(f"{module_name}:{function.name}()[{number}]", pattern, frozenset({method}))


def _evaluated(call: ast.Call, module: ModuleType) -> re.Pattern[Any] | None:
    assert isinstance(call.func, ast.Attribute)
    flags: list[ast.expr] = [word.value for word in call.keywords if word.arg == "flags"]
    place = {"compile": 1, "sub": 4, "subn": 4, "split": 3}.get(call.func.attr, 2)
    flags += call.args[place : place + 1]
    try:
        values = [
            eval(compile(ast.Expression(node), "", "eval"), vars(module))
            for node in (call.args[0], *flags)
        ]
    except NameError:
        return None
    return re.compile(*values)


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    for child in ast.walk(node):
        if (
            isinstance(child, ast.Call)
            and isinstance(child.func, ast.Attribute)
            and isinstance(child.func.value, ast.Name)
            and child.func.value.id in {"re", "regex"}
            and child.func.attr in {*_CALLS, "compile"}
        ):
            yield child
