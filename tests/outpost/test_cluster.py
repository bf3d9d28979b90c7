"""Work on a real Ray cluster of two nodes: spread, and each job done once whatever is killed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from desktop_agent.adapters.places.commands import place_named
from desktop_agent.adapters.places.setup import PlaceSetup
from desktop_agent.core.events import NoteDelivered, ToolEnded
from desktop_agent.core.messages import UNKNOWN_OUTCOME
from desktop_agent.core.notes import NoteArrived
from tests.engine.tree.tree_rig import WAIT, gate
from tests.helpers.patience import HANG_S
from tests.helpers.providers import Calls, LoopbackProvider, Received, Say, Wait
from tests.helpers.scripted import calls, says
from tests.outpost.ray_rig import PYTHON, Nodes
from tests.outpost.rig import batch, garden, git, results, write_jobs
from tests.outpost.test_far_agents import SPAWN, WORKS, FarRig

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not PYTHON.exists(),
    reason="Ray is not installed here: scripts/setup --tests does that",
)


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    """Two nodes; a test that kills one adds it again."""
    with tempfile.TemporaryDirectory(prefix="r", ignore_cleanup_errors=True) as folder:
        made = Nodes(Path(folder))
        try:
            made.add("head")
            made.add("second")
            yield made
        finally:
            made.stop()


def writes(request: Received) -> Calls | Say:
    """Write what the prompt names, then say so."""
    if request.results:
        return Say("Written.")
    name = request.user_texts[-1].split()[-1]
    return Calls(("write", {"path": f"{name}.txt", "content": f"{name}\n"}))


class Held:
    """A provider's answers: each first request of a job waits until it is released."""

    def __init__(self) -> None:
        self.release = threading.Event()

    def __call__(self, request: Received) -> Calls | Say | list[Any]:
        """Answer one request."""
        if self.release.is_set() or request.results:
            return writes(request)
        return [Wait(self.release), writes(request)]


def jobs_of(
    tmp_path: Path, provider: LoopbackProvider, count: int, **more: Any
) -> tuple[Path, Path]:
    """Write so many jobs; return their file, and that of the results."""
    said = {"model": provider.model, "api_base": provider.api_base, "mode": "free", **more}
    said["workspace"] = str(garden(tmp_path / "garden"))
    wanted = ({"prompt": f"write n{number}", **said} for number in range(count))
    return write_jobs(tmp_path / "jobs.jsonl", *wanted), tmp_path / "out"


def done_once(out: Path, count: int) -> None:
    """Check that each job has one result, with its own change and nobody else's."""
    found = sorted(results(out), key=lambda one: one["prompt"])
    assert [one["prompt"] for one in found] == [f"write n{number}" for number in range(count)]
    for number, one in enumerate(found):
        assert (one["reason"], one["error"]) == ("finished", "")
        assert one["patch"].count("diff --git ") == 1
        assert f"+n{number}\n" in one["patch"]


