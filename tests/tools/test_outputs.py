"""What was cut out of results: where it is kept, for how long, and what is said when it is gone."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.core.approvals import Rule
from desktop_agent.core.events import AgentEnded, ToolOutput
from desktop_agent.core.ids import SessionId, new_session_id
from desktop_agent.core.messages import OutputDisplay
from desktop_agent.core.tool import Tool, ToolError
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.workspace.output_files import OutputFiles
from desktop_agent.engine.workspace.output_quota import Limits
from desktop_agent.tools.builtin import builtin_tools
from desktop_agent.tools.files.reading import read
from desktop_agent.tools.shell.shell import shell
from tests.engine.rig import Rig
from tests.engine.tree.tree_rig import TreeModel
from tests.helpers.scripted import calls, says
from tests.tools.conftest import Bench

COUNTS = calls(("shell", {"command": "seq 1 50000"}))
OUTPUT_SIZE = 288_894


class App(Rig):
    """The engine with the tools and the store that come with the app."""

    def __init__(self, home: Path, *script: Any, **kwargs: Any) -> None:
        self.folder = home / ".outputs"
        super().__init__(home, *script, **kwargs)

    def _tools(self) -> list[Tool]:
        return list(builtin_tools())

    def begin_another(self) -> None:
        """Go on in a new session, in a folder of its own."""
        self.session_id = new_session_id()
        root = Path(self.workspace.root) / self.session_id
        root.mkdir()
        self.engine.new_session(self.session_id, Workspace(str(root)), model="m")

    @property
    def named(self) -> str:
        """The file that the newest result of a command names."""
        result = next(r for r in reversed(self.results) if isinstance(r.display, OutputDisplay))
        assert isinstance(result.display, OutputDisplay)
        assert result.display.file in result.text
        return result.display.file


@asynccontextmanager
async def started(home: Path, *script: Any, **children: list[Any]) -> AsyncIterator[App]:
    """Start the app, on the data of the time before; children go by the prompt they start with."""
    store = SqliteStore(home / "sessions.db")
    store.save_rules([Rule("shell", "", scope="everywhere")])
    model = TreeModel(list(script), children) if children else None
    app = App(home, *script, store=store, model=model)
    try:
        yield app
    finally:
        await app.engine.close()
        store.close()


def kept_in(home: Path) -> list[Path]:
    """Return every output that is on the disk."""
    return sorted(path for path in (home / ".outputs").rglob("*") if path.is_file())


def reads(path: str) -> Any:
    """Return an answer that reads the middle of an output."""
    return calls(("read", {"path": path, "offset": 25_000, "limit": 1}))


async def test_after_a_restart_the_file_that_a_result_names_can_be_read(tmp_path: Path) -> None:
    async with started(tmp_path, COUNTS, says("done")) as app:
        await app.run("count")
        named = app.named
    async with started(tmp_path, reads(named), says("done")) as again:
        await again.run("read the middle")
        assert "\t25000" in again.results[-1].text


async def test_the_file_is_found_where_the_data_folder_was_moved_to(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    async with started(tmp_path / "old", COUNTS, says("done")) as app:
        await app.run("count")
        named = app.named
    (tmp_path / "old").rename(tmp_path / "new")
    async with started(tmp_path / "new", reads(named), says("done")) as again:
        again.engine.set_workspace(again.session_id, again.workspace)
        await again.run("read the middle")
        assert "\t25000" in again.results[-1].text


async def test_what_a_subagent_printed_is_its_sessions(tmp_path: Path) -> None:
    spawns = calls(("spawn", {"description": "counter", "prompt": "count"}))
    script = spawns, says("waiting"), says("done")
    async with started(tmp_path, *script, count=[COUNTS, says("counted")]) as app:
        app.send("go")
        await app.until(AgentEnded)
        [path] = kept_in(tmp_path)
    async with started(tmp_path, reads(str(path)), says("done")) as again:
        await again.run("read what it printed")
        assert "\t25000" in again.results[-1].text
        again.engine.delete_session(again.session_id)
        again.engine.erase_session(again.session_id)
    assert not kept_in(tmp_path)


async def test_outputs_go_with_their_session_and_with_no_other(tmp_path: Path) -> None:
    async with started(tmp_path, COUNTS, says("done"), COUNTS, says("done")) as app:
        await app.run("count")
        first, kept = app.session_id, kept_in(tmp_path)
        app.begin_another()
        await app.run("count")
        assert len(kept_in(tmp_path)) == 2
        app.engine.delete_session(app.session_id)
        app.engine.erase_session(app.session_id)
    assert kept_in(tmp_path) == kept
    async with started(tmp_path) as again:
        again.engine.delete_session(first)
        again.engine.erase_session(first)  # not opened since the restart
    assert not list((tmp_path / ".outputs").iterdir())


async def test_a_session_that_is_deleted_while_a_command_prints_leaves_nothing(
    tmp_path: Path,
) -> None:
    floods = calls(("shell", {"command": "seq 1 50000; yes", "timeout_s": 600}))
    async with started(tmp_path, floods) as app:
        app.send("go")
        shown = 0
        while not kept_in(tmp_path):
            shown += 1
            await app.until(ToolOutput, shown)
        app.engine.delete_session(app.session_id)
        app.engine.erase_session(app.session_id)
    assert not list((tmp_path / ".outputs").iterdir())


async def test_no_session_reads_what_another_printed(tmp_path: Path) -> None:
    async with started(tmp_path, COUNTS, says("done")) as app:
        await app.run("count")
        app.model.script = [reads(app.named), says("done")]
        app.begin_another()
        await app.run("read it")
        assert "outside the workspace" in app.results[-1].text


async def test_what_a_kill_left_of_a_deleted_session_goes_at_the_next_start(tmp_path: Path) -> None:
    async with started(tmp_path, COUNTS, says("done")) as app:
        await app.run("count")
        kept = kept_in(tmp_path)
        left = OutputFiles(tmp_path / ".outputs").of(SessionId("chosen by hand")).create()
        assert left is not None
        left.write(b"x" * 50_000)
    async with started(tmp_path):
        assert kept_in(tmp_path) == kept


def an_earlier_versions(home: Path) -> Path:
    """Put an output where earlier versions kept those of all sessions."""
    path = home / ".outputs" / f"output-{os.urandom(8).hex()}.txt"
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{n}\n" for n in range(1, 50_001)))
    return path


async def test_a_session_takes_over_what_an_earlier_version_kept_for_it(tmp_path: Path) -> None:
    old, other = an_earlier_versions(tmp_path), an_earlier_versions(tmp_path)
    names = calls(("shell", {"command": f"echo the whole output is in {old}"}))
    async with started(tmp_path, names, says("done")) as app:
        await app.run("count")
    async with started(tmp_path, reads(str(old)), says("done")) as again:
        await again.run("read the middle")
        assert "\t25000" in again.results[-1].text
        again.engine.delete_session(again.session_id)
        again.engine.erase_session(again.session_id)
    assert kept_in(tmp_path) == [other]


async def test_what_an_earlier_version_kept_goes_with_a_session_that_nobody_opened(
    tmp_path: Path,
) -> None:
    old, other = an_earlier_versions(tmp_path), an_earlier_versions(tmp_path)
    names = calls(("shell", {"command": f"echo the whole output is in {old}"}))
    async with started(tmp_path, names, says("done")) as app:
        await app.run("count")
        session_id = app.session_id
    async with started(tmp_path) as again:
        again.engine.delete_session(session_id)
        again.engine.erase_session(session_id)
    assert kept_in(tmp_path) == [other]


async def test_what_an_earlier_version_kept_for_nobody_goes_after_a_month(tmp_path: Path) -> None:
    old, newer = an_earlier_versions(tmp_path), an_earlier_versions(tmp_path)
    long_ago = time.time() - 31 * 24 * 3600
    os.utime(old, (long_ago, long_ago))
    async with started(tmp_path):
        assert kept_in(tmp_path) == [newer]


# ---- bounds ----


def limited(bench: Bench, files: OutputFiles) -> None:
    """Give the bench a new session among these files."""
    bench.context = replace(bench.context, outputs=files.of(new_session_id()))


async def file_of_a_count(bench: Bench) -> Path:
    """Let a command print a lot; return the file that its result names."""
    result = await bench.run(shell, command="seq 1 50000")
    assert isinstance(result.display, OutputDisplay)
    assert "the whole output is in" in result.text
    return Path(result.display.file)


async def test_a_sessions_oldest_outputs_make_room_and_that_is_said(
    bench: Bench, tmp_path: Path
) -> None:
    limited(bench, OutputFiles(tmp_path / "kept", Limits(session=2 * OUTPUT_SIZE)))
    files = [await file_of_a_count(bench) for _ in range(4)]
    assert [file.exists() for file in files] == [False, False, True, True]
    with pytest.raises(ToolError, match="this output was deleted to make room"):
        await bench.run(read, path=str(files[0]))
    assert "\t25000" in (await bench.run(read, path=str(files[3]), offset=25_000)).text


async def test_the_oldest_of_all_sessions_make_room_also_after_a_restart(
    bench: Bench, tmp_path: Path
) -> None:
    limits = Limits(total=2 * OUTPUT_SIZE)
    made: list[Path] = []
    for number in range(4):
        limited(bench, OutputFiles(tmp_path / "kept", limits))
        made.append(await file_of_a_count(bench))
        os.utime(made[-1], (number, number))
    assert [file.exists() for file in made] == [False, False, True, True]


def test_what_is_being_written_is_not_deleted_and_keeps_its_start(tmp_path: Path) -> None:
    outputs = OutputFiles(tmp_path, Limits(session=1000)).of(new_session_id())
    first, second = outputs.create(), outputs.create()
    assert first is not None
    assert second is not None
    first.write(b"1" * 700)
    second.write(b"2" * 700)
    second.write(b"3")
    assert (first.path.read_bytes(), second.path.read_bytes()) == (b"1" * 700, b"2" * 300)
    first.close()
    third = outputs.create()
    assert third is not None
    third.write(b"4" * 700)
    assert not first.path.exists()
    assert third.path.read_bytes() == b"4" * 700


def test_what_is_deleted_while_it_is_written_takes_no_room(tmp_path: Path) -> None:
    files, session_id = OutputFiles(tmp_path, Limits(total=1000)), new_session_id()
    file = files.of(session_id).create()
    assert file is not None
    file.write(b"1" * 900)
    files.delete(session_id)
    file.write(b"2" * 50)
    file.close()
    other = files.of(new_session_id()).create()
    assert other is not None
    other.write(b"3" * 1000)
    assert kept_below(tmp_path) == [other.path]
    assert other.size == 1000


def kept_below(root: Path) -> list[Path]:
    """Return every file below a folder."""
    return [path for path in root.rglob("*") if path.is_file()]


# ---- the disk ----


@contextmanager
def full_after(size: int) -> Iterator[None]:
    """Have the system refuse to let any file of this process grow beyond `size` bytes."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


