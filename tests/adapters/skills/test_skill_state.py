"""Switches, uses and trust outlive the app, a damaged file, and a second copy of the app."""

from __future__ import annotations

import json
import stat
import threading
from pathlib import Path

import pytest

from desktop_agent.adapters.skills.state import Origin, SkillState, record_origins
from desktop_agent.engine.skills.trust import TrustRecord


@pytest.fixture
def state(tmp_path: Path) -> SkillState:
    return SkillState(tmp_path)


def test_a_skill_is_on_until_it_is_switched_off(state: SkillState) -> None:
    assert state.is_on("pdf", "/w")
    state.switch("pdf", "/w", is_on=False, only_here=False)
    assert not state.is_on("pdf", "/w")
    assert not state.is_on("pdf", "")
    assert state.is_on("zip", "/w")


def test_a_folders_own_switch_counts_there_alone(state: SkillState) -> None:
    state.switch("pdf", "/w", is_on=False, only_here=True)
    assert [state.is_on("pdf", root) for root in ("/w", "/v", "")] == [False, True, True]
    state.switch("pdf", "/v", is_on=False, only_here=False)
    assert [state.is_on("pdf", root) for root in ("/w", "/v", "")] == [False, False, False]
    state.switch("pdf", "/w", is_on=True, only_here=True)
    assert [state.is_on("pdf", root) for root in ("/w", "/v", "")] == [True, False, False]


def test_the_general_switch_ends_the_one_of_the_folder_it_is_pressed_in(state: SkillState) -> None:
    state.switch("pdf", "/w", is_on=False, only_here=True)
    state.switch("pdf", "/w", is_on=True, only_here=False)
    assert state.is_on("pdf", "/w")


def test_everything_is_there_after_a_restart(tmp_path: Path, state: SkillState) -> None:
    record = TrustRecord({"AGENTS.md": "ab", ".agents/skills/x": "cd"})
    state.switch("pdf", "/w", is_on=False, only_here=True)
    state.count_use("pdf")
    state.count_use("pdf")
    state.set_trust("/w", record)
    state.set_trust("/v", TrustRecord(is_ignored=True))
    again = SkillState(tmp_path)
    assert not again.is_on("pdf", "/w")
    assert again.times_used("pdf") == 2
    assert again.trust_of("/w") == record
    assert again.trust_of("/v") == TrustRecord(is_ignored=True)
    assert again.trust_of("/u") is None
    again.set_trust("/w", None)
    assert SkillState(tmp_path).trust_of("/w") is None


def test_the_files_are_the_persons_alone(tmp_path: Path, state: SkillState) -> None:
    state.count_use("pdf")
    state.set_trust("/w", TrustRecord())
    for name in ("skills.json", "trust.json"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff\xfe", b'"text"'])
def test_a_damaged_file_trusts_nothing_and_is_kept(tmp_path: Path, body: bytes) -> None:
    for name in ("skills.json", "trust.json"):
        (tmp_path / name).write_bytes(body)
    state = SkillState(tmp_path)
    assert state.trust_of("/w") is None
    assert state.is_on("pdf", "/w")
    state.set_trust("/w", TrustRecord({"AGENTS.md": "ab"}))
    state.count_use("pdf")
    kept = [path.read_bytes() for path in tmp_path.glob("*damaged*")]
    assert kept == [body, body]


def test_a_wrong_field_costs_only_itself(tmp_path: Path) -> None:
    (tmp_path / "skills.json").write_text(json.dumps({"used": {"pdf": 3}, "switches": [1]}))
    state = SkillState(tmp_path)
    assert state.times_used("pdf") == 3
    assert state.is_on("pdf", "")


def test_two_copies_of_the_app_lose_nothing_of_each_other(
    tmp_path: Path, state: SkillState
) -> None:
    other = SkillState(tmp_path)
    state.switch("pdf", "", is_on=False, only_here=False)
    other.count_use("zip")
    state.set_trust("/w", TrustRecord({"a": "b"}))
    other.set_trust("/v", TrustRecord({"c": "d"}))
    third = SkillState(tmp_path)
    assert (third.is_on("pdf", ""), third.times_used("zip")) == (False, 1)
    assert third.trust_of("/w") == TrustRecord({"a": "b"})
    assert third.trust_of("/v") == TrustRecord({"c": "d"})


def test_uses_counted_on_many_threads_are_all_counted(state: SkillState) -> None:
    threads = [threading.Thread(target=state.count_use, args=("pdf",)) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert state.times_used("pdf") == 12


def test_where_a_skill_came_from_is_known_as_soon_as_it_is_installed(
    tmp_path: Path, state: SkillState
) -> None:
    assert state.source_of("/mine/pdf") == ("", "")
    record_origins(tmp_path, {Path("/mine/pdf"): Origin("https://x/y", "abc")})
    assert state.source_of("/mine/pdf") == ("https://x/y", "abc")
    record_origins(tmp_path, {Path("/mine/pdf"): None})
    assert state.source_of("/mine/pdf") == ("", "")


def test_what_a_newer_version_wrote_outlives_a_change_by_this_one(
    tmp_path: Path, state: SkillState
) -> None:
    state.set_trust("/w", TrustRecord({"AGENTS.md": "ab"}))
    record_origins(tmp_path, {tmp_path / "a": Origin("https://example.com/a")})
    trust, origins = tmp_path / "trust.json", tmp_path / "skill_origins.json"
    for file, inside in ((trust, ("folders", "/w")), (origins, (str(tmp_path / "a"),))):
        raw = record = json.loads(file.read_bytes())
        for name in inside:
            record = record[name]
        record["since"] = 7
        file.write_text(json.dumps(raw))
    state.set_trust("/v", TrustRecord(is_ignored=True))
    record_origins(tmp_path, {tmp_path / "b": Origin("https://example.com/b")})
    folders = json.loads(trust.read_bytes())["folders"]
    assert [folders[name].get("since") for name in ("/w", "/v")] == [7, None]
    known = json.loads(origins.read_bytes())
    assert [known[str(tmp_path / name)].get("since") for name in ("a", "b")] == [7, None]