class InBackground(threading.Thread):
    """A batch that runs while a test does something to the cluster."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(daemon=True)
        self._arguments = arguments
        self.start()

    def run(self) -> None:
        """Run it."""
        self.ended = batch(*self._arguments)


def test_jobs_are_spread_over_the_nodes(tmp_path: Path, nodes: Nodes) -> None:
    held = Held()
    with LoopbackProvider("openai", otherwise=held) as provider:
        jobs, out = jobs_of(tmp_path, provider, 6)
        run = InBackground(jobs, out, "--on", nodes.place(tmp_path / "home"), "--at-most", "6")
        provider.wait_for(6, HANG_S)
        at_work = nodes.members()
        held.release.set()
        run.join()
    assert run.ended.returncode == 0, run.ended.stderr
    assert {name: len(pids) for name, pids in at_work.items()} == {"head": 1, "second": 1}
    done_once(out, 6)


def test_a_job_whose_process_was_killed_begins_again_from_its_commit(
    tmp_path: Path, nodes: Nodes
) -> None:
    held = Held()
    with LoopbackProvider("openai", otherwise=held) as provider:
        jobs, out = jobs_of(tmp_path, provider, 2)
        run = InBackground(jobs, out, "--on", nodes.place(tmp_path / "home"))
        provider.wait_for(2, HANG_S)
        os.kill(nodes.members()["second"][0], signal.SIGKILL)
        provider.wait_for(3, HANG_S)
        held.release.set()
        run.join()
        assert len(provider.requests) == 5, "only the job that was lost has asked again"
    assert run.ended.returncode == 0, run.ended.stderr
    done_once(out, 2)


def test_a_job_whose_node_failed_begins_again_on_another(tmp_path: Path, nodes: Nodes) -> None:
    held = Held()
    with LoopbackProvider("openai", otherwise=held) as provider:
        jobs, out = jobs_of(tmp_path, provider, 2)
        run = InBackground(jobs, out, "--on", nodes.place(tmp_path / "home"))
        provider.wait_for(2, HANG_S)
        nodes.kill("second")
        provider.wait_for(3, HANG_S)
        held.release.set()
        run.join()
        assert len(provider.requests) == 5, "what the lost node still asks is asked of nobody"
    nodes.add("second")
    assert run.ended.returncode == 0, run.ended.stderr
    done_once(out, 2)


def test_a_job_gets_what_it_needs_to_itself_or_says_that_no_node_has_it(
    tmp_path: Path, nodes: Nodes
) -> None:
    held = Held()
    with LoopbackProvider("openai", otherwise=held) as provider:
        jobs, out = jobs_of(tmp_path, provider, 2, needs={"cpus": 2})
        run = InBackground(jobs, out, "--on", nodes.place(tmp_path / "home"))
        provider.wait_for(2, HANG_S)
        assert sum(len(pids) for pids in nodes.members().values()) == 2
        held.release.set()
        run.join()
        assert run.ended.returncode == 0, run.ended.stderr
        done_once(out, 2)
        (tmp_path / "large").mkdir()
        jobs, out = jobs_of(tmp_path / "large", provider, 1, needs={"gpus": 8})
        ended = batch(jobs, out, "--on", nodes.place(tmp_path / "home"))
        assert ended.returncode == 1
        assert results(out)[0]["error"] == "no node of the cluster has what it needs"
        here = batch(jobs, tmp_path / "here")
    assert here.returncode == 2
    assert "“needs” are for a Ray cluster" in here.stderr


async def test_whoever_has_not_the_token_is_refused(tmp_path: Path, nodes: Nodes) -> None:
    setup = PlaceSetup(lambda: b"")
    good = await setup.check(place_named(nodes.place(tmp_path / "home"), ()))
    assert (good.problem, good.cluster) == ("", "Ray 2.60.0, 2 nodes")
    without = nodes.place(tmp_path / "home", token=tmp_path / "none")
    found = await setup.check(place_named(without, ()))
    assert found.problem == "no_cluster"
    assert "RAY_AUTH_TOKEN_PATH" in found.said
    other = tmp_path / "token"
    other.write_text("0" * 64)
    with LoopbackProvider("openai", otherwise=writes) as provider:
        jobs, out = jobs_of(tmp_path, provider, 1)
        ended = batch(jobs, out, "--on", nodes.place(tmp_path / "other", token=other))
        assert not provider.requests
    assert ended.returncode == 1
    assert "no Ray cluster can be joined there" in ended.stderr


@pytest.fixture
async def rigs(tmp_path: Path, nodes: Nodes) -> AsyncIterator[Callable[[list[Any]], FarRig]]:
    """Make a session whose person has the cluster as a place."""
    made: list[FarRig] = []

    def make(child: list[Any]) -> FarRig:
        said = nodes.place(tmp_path / "home")
        command = said.removeprefix("command: ").removesuffix("+ray")
        main = [SPAWN, WAIT, says("Thanks.")]
        made.append(FarRig(tmp_path, main, child, command=command, has_ray=True))
        return made[-1]

    yield make
    for rig in made:
        await rig.engine.close()


def patched(rig: FarRig) -> Path:
    """Apply what a subagent's report says that it changed; return the folder."""
    (report,) = rig.notes_to(rig.agent_id, "report")
    patch = Path(next(word for word in report.split() if ".outputs" in word).rstrip(".;"))
    git(Path(rig.workspace.root), "apply", str(patch))
    return Path(rig.workspace.root)


