"""Writes down what was measured, when it is asked for."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.linear.growth import Growth


@pytest.fixture
def record_growth() -> Callable[[str, Growth, str], None]:
    """Add a line to the file that GROWTH_TABLE names: factor, size, time, place, text."""
    name = os.environ.get("GROWTH_TABLE")

    def record(place: str, growth: Growth, text: str) -> None:
        if name:
            line = f"{growth.factor:5.2f} {growth.size:7} {growth.nanoseconds / 1e6:8.2f} ms"
            with Path(name).open("a", encoding="utf-8") as file:
                file.write(f"{line}  {place}  {text}\n")

    return record
