"""Every regular expression of the package: twice the text costs at most two and a half times.

`GROWTH_TABLE=FILE pytest tests/linear` writes what was measured of each.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.linear import growth, hostile
from tests.linear.patterns import Found, find, modules

LARGEST = 1 << 16
_TRIED = 1 << 10
_HEAVY = 2_000_000

# Used in a loop over a table, where reading the source does not show how.
METHODS = {
    "adapters.skills.fetch.address:_BITBUCKET": "fullmatch",
    "adapters.skills.fetch.address:_GITEA": "fullmatch",
    "adapters.skills.fetch.address:_GITHUB": "fullmatch",
    "adapters.skills.fetch.address:_GITLAB": "fullmatch",
    "core.keys.redaction:_SHAPES": "sub",
    "engine.permissions.protected_files:_asked_name()": "match",
    "engine.permissions.protected_files:_secret_name()": "match",
    "model_host.demo.orders:_ORDERS": "fullmatch",
    "model_host.demo.orders:_WISHES": "search",
    "model_host.litellm_client.faults:_BY_WORDS": "search",
}
# Made when the code runs: what they look like then.
MADE = {
    "gui.transcript.document.markdown:open_fence()[1]": re.compile(
        r"^ {0,3}`{3,}[ \t]*$", re.MULTILINE
    ),
    # Only compiled there, to see whether it can be; what it may match is one character.
    "tools.files.walk:_character_class()[1]": re.compile("[a-z!]"),
    # The escaped words of a search.
    "adapters.store.search:__init__()[0]": re.compile("retry before|retry|before"),
}
# `regex` ends these itself: tests/tools/files/test_search.py.
ENDED = {"tools.files.patterns:__init__()[0]", "engine.workspace.ignored_files:_ignored()[0]"}

# What the pieces of a pattern do not lead to.
EVIL: dict[str, tuple[hostile.Text, ...]] = {
    "engine.skills.instructions:_POINTER": (
        hostile.Text("", "#\n", ""),
        hostile.Text("# a\n", "\n", "x"),
        hostile.Text("", "see AGENTS.md ", "\n!"),
        hostile.Text("see ", "a/", "!"),
        hostile.Text("", "../", "AGENTS.md x"),
    ),
}

FOUND = find()


def test_no_expression_is_hidden_from_these_tests() -> None:
    """Each is made by `re` or `regex` under these names, so that it is found."""
    hidden: list[str] = []
    for name, path in modules():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module in {"re", "regex"}:
                hidden.append(f"{name}:{node.lineno} takes names out of {node.module}")
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                hidden += [
                    f"{name}:{node.lineno} brings another kind, or name, of expressions"
                    for alias in node.names
                    if alias.name in {"sre_parse", "sre_compile", "QRegularExpression"}
                    or (alias.name in {"re", "regex"} and alias.asname)
                ]
    assert hidden == []


def test_the_tables_name_only_what_there_is() -> None:
    places = {found.place for found in FOUND}
    bare = {place.partition("[")[0] for place in places}
    assert {*MADE, *ENDED} == {found.place for found in FOUND if found.pattern is None}
    assert set(METHODS) <= bare
    assert set(EVIL) <= places


@pytest.mark.parametrize(
    "found", [one for one in FOUND if one.place not in ENDED], ids=lambda found: found.place
)
def test_twice_the_text_costs_an_expression_little_more_than_twice(
    found: Found, record_growth: Callable[[str, growth.Growth, str], None]
) -> None:
    pattern = found.pattern if found.pattern is not None else MADE[found.place]
    method = METHODS.get(found.place.partition("[")[0])
    worst, what = _worst(pattern, {method} if method else found.methods, EVIL.get(found.place, ()))
    record_growth(found.place, worst, what)
    assert worst.is_linear, f"{worst} for {what}"


def test_no_group_is_repeated_possessively() -> None:
    """Python 3.11.0 to 3.11.4, which Debian 12 has, matches such wrongly (gh-106052)."""
    possessive = re.compile(r"(?<!\\)\)(?:[*+?]|\{[\d,]*\})\+|\(\?>")
    patterns = [(found.place, found.pattern) for found in FOUND]
    wrong = [
        place
        for place, one in patterns
        if isinstance(one, re.Pattern) and possessive.search(str(one.pattern))
    ]
    assert wrong == []


def test_work_that_grows_with_the_square_is_noticed() -> None:
    """The measure itself: an expression of which it is known."""
    worst, _ = _worst(re.compile(r"\s+$"), {"search"}, ())
    assert worst.factor > 3


def _worst(
    pattern: re.Pattern[Any], methods: set[str] | frozenset[str], evil: tuple[hostile.Text, ...]
) -> tuple[growth.Growth, str]:
    """Return the growth for the worst of many texts, and which that is.

    All are tried at a small size; those that cost the most are measured.
    """
    tried: list[tuple[float, str, hostile.Text]] = []
    for method in sorted(methods):
        for text in (*evil, *hostile.texts(pattern)):
            size, cost = growth.heaviest(_work(pattern, method, text), _TRIED, _HEAVY)
            tried.append((cost / size, method, text))
            if cost > _HEAVY or text in evil:
                found = growth.growth(_work(pattern, method, text), LARGEST)
                if not found.is_linear:
                    return found, f"{method} {text}"
    tried.sort(key=lambda one: -one[0])
    measured: list[tuple[growth.Growth, str]] = []
    for _, method, text in tried[:3]:
        measured.append((growth.growth(_work(pattern, method, text), LARGEST), f"{method} {text}"))
        if not measured[-1][0].is_linear:
            break
    return max(measured, key=lambda one: one[0].factor)


def _work(
    pattern: re.Pattern[Any], method: str, text: hostile.Text
) -> Callable[[int], Callable[[], object]]:
    def at(size: int) -> Callable[[], object]:
        whole: Any = text.at(size)
        if isinstance(pattern.pattern, bytes):
            whole = whole.encode()
        if method in {"sub", "subn"}:
            return lambda: pattern.sub(lambda _: whole[:0], whole)
        if method in {"findall", "finditer", "split"}:
            return lambda: sum(1 for _ in pattern.finditer(whole))
        return lambda: getattr(pattern, method)(whole)

    return at
