"""The main job without a window, as a script runs it, against all five kinds of providers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.compose import SESSIONS_FILE
from desktop_agent.core.approvals import Deny
from desktop_agent.core.events import (
    ApprovalRequested,
    ApprovalResolved,
    Event,
    MessageAdded,
    PartDelta,
    ToolEnded,
    ToolStarted,
)
from desktop_agent.core.messages import DiffDisplay, OutputDisplay, ThinkingPart, open_calls
from desktop_agent.headless.output import RunEnded
from tests.e2e import job
from tests.helpers.forked import FORKS
from tests.helpers.providers import DIALECTS, LoopbackProvider, Received

KEY = "sk-only-for-this-run-0123456789abcdef"
KEY_NAMES = {"anthropic": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY"}
LINE = msgspec.json.Decoder(Event | RunEnded)


@dataclass
class Run:
    """One process of the app that has ended, and what it did."""

    place: Path
    code: int
    events: list[Event | RunEnded]
    errors: str
    requests: tuple[Received, ...]

    def all(self, kind: type) -> list:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def folder(self) -> Path:
        return self.place / "shop"

    @property
    def ended(self) -> RunEnded:
        assert isinstance(self.events[-1], RunEnded)
        return self.events[-1]


def work(provider: LoopbackProvider, place: Path, *options: str) -> Run:
    home = place / "home"
    own = {"HOME": str(home), "DESKTOP_AGENT_HOME": str(home / "app"), **job.surroundings()}
    name = KEY_NAMES.get(provider.dialect, "OPENAI_API_KEY")
    command = ["run", job.REQUEST, "--output", "jsonl"]
    command += ["--workspace", str(place / "shop"), "--session", "job", *options]
    command += ["--model", provider.model, "--api-base", provider.api_base]
    ended = FORKS.run(command, **own, **{name: KEY})
    events = [LINE.decode(line) for line in ended.stdout.splitlines()]
    return Run(place, ended.returncode, events, ended.stderr, provider.requests)


def sessions_of(place: Path) -> SqliteStore:
    data = place / "home" / "app" / "data"
    data.mkdir(parents=True, exist_ok=True)
    return SqliteStore(data / SESSIONS_FILE)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """All runs at once: each waits most of its time for the words of its model."""
    with ExitStack() as stack:
        started = {}
        pool = stack.enter_context(ThreadPoolExecutor(2 + len(DIALECTS)))
        for name in (*DIALECTS, "refused", "look"):
            place = tmp_path_factory.mktemp(name)
            job.make_folder(place)
            is_allowed = name in DIALECTS
            if is_allowed:
                with closing(sessions_of(place)) as store:
                    store.save_rules(job.RULES)
            dialect = name if is_allowed else "openai"
            steps = job.script() if is_allowed else job.refused_script()
            key = KEY if dialect != "ollama" else ""
            provider = stack.enter_context(LoopbackProvider(dialect, steps, key=key))
            options = ["--mode", "look"] if name == "look" else []
            started[name] = pool.submit(work, provider, place, *options)
        return {name: run.result() for name, run in started.items()}


every_dialect = pytest.mark.parametrize("dialect", DIALECTS)


@every_dialect
def test_the_job_is_done_from_reading_to_the_tests_that_pass(runs, dialect) -> None:
    run = runs[dialect]
    assert (run.code, run.errors) == (0, "")
    assert run.ended.reason == "finished"
    assert run.ended.text == job.ANSWER
    assert job.is_fixed(run.folder)
    assert [event.outcome for event in run.all(ToolEnded)] == ["ok", "ok", "ok"]
    names = [event.call.name for event in run.all(ToolStarted)]
    assert names == ["read", "edit", "shell"]
    assert not run.all(ApprovalRequested)


@every_dialect
def test_the_answer_arrives_in_pieces_and_thinking_beside_it(runs, dialect) -> None:
    deltas = runs[dialect].all(PartDelta)
    said = [delta.text for delta in deltas if delta.kind == "text"]
    assert len(said) >= 4
    assert "".join(said).endswith(job.ANSWER)
    thought = "".join(delta.text for delta in deltas if delta.kind == "thinking")
    assert thought == "I need to see the file first."


@every_dialect
def test_a_person_can_see_what_was_changed_and_run(runs, dialect) -> None:
    shown = [event.result.display for event in runs[dialect].all(ToolEnded)]
    diff = next(one for one in shown if isinstance(one, DiffDisplay))
    assert (diff.added, diff.removed) == (1, 1)
    output = next(one for one in shown if isinstance(one, OutputDisplay))
    assert output.exit_code == 0
    assert "1 passed" in output.text


@every_dialect
def test_tokens_are_counted(runs, dialect) -> None:
    usage = runs[dialect].ended.usage
    assert usage.input_tokens
    assert usage.output_tokens


@every_dialect
def test_each_request_holds_all_results_so_far(runs, dialect) -> None:
    assert [len(request.results) for request in runs[dialect].requests] == [0, 1, 2, 3]
    assert all("edit" in request.tool_names for request in runs[dialect].requests)


@every_dialect
def test_the_session_is_kept_and_whole(runs, dialect) -> None:
    with closing(sessions_of(runs[dialect].place)) as store:
        (info,) = store.sessions()
        (agent,) = store.load_agents(info.id)
    assert (info.id, info.status) == ("job", "idle")
    assert not open_calls(agent.history)
    assert agent.history[-1].text == job.ANSWER
    thoughts = [p for m in agent.history for p in m.parts if isinstance(p, ThinkingPart)]
    assert thoughts


@every_dialect
def test_the_key_is_written_nowhere(runs, dialect) -> None:
    run = runs[dialect]
    for path in run.place.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path
    assert KEY not in "".join(str(event) for event in run.events)


def test_where_nobody_can_allow_it_nothing_is_changed_and_the_run_ends_well(runs) -> None:
    run = runs["refused"]
    assert (run.code, run.ended.reason) == (0, "finished")
    assert not job.is_fixed(run.folder)
    assert len(run.all(ApprovalRequested)) == 2
    decisions = [event.decision for event in run.all(ApprovalResolved)]
    assert [isinstance(d, Deny) and d.by for d in decisions] == ["unattended", "unattended"]
    assert [event.outcome for event in run.all(ToolEnded)] == ["ok", "denied", "denied"]
    assert "denied by the user" not in run.ended.text
    assert run.ended.text.count("nobody is here to approve it") == 2


def test_when_it_may_only_look_it_is_told_so_and_nothing_is_asked(runs) -> None:
    run = runs["look"]
    assert (run.code, run.ended.reason) == (0, "finished")
    assert not job.is_fixed(run.folder)
    assert not run.all(ApprovalRequested)
    assert [event.outcome for event in run.all(ToolEnded)] == ["ok", "denied", "denied"]
    assert run.ended.text.count("Look only") == 2


def test_what_was_refused_is_kept_with_its_author(runs) -> None:
    with closing(sessions_of(runs["refused"].place)) as store:
        page = store.page(store.sessions()[0].id, None, 1000)
    kept = [event for event in page.events if isinstance(event, ApprovalResolved)]
    assert [event.decision.by for event in kept] == ["unattended", "unattended"]
    assert [event for event in page.events if isinstance(event, MessageAdded)]