async def test_a_disk_that_gets_full_ends_no_command(bench: Bench) -> None:
    with full_after(100_000):
        result = await bench.run(shell, command="seq 1 50000; echo the end >&2")
    assert "the end\n[Exit code 0" in result.text
    assert "the first 100,000 bytes are in" in result.text
    assert isinstance(result.display, OutputDisplay)
    whole = "".join(f"{n}\n" for n in range(1, 50_001))
    assert Path(result.display.file).read_text() == whole[:100_000]


async def test_a_disk_that_is_full_ends_no_command_and_names_no_file(bench: Bench) -> None:
    with full_after(0):
        result = await bench.run(shell, command="seq 1 50000; echo the end >&2")
    assert "the end\n[Exit code 0" in result.text
    assert "bytes left out …]" in result.text
    assert isinstance(result.display, OutputDisplay)
    assert not result.display.file
    assert not kept_below(bench.root.parent / "outputs")


async def test_a_folder_that_can_not_be_made_ends_no_command(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "in the way").write_text("a file")
    limited(bench, OutputFiles(tmp_path / "in the way"))
    result = await bench.run(shell, command="seq 1 50000; echo the end >&2")
    assert "the end\n[Exit code 0" in result.text


async def test_no_link_in_place_of_an_output_is_followed(bench: Bench, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the key\n")
    file = await file_of_a_count(bench)
    file.unlink()
    file.symlink_to(secret)
    with pytest.raises(ToolError, match="replaced by a link"):
        await bench.run(read, path=str(file))
    file.unlink()
    folder = file.parent
    folder.rmdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / file.name).write_text("the key\n")
    folder.symlink_to(elsewhere)
    with pytest.raises(ToolError, match="replaced by a link"):
        await bench.run(read, path=str(file))
