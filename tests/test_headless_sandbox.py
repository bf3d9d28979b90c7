"""`run` and the sandbox: what runs with nobody there, and what it says where none holds."""

from __future__ import annotations

import secrets
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from desktop_agent.core.approvals import Deny
from desktop_agent.core.events import (
    ApprovalRequested,
    ApprovalResolved,
    MachineSandboxChanged,
    SandboxChanged,
    ToolEnded,
)
from tests.helpers.providers import Calls, LoopbackProvider, Say
from tests.test_headless import COMMAND, LINE, folder, run, run_lines

__all__ = ["folder"]

BWRAP = shutil.which("bwrap") or ""
pytestmark = pytest.mark.skipif(not BWRAP, reason="needs bubblewrap")
_ENTER = [BWRAP, "--dev-bind", "/", "/", "--unshare-user"]
# A container that lets nobody make user namespaces; where nobody can, this machine is one.
CAN_ENTER = bool(BWRAP) and subprocess.run([*_ENTER, "true"], check=False).returncode == 0
CONTAINER = [*_ENTER, "--disable-userns", "--"] if CAN_ENTER else []


def options(provider: LoopbackProvider, folder: Path, *more: str) -> list[str | Path]:
    model = ["--model", provider.model, "--api-base", provider.api_base]
    return ["Go", "--workspace", folder, *model, *more]


def shell(command: str, **more: object) -> Calls:
    return Calls(("shell", {"command": command, **more}))


def asked(lines: Sequence[object]) -> list[str]:
    return [str(one.request.call.arguments) for one in lines if isinstance(one, ApprovalRequested)]


def results(lines: Sequence[object]) -> list[str]:
    return [line.result.text for line in lines if isinstance(line, ToolEnded)]


def need_sandbox(lines: Sequence[object]) -> None:
    state = next(line.state for line in lines if isinstance(line, SandboxChanged))
    if not state.holds:
        pytest.skip(state.reason)


def test_a_job_of_mode_free_repairs_a_program_and_runs_its_tests_unasked(folder: Path) -> None:
    (folder / "test_water.py").write_text(
        "from water import cans_for\n\ndef test_cans():\n    assert cans_for(4) == 8\n"
    )
    subprocess.run(["git", "init", "-q", folder], check=True)
    tests = f"{sys.executable} -m pytest -q -p no:cacheprovider"
    edit = {"path": "water.py", "old_string": "return size", "new_string": "return 2 * size"}
    identity = "git config user.name A"
    script = [
        shell(tests, changes=False),
        Calls(("edit", edit)),
        shell(tests),
        shell("git add -A && git status --short"),
        shell(identity),
        Say("Mended."),
    ]
    script.insert(1, Calls(("read", {"path": "water.py"})))
    with LoopbackProvider("openai", script) as provider:
        code, lines, ended = run_lines(*options(provider, folder, "--mode", "free"))
    need_sandbox(lines)
    assert (code, ended.text) == (0, "Mended.")
    said = results(lines)
    assert "1 failed" in said[0]
    assert "1 passed" in said[3]
    assert "A  water.py" in said[4]
    assert asked(lines) == ["{'command': 'git config user.name A'}"]
    assert "nobody is here to approve it" in said[5]
    assert "# Commands run in a sandbox" in provider.requests[0].system


def test_what_would_leave_the_sandbox_is_refused_with_nobody_there(
    folder: Path, tmp_path: Path
) -> None:
    made = tmp_path / "made"
    script = [
        shell(f"touch {made}", outside="it is needed there"),
        shell(f"touch {made}"),
        Say("Over."),
    ]
    with LoopbackProvider("openai", script) as provider:
        code, lines, _ = run_lines(*options(provider, folder, "--mode", "free"))
    need_sandbox(lines)
    assert code == 0
    assert len(asked(lines)) == 1
    assert [one.decision.by for one in lines if isinstance(one, ApprovalResolved)
            if isinstance(one.decision, Deny)] == ["unattended"]  # fmt: skip
    assert "[Exit code" in results(lines)[1]
    assert not made.exists()


def test_files_of_commands_in_tmp_are_the_same_to_the_file_tools(folder: Path) -> None:
    name = f"made-{secrets.token_hex(8)}"
    read, other = {"path": f"/tmp/{name}"}, {"path": f"/var/tmp/{name}.txt", "content": "green\n"}
    script = [
        shell(f"echo red > /tmp/{name}; mkdir /tmp/sub"),
        Calls(("read", read)),
        Calls(("write", other)),
        shell(f"cat /tmp/{name}.txt"),
        Calls(("grep", {"pattern": "re", "path": "/tmp"})),
        Calls(("glob", {"pattern": "made-*", "path": "/tmp"})),
        shell(f"ln -sf /etc/hostname /tmp/out; ln -sf /tmp/{name} /tmp/in"),
        Calls(("read", {"path": "/tmp/out"})),
        Calls(("read", {"path": "/tmp/in"})),
        Calls(("read", {"path": "/tmp/sub/.env"})),
        Calls(("write", {"path": "/tmp/../etc/made", "content": "x"})),
        Say("Over."),
    ]
    with LoopbackProvider("openai", script) as provider:
        code, lines, _ = run_lines(*options(provider, folder, "--mode", "free"))
    need_sandbox(lines)
    said = results(lines)
    assert code == 0
    assert "red" in said[1]
    assert said[2].startswith(f"Created /tmp/{name}.txt ")
    assert said[3].startswith("green\n[Exit code 0, ")
    assert set(said[4].splitlines()) == {f"/tmp/{name}:1:red", f"/tmp/{name}.txt:1:green"}
    assert set(said[5].splitlines()) == {f"/tmp/{name}", f"/tmp/{name}.txt"}
    # A link means what it leads to outside of the sandbox: nothing is read by a command's word.
    assert ["outside the workspace" in text for text in said[7:9]] == [True, True]
    assert "nobody is here to approve it" in said[9]
    assert "outside the workspace" in said[10]
    assert not list(Path("/tmp").glob(f"{name}*"))


