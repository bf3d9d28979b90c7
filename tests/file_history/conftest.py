from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from desktop_agent.file_history import folder as folder_module
from tests.file_history.folders import Folder
from tests.file_history.places import Place


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    made.close()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    made = Folder(tmp_path)
    yield made
    made.close()


@pytest.fixture(params=["listed", "watched"])
def any_place(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Place]:
    if request.param == "watched":
        if sys.platform != "linux":
            pytest.skip("needs inotify")
        monkeypatch.setattr(folder_module, "_WATCHED_FROM", -1)
    made = Place(tmp_path)
    yield made
    made.close()
