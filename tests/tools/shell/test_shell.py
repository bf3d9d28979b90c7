"""Commands: what they print arrives, what they start ends, and no secret goes along."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from desktop_agent.core.commands import JobOutput
from desktop_agent.core.ids import new_session_id
from desktop_agent.core.messages import CommandDisplay, OutputDisplay
from desktop_agent.core.parts.facts import InBackground
from desktop_agent.core.tool import ToolError
from desktop_agent.engine.workspace.containment import OutsideWorkspace
from desktop_agent.engine.workspace.output_files import OutputFiles
from desktop_agent.tools.files.reading import read
from desktop_agent.tools.shell import process_tree
from desktop_agent.tools.shell.environment import command_environment
from desktop_agent.tools.shell.jobs import Jobs
from desktop_agent.tools.shell.output import Output
from desktop_agent.tools.shell.shell import shell
from desktop_agent.tools.shell.shell_jobs import shell_input, shell_job
from tests.helpers.patience import HANG_S
from tests.helpers.processes import open_files
from tests.tools.conftest import Bench

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in {"Z", "X"}


def pids_in(path: Path) -> list[int]:
    return [int(word) for word in path.read_text().split()]


async def until_written(path: Path, lines: int = 1) -> list[int]:
    """Wait until a command has written so many process ids."""
    deadline = time.monotonic() + HANG_S
    while not path.exists() or len(path.read_text().split()) < lines:
        assert time.monotonic() < deadline
        await asyncio.to_thread(os.sched_yield)
    return pids_in(path)


async def test_a_command_gives_what_it_prints_and_how_it_ended(bench: Bench) -> None:
    result = await bench.run(shell, command="echo out; echo err >&2; exit 3")
    assert result.text.startswith("out\nerr\n[Exit code 3, ")
    assert isinstance(result.display, OutputDisplay)
    assert result.display.exit_code == 3
    assert result.display.text == "out\nerr\n"
    assert "".join(bench.reported) == "out\nerr\n"


async def test_a_command_runs_in_the_folder(bench: Bench) -> None:
    (bench.root / "sub").mkdir()
    assert str(bench.root) in (await bench.run(shell, command="pwd")).text
    assert str(bench.root / "sub") in (await bench.run(shell, command="pwd", directory="sub")).text
    for directory in ("..", "/", "~", "/tmp"):
        with pytest.raises(OutsideWorkspace):
            await bench.run(shell, command="pwd", directory=directory)
    with pytest.raises(ToolError, match="doesn't exist"):
        await bench.run(shell, command="pwd", directory="missing")


async def test_a_command_that_waits_for_input_ends(bench: Bench) -> None:
    assert "[Exit code 0" in (await bench.run(shell, command="cat; echo done")).text


async def test_a_command_that_takes_too_long_is_ended(bench: Bench) -> None:
    # A machine under load may need longer than the limit until there is a first word.
    for limit in (2**n for n in range(9)):
        result = await bench.run(shell, command="echo before; exec sleep 600", timeout_s=limit)
        assert f"Ended after {limit} s" in result.text
        if "before" in result.text:
            return
    pytest.fail("what was printed before the limit is not in the result")


async def test_a_command_that_names_no_limit_has_the_persons(bench: Bench) -> None:
    bench.context = replace(bench.context, command_time_s=7)
    preview = await bench.preview(shell, command="x")
    assert preview.stakes == ("at most 7 s",)


async def test_a_longer_limit_than_allowed_is_cut_down(bench: Bench) -> None:
    preview = await bench.preview(shell, command="x", timeout_s=100_000)
    assert preview.stakes == ("at most 600 s",)


@linux_only
@pytest.mark.parametrize(
    "tree",
    [
        "sleep 600 & echo $! >> pids",
        "sh -c 'sleep 600 & echo $! >> ../work/pids; wait' &",
        "setsid sh -c 'echo $$ >> pids; exec sleep 600' &",
        "(setsid sh -c 'echo $$ >> pids; exec sleep 600' &) &",
        "nohup sh -c 'echo $$ >> pids; exec sleep 600' >/dev/null 2>&1 &",
        "sh -c 'trap \"\" TERM HUP INT; echo $$ >> pids; while :; do sleep 1; done' &",
        "setsid sh -c 'trap \"\" TERM; echo $$ >> pids; while :; do sleep 1; done' &",
        "env -i setsid sh -c 'echo $$ >> pids; exec sleep 600; :' &",
        "sh -c 'echo $$ >> pids; kill -STOP $$; sleep 600' &",
    ],
)
async def test_stopping_ends_everything_a_command_started(bench: Bench, tree: str) -> None:
    job = asyncio.create_task(bench.run(shell, command=f"{tree}\nsleep 600"))
    pids = await until_written(bench.root / "pids")
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert not [pid for pid in pids if is_alive(pid)]


@linux_only
async def test_a_stop_while_what_a_command_left_is_being_ended_leaves_nothing_to_do(
    bench: Bench,
) -> None:
    stays = "trap 'echo $$ >pids' TERM; echo 1 >is-there; while :; do read -t 0.1 _ <>fifo; done"
    (bench.root / "stays").write_text(stays)
    waits = "until [ -s is-there ]; do sleep 0.05; done"
    command = f"mkfifo fifo; bash ./stays </dev/null >/dev/null 2>&1 &\n{waits}"
    job = asyncio.create_task(bench.run(shell, command=command))
    [pid] = await until_written(bench.root / "pids")
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert not is_alive(pid)
    assert asyncio.all_tasks() == {asyncio.current_task()}


@linux_only
async def test_a_time_limit_ends_a_tree_that_forks_on_and_on(bench: Bench) -> None:
    command = "f() { sleep 0.05; f & }; f & f & while :; do sleep 600 & sleep 0.1; done"
    await bench.run(shell, command=command, timeout_s=1)
    assert process_tree.members(bench.jobs.new_mark().split(".")[0], None) == ()


@linux_only
async def test_a_process_that_left_and_holds_the_pipe_does_not_hang_the_call(bench: Bench) -> None:
    leaves = "setsid sh -c 'echo $$ > pids; exec sleep 600' &"
    waits = "until [ -s pids ]; do sleep 0.05; done"
    result = await bench.run(shell, command=f"{leaves}\n{waits}; echo done")
    assert "done\n" in result.text
    [pid] = await until_written(bench.root / "pids")
    assert f"Still running apart from it: pid {pid}" in result.text
    assert is_alive(pid)
    await bench.jobs.close()
    assert not is_alive(pid)


@linux_only
async def test_what_a_command_leaves_running_is_ended_and_named(bench: Bench) -> None:
    result = await bench.run(shell, command="sleep 600 & echo $! > pids")
    [pid] = pids_in(bench.root / "pids")
    assert not is_alive(pid)
    assert f"Ended what it left running: pid {pid} (sleep)" in result.text


@linux_only
async def test_nothing_is_left_of_many_commands(bench: Bench) -> None:
    await bench.run(shell, command="true")
    before = open_files()
    for _ in range(25):
        await bench.run(shell, command="echo x")
    assert open_files() - before == set()


async def test_a_flood_is_bounded_and_ends(bench: Bench) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = await bench.run(shell, command="yes", timeout_s=4)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 32_000, f"{grown} kB"
    assert "Ended after 4 s" in result.text
    assert len(result.text) < 30_000
    assert isinstance(result.display, OutputDisplay)
    assert Path(result.display.file).stat().st_size <= 100_000_000
    assert len("".join(bench.reported)) < 4 * 35 * 17_000
    assert len(bench.reported) < 4 * 40


async def test_the_file_of_an_output_ends_at_its_limit(bench: Bench) -> None:
    result = await bench.run(shell, command="head -c 100000001 /dev/zero | tr '\\0' y")
    assert isinstance(result.display, OutputDisplay)
    assert Path(result.display.file).stat().st_size == 100_000_000


async def test_a_long_output_can_be_read_whole(bench: Bench) -> None:
    result = await bench.run(shell, command="seq 1 50000")
    assert "bytes left out" in result.text
    assert "\n50000\n" in result.text
    assert isinstance(result.display, OutputDisplay)
    whole = Path(result.display.file)
    assert whole.read_text() == "".join(f"{n}\n" for n in range(1, 50_001))
    assert str(whole) in result.text
    assert "\t25000" in (await bench.run(read, path=str(whole), offset=25_000, limit=1)).text
    other = whole.with_name("other.txt")
    other.write_text("no output")
    with pytest.raises(OutsideWorkspace):
        await bench.run(read, path=str(other))


@pytest.mark.parametrize("size", [0, 1, 24_000, 24_577, 128 * 1024, 300_000, 1_000_000])
def test_an_output_of_any_size_keeps_its_start_and_its_end(tmp_path: Path, size: int) -> None:
    content = "".join(chr(33 + n % 90) for n in range(size)).encode()
    output = Output(OutputFiles(tmp_path).of(new_session_id()))
    for start in range(0, size, 7_001):
        output.feed(content[start : start + 7_001])
    text = output.text()
    output.close()
    assert output.total == size
    if size <= 24 * 1024:
        assert text == content.decode()
    else:
        assert text.startswith(content[:8000].decode())
        assert text.endswith(content[-16_000:].decode())
        assert output.file
        assert output.file.read_bytes() == content
    assert output.since(size) == ""
    assert output.since(max(0, size - 10)) == content[-10:].decode()[:size]


async def test_colours_and_progress_bars_are_taken_out(bench: Bench) -> None:
    command = r"printf '\033[31mred\033[0m\r\n10%%\r50%%\r100%%\n\033]0;title\007a\000b\a\n'"
    result = await bench.run(shell, command=command)
    assert result.text.startswith("red\n100%\nab\n[Exit code 0")
    assert "".join(bench.reported) == "red\n100%\nab\n"


# ---- environment ----


async def test_no_secret_goes_along(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY"]
    secrets += ["DB_PASSWORD", "SSH_AUTH_SOCK", "BASH_ENV", "LD_PRELOAD", "SOMETHING_ELSE"]
    secrets += ["PYTHONSTARTUP", "GIT_ASKPASS", "DESKTOP_AGENT_HOME"]
    for name in secrets:
        monkeypatch.setenv(name, "canary-8731")
    monkeypatch.setenv("HTTPS_PROXY", "http://me:canary-8731@proxy")
    code = "import os, json; print(json.dumps(dict(os.environ)))"
    result = await bench.run(shell, command=f"'{sys.executable}' -c '{code}'")
    assert "canary-8731" not in result.text
    given = json.loads(result.text.splitlines()[0])
    assert given["HOME"] == os.environ["HOME"]


def test_a_relative_entry_of_the_path_is_left_out() -> None:
    given = command_environment({}, {"PATH": os.pathsep.join([".", "/usr/bin", "", "bin"])})
    assert given["PATH"] == "/usr/bin"
    assert "A_TOKEN" not in command_environment({"A_TOKEN": "x"}, {})
    assert command_environment({"A": "x"}, {})["A"] == "x"


# ---- what the card shows ----


async def test_the_card_shows_the_command_and_where(bench: Bench) -> None:
    preview = await bench.preview(shell, command="pytest -q && ls")
    assert preview.title == "Run a command?"
    assert preview.display == CommandDisplay(
        "pytest -q && ls", str(bench.root), ("pytest -q", "ls")
    )
    assert preview.command == "pytest -q && ls"
    assert not preview.is_read_only


async def test_a_command_that_only_looks_is_known(bench: Bench) -> None:
    bench.put("a.txt", "x")
    bench.put("sub/b.txt", "x")
    for command in ("ls -la", "cat a.txt", "cd sub && cat b.txt", "cat a.txt | wc -l"):
        assert (await bench.preview(shell, command=command)).is_read_only, command


async def test_a_link_or_a_planted_program_ends_the_trust(bench: Bench, monkeypatch) -> None:
    (bench.root / "link").symlink_to("/etc/passwd")
    bench.put(".env", "x")
    (bench.root / "env.txt").symlink_to(".env")
    bench.put(".ssh/config", "x")
    (bench.root / "keys").symlink_to(".ssh")
    for command in (
        "cat link",
        "cat env.txt",
        "cat keys/config",
        "cd keys && cat config",
        "cat link/../x",
    ):
        assert not (await bench.preview(shell, command=command)).is_read_only, command
    program = bench.put("bin/ls", "#!/bin/sh\nrm -rf .")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{bench.root}/bin{os.pathsep}{os.environ['PATH']}")
    assert not (await bench.preview(shell, command="ls")).is_read_only
    assert (await bench.preview(shell, command="cat bin/ls")).is_read_only


@pytest.mark.parametrize(
    ("command", "deletes"),
    [
        ("rm -rf build", ("build",)),
        ("ls && rm a b", ("a", "b")),
        ("sudo rm a", ("a",)),
        ("find . -name '*.pyc' -delete", (".", )),
        ("git clean -fdx", ("git clean",)),
        ("git reset --hard HEAD~1", ("git reset --hard",)),
        ("ls", ()),
        ("echo rm", ()),
        ("sh -c 'rm a'", ("a",)),
        ("ls | xargs rm", ("rm",)),
    ],
)  # fmt: skip
async def test_what_a_command_removes_is_named(bench: Bench, command, deletes) -> None:
    assert (await bench.preview(shell, command=command)).deletes == deletes


@pytest.mark.parametrize(
    "command",
    ["cat .env", "echo x > .git/hooks/post-commit", "cp x .bashrc", "cat < .ENV", "tee .git/config",
     "sh -c 'cat .env'", "grep x --file=.env", "cat ~/.ssh/id_rsa", "cat .env*", "cat .ssh/*",
     "echo $(cat .env)", "sudo tee .bashrc", "find . -exec cat .env ';'"],
)  # fmt: skip
async def test_a_command_that_names_what_is_protected_is_marked(bench: Bench, command) -> None:
    assert (await bench.preview(shell, command=command)).protected


@pytest.mark.parametrize(
    ("command", "is_outside"),
    [
        ("cat /etc/passwd", True),
        ("cp a ~/x", True),
        ("cp a $HOME/x", True),
        ("ls ..", True),
        ("echo x > /tmp/x", True),
        ("make PREFIX=/etc", True),
        ("ls > /dev/null 2>&1", False),
        ("/usr/bin/env python3 a.py", False),
        ("git diff HEAD~1..HEAD", False),
        ("curl https://example.com/a/../b", False),
        ("pytest tests/", False),
    ],
)
async def test_a_command_that_names_a_place_outside_is_marked(bench, command, is_outside) -> None:
    assert bool((await bench.preview(shell, command=command)).outside) is is_outside


@pytest.mark.parametrize(
    ("command", "patterns"),
    [
        ("pytest -q", ("pytest",)),
        ("pytest tests", ("pytest tests", "pytest")),
        ("npm test", ("npm test",)),
        ("git commit -m x", ("git commit",)),
        ("python -m pytest -q", ("python -m pytest",)),
        ("ruff check . && ruff format .", ("ruff check", "ruff format")),
        ("cd sub && pytest", ("pytest",)),
        ("pytest -q 2>&1 | tail -20", ("pytest",)),
        ("git add -A && git commit -m x", ("git add", "git commit")),
        ("tar xf x", ()),
        ("git config a.b c", ()),
        ("rm -rf x", ()),
        ("bash x.sh", ()),
        ("sudo ls", ()),
        ("pytest $(x)", ()),
        ("A=1 pytest", ()),
        ("pytest > x", ()),
        ("pytest; rm x", ()),
        ("python -c 'x'", ()),
        ("curl x", ()),
        ("./run.sh", ()),
    ],
)
async def test_only_safe_beginnings_are_offered_as_a_rule(bench: Bench, command, patterns) -> None:
    bench.put("sub/a")
    preview = await bench.preview(shell, command=command)
    assert tuple(rule.pattern for rule in preview.rules) == patterns
    assert all(rule.tool == "shell" for rule in preview.rules)


def test_what_it_does_is_said_in_words() -> None:
    assert shell.describe
    assert shell.describe({"command": "pytest -q"}) == "running pytest -q"
    assert shell.describe({"command": "a\nb"}) == "running a…"


async def test_a_command_with_a_nul_is_refused(bench: Bench) -> None:
    for act in (bench.run, bench.preview):
        with pytest.raises(ToolError):
            await act(shell, command="ls\0")


# ---- in the background ----


async def test_a_background_command_is_followed_fed_and_ended(bench: Bench) -> None:
    started = await bench.run(
        shell,
        command='echo ready; while read line; do echo "got $line"; done',
        run_in_background=True,
    )
    assert "job_1" in started.text
    assert "pid" in started.text
    assert (await bench.run(shell_job, action="list")).text.startswith("job_1 (running): echo")
    await bench.run(shell_input, job_id="job_1", text="hello\n")
    text = ""
    deadline = time.monotonic() + HANG_S
    while "got hello" not in text:
        assert time.monotonic() < deadline
        await asyncio.sleep(0)
        text += (await bench.run(shell_job, job_id="job_1")).text
    assert text.count("ready") == 1, "each output is given once"
    assert "Ended job_1" in (await bench.run(shell_job, job_id="job_1", action="kill")).text
    assert "ended with exit code" in (await bench.run(shell_job, job_id="job_1")).text
    with pytest.raises(ToolError):
        await bench.run(shell_input, job_id="job_1", text="x")


async def test_waiting_for_a_background_command_gives_its_end(bench: Bench) -> None:
    await bench.run(shell, command="sleep 0.2; echo over; exit 4", run_in_background=True)
    text = (await bench.run(shell_job, job_id="job_1", wait_s=120)).text
    assert "over\n[job_1 ended with exit code 4" in text


async def test_what_a_background_command_prints_is_seen_while_it_runs_and_is_bounded(
    bench: Bench,
) -> None:
    flood = "seq 1 100000; echo last; while read line; do echo got $line; done"
    started = await bench.run(shell, command=flood, run_in_background=True)
    assert started.facts == InBackground("job_1")
    jobs = bench.jobs

    async def seen(words: str) -> JobOutput:
        deadline = time.monotonic() + HANG_S
        while (found := jobs.look("job_1")) is None or words not in found.text:
            assert time.monotonic() < deadline
            await asyncio.sleep(0)
        return found

    found = await seen("last")
    assert found.is_cut
    assert len(found.text) <= 96 * 1024
    assert found.exit_code is None
    jobs.type_into("job_1", "hello\n")
    await seen("got hello")
    # The agent is still given all of it.
    assert "got hello" in (await bench.run(shell_job, job_id="job_1")).text
    assert await jobs.end_one("job_1") == ()
    ended = jobs.look("job_1")
    assert ended is not None
    assert ended.exit_code is not None
    assert jobs.look("job_2") is None


async def test_typing_into_a_program_is_shown_first(bench: Bench) -> None:
    await bench.run(shell, command="cat", run_in_background=True)
    preview = await bench.preview(shell_input, job_id="job_1", text="rm -rf x\n")
    assert preview.display == CommandDisplay("rm -rf x\n", "job_1: cat")
    assert preview.command == "rm -rf x\n"


async def test_a_long_text_is_typed_to_its_end(bench: Bench) -> None:
    await bench.run(shell, command="head -c 1000000 | wc -c", run_in_background=True)
    await bench.run(shell_input, job_id="job_1", text="x" * 1_000_000)
    text = (await bench.run(shell_job, job_id="job_1", wait_s=120)).text
    assert "1000000\n[job_1 ended with exit code 0" in text


async def test_a_text_that_a_command_does_not_read_holds_nothing_up(bench: Bench) -> None:
    await bench.run(shell, command="exec sleep 600", run_in_background=True)
    await bench.run(shell_input, job_id="job_1", text="x" * 1_000_000)
    with pytest.raises(ToolError, match="isn't reading"):
        await bench.run(shell_input, job_id="job_1", text="y")
    assert "Ended" in (await bench.run(shell_job, job_id="job_1", action="kill")).text


async def test_an_unknown_background_command_is_an_error_in_words(bench: Bench) -> None:
    with pytest.raises(ToolError, match="none"):
        await bench.run(shell_job, job_id="job_9")


async def test_background_commands_have_a_limit(bench: Bench) -> None:
    for _ in range(8):
        await bench.run(shell, command="sleep 600", run_in_background=True)
    with pytest.raises(ToolError, match="running already"):
        await bench.run(shell, command="sleep 600", run_in_background=True)


@linux_only
async def test_closing_an_agent_ends_its_background_commands(bench: Bench) -> None:
    tree = "setsid sh -c 'echo $$ >> pids; exec sleep 600' & echo $$ >> pids; sleep 600"
    await bench.run(shell, command=tree, run_in_background=True)
    pids = await until_written(bench.root / "pids", 2)
    other = Jobs()
    await other.close()
    assert all(is_alive(pid) for pid in pids), "another agent's commands are left alone"
    await bench.jobs.close()
    assert not [pid for pid in pids if is_alive(pid)]


async def test_a_process_of_somebody_else_is_never_ended(bench: Bench) -> None:
    mine = await asyncio.create_subprocess_exec("sleep", "600")
    try:
        await bench.run(shell, command="sleep 600 &", timeout_s=5)
        await bench.jobs.close()
        assert mine.returncode is None
    finally:
        mine.send_signal(signal.SIGKILL)
        await mine.wait()


async def test_the_time_that_the_user_takes_to_answer_is_not_the_commands(bench: Bench) -> None:
    os.mkfifo(bench.root / "gate")
    asked = 0

    def waited() -> float:
        # Asked again when the limit has passed: the user took five seconds of that time.
        nonlocal asked
        asked += 1
        if asked < 3:
            return 0.0
        if asked == 3:
            (bench.root / "gate").write_text("go on\n")
        return 5.0

    bench.context = replace(bench.context, waited_s=waited)
    result = await bench.run(shell, command="read line < gate; echo $line", timeout_s=1)
    assert result.text.startswith("go on")
    assert asked >= 3
