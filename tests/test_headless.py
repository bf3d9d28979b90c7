"""`python -m desktop_agent run` as scripts see it: real processes, real files, real servers.

Those that are interrupted are started as a script does; the others share the time of the imports.
"""

from __future__ import annotations

import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec
import pytest

from desktop_agent import app, paths
from desktop_agent.adapters.config import settings_file
from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.compose import SESSIONS_FILE
from desktop_agent.core.agents import Budget
from desktop_agent.core.approvals import Deny, Rule
from desktop_agent.core.events import (
    AgentEnded,
    AgentSpawned,
    ApprovalRequested,
    ApprovalResolved,
    Event,
    MessageAdded,
    PartDelta,
    QuestionAnswered,
    SessionOpened,
    StepEnded,
    ToolEnded,
    ToolOutput,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from desktop_agent.core.settings import Settings
from desktop_agent.headless.output import RunEnded
from tests.helpers.forked import FORKS
from tests.helpers.patience import HANG_S as SECONDS
from tests.helpers.providers import Calls, Fail, LoopbackProvider, Received, Say

COMMAND = [sys.executable, "-m", "desktop_agent", "run"]
LINE = msgspec.json.Decoder(Event | RunEnded)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small folder to work in."""
    made = tmp_path / "folder"
    made.mkdir()
    (made / "README.md").write_text("# Garden\n\nTwelve beds.\n")
    (made / "water.py").write_text("def cans_for(size):\n    return size\n")
    return made


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return FORKS.run(["run", *map(str, arguments)])


def lines_of(text: str) -> list[Event | RunEnded]:
    """Decode every line; one that is no event, or cut, fails the test."""
    assert text.endswith("\n")
    return [LINE.decode(line) for line in text.splitlines()]


def run_lines(*arguments: str | Path) -> tuple[int, list[Event | RunEnded], RunEnded]:
    ended = run(*arguments, "--output", "jsonl")
    lines = lines_of(ended.stdout)
    assert isinstance(lines[-1], RunEnded)
    assert ended.stderr == ""
    return ended.returncode, lines, lines[-1]


@contextmanager
def started(*arguments: str | Path) -> Iterator[subprocess.Popen[str]]:
    """A run that is under way; it is ended with the block, whatever happens."""
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def wait_for_line(process: subprocess.Popen[str], kind: type) -> list[Event | RunEnded]:
    assert process.stdout is not None
    seen: list[Event | RunEnded] = []
    for line in process.stdout:
        seen.append(LINE.decode(line))
        if isinstance(seen[-1], kind):
            return seen
    pytest.fail(f"the run ended without {kind.__name__}")


# -- the demo model ---------------------------------------------------------------------------


def test_the_first_command_of_a_newcomer_works_and_changes_nothing(folder: Path) -> None:
    ended = run("Look around", "--workspace", folder, "--model", "demo")
    assert ended.returncode == 0, ended.stderr
    assert "a script, not an AI" in ended.stdout
    assert "| Kind of file | Files |" in ended.stdout
    assert "nobody is here to approve it" in ended.stdout
    assert ended.stderr == ""
    assert not (folder / "OVERVIEW.md").exists()


def test_without_a_chosen_model_the_demo_runs(folder: Path) -> None:
    ended = run("Look around", "--workspace", folder)
    assert ended.returncode == 0
    assert "demo model" in ended.stdout


def test_what_would_be_asked_is_refused_and_on_record(folder: Path) -> None:
    code, lines, ended = run_lines("Look around", "--workspace", folder, "--mode", "ask")
    resolved = [line for line in lines if isinstance(line, ApprovalResolved)]
    assert [type(line.decision) for line in resolved] == [Deny]
    assert isinstance(resolved[0].decision, Deny)
    assert resolved[0].decision.by == "unattended"
    refused = [e for e in lines if isinstance(e, ToolEnded) and e.outcome == "denied"]
    assert len(refused) == 1
    assert (code, ended.reason) == (0, "finished")


def test_in_the_free_mode_the_overview_is_written(folder: Path) -> None:
    code, lines, ended = run_lines("Look around", "--workspace", folder, "--mode", "free")
    assert (code, ended.reason) == (0, "finished")
    text = (folder / "OVERVIEW.md").read_text()
    assert "2 files in 1 folder." in text
    assert "Twelve beds." in text
    assert "`cans_for`" in text
    assert "could not be read" not in text.lower()
    assert not [line for line in lines if isinstance(line, ApprovalRequested)]
    assert "OVERVIEW.md" in ended.text


def test_in_the_mode_that_only_looks_nothing_is_even_asked(folder: Path) -> None:
    code, lines, _ = run_lines("Look around", "--workspace", folder, "--mode", "look")
    assert code == 0
    assert not [line for line in lines if isinstance(line, ApprovalRequested)]
    assert not (folder / "OVERVIEW.md").exists()


def test_every_event_is_a_line_and_the_end_is_the_last(folder: Path) -> None:
    _, lines, ended = run_lines("Look around", "--workspace", folder)
    kinds = [type(line) for line in lines]
    assert kinds.count(RunEnded) == 1
    assert kinds.count(TurnStarted) == kinds.count(TurnEnded)
    main = next(line.info.main_agent for line in lines if isinstance(line, SessionOpened))
    assert [e.agent_id for e in lines if isinstance(e, TurnEnded)].count(main) == 1
    calls = [line.call.id for line in lines if isinstance(line, ToolStarted)]
    results = [line.result.call_id for line in lines if isinstance(line, ToolEnded)]
    assert set(calls) <= set(results)
    assert len(results) == len(set(results))
    said = [e for e in lines if isinstance(e, MessageAdded) and e.message.role == "assistant"]
    agents = {e.agent_id for e in said}
    assert len(agents) == 3
    for agent in agents:
        deltas = [
            e.text
            for e in lines
            if isinstance(e, PartDelta) and e.agent_id == agent and e.kind == "text"
        ]
        assert "".join(deltas) == "".join(e.message.text for e in said if e.agent_id == agent)
    answers = [e.message for e in said if e.agent_id == main and e.message.text]
    assert ended.text == answers[-1].text
    assert ended.usage.cost == 0


def test_a_session_is_begun_and_continued_by_its_id(folder: Path) -> None:
    run_lines("Look around", "--workspace", folder, "--session", "garden-1")
    _, lines, ended = run_lines("list files", "--workspace", folder, "--session", "garden-1")
    opened = next(line for line in lines if isinstance(line, SessionOpened))
    assert opened.info.id == "garden-1"
    assert any(isinstance(event, TurnEnded) for event in opened.events)
    assert "a script, not an AI" not in ended.text
    assert "water.py" in ended.text


def test_what_was_learned_of_a_models_window_lasts_from_run_to_run(folder: Path) -> None:
    """Else a server that only cuts what is too long cuts the first request of each run."""
    args = ("list files", "--workspace", folder, "--session", "s", "--model", "demo")
    run_lines(*args)
    store = SqliteStore(paths.data_dir() / SESSIONS_FILE)
    with closing(store):
        (info,) = store.sessions()
        learned = {"context_limit": 500_000, "context_source": "learned"}
        store.save_session(msgspec.structs.replace(info, **learned))
    _, lines, _ = run_lines(*args)
    opened = next(line for line in lines if isinstance(line, SessionOpened))
    assert (opened.info.context_limit, opened.info.context_source) == (500_000, "learned")


def test_a_later_run_does_not_inherit_the_right_to_work_without_asking(folder: Path) -> None:
    run_lines("list files", "--workspace", folder, "--session", "s", "--mode", "free")
    _, lines, _ = run_lines("look around", "--workspace", folder, "--session", "s")
    assert [line for line in lines if isinstance(line, ApprovalRequested)]
    assert not (folder / "OVERVIEW.md").exists()


def test_sessions_stay_private_to_the_user(folder: Path) -> None:
    run("list files", "--workspace", folder)
    mode = stat.S_IMODE(paths.data_dir().stat().st_mode)
    assert mode == 0o700


# -- limits and stops -------------------------------------------------------------------------


def test_the_limit_of_steps_ends_the_run_with_3(folder: Path) -> None:
    code, _, ended = run_lines("Look around", "--workspace", folder, "--max-steps", "1")
    assert (code, ended.reason) == (3, "step_limit")


def test_the_time_limit_ends_the_run_with_3(folder: Path) -> None:
    code, _, ended = run_lines("Look around", "--workspace", folder, "--timeout", "0.3")
    assert (code, ended.reason) == (3, "timeout")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_run_with_130_and_its_last_line(
    folder: Path, number: signal.Signals
) -> None:
    with started("Look around", "--workspace", folder, "--output", "jsonl") as process:
        wait_for_line(process, PartDelta)
        process.send_signal(number)
        out, errors = process.communicate(timeout=SECONDS)
        last = lines_of(out)[-1]
        assert isinstance(last, RunEnded)
        assert (process.returncode, last.reason, errors) == (130, "interrupted", "")


def test_an_interrupt_leaves_no_command_running(folder: Path) -> None:
    allow_everywhere("./work.sh")
    script = folder / "work.sh"
    script.write_text("#!/bin/sh\necho at work\nsleep 300\n")
    script.chmod(0o755)
    arguments = ("run ./work.sh", "--workspace", folder, "--output", "jsonl")
    with started(*arguments) as process:
        wait_for_line(process, ToolOutput)
        assert commands_in(folder)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=SECONDS)
        assert process.returncode == 130
        ended = [line for line in lines_of(out) if isinstance(line, ToolEnded)]
        assert [line.outcome for line in ended] == ["cancelled"]
    assert not commands_in(folder)


def test_a_reader_that_goes_away_ends_the_run_quietly(folder: Path) -> None:
    with started("Look around", "--workspace", folder, "--output", "jsonl") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(SECONDS) == 1


# -- usage ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ([], "PROMPT"),
        (["hi"], "--workspace"),
        (["hi", "--workspace", "nowhere"], "nowhere"),
        (["hi", "--workspace", __file__], "not a folder"),
        (["  ", "--workspace", "."], "empty"),
        (["hi", "--workspace", ".", "--mode", "yolo"], "yolo"),
        (["hi", "--workspace", ".", "--max-steps", "0"], "0"),
        (["hi", "--workspace", ".", "--timeout", "soon"], "soon"),
        (["hi", "--workspace", ".", "--timeout", "nan"], "nan"),
        (["hi", "--workspace", ".", "--output", "xml"], "xml"),
        (["hi", "--workspace", ".", "--session", "../x"], "id"),
        (["hi", "--workspace", ".", "--api-base", "http://x/v1"], "--model"),
        (["hi", "--workspace", ".", "--model", "m", "--api-base", "ftp://x"], "ftp"),
        (["hi", "there", "--workspace", "."], "there"),
        (["hi", "--workspace", ".", "--api-key", "sk-1"], "--api-key"),
    ],
)
def test_a_mistake_on_the_command_line_is_one_sentence_and_2(
    arguments: list[str], word: str
) -> None:
    ended = run(*arguments)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert len(ended.stderr.splitlines()) == 1
    assert word in ended.stderr


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_is_help(folder: Path, option: str) -> None:
    ended = run(option)
    assert ended.returncode == 0
    assert "--max-steps" in ended.stdout


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_of_the_whole_app_is_help(capfd: pytest.CaptureFixture[str], option: str) -> None:
    assert app.main([option]) == 0
    assert "desktop-agent run" in capfd.readouterr().out


def test_it_runs_where_no_qt_is_installed(folder: Path) -> None:
    code = (
        "import sys; sys.modules['PySide6'] = None; sys.modules['qasync'] = None\n"
        "from desktop_agent.headless import main\n"
        "raise SystemExit(main(sys.argv[1:]))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, "list files", "--workspace", str(folder)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "README.md" in ended.stdout


# -- real models ------------------------------------------------------------------------------


def test_a_model_reads_a_file_asks_in_vain_and_answers(folder: Path) -> None:
    script = [
        Calls(("read", {"path": "README.md"}), ("ask_user", {"question": "Which colour?"})),
        lambda request: Say(" / ".join(request.results)),
    ]
    with LoopbackProvider("openai", script) as provider:
        options = ("--model", provider.model, "--api-base", provider.api_base)
        code, lines, ended = run_lines("Read it", "--workspace", folder, *options)
        system = provider.requests[0].system
    assert (code, ended.reason) == (0, "finished")
    assert "Twelve beds" in ended.text
    assert "Nobody is here to answer" in ended.text
    assert [line for line in lines if isinstance(line, QuestionAnswered)]
    assert ended.usage.input_tokens
    assert str(folder) in system
    assert "{{" not in system


def test_a_failure_of_the_model_chosen_in_the_window_is_1_with_the_providers_words(
    folder: Path,
) -> None:
    refusal = Fail(401, message="This key is not known here.")
    with LoopbackProvider("openai", otherwise=refusal) as provider:
        chosen = Settings(model=provider.model, api_base=provider.api_base)
        settings_file.save(paths.config_dir() / "settings.json", chosen)
        ended = run("Hello", "--workspace", folder)
    assert ended.returncode == 1
    assert "This key is not known here." in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_a_failure_in_lines_ends_with_the_reason_error(folder: Path) -> None:
    with LoopbackProvider("openai", otherwise=Fail(401)) as provider:
        options = ("--model", provider.model, "--api-base", provider.api_base)
        code, lines, ended = run_lines("Hello", "--workspace", folder, *options)
    assert (code, ended.reason) == (1, "error")
    turn = next(line for line in lines if isinstance(line, TurnEnded))
    assert turn.fault is not None
    assert turn.fault.kind == "auth"


def test_a_key_in_the_environment_goes_to_the_server_that_was_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-only-for-this-run-0123456789"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with LoopbackProvider("openai", otherwise=Say("Let in."), key=key) as provider:
        options = ("--model", provider.model, "--api-base", provider.api_base)
        ended = run("Hello", "--workspace", folder, *options, "--output", "jsonl")
    assert ended.returncode == 0, ended.stdout
    assert key not in ended.stdout
    for path in paths.data_dir().parent.rglob("*"):
        assert not path.is_file() or key.encode() not in path.read_bytes()


# -- the whole tree --------------------------------------------------------------------------


def test_a_run_ends_only_when_the_last_subagent_has_reported(folder: Path) -> None:
    """Two subagents work on after the main agent's own turn; its last words use both."""
    with LoopbackProvider("openai", otherwise=_tree) as provider:
        options = ("--model", provider.model, "--api-base", provider.api_base)
        code, lines, ended = run_lines("Begin", "--workspace", folder, *options)
    assert (code, ended.reason) == (0, "finished")
    spawned = {e.agent_id: e.spec.name for e in lines if isinstance(e, AgentSpawned)}
    assert sorted(spawned.values()) == ["alpha", "beta"]
    finished = {e.agent_id: e.status for e in lines if isinstance(e, AgentEnded)}
    assert finished == dict.fromkeys(spawned, "completed")
    speakers = {e.agent_id for e in lines if isinstance(e, MessageAdded)}
    assert speakers > set(spawned)
    answers = [e for e in lines if isinstance(e, QuestionAnswered)]
    assert [e.agent_id in spawned for e in answers] == [True]
    assert "Nobody is here to answer" in answers[0].text
    assert ended.text == "Both have reported."
    steps = [e.usage.input_tokens or 0 for e in lines if isinstance(e, StepEnded)]
    assert ended.usage.input_tokens == sum(steps)


def test_a_subagents_question_is_its_parents_to_answer(folder: Path) -> None:
    """Only what no parent answers is answered for the person who is not there."""

    def answers(request: Received) -> Say | Calls:
        said = "\n".join(request.user_texts)
        asked = re.search(r'<app:question from="beta" agent_id="(sa_\w+)"', said)
        if asked and "Answered" not in "".join(request.results):
            return Calls(("answer_child", {"agent_id": asked[1], "answer": "the second"}))
        return _tree(request)

    with LoopbackProvider("openai", otherwise=answers) as provider:
        options = ("--model", provider.model, "--api-base", provider.api_base)
        code, lines, ended = run_lines("Begin", "--workspace", folder, *options)
    assert (code, ended.reason, ended.text) == (0, "finished", "Both have reported.")
    main = next(line.info.main_agent for line in lines if isinstance(line, SessionOpened))
    answered = [e for e in lines if isinstance(e, QuestionAnswered)]
    assert [(e.text, e.by) for e in answered] == [("the second", main)]


def test_each_agents_events_are_in_the_lines_under_its_id(folder: Path) -> None:
    with LoopbackProvider("openai", otherwise=_tree) as provider:
        options = ("--model", provider.model, "--api-base", provider.api_base)
        _, lines, ended = run_lines("Begin", "--workspace", folder, *options)
    spawned = [e.agent_id for e in lines if isinstance(e, AgentSpawned)]
    assert len(spawned) == 2
    end = lines.index(ended)
    for agent in spawned:
        own = [e for e in lines if getattr(e, "agent_id", None) == agent]
        kinds = [type(event) for event in own]
        for kind in (TurnStarted, PartDelta, MessageAdded, TurnEnded, AgentEnded):
            assert kind in kinds, (agent, kind)
        assert kinds.count(AgentEnded) == 1
        assert lines.index(own[-1]) < end
        last_turn = max(i for i, e in enumerate(lines) if isinstance(e, TurnEnded))
        assert lines.index(own[kinds.index(AgentEnded)]) < last_turn


def test_subagents_are_named_in_readable_output(folder: Path) -> None:
    with LoopbackProvider("openai", otherwise=_tree) as provider:
        options = ("--model", provider.model, "--api-base", provider.api_base)
        ended = run("Begin", "--workspace", folder, *options)
    assert ended.returncode == 0, ended.stderr
    assert "[alpha] alpha is done" in ended.stdout
    assert "[beta] beta is done" in ended.stdout
    assert ended.stdout.rstrip().endswith("Both have reported.")


def test_a_budget_that_is_used_up_ends_the_run_with_3(folder: Path) -> None:
    settings_file.save(paths.config_dir() / "settings.json", Settings(budget=Budget(steps=1)))
    code, _, ended = run_lines("Look around", "--workspace", folder, "--model", "demo")
    assert (code, ended.reason) == (3, "budget")


def test_a_limit_of_money_without_a_known_price_says_so_and_asks_no_model(folder: Path) -> None:
    settings_file.save(paths.config_dir() / "settings.json", Settings(budget=Budget(cost=1.0)))
    with LoopbackProvider("openai", otherwise=Say("Hello.")) as provider:
        options = ("--model", provider.model, "--api-base", provider.api_base)
        ended = run("Begin", "--workspace", folder, *options)
        assert provider.requests == ()
    assert ended.returncode == 3
    assert "can't be measured: the price of the model is not known" in ended.stderr


def test_a_limit_of_money_for_a_known_price_lets_the_work_be_done(folder: Path) -> None:
    settings_file.save(paths.config_dir() / "settings.json", Settings(budget=Budget(cost=1.0)))
    with LoopbackProvider("openai", otherwise=Say("Hello."), name="gpt-4o") as provider:
        options = ("--model", provider.model, "--api-base", provider.api_base)
        ended = run("Begin", "--workspace", folder, *options)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.strip() == "Hello."


def _tree(request: Received) -> Say | Calls:
    """The main agent starts two and ends its turn; one of them asks."""
    first, said = request.user_texts[0], "\n".join(request.user_texts)
    for name in ("alpha", "beta"):
        if first.startswith(name):
            if name == "beta" and not request.results:
                return Calls(("ask_parent", {"question": "Which?"}))
            return Say(f"{name} is done")
    if not request.results:
        return Calls(
            *[("spawn", {"description": n, "prompt": f"{n}: work"}) for n in ("alpha", "beta")]
        )
    reports = said.count("<app:report ")
    return Say("Both have reported." if reports == 2 else "I wait for the rest.")


# -- beside the window ------------------------------------------------------------------------


def test_while_the_app_is_open_a_run_keeps_its_session_apart_and_goes_by_its_rules(
    folder: Path,
) -> None:
    written = [("write", {"path": name, "content": "x"}) for name in ("may", "must-not", "asked")]
    with (
        closing(SqliteStore(paths.data_dir() / SESSIONS_FILE)) as store,
        LoopbackProvider("openai", [Calls(*written), Say("Over.")]) as provider,
    ):
        here = ("folder", str(folder.resolve()))
        refusing = Rule("write", "must-not", "everywhere", is_deny=True)
        another = Rule("write", "asked", "session", "another")
        store.save_rules([Rule("write", "may", *here), refusing, another])
        options = ("--model", provider.model, "--api-base", provider.api_base)
        ended = run("Go", "--workspace", folder, *options)
        told = provider.requests[-1].results
    assert ended.returncode == 0
    assert [name for name in ("may", "must-not", "asked") if (folder / name).exists()] == ["may"]
    assert ["refused by a rule" in result for result in told] == [False, True, False]
    assert "The app is open" in ended.stderr
    kept = list((paths.data_dir() / "runs").glob("*.db"))
    assert len(kept) == 1
    again = run("list files", "--workspace", folder, "--session", kept[0].stem, "--model", "demo")
    assert again.returncode == 0
    assert "The app is open" not in again.stderr


def test_while_the_app_is_open_its_sessions_are_left_alone(folder: Path) -> None:
    store = SqliteStore(paths.data_dir() / SESSIONS_FILE)
    try:
        ended = run("list files", "--workspace", folder, "--session", "mine")
    finally:
        store.close()
    assert ended.returncode == 1
    assert "another copy of the app" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_a_home_that_can_not_be_written_is_one_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DESKTOP_AGENT_HOME", str(folder / "README.md" / "below-a-file"))
    ended = run("list files", "--workspace", folder)
    assert ended.returncode == 1
    assert "The sessions can't be opened" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def allow_everywhere(command: str) -> None:
    store = SqliteStore(paths.data_dir() / SESSIONS_FILE)
    store.save_rules([Rule("shell", command, scope="everywhere")])
    store.close()


def commands_in(folder: Path) -> list[str]:
    """Return the commands of all processes whose working directory is the folder."""
    found: list[str] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink() == folder:
                found.append((process / "cmdline").read_text())
        except OSError:
            continue
    return found