async def test_a_subagent_works_on_a_node_and_its_changes_come_back(
    rigs: Callable[[list[Any]], FarRig],
) -> None:
    step = gate(answer=calls(("write", {"path": "far.txt", "content": "far\n"})))
    rig = rigs([step, says("Written there.")])
    agent_id = await rig.begun()
    await asyncio.wait_for(step.reached.wait(), HANG_S)
    note = rig.send_to(agent_id, "mind the roses")
    await rig.once(lambda: any(one.note_id == note.id for one in rig.of(NoteArrived)))
    step.gate.set()
    end = await rig.ended(agent_id)
    assert (end.status, end.text) == ("completed", "Written there.")
    assert [one.step for one in rig.of(NoteDelivered) if one.note_id == note.id] == [2]
    assert (patched(rig) / "far.txt").read_text() == "far\n"


async def test_a_subagent_whose_process_was_killed_goes_on_from_its_last_step(
    rigs: Callable[[list[Any]], FarRig], nodes: Nodes
) -> None:
    beds = {"path": "beds.txt", "content": "fourteen\n"}
    first = calls(
        ("write", {"path": "far.txt", "content": "far\n"}),
        ("read", {"path": "beds.txt"}),
        ("write", beds),
    )
    step = gate(answer=says("Never heard."))
    rig = rigs([first, step, says("Written there.")])
    agent_id = await rig.begun()
    await asyncio.wait_for(step.reached.wait(), HANG_S)
    (member,) = [pid for pids in nodes.members().values() for pid in pids]
    os.kill(member, signal.SIGKILL)
    end = await rig.ended(agent_id)
    assert (end.status, end.text) == ("completed", "Written there.")
    assert len([one for one in rig.of(ToolEnded) if one.agent_id == agent_id]) == 3
    folder = patched(rig)
    assert (folder / "far.txt").read_text() == "far\n"
    assert (folder / "beds.txt").read_text() == "fourteen\n"


async def test_what_a_subagent_ran_when_its_node_failed_is_unknown_and_not_run_again(
    rigs: Callable[[list[Any]], FarRig], nodes: Nodes
) -> None:
    kept = calls(("write", {"path": "far.txt", "content": "far\n"}))
    runs = calls(("shell", {"command": "echo begun; sleep 3600"}))
    rig = rigs([kept, runs, says("I looked, and go on.")])
    agent_id = await rig.begun()
    await rig.command_runs(agent_id, 2)
    note = rig.send_to(agent_id, "mind the roses")
    await rig.once(lambda: any(one.note_id == note.id for one in rig.of(NoteArrived)))
    assert [name for name, pids in nodes.members().items() if pids] == ["second"]
    nodes.kill("second")
    end = await rig.ended(agent_id)
    nodes.add("second")
    assert (end.status, end.text) == ("completed", "I looked, and go on.")
    ended = [one for one in rig.of(ToolEnded) if one.agent_id == agent_id]
    assert [one.result.text == UNKNOWN_OUTCOME for one in ended] == [False, True]
    assert [one.step for one in rig.of(NoteDelivered) if one.note_id == note.id] == [3]
    heard = rig.played.requests_of(WORKS)[-1].messages[-1].text
    assert "The computer that you worked on was lost" in heard
    assert "sleep 3600" in heard
    assert (patched(rig) / "far.txt").read_text() == "far\n"
