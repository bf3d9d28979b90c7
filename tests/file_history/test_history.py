from __future__ import annotations

import os
import random
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from desktop_agent.core.changes import ChangeSet, FileState, UndoError, UndoScope
from desktop_agent.core.ids import AgentId, SessionId
from desktop_agent.file_history.history import Entry, History, HistoryFull, PathChange
from tests.file_history.folders import MAIN, PLENTY, SESSION, Folder, look
from tests.file_history.histories import memory

DAY = 86400.0


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    made = History(tmp_path / "undo", PLENTY)
    yield made
    made.close()


@pytest.fixture
def in_memory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=memory()) as place:
        yield Path(place)


def record(
    history: History, path: bytes, before: str, after: str, ended: float, root: str = "/r"
) -> ChangeSet:
    """Record that a file went from one held content to another."""
    states = [
        FileState("file", 0o644, 0, digest) if digest else FileState() for digest in (before, after)
    ]
    meta = ChangeSet("", "tool", MAIN, ended=ended)
    return history.record(meta, SESSION, root, [PathChange(path, states[0], states[1])])


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_what_is_kept_is_for_its_owner_alone(tmp_path: Path) -> None:
    history = History(tmp_path / "undo", PLENTY)
    history.hold(b"secret")
    history.save_index(b"/r", {}, [])
    assert stat.S_IMODE((tmp_path / "undo").stat().st_mode) == 0o700
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode)
        for path in (tmp_path / "undo").rglob("*")
        if path.is_file()
    }
    assert {name for name in modes if name.endswith(".pack")}
    assert set(modes.values()) == {0o600}
    history.close()


