from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest


@pytest.fixture
async def closing() -> AsyncIterator[list[Any]]:
    """Rigs that are closed at the end, their outposts as well."""
    rigs: list[Any] = []
    yield rigs
    for rig in rigs:
        await rig.engine.close()