@pytest.mark.parametrize("mode", ["free", "ask"])
def test_with_the_sandbox_off_commands_of_mode_free_run_as_they_are(
    folder: Path, tmp_path: Path, mode: str
) -> None:
    made = tmp_path / "made"
    with LoopbackProvider("openai", [shell(f"touch {made}"), Say("Over.")]) as provider:
        given = options(provider, folder, "--mode", mode, "--sandbox", "off")
        code, lines, _ = run_lines(*given)
    assert code == 0
    assert made.exists() == (mode == "free")
    assert bool(asked(lines)) == (mode == "ask")
    assert not [line for line in lines if isinstance(line, SandboxChanged)]
    assert "# Commands run in a sandbox" not in provider.requests[0].system


def test_where_no_sandbox_holds_commands_are_refused_and_it_is_said_why(folder: Path) -> None:
    with LoopbackProvider("openai", [shell("make", changes=False), Say("Over.")]) as provider:
        given = options(provider, folder, "--mode", "free", "--output", "jsonl")
        words = [*CONTAINER, *COMMAND, *map(str, given)]
        ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    lines = [LINE.decode(line) for line in ended.stdout.splitlines()]
    state = next(line.state for line in lines if isinstance(line, SandboxChanged))
    assert not state.holds
    assert state.reason.endswith(".")
    assert "nobody is here to approve it" in results(lines)[0]


# The kernel itself refuses: nobody in there may make any.
SWITCHED_OFF = [
    "unshare", "--map-root-user", "sh", "-c",
    'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"', "sh",
]  # fmt: skip


@pytest.mark.skipif(not CAN_ENTER, reason="nobody can make user namespaces here")
def test_where_namespaces_are_switched_off_one_sentence_says_by_what_and_nothing_runs(
    folder: Path,
) -> None:
    with LoopbackProvider("openai", [shell("touch made"), Say("Over.")]) as provider:
        given = options(provider, folder, "--mode", "free", "--output", "jsonl")
        words = [*SWITCHED_OFF, *COMMAND, *map(str, given)]
        ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    lines = [LINE.decode(line) for line in ended.stdout.splitlines()]
    state = next(line.state for line in lines if isinstance(line, SandboxChanged))
    assert state.reason == "User namespaces are switched off here: user.max_user_namespaces is 0."
    assert "sudo sysctl user.max_user_namespaces=" in state.remedy
    assert len(asked(lines)) == 1
    assert not (folder / "made").exists()


def test_a_run_that_insists_on_the_sandbox_does_not_begin_without_it(folder: Path) -> None:
    with LoopbackProvider("openai") as provider:
        given = options(provider, folder, "--mode", "free", "--sandbox", "on")
        words = [*CONTAINER, *COMMAND, *map(str, given)]
        ended = subprocess.run(words, capture_output=True, text=True, check=False)
        assert ended.returncode == 2
        assert ended.stdout == ""
        assert ended.stderr.startswith("desktop-agent run: the sandbox doesn't hold here. ")
        assert provider.requests == ()


def test_an_unknown_use_of_the_sandbox_is_a_usage_error(folder: Path) -> None:
    ended = run("Go", "--workspace", folder, "--sandbox", "maybe")
    assert ended.returncode == 2
    assert "--sandbox" in ended.stderr


def test_with_the_whole_machine_allowed_files_beside_the_folder_are_changed_for_that_run_alone(
    folder: Path, tmp_path: Path
) -> None:
    made = tmp_path / "made.txt"
    write = Calls(("write", {"path": str(made), "content": "new"}))
    protected = Calls(("write", {"path": str(tmp_path / ".bashrc"), "content": "x"}))
    script = [write, protected, Say("Over."), write, Say("Over.")]
    session = ("--session", "job", "--mode", "free", "--sandbox", "off")
    with LoopbackProvider("openai", script) as provider:
        given = options(provider, folder, *session)
        code, lines, _ = run_lines(*given, "--allow-all")
        assert code == 0
        assert made.read_text() == "new"
        assert "nobody is here to approve it" in results(lines)[1]
        assert [one.session_ids for one in lines if isinstance(one, MachineSandboxChanged)] == [
            ("job",)
        ]
        made.unlink()
        _, later, _ = run_lines(*given)
    assert "outside the workspace" in results(later)[0]
    assert not [one for one in later if isinstance(one, MachineSandboxChanged)]


def test_a_run_that_has_the_whole_machine_says_so(folder: Path) -> None:
    with LoopbackProvider("openai", [Say("Over.")]) as provider:
        given = options(provider, folder, "--sandbox", "off", "--allow-all")
        ended = run(*given)
    assert ended.stderr.startswith("This machine is the sandbox: commands run as they are, ")


@pytest.mark.parametrize("use", ["auto", "on"])
def test_the_whole_machine_is_not_allowed_beside_a_sandbox(folder: Path, use: str) -> None:
    ended = run("Go", "--workspace", folder, "--sandbox", use, "--allow-all")
    assert ended.returncode == 2
    assert "--allow-all needs --sandbox off" in ended.stderr
