"""Places that say what is not the protocol, and folders and changes that are too much for it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from desktop_agent.adapters.places import git_copy
from desktop_agent.core.pipes.frames import LENGTH_BYTES
from desktop_agent.core.pipes.outpost_pipe import MARK
from desktop_agent.outpost import batch
from desktop_agent.outpost.runner import too_large
from tests.engine.tree.tree_rig import WAIT
from tests.helpers.scripted import says
from tests.outpost.rig import far, garden, git, results, write_jobs
from tests.outpost.test_batch_files import store_of
from tests.outpost.test_far_agents import SPAWN, FarRig, pytestmark

__all__ = ["pytestmark"]


@pytest.mark.parametrize("body", [b"\x81\xa1a\xa1\xff", b"\x81\xa1a" + b"\x91" * 100_000])
async def test_a_place_that_greets_with_garbage_is_not_waited_for_for_ever(
    tmp_path: Path, closing: list[FarRig], body: bytes
) -> None:
    greeting = tmp_path / "greeting"
    greeting.write_bytes(MARK + len(body).to_bytes(LENGTH_BYTES, "big") + body)
    command = f"sh -c 'cat {greeting}; sleep 3600'"
    rig = FarRig(tmp_path, [SPAWN, WAIT, says("I see.")], [], command=command)
    closing.append(rig)
    end = await rig.ended(await rig.begun())
    assert end.status == "failed"
    assert end.text.startswith("box can't be reached: a frame can't be read")


async def test_a_folder_that_is_more_than_a_stream_takes_is_not_sent_again_and_again(
    tmp_path: Path, closing: list[FarRig], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_copy, "MOST_PACKED", 1 << 20)
    rig = FarRig(tmp_path, [SPAWN, WAIT, says("I see.")], [])
    closing.append(rig)
    (tmp_path / "garden/data.bin").write_bytes(os.urandom(2 << 20))
    end = await rig.ended(await rig.begun())
    assert end.status == "failed"
    assert "can't be copied: packed it is 2 MB, and 1 MB at most are sent" in end.text


def test_of_a_batch_only_the_jobs_of_a_folder_that_can_not_be_sent_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(git_copy, "MOST_PACKED", 1 << 20)
    small, large = garden(tmp_path / "small"), garden(tmp_path / "large")
    (large / "data.bin").write_bytes(os.urandom(2 << 20))
    said = [{"prompt": "hi", "workspace": str(one), "model": "demo"} for one in (large, small)]
    jobs, out = write_jobs(tmp_path / "jobs.jsonl", *said), tmp_path / "out"
    place = f"command: {far(tmp_path / 'there')}"
    code = batch.main([str(jobs), "--out", str(out), "--on", place, "--at-most", "1"])
    assert code == 1, capsys.readouterr().err
    assert [one["reason"] for one in results(out)] == ["error", "finished"]
    assert "1 MB at most are sent" in results(out)[0]["error"]


def test_of_changes_that_are_more_than_a_stream_takes_the_rest_comes_and_they_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_copy, "MOST_PATCH", 1 << 20)
    folder, copy = garden(tmp_path / "garden"), tmp_path / "copy"
    (folder / "model.bin").write_bytes(b"\0" * (17 << 20))
    store = store_of(folder, tmp_path / "store")
    commit = store.snapshot(folder)
    store.copy(commit, copy)
    (copy / "model.bin").write_bytes(os.urandom(17 << 20))
    (copy / "new.bin").write_bytes(os.urandom(17 << 20))
    (copy / "beds.txt").write_text("fourteen\n")
    patch, files, large = store.changed(commit, copy)
    assert large == ("model.bin", "new.bin")
    assert [one.path for one in files] == [b"beds.txt", b"model.bin", b"new.bin"]
    (tmp_path / "patch").write_text(patch)
    git(folder, "apply", str(tmp_path / "patch"))
    assert (folder / "beds.txt").read_text() == "fourteen\n"
    assert (folder / "model.bin").read_bytes() == b"\0" * (17 << 20)
    assert not (folder / "new.bin").exists()
    assert "model.bin, new.bin" in too_large(large)
