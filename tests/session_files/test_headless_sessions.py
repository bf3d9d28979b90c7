"""`desktop-agent sessions`: what a script can do with sessions, also while the app is open."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from desktop_agent import app, paths
from desktop_agent.adapters.store.schema import SCHEMA_VERSION
from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.compose import RUNS_FOLDER, SESSIONS_FILE
from desktop_agent.core.ids import SessionId
from tests.adapters.store.turns import SESSION, info, user
from tests.helpers.forked import FORKS
from tests.session_files.sessions import rich

APART = SessionId("nightly")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DESKTOP_AGENT_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    path = paths.data_dir() / SESSIONS_FILE
    rich(path)
    run = paths.data_dir() / RUNS_FOLDER / f"{APART}.db"
    run.parent.mkdir()
    with closing(SqliteStore(run)) as apart:
        apart.save_session(replace(info(APART, "Nightly"), updated_at=9.0))
        apart.record(APART, user("sort the lanterns \x1b[31m"))
    return path


class Run:
    """A command with what it printed."""

    def __init__(self, capfd: pytest.CaptureFixture[str], *arguments: str) -> None:
        self.code = app.main(["sessions", *arguments])
        self.out, self.err = capfd.readouterr()


def test_sessions_are_listed_found_and_shown_while_the_app_has_them_open(
    store: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with closing(SqliteStore(store)) as held:
        held.record(SESSION, user("just now"))
        listed = Run(capfd, "list", "--json")
        assert [one["id"] for one in json.loads(listed.out)] == [APART, SESSION]
        assert "Nightly" in Run(capfd, "list").out
        found = Run(capfd, "search", "lanterns", "--output", "jsonl").out.splitlines()
        assert [(json.loads(one)["id"]) for one in found] == [APART]
        shown = Run(capfd, "show", SESSION)
        assert "just now" in shown.out
        assert shown.code == 0
        assert "\x1b" not in Run(capfd, "show", APART).out
        page = Run(capfd, "export", SESSION, "--format", "html")
        assert page.out.startswith("<!DOCTYPE html>")


def test_a_search_says_that_it_lists_the_newest_only(
    store: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert not Run(capfd, "search", "lanterns").err
    with closing(SqliteStore(store)) as held:
        held.record(SESSION, *(user(f"the {number}th lantern") for number in range(60)))
    found = Run(capfd, "search", "lantern", "--output", "jsonl")
    assert len(found.out.splitlines()) >= 50
    assert "Only the newest messages are listed" in found.err


def test_what_an_update_or_damage_left_beside_a_run_is_no_session_and_stays_as_it_is(
    store: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run = paths.data_dir() / RUNS_FOLDER / f"{APART}.db"
    with closing(sqlite3.connect(run)) as older:
        older.execute("DROP TABLE counting")
        older.execute(f"PRAGMA user_version = {SCHEMA_VERSION - 1}")
    run.with_name(f"{APART}.damaged-2026-11-28-101112-2.db").write_bytes(b"damaged")
    for _ in range(2):  # the first brings the file up to date
        listed = json.loads(Run(capfd, "list", "--json").out)
        assert [one["id"] for one in listed] == [APART, SESSION]
    left = sorted(one.name for one in run.parent.glob("*.db"))
    kept = f"{APART}.version-{SCHEMA_VERSION - 1}.db"
    assert left == [f"{APART}.damaged-2026-11-28-101112-2.db", f"{APART}.db", kept]


@pytest.mark.parametrize("whole", [0, 4096])
def test_a_file_of_a_run_that_can_not_be_read_costs_no_other_session(
    store: Path, capfd: pytest.CaptureFixture[str], whole: int
) -> None:
    run = paths.data_dir() / RUNS_FOLDER / "broken.db"
    sound = store.read_bytes()
    run.write_bytes(sound[:whole] + b"\xff" * (len(sound) - whole))
    assert app.main(["undo", SESSION]) == 1
    assert "this session changed no files" in capfd.readouterr().err
    listed = Run(capfd, "list", "--json")
    assert [one["id"] for one in json.loads(listed.out)] == [APART, SESSION]
    assert "broken.db can’t be read" in listed.err
    assert listed.code == 0


def test_what_changes_sessions_says_that_the_app_has_them_open(
    store: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with closing(SqliteStore(store)):
        for arguments in (("delete", SESSION), ("import", str(store))):
            refused = Run(capfd, *arguments)
            assert refused.code == 1
            assert "the app has the sessions open" in refused.err
        assert app.main(["undo", SESSION]) == 1
        assert "the app has the sessions open" in capfd.readouterr().err
        assert Run(capfd, "list", "--deleted").out == ""


def test_a_session_is_exported_imported_deleted_and_restored(
    store: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "out.json"
    assert Run(capfd, "export", SESSION, "--format", "json", "--out", str(file)).code == 0
    taken = Run(capfd, "import", str(file))
    new = taken.out.strip()
    assert taken.code == 0
    again = Run(capfd, "export", new, "--format", "json").out
    was, now = json.loads(file.read_text("utf-8")), json.loads(again)
    # What the app adds is what a restart would: the report that nobody had been given.
    same = zip(was["events"], now["events"], strict=False)
    differ = {one["event"]["type"] for one, other in same if one != other}
    # In place of its folder there is the one that it is imported to.
    assert differ == {"AgentSpawned"}
    assert now["events"][-1]["event"]["type"] == "NoteQueued"
    assert Run(capfd, "delete", new).code == 0
    assert new not in Run(capfd, "list").out
    assert new in Run(capfd, "list", "--deleted").out
    assert "deleted already" in Run(capfd, "delete", new).err
    assert Run(capfd, "restore", new).code == 0
    assert new in Run(capfd, "list").out


def test_a_run_does_not_begin_anew_under_the_id_of_a_session_that_is_deleted(
    store: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = Run(capfd, "show", SESSION).out
    assert Run(capfd, "delete", SESSION).code == 0
    ran = FORKS.run(["run", "go", "--workspace", str(tmp_path), "--session", SESSION])
    assert ran.returncode == 2, ran.stdout
    assert f"desktop-agent sessions restore {SESSION}" in ran.stderr
    assert Run(capfd, "restore", SESSION).code == 0
    assert Run(capfd, "show", SESSION).out == before


def test_a_fork_of_a_run_is_found_by_its_own_id(
    store: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It is in the file of the run, which is named after the session that it was made of."""
    fork = Run(capfd, "fork", APART).out.strip()
    assert app.main(["undo", fork]) == 1
    assert "this session changed no files" in capfd.readouterr().err
    assert Run(capfd, "delete", fork).code == 0
    ran = FORKS.run(["run", "go", "--workspace", str(tmp_path), "--session", fork])
    assert f"sessions restore {fork}" in ran.stderr, "or else one of this id was begun beside it"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["show", "nobody"], 1, "there is no session nobody"),
        (["import", "nothing.json"], 1, "can’t be read"),
        (["export", APART, "--out", "no/such/folder/x.md"], 1, "can’t be written"),
        (["export", APART, "--format", "pdf"], 2, "--format"),
        (["dance"], 2, "dance"),
        ([], 2, "COMMAND"),
        (["restore", APART], 1, "is not deleted"),
    ],
)
def test_what_is_not_possible_is_one_sentence_and_no_traceback(
    store: Path, capfd: pytest.CaptureFixture[str], arguments: list[str], code: int, said: str
) -> None:
    run = Run(capfd, *arguments)
    assert run.code == code
    assert said in run.err
    assert len(run.err.splitlines()) == 1
    assert run.out == ""


def test_an_export_goes_through_a_link_which_stays(
    store: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    link, file = tmp_path / "link.md", tmp_path / "elsewhere" / "notes.md"
    file.parent.mkdir()
    file.write_text("old", "utf-8")
    link.symlink_to(file)
    assert Run(capfd, "export", SESSION, "--out", str(link)).code == 0
    assert link.is_symlink()
    assert file.read_text("utf-8").startswith("# ")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_an_export_puts_no_file_in_the_place_of_a_pipe_or_a_device(
    store: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link):
        run = Run(capfd, "export", SESSION, "--out", str(path))
        assert run.code == 1
        assert "not a file" in run.err
    assert pipe.is_fifo()
    assert link.is_symlink()