@pytest.mark.parametrize("size", [0, 1, 1 << 20, (1 << 20) + 1, 5 << 20])
def test_a_file_of_any_size_comes_back_byte_for_byte(tmp_path: Path, size: int) -> None:
    folder = Folder(tmp_path)
    content = random.Random(size).randbytes(size // 2) + bytes(size - size // 2)
    path = folder.root / "big"
    path.write_bytes(content)
    with folder.call("call_1"):
        path.unlink()
    folder.undo()
    assert path.read_bytes() == content
    with path.open("rb") as file:
        digest = folder.history.hold_file(file.fileno(), size)
    assert digest == look(folder.root)[os.fsencode(path)].digest
    folder.close()


def test_a_file_that_grows_while_it_is_kept_is_refused(history: History, tmp_path: Path) -> None:
    path = tmp_path / "growing"
    path.write_bytes(bytes(3 << 20))
    with path.open("rb") as file, pytest.raises(UndoError):
        history.hold_file(file.fileno(), 2 << 20)


def test_a_content_is_kept_once_however_often_it_is_there(tmp_path: Path) -> None:
    history = History(tmp_path / "undo", PLENTY)
    content = random.Random(1).randbytes(1 << 20)
    for _ in range(20):
        history.hold(content)
    history.close()
    assert size_of(tmp_path / "undo") < 2 << 20


def test_the_last_look_is_there_after_a_restart(tmp_path: Path) -> None:
    entries = {
        b"a": Entry("file", 0o644, 3, 10**18, 10**18 + 1, 2**64 - 1, "ab" * 32, is_held=True),
        b"\xff\n": Entry("folder", 0o755),
    }
    history = History(tmp_path / "undo", PLENTY)
    history.save_index(b"/r", {**entries, b"gone": Entry("link")}, [])
    history.save_index(b"/r", {}, [b"gone"])
    history.close()
    history = History(tmp_path / "undo", PLENTY)
    assert history.index(b"/r") == entries
    assert history.index(b"/other") == {}
    history.close()


def test_the_last_look_follows_an_undo_so_that_no_call_is_blamed_for_it(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write("a.txt", "1")
    folder.index()
    with folder.call("call_1"):
        folder.write("a.txt", "2")
        folder.write("new/b.txt", "2")
    folder.index()
    folder.undo()
    folder.history.save_index(os.fsencode(folder.root), {}, [])
    known = folder.history.index(os.fsencode(folder.root))
    assert known == folder.index()
    folder.close()


def test_a_damaged_content_is_told_and_never_written(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write("a.txt", "one" * 100)
    with folder.call("call_1"):
        folder.write("a.txt", "two" * 100)
    for pack in (tmp_path / "undo").glob("*.pack"):
        pack.write_bytes(bytes(pack.stat().st_size))
    with pytest.raises(UndoError):
        folder.history.contents(UndoScope(SESSION, path="a.txt"))
    assert folder.undo().kept == ("a.txt",)
    assert folder.text("a.txt") == "two" * 100
    assert set(look(folder.root)) == {os.fsencode(folder.root / "a.txt")}
    folder.close()


@pytest.mark.parametrize("is_missing", [True, False])
def test_what_somebody_deleted_of_a_pack_is_not_kept_and_the_next_content_is(
    tmp_path: Path, *, is_missing: bool
) -> None:
    history = History(tmp_path / "undo", PLENTY)
    old = history.hold(b"one" * 100)
    record(history, b"/r/a", "", old, 1.0)
    history.close()
    for pack in (tmp_path / "undo").glob("*.pack"):
        if is_missing:
            pack.unlink()
        else:
            pack.write_bytes(b"")
    history = History(tmp_path / "undo", PLENTY)
    assert not history.has(old)
    new = history.hold(b"two" * 100)
    record(history, b"/r/a", old, new, 2.0)
    assert history.has(new)
    before, after = history.contents(UndoScope(SESSION, path="a"))
    assert (before, after) == (None, b"two" * 100)
    history.close()


def test_a_damaged_database_is_put_aside_and_work_goes_on(tmp_path: Path) -> None:
    History(tmp_path / "undo", PLENTY).close()
    (tmp_path / "undo" / "history.db").write_bytes(b"no database" * 1000)
    history = History(tmp_path / "undo", PLENTY)
    record(history, b"/r/a", "", history.hold(b"1"), 1.0)
    history.close()
    assert list((tmp_path / "undo").glob("damaged-*"))


def test_a_second_copy_of_the_app_is_told_that_the_history_is_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("desktop_agent.file_history.lock._PATIENCE_S", 0.0)
    history = History(tmp_path / "undo", PLENTY)
    with pytest.raises(UndoError, match="in use"):
        History(tmp_path / "undo", PLENTY)
    history.close()
    History(tmp_path / "undo", PLENTY).close()


# -- limits


def test_thirty_days_of_work_stay_within_the_limits(in_memory: Path) -> None:
    tmp_path, now = in_memory, [0.0]
    limits = replace(PLENTY, folder=2 << 20, total=3 << 20, pack=1 << 20, grace=0.0)
    limits = replace(limits, clock=lambda: now[0])
    history = History(tmp_path / "undo", limits)
    chance = random.Random(7)
    largest = 0
    for day in range(30):
        for hour in range(0, 24, 2):
            ended = now[0] = day * DAY + hour * 3600
            before, after = (history.hold(chance.randbytes(20_000)) for _ in range(2))
            root = "/one" if chance.random() < 0.7 else "/two"
            record(history, root.encode() + b"/a", before, after, ended, root)
        history.collect((day + 1) * DAY)
        assert all(usage.size <= limits.folder for usage in history.usage())
        largest = max(largest, size_of(tmp_path / "undo"))
    assert largest <= limits.total + limits.pack
    assert history.changes(SESSION, "/one").sets[-1].ended > 29 * DAY
    history.collect(61 * DAY)
    assert history.usage() == ()
    assert size_of(tmp_path / "undo") < 200_000
    history.close()


def test_the_oldest_sets_go_first_and_what_is_left_can_still_be_read(tmp_path: Path) -> None:
    limits = replace(PLENTY, folder=1 << 20, pack=1 << 18, grace=0.0, clock=lambda: 50.0)
    history = History(tmp_path / "undo", limits)
    chance = random.Random(3)
    contents = [chance.randbytes(100_000) for _ in range(30)]
    for number, content in enumerate(contents):
        record(history, b"/r/%d" % number, "", history.hold(content), float(number))
    history.collect(100.0)
    left = history.changes(SESSION, "/r").sets
    assert [made.ended for made in left] == [float(n) for n in range(30 - len(left), 30)]
    assert 5 <= len(left) <= 10
    for made in left:
        (file,) = made.files
        found = history.contents(UndoScope(SESSION, set_id=made.id, path=file.path))
        assert found == (None, contents[int(file.path)])
    history.close()


def test_a_look_that_is_too_large_lets_go_of_its_largest_files(tmp_path: Path) -> None:
    history = History(tmp_path / "undo", replace(PLENTY, folder=1 << 20, grace=0.0))
    chance = random.Random(4)
    entries = {
        b"%d" % size: Entry(
            "file", 0o644, size, digest=history.hold(chance.randbytes(size)), is_held=True
        )
        for size in (100_000, 200_000, 900_000)
    }
    history.save_index(b"/r", entries, [])
    history.collect(history.usage()[0].since)
    held = {path for path, entry in history.index(b"/r").items() if entry.is_held}
    assert held == {b"100000", b"200000"}
    history.close()


def test_a_disk_that_is_almost_full_stops_it_and_says_so(tmp_path: Path) -> None:
    free = [1 << 40]
    limits = replace(PLENTY, reserve=1 << 30, free=lambda _: free[0])
    folder = Folder(tmp_path, History(tmp_path / "undo", limits))
    folder.write("a.txt", "one")
    with folder.call("call_1"):
        folder.write("a.txt", "two")
    free[0] = 1 << 29
    with pytest.raises(HistoryFull, match="Free some space"):
        folder.history.hold(b"more")
    changes = folder.history.changes(SESSION, str(folder.root))
    assert "almost full" in changes.stopped
    # What is kept is still there to be used.
    folder.undo()
    assert folder.text("a.txt") == "one"
    free[0] = 1 << 40
    folder.history.hold(b"more")
    assert folder.history.changes(SESSION, str(folder.root)).stopped == ""
    folder.close()


def test_an_undo_for_which_there_is_no_room_changes_nothing(tmp_path: Path) -> None:
    free = [1 << 40]
    limits = replace(PLENTY, reserve=1 << 30, free=lambda _: free[0])
    folder = Folder(tmp_path, History(tmp_path / "undo", limits))
    folder.write("a.txt", "one")
    with folder.call("call_1"):
        folder.write("a.txt", "two")
    folder.write("a.txt", "the person's, kept nowhere")
    free[0] = 0
    with pytest.raises(HistoryFull):
        folder.undo({"a.txt": "restore"})
    assert folder.text("a.txt") == "the person's, kept nowhere"
    folder.close()


def test_a_tenth_of_what_is_free_is_the_most(tmp_path: Path) -> None:
    limits = replace(PLENTY, free=lambda _: 10 << 20, grace=0.0)
    history = History(tmp_path / "undo", limits)
    chance = random.Random(5)

    def fill() -> None:
        while True:
            content = chance.randbytes(100_000)
            entry = Entry("file", digest=history.hold(content), is_held=True)
            history.save_index(b"/r", {content[:8]: entry}, [])

    with pytest.raises(HistoryFull, match="limit"):
        fill()
    assert size_of(tmp_path / "undo") < 2 << 20
    history.close()


def test_emptying_forgets_one_folder_or_all(tmp_path: Path) -> None:
    history = History(tmp_path / "undo", replace(PLENTY, grace=0.0))
    for root in ("/one", "/two"):
        content = history.hold(random.Random(root).randbytes(100_000))
        record(history, root.encode() + b"/a", "", content, 1e9, root)
    assert [usage.folder for usage in history.usage()] in (["/one", "/two"], ["/two", "/one"])
    history.empty("/one")
    assert [usage.folder for usage in history.usage()] == ["/two"]
    history.empty()
    assert history.usage() == ()
    assert list((tmp_path / "undo").glob("*.pack")) == []
    history.close()


def test_a_deleted_session_takes_what_was_kept_for_it_along(tmp_path: Path) -> None:
    history = History(tmp_path / "undo", replace(PLENTY, grace=0.0, age=1e12))
    record(history, b"/r/a", "", history.hold(random.Random(1).randbytes(9000)), 1e9)
    history.forget_session(SessionId("se_other"))
    assert history.changes(SESSION, "/r").sets
    history.forget_session(SESSION)
    assert history.changes(SESSION, "/r").sets == ()
    assert list((tmp_path / "undo").glob("*.pack")) == []
    history.close()


def test_what_is_not_kept_is_lost_and_said_to_be(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    path = os.fsencode(folder.write("big", "now"))
    before = FileState("file", 0o644, 10**9, "", is_held=False)
    after = look(folder.root)[path]
    folder.history.hold(b"now")
    meta = ChangeSet("", "command", AgentId("ag_1"), ended=1e9)
    made = folder.history.record(
        meta, SESSION, str(folder.root), [PathChange(path, before, after)], ["big: too large"]
    )
    assert (made.unheld, made.files[0].is_held) == (("big: too large",), False)
    assert folder.prospects() == {"big": "lost"}
    assert folder.undo().lost == ("big",)
    assert folder.text("big") == "now"
    folder.close()
