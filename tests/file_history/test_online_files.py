"""Files that a service of the cloud keeps elsewhere are not fetched to be kept for an undo."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest

from tests.file_history.places import Place, S


# OneDrive's attributes as Windows gives them, one's that is kept here, and iCloud's flag of macOS.
@pytest.mark.parametrize(
    ("field", "value", "is_online"),
    [
        ("st_file_attributes", 0x501620, True),
        ("st_file_attributes", 0x80420, False),
        ("st_flags", 0x40000060, True),
        ("st_flags", 0x40, False),
    ],
)
def test_what_is_with_the_cloud_alone_is_not_read_and_said_not_to_come_back(
    place: Place, monkeypatch: pytest.MonkeyPatch, field: str, value: int, is_online: bool
) -> None:
    path = place.root / "film.txt"
    path.write_text("far away")
    real_fstat = os.fstat

    def fstat(descriptor: int) -> Any:
        status = real_fstat(descriptor)
        fields = {name: getattr(status, name) for name in dir(status) if name.startswith("st_")}
        return SimpleNamespace(**{**fields, field: value})

    monkeypatch.setattr(os, "fstat", fstat)
    place.look_at_all()
    assert place.capture.held(S, str(place.root), [os.fsencode(path)]) == (not is_online,)
