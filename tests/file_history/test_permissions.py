"""What its owner may not read for a while is neither said to be gone nor forgotten."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from desktop_agent.core.changes import UndoScope
from tests.file_history.places import M, Place, S, state_of

pytestmark = pytest.mark.skipif(os.name == "nt", reason="has no such modes")
_NOBODY = 65534


@pytest.fixture
def owned() -> Iterator[Place]:
    """A folder of somebody to whom modes mean something: to root they do not."""
    with tempfile.TemporaryDirectory() as base:
        user = os.geteuid()
        if user == 0:
            os.chown(base, _NOBODY, -1)
            os.seteuid(_NOBODY)
        try:
            place = Place(Path(base))
            (place.root / "d" / "inner").mkdir(parents=True)
            for name in ("d/x", "d/y", "d/inner/z"):
                (place.root / name).write_text(name)
            place.look_at_all()
            yield place
            place.close()
        finally:
            os.seteuid(user)


@pytest.mark.parametrize("mode", [0o644, 0o300, 0o000])
def test_a_folder_that_a_command_locks_is_opened_again_with_all_that_is_in_it(
    owned: Place, mode: int
) -> None:
    before = state_of(owned.root)
    set_id, _ = owned.begin()
    (owned.root / "d").chmod(mode)
    assert owned.changed(owned.capture.end(set_id)) == [("d", "changed")]
    (planned,) = owned.history.plan(UndoScope(S, message_id=M)).files
    assert (planned.path, planned.prospect) == ("d", "restore")
    owned.undo()
    assert state_of(owned.root) == before


def test_what_is_deleted_in_a_folder_that_was_locked_for_a_while_comes_back(owned: Place) -> None:
    before = state_of(owned.root)
    folder = owned.root / "d"
    for number, mode in enumerate((0o000, 0o755)):
        set_id, _ = owned.begin(f"chmod {number}")
        folder.chmod(mode)
        owned.capture.end(set_id)
    set_id, _ = owned.begin("rm")
    (folder / "x").unlink()
    (folder / "inner" / "z").unlink()
    found = owned.changed(owned.capture.end(set_id))
    assert found == [("d/inner/z", "deleted"), ("d/x", "deleted")]
    owned.undo()
    assert state_of(owned.root) == before


def test_a_file_that_could_not_be_read_is_not_said_to_be_too_large(owned: Place) -> None:
    set_id, _ = owned.begin()
    (owned.root / "d" / "x").chmod(0o000)
    owned.capture.end(set_id)
    (planned,) = owned.history.plan(UndoScope(S, message_id=M)).files
    assert (planned.prospect, planned.why) == ("lost", "It was not read, so it stays.")
