"""Every parser of text from outside: twice the text costs at most two and a half times.

`GROWTH_TABLE=FILE pytest tests/linear` writes what was measured of each.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from tests.linear import growth, hostile
from tests.linear.parsers import ELSEWHERE, PARSERS, READING
from tests.linear.patterns import modules

LARGEST = 1 << 15
_TRIED = 1 << 10
_HEAVY = 4_000_000


def test_a_module_that_reads_a_format_is_on_the_list() -> None:
    """Whoever brings in a library that parses says here what feeds it, or why that is short."""
    reading = {
        name
        for name, path in modules()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if any(top in READING for top in _imported(node))
    }
    listed = {place.partition(":")[0] for place in PARSERS} | set(ELSEWHERE)
    assert reading - listed == set()
    assert set(ELSEWHERE) - reading == set()


@pytest.mark.parametrize("place", PARSERS)
def test_twice_the_text_costs_a_parser_little_more_than_twice(
    place: str, record_growth: Callable[[str, growth.Growth, str], None]
) -> None:
    parser = PARSERS[place]
    tried: list[tuple[float, hostile.Text]] = []
    own = [hostile.Text(*parts) for parts in parser.texts]
    for text in (*own, *(hostile.common() if parser.takes_any else ())):
        if parser.bounded_at:
            break
        size, cost = growth.heaviest(_work(parser.run, text), _TRIED, _HEAVY)
        tried.append((cost / size, text))
    tried.sort(key=lambda one: -one[0])
    wanted = dict.fromkeys((*own, *(text for _, text in tried[:4])))
    measured = [
        (growth.growth(_work(parser.run, text), LARGEST, parser.bounded_at), str(text))
        for text in wanted
    ]
    worst, what = max(measured, key=lambda one: one[0].factor)
    record_growth(place, worst, what)
    assert worst.is_linear, f"{worst} for {what}"


def _work(
    run: Callable[[str], object], text: hostile.Text
) -> Callable[[int], Callable[[], object]]:
    def at(size: int) -> Callable[[], object]:
        whole = text.at(size)
        return lambda: run(whole)

    return at


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []
