"""`desktop-agent batch` as scripts see it: each job once, in a copy, whatever ends the process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections import Counter
from contextlib import closing
from pathlib import Path

from desktop_agent import paths
from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.compose import SESSIONS_FILE
from desktop_agent.core.approvals import Rule
from tests.helpers.forked import app_by_fork
from tests.helpers.patience import HANG_S
from tests.helpers.providers import Calls, Fail, LoopbackProvider, Received, Say, Wait
from tests.outpost.rig import batch, garden, git, results, state, write_jobs


def writes(request: Received):
    """Write what the prompt names, then say so."""
    if request.results:
        return Say("Written.")
    words = request.user_texts[-1].split()
    return Calls(("write", {"path": f"{words[-1]}.txt", "content": f"{words[-1]}\n"}))


def reads(request: Received):
    """Read files, then say what is in them."""
    if request.results:
        return Say(" | ".join(request.results))
    names = ("beds.txt", "noise.log", "staged.txt", "new.txt")
    return Calls(*[("read", {"path": name}) for name in names])


def test_jobs_work_in_copies_with_uncommitted_work_and_the_folder_stays_as_it_is(
    tmp_path: Path,
) -> None:
    folder, out = garden(tmp_path / "garden"), tmp_path / "results.jsonl"
    before = state(folder)
    with LoopbackProvider("openai", otherwise=writes) as provider:
        said = {"workspace": str(folder), "model": provider.model, "mode": "free"}
        said["api_base"] = provider.api_base
        jobs = write_jobs(
            tmp_path / "jobs.jsonl",
            {"prompt": "write one", **said},
            {"prompt": "write two", **said},
            {"prompt": "write two", **said},
        )
        ended = batch(jobs, out, "--html", tmp_path / "page.html")
        assert ended.returncode == 0, ended.stderr
        assert "3 of 3 done · 0 running · cost unknown" in ended.stderr
        assert ended.stdout.rstrip().endswith("s of work · cost unknown")
        assert "1 file +1 −0" in ended.stdout
        first, *others = sorted(results(out), key=lambda one: one["prompt"])
        assert [one["patch"] for one in others] == [others[0]["patch"]] * 2
        assert (first["reason"], first["text"], first["place"]) == ("finished", "Written.", "local")
        assert first["usage"]["input_tokens"] > 0
        count = len(provider.requests)
        again = batch(jobs, out, "--json")
        assert json.loads(again.stdout)["reasons"] == {"finished": 3}
        assert len(provider.requests) == count, "what has a result is not run again"
    assert state(folder) == before
    patch = tmp_path / "one.patch"
    patch.write_text(first["patch"])
    git(folder, "apply", str(patch))
    assert (folder / "one.txt").read_text() == "one\n"
    assert "3 of 3 finished" in (tmp_path / "page.html").read_text()


def test_a_copy_holds_uncommitted_work_and_nothing_that_is_ignored_or_refused_by_a_rule(
    tmp_path: Path,
) -> None:
    folder = garden(tmp_path / "garden")
    with (
        closing(SqliteStore(paths.data_dir() / SESSIONS_FILE)) as store,
        LoopbackProvider("openai", otherwise=reads) as provider,
    ):
        here = Rule("read", "staged.txt", "folder", str(folder.resolve()), is_deny=True)
        elsewhere = Rule("read", "beds.txt", "folder", str(tmp_path), is_deny=True)
        store.save_rules([here, elsewhere, Rule("read", "new.txt", "everywhere", is_deny=True)])
        jobs = write_jobs(tmp_path / "jobs.jsonl", {"prompt": "read"})
        given = ("--workspace", folder, "--model", provider.model)
        ended = batch(jobs, tmp_path / "out", *given, "--api-base", provider.api_base)
    assert ended.returncode == 0, ended.stderr
    (one,) = results(tmp_path / "out")
    assert "thirteen" in one["text"]
    assert "noise.log" in one["text"]
    assert "noise\n" not in one["text"]
    assert ["refused by a rule" in said for said in one["text"].split(" | ")[-2:]] == [True, True]
    assert one["patch"] == ""


def test_a_folder_without_git_and_with_the_results_in_it_is_gone_on_with(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "a.txt").write_text("a\n")
    jobs = write_jobs(folder / "jobs.jsonl", {"prompt": "Look around", "workspace": str(folder)})
    first = batch(jobs, folder / "out.jsonl", "--model", "demo", "--html", folder / "page.html")
    assert first.returncode == 0, first.stderr
    again = batch(jobs, folder / "out.jsonl", "--model", "demo", "--html", folder / "page.html")
    assert again.returncode == 0, again.stderr
    assert len(results(folder / "out.jsonl")) == 1
    assert sorted(path.name for path in folder.iterdir()) == [
        "a.txt", "jobs.jsonl", "out.jsonl", "page.html",
    ]  # fmt: skip


def test_a_job_that_fails_is_told_and_the_others_go_on(tmp_path: Path) -> None:
    folder = garden(tmp_path / "garden")

    def answer(request: Received):
        return Fail(401) if "bad" in request.user_texts[-1] else Say("Fine.")

    with LoopbackProvider("openai", otherwise=answer) as provider:
        said = {"model": provider.model, "api_base": provider.api_base, "workspace": str(folder)}
        jobs = write_jobs(
            tmp_path / "jobs.jsonl", {"prompt": "bad", **said}, {"prompt": "good", **said}
        )
        ended = batch(jobs, tmp_path / "out")
    assert ended.returncode == 1
    assert "1 failed" in ended.stderr
    found = {one["prompt"]: one for one in results(tmp_path / "out")}
    assert (found["bad"]["reason"], found["good"]["reason"]) == ("error", "finished")
    assert found["bad"]["error"]


def test_the_limit_of_cost_stops_the_batch_and_a_larger_one_goes_on_with_it(
    tmp_path: Path,
) -> None:
    folder = garden(tmp_path / "garden")
    with LoopbackProvider("openai", otherwise=writes) as provider:
        said = {"workspace": str(folder), "mode": "free", "api_base": provider.api_base}
        said["model"] = "openai/gpt-4o-mini"
        wanted = [{"prompt": f"write n{number}", **said} for number in range(4)]
        jobs = write_jobs(tmp_path / "jobs.jsonl", *wanted)
        small = batch(jobs, tmp_path / "out", "--at-most", "1", "--max-cost", "0.0000001")
        assert small.returncode == 1
        assert "the limit of cost is reached" in small.stderr
        assert len(provider.requests) == 1, "the step in flight, and no other"
        (cut,) = results(tmp_path / "out")
        assert cut["key"].endswith("+cut"), "what was spent, and no result"
        assert cut["usage"]["cost"] > 0
        small = batch(jobs, tmp_path / "out", "--at-most", "1", "--max-cost", "0.0000001")
        assert len(provider.requests) == 1, "it was spent before"
        large = batch(jobs, tmp_path / "out", "--max-cost", "5")
        assert large.returncode == 0, large.stderr
        assert len({one["key"] for one in results(tmp_path / "out")}) == 5
        asked, jobs = (
            len(provider.requests),
            write_jobs(jobs, *wanted, {**wanted[0], "trust": True}),
        )
        again = batch(jobs, tmp_path / "out", "--max-cost", "0.0000001")
        assert "4 of 5 done" in again.stderr, "a job that has not run waits for a larger limit"
        assert "the limit of cost is reached" in again.stderr
        assert (again.returncode, len(provider.requests)) == (1, asked)
    assert len(results(tmp_path / "out")) == 5


def test_money_is_not_limited_where_nobody_knows_what_a_model_costs(tmp_path: Path) -> None:
    folder = garden(tmp_path / "garden")
    with LoopbackProvider("openai", otherwise=writes) as provider:
        said = {"workspace": str(folder), "model": provider.model, "api_base": provider.api_base}
        jobs = write_jobs(tmp_path / "jobs.jsonl", {"prompt": "write a", **said})
        ended = batch(jobs, tmp_path / "out", "--max-cost", "5")
        assert provider.requests == ()
    assert ended.returncode == 1
    (one,) = results(tmp_path / "out")
    assert one["reason"] == "budget"
    assert "price" in one["error"]


def test_a_bad_line_is_named_before_anything_runs(tmp_path: Path) -> None:
    jobs = write_jobs(
        tmp_path / "jobs.jsonl",
        {"prompt": "good", "workspace": str(tmp_path)},
        {"prompt": "bad", "workspace": str(tmp_path), "mode": "wild"},
    )
    ended = batch(jobs, tmp_path / "out")
    assert ended.returncode == 2
    assert "line 2 of jobs.jsonl" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "out").exists()


# -- what ends the process ------------------------------------------------------------------


def started(jobs: Path, out: Path, *more: str) -> subprocess.Popen[str]:
    command = [*app_by_fork(), "batch", str(jobs), "--out", str(out), *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_batch_that_is_killed_gives_each_result_once(tmp_path: Path) -> None:
    folder, out = garden(tmp_path / "garden"), tmp_path / "out"
    with LoopbackProvider("openai", otherwise=writes) as provider:
        said = {"workspace": str(folder), "mode": "free", "model": provider.model}
        said["api_base"] = provider.api_base
        wanted = [f"write n{number}" for number in range(9)]
        jobs = write_jobs(tmp_path / "jobs.jsonl", *({"prompt": one, **said} for one in wanted))
        for kill in range(1, 3):
            process = started(jobs, out)
            provider.wait_for(len(provider.requests) + 5 * kill, HANG_S)
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
        with out.open("ab") as file:  # as a kill within a write leaves it
            file.write(b'{"key":"1234')
        ended = batch(jobs, out)
    assert ended.returncode == 0, ended.stderr
    assert Counter(one["prompt"] for one in results(out)) == Counter(wanted)


def test_an_interrupted_batch_says_so_and_what_it_cut_is_run_the_next_time(
    tmp_path: Path,
) -> None:
    folder, out = garden(tmp_path / "garden"), tmp_path / "out"
    with LoopbackProvider("openai", [Wait(threading.Event())], otherwise=Say("Done.")) as provider:
        said = {"workspace": str(folder), "model": provider.model, "api_base": provider.api_base}
        jobs = write_jobs(tmp_path / "jobs.jsonl", {"prompt": "go", **said})
        process = started(jobs, out)
        provider.wait_for(1, HANG_S)
        # What one is writing another does not cut.
        out.write_bytes(half := b'{"key":"1234')
        assert "another batch" in batch(jobs, out).stderr
        assert out.read_bytes() == half
        out.write_bytes(b"")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
        assert process.returncode == 130, errors
        assert "Traceback" not in errors
        assert results(out) == []
        assert batch(jobs, out).returncode == 0
    assert len(results(out)) == 1
