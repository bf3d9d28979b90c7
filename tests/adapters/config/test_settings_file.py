"""Settings that survive damage, other versions and a full disk."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import msgspec
import pytest

from desktop_agent.adapters.config.settings_file import load, save
from desktop_agent.compose import SettingsFile
from desktop_agent.core.agents import Budget
from desktop_agent.core.requests import Limits
from desktop_agent.core.settings import CustomServer, Settings

CHANGED = Settings(
    theme="dark",
    text_scale=150,
    model="openai/gpt-5",
    mode="look",
    limits=Limits(connect_s=3.0),
    servers=(CustomServer("Lab", "http://10.0.0.5:8000/v1"),),
    recent_folders=("/a", "/ü"),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config" / "settings.json"


def kept_files(path: Path) -> list[Path]:
    return sorted(path.parent.glob("settings.damaged-20*.json"))


def test_settings_come_back_as_they_were_saved(path: Path) -> None:
    save(path, CHANGED)
    assert load(path) == CHANGED
    assert list(path.parent.iterdir()) == [path]


def test_no_file_means_defaults(path: Path) -> None:
    assert load(path) == Settings()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_only_this_user_can_read_the_settings(path: Path) -> None:
    save(path, CHANGED)
    save(path, CHANGED)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff\xfe\x00", b"[]", b"null", b'"x"', b"\x00" * 50, b"[" * 9999]
)
def test_a_damaged_file_is_kept_aside_and_the_app_starts(path: Path, body: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(body)
    assert load(path) == Settings()
    (kept,) = kept_files(path)
    assert kept.read_bytes() == body
    save(path, CHANGED)
    assert load(path) == CHANGED
    assert kept.read_bytes() == body


def test_one_wrong_field_does_not_lose_the_others(path: Path) -> None:
    save(path, CHANGED)
    raw = json.loads(path.read_bytes())
    raw |= {"theme": "pink", "max_steps": "many", "servers": [{"title": 3}]}
    raw["limits"]["idle_s"] = None
    raw["limits"]["first_byte_s"] = 60
    path.write_text(json.dumps(raw))
    settings = load(path)
    assert (settings.theme, settings.max_steps, settings.servers) == ("system", 200, ())
    assert (settings.model, settings.text_scale) == ("openai/gpt-5", 150)
    assert settings.limits == Limits(connect_s=3.0, first_byte_s=60)
    (kept,) = kept_files(path)
    assert json.loads(kept.read_bytes())["theme"] == "pink"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('{"theme": "dark",}', "The file of your settings was damaged"),
        ('{"theme": "pink", "model": "demo"}', "as at first: theme. "),
    ],
)
def test_what_is_not_taken_from_the_file_is_told_with_where_it_is_kept(
    path: Path, body: str, words: str
) -> None:
    path.parent.mkdir()
    path.write_text(body)
    said: list[str] = []
    load(path, said.append)
    (kept,) = kept_files(path)
    assert [words in text and text.endswith(f"kept as {kept}.") for text in said] == [True]


def test_a_file_that_can_not_be_read_is_told(path: Path) -> None:
    path.mkdir(parents=True)
    said: list[str] = []
    assert load(path, said.append) == Settings()
    assert [str(path) in text for text in said] == [True]


def test_the_mark_that_some_editors_begin_a_file_with_loses_no_setting(path: Path) -> None:
    path.parent.mkdir()
    path.write_text('{"theme": "dark"}', encoding="utf-8-sig")
    assert load(path).theme == "dark"
    assert kept_files(path) == []


def test_a_wrong_field_inside_another_is_kept_as_well_and_once(path: Path) -> None:
    path.parent.mkdir()
    path.write_text('{"limits": {"idle_s": "long", "first_byte_s": 60}}')
    for _ in range(3):
        assert load(path).limits == Limits(first_byte_s=60)
    (kept,) = kept_files(path)
    assert kept.read_bytes() == path.read_bytes()


def test_a_number_with_which_nothing_would_work_is_told_and_is_as_at_first(path: Path) -> None:
    path.parent.mkdir()
    wrong = {"text_scale": 10_000, "max_steps": 0, "shell_timeout_s": -5, "context_window": -1}
    limits = {"connect_s": 0, "first_byte_s": -1, "retry_total_s": 0, "max_retries": 0}
    path.write_text(json.dumps({**wrong, "max_depth": 0, "limits": limits}))
    said: list[str] = []
    settings = load(path, said.append)
    kept = Limits(retry_total_s=0, max_retries=0)
    assert settings == Settings(max_depth=0, limits=kept)
    names = (*wrong, "limits.connect_s", "limits.first_byte_s")
    assert [all(name in text for name in names) for text in said] == [True]


@pytest.mark.parametrize(
    ("raw", "names"),
    [
        ('{"budget": {"cost": -1, "steps": -2, "tokens": 5}}', "budget.cost, budget.steps"),
        ('{"subagent_budget": {"seconds": 1e300}}', "subagent_budget.seconds"),
        ('{"max_depth": -1, "max_children": -1, "max_agents": 1e30}', "max_depth, max_children, "),
        ('{"limits": {"idle_s": 1e400, "max_retries": 1e9}}', "limits.idle_s, limits.max_retries"),
        ('{"shell_timeout_s": 1e400, "question_timeout_s": 1e12}', "shell_timeout_s, question_"),
        (f'{{"max_steps": 1{"0" * 400}}}', "max_steps"),
        ('{"recent_folders": ["/a", 5]}', "recent_folders.2"),
    ],
)
def test_a_number_that_none_can_be_costs_itself_alone(path: Path, raw: str, names: str) -> None:
    path.parent.mkdir()
    path.write_text(f'{{"theme": "dark", {raw[1:]}')
    said: list[str] = []
    settings = load(path, said.append)
    assert [f"as at first: {names}" in text for text in said] == [True]
    tokens, folders = settings.budget.tokens, settings.recent_folders
    assert settings == Settings(theme="dark", budget=Budget(tokens=tokens), recent_folders=folders)
    assert (tokens or 5, folders or ("/a",)) == (5, ("/a",))


def test_a_limit_of_nothing_stays_one(path: Path) -> None:
    """It lets nothing begin; without it there would be no limit at all."""
    path.parent.mkdir()
    path.write_text('{"budget": {"cost": 0}}')
    said: list[str] = []
    assert (load(path, said.append).budget, said) == (Budget(cost=0), [])


@pytest.mark.parametrize("body", ["{", '{"theme": "pink", "text_scale": 150}'])
def test_the_app_starts_where_a_wrong_file_can_not_be_kept_aside(tmp_path: Path, body: str) -> None:
    path = tmp_path / f"{'s' * 240}.json"  # with a date the name is longer than any may be
    path.write_text(body)
    assert load(path).text_scale in {100, 150}
    assert path.read_text() == body


def test_a_key_that_somebody_wrote_among_the_settings_does_not_stay(path: Path) -> None:
    save(path, CHANGED)
    raw = json.loads(path.read_bytes()) | {"api_key": "sk-secret", "window": {"x": 1}}
    path.write_text(json.dumps(raw))
    assert load(path) == CHANGED
    assert kept_files(path) == []
    save(path, load(path))
    assert "sk-secret" not in path.read_text()
    assert json.loads(path.read_bytes())["window"] == {"x": 1}


def test_a_save_that_fails_leaves_the_old_settings(path: Path) -> None:
    save(path, CHANGED)
    before = path.read_bytes()
    path.unlink()
    path.mkdir()  # a directory can't be replaced by a file
    with pytest.raises(IsADirectoryError):
        save(path, Settings())
    assert list(path.parent.iterdir()) == [path]
    path.rmdir()
    path.write_bytes(before)
    assert load(path) == CHANGED


@pytest.mark.parametrize("is_there", [True, False])
def test_settings_that_are_kept_elsewhere_stay_a_link(
    path: Path, tmp_path: Path, is_there: bool
) -> None:
    own = tmp_path / "dotfiles" / "settings.json"
    own.parent.mkdir()
    if is_there:
        save(own, Settings())
    path.parent.mkdir()
    path.symlink_to(own)
    save(path, CHANGED)
    assert path.is_symlink()
    assert load(own) == load(path) == CHANGED


def test_what_a_newer_version_wrote_outlives_a_change_by_this_one(path: Path) -> None:
    save(path, CHANGED)
    raw = json.loads(path.read_bytes())
    raw |= {"shape": {"round": True}, "max_tokens": 9, "keyboard_sounds": False}
    raw["limits"]["patience_s"] = 7
    raw["servers"][0]["pace"] = 3
    path.write_text(json.dumps(raw), encoding="utf-8-sig")
    lab, other = load(path).servers[0], CustomServer("New", "http://10.0.0.6:8000/v1")
    limits = Limits(connect_s=4.0)
    save(path, msgspec.structs.replace(CHANGED, limits=limits, servers=(other, lab)))
    after = json.loads(path.read_bytes())
    assert (after["shape"], after["limits"]["patience_s"]) == ({"round": True}, 7)
    assert (after["max_tokens"], after["keyboard_sounds"]) == (9, False)
    assert [server.get("pace") for server in after["servers"]] == [None, 3]
    assert after["limits"]["connect_s"] == 4.0


def test_what_is_kept_of_a_newer_version_is_bounded(path: Path) -> None:
    path.parent.mkdir()
    path.write_text(json.dumps({"much": "x" * 300_000}))
    save(path, CHANGED)
    assert "much" not in json.loads(path.read_bytes())
    assert load(path) == CHANGED


def test_one_place_that_a_newer_version_knows_costs_no_other(path: Path) -> None:
    path.parent.mkdir()
    known = {"type": "Place", "name": "box", "kind": "ssh", "target": "box.example"}
    path.write_text(json.dumps({"places": [{**known, "kind": "slurm", "name": "big"}, known]}))
    said: list[str] = []
    assert [place.name for place in load(path, said.append).places] == ["box"]
    assert [": places.1. " in text for text in said] == [True]


def test_the_user_reads_that_settings_are_not_saved_and_why(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(OSError, match=r"^Your settings are not saved.*: \w.*\.$"):
        SettingsFile(path).save(CHANGED)
