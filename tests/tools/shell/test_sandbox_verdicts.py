"""What a command may do in each mode, where the sandbox holds and where it doesn't."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import pytest
from msgspec.structs import replace

from desktop_agent.core.approvals import Mode, Rule
from desktop_agent.core.ids import SessionId
from desktop_agent.core.messages import CommandDisplay
from desktop_agent.core.sandbox import Boundary, Enclosure, SandboxState
from desktop_agent.core.tool import Preview, ToolError
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.permissions import policy
from desktop_agent.engine.permissions.shell.git_profile import git_use
from desktop_agent.tools.shell.shell import shell
from desktop_agent.tools.shell.shell_jobs import shell_input
from tests.tools.conftest import Bench

RUN, ASK, NO = policy.Allowed, policy.Asked, policy.Refused
MODES: tuple[Mode, ...] = get_args(Mode)


class Told:
    """A sandbox of which only the state is asked."""

    def __init__(self, *, holds: bool) -> None:
        self.state = SandboxState(holds=holds)

    async def check(self) -> SandboxState:
        return self.state

    async def enclose(
        self, boundary: Boundary, directory: str, environment: Mapping[str, str]
    ) -> Enclosure:
        raise ToolError("the sandbox could not be made.")

    async def look_ahead(self, roots: Sequence[str]) -> None:
        return

    def temporary_folder(self, session_id: SessionId) -> str:
        raise NotImplementedError

    async def forget(self, session_id: SessionId) -> None:
        return


def with_sandbox(bench: Bench, *, holds: bool = True) -> None:
    bench.context = replace(bench.context, sandbox=Told(holds=holds))


def verdict(bench: Bench, preview: Preview, mode: Mode, *rules: Rule) -> policy.Verdict:
    return policy.verdict(shell, preview, policy.Situation(mode, rules, bench.workspace))


# By kind: the arguments, then what becomes of it in each mode where the sandbox holds, and where
# it doesn't.
CELLS: dict[str, tuple[dict[str, Any], tuple[type, ...], tuple[type, ...]]] = {
    "proven to look": ({"command": "ls"}, (RUN, RUN, RUN), (RUN, RUN, RUN)),
    "changes=false": (
        {"command": "pytest -q", "changes": False}, (RUN, RUN, RUN), (NO, ASK, ASK)),
    "changes=false, deletes": (
        {"command": "rm -rf build", "changes": False}, (RUN, RUN, RUN), (NO, ASK, ASK)),
    "changes=false, reads what agents read": (
        {"command": "python3 x.py AGENTS.md", "changes": False}, (RUN, RUN, RUN), (NO, ASK, ASK)),
    "changes=false, reads a secret": (
        {"command": "python3 x.py .env", "changes": False}, (ASK, ASK, ASK), (NO, ASK, ASK)),
    "inside": ({"command": "make"}, (NO, ASK, RUN), (NO, ASK, ASK)),
    "inside, in the background": (
        {"command": "npm start", "run_in_background": True}, (NO, ASK, RUN), (NO, ASK, ASK)),
    "inside, names a place of the system": (
        {"command": "cp /etc/hosts hosts"}, (NO, ASK, RUN), (NO, ASK, ASK)),
    "git profile": (
        {"command": "git add -A && git commit -m 'fix -d'"}, (NO, ASK, RUN), (NO, ASK, ASK)),
    "clones a repository beside": (
        {"command": "git clone -q origin.git shop"}, (NO, ASK, RUN), (NO, ASK, ASK)),
    "clones into a protected place": (
        {"command": "git clone -q origin.git .vscode"}, (NO, ASK, ASK), (NO, ASK, ASK)),
    "clones a secret": (
        {"command": "git clone ~/.ssh/keys.git keys"}, (NO, ASK, ASK), (NO, ASK, ASK)),
    "deletes": ({"command": "rm -rf build"}, (NO, ASK, ASK), (NO, ASK, ASK)),
    "a protected name": ({"command": "echo x >> .envrc"}, (NO, ASK, ASK), (NO, ASK, ASK)),
    "git push": ({"command": "git push"}, (NO, ASK, ASK), (NO, ASK, ASK)),
    "git reset": ({"command": "git reset --hard"}, (NO, ASK, ASK), (NO, ASK, ASK)),
    "outside": (
        {"command": "docker ps", "outside": "needs docker"}, (NO, ASK, ASK), (NO, ASK, ASK)),
    "outside, changes=false": (
        {"command": "docker ps", "outside": "needs docker", "changes": False},
        (NO, ASK, ASK), (NO, ASK, ASK)),
    "outside, proven to look": (
        {"command": "ls", "outside": "just so"}, (NO, ASK, ASK), (RUN, RUN, RUN)),
    "never run": ({"command": "rm -rf /"}, (NO, NO, NO), (NO, NO, NO)),
}  # fmt: skip


@pytest.mark.parametrize("holds", [True, False])
@pytest.mark.parametrize("kind", CELLS)
async def test_each_kind_of_command_is_run_asked_or_refused_by_the_mode(
    bench: Bench, kind: str, holds: bool
) -> None:
    arguments, contained, plain = CELLS[kind]
    bench.put("AGENTS.md")
    bench.put(".env")
    with_sandbox(bench, holds=holds)
    preview = await bench.preview(shell, **arguments)
    found = tuple(type(verdict(bench, preview, mode)) for mode in MODES)
    assert found == (contained if holds else plain)


@pytest.mark.parametrize("arguments", [cell[0] for cell in CELLS.values()])
async def test_without_a_sandbox_the_new_arguments_change_nothing(
    bench: Bench, arguments: dict[str, Any]
) -> None:
    plain = {k: v for k, v in arguments.items() if k not in ("changes", "outside")}
    assert await bench.preview(shell, **arguments) == await bench.preview(shell, **plain)


async def test_the_card_says_what_the_sandbox_lets_it_do(bench: Bench) -> None:
    with_sandbox(bench)
    shown: list[Any] = []
    for arguments in (
        {"command": "make"},
        {"command": "make", "changes": False},
        {"command": "docker ps", "outside": "  needs docker "},
    ):
        preview = await bench.preview(shell, **arguments)
        assert isinstance(preview.display, CommandDisplay)
        assert preview.display.containment is not None
        shown.append(preview.display.containment)
    assert [one.is_contained for one in shown] == [True, True, False]
    assert [one.is_changing for one in shown] == [True, False, True]
    assert [one.reason for one in shown] == ["", "", "needs docker"]
    assert preview.title == "Run a command outside the sandbox?"


@pytest.mark.parametrize("mode", MODES)
async def test_a_rule_for_the_sandbox_says_nothing_of_what_is_outside(
    bench: Bench, mode: Mode
) -> None:
    with_sandbox(bench)
    preview = await bench.preview(shell, command="docker ps", outside="needs docker")
    inside = (Rule("shell", "docker ps"), Rule("shell", ""), Rule(policy.OUTSIDE_RULES, ""))
    wanted = NO if mode == "look" else ASK
    assert type(verdict(bench, preview, mode, *inside)) is wanted
    outside = Rule(policy.OUTSIDE_RULES, "docker ps")
    assert type(verdict(bench, preview, mode, outside)) is (NO if mode == "look" else RUN)
    more = await bench.preview(shell, command="docker ps; curl x.example", outside="needs docker")
    assert type(verdict(bench, more, mode, outside)) is wanted
    refused = Rule("shell", "docker", is_deny=True)
    assert type(verdict(bench, preview, mode, outside, refused)) is NO


async def test_what_was_allowed_in_the_sandbox_is_asked_where_none_holds(bench: Bench) -> None:
    with_sandbox(bench)
    inside = await bench.preview(shell, command="pytest -q && npm test")
    assert {rule.tool for rule in inside.rules} == {policy.SANDBOX_RULES}
    assert type(verdict(bench, inside, "ask", *inside.rules)) is RUN
    with_sandbox(bench, holds=False)
    plain = await bench.preview(shell, command="pytest -q && npm test")
    assert type(verdict(bench, plain, "ask", *inside.rules)) is ASK
    # One of an older session, or made where none holds, speaks of both.
    assert {rule.tool for rule in plain.rules} == {"shell"}
    for preview in (plain, inside):
        assert type(verdict(bench, preview, "ask", *plain.rules)) is RUN
    leaving = Rule(policy.OUTSIDE_RULES, "pytest -q")
    for preview in (plain, inside):
        assert type(verdict(bench, preview, "ask", leaving)) is ASK


async def test_what_is_always_allowed_outside_is_this_command_and_no_other(bench: Bench) -> None:
    with_sandbox(bench)
    preview = await bench.preview(shell, command="docker ps", outside="needs docker")
    (rule,) = preview.rules
    assert rule == Rule(policy.OUTSIDE_RULES, "docker ps")
    situation = policy.Situation("ask", (), bench.workspace)
    assert policy.speaks_of_tool(rule, shell)
    assert policy.speaks_of(rule, preview, situation)
    for more in ("docker ps -a", "docker rm x", "docker ps; docker rm x", "sudo docker ps"):
        other = await bench.preview(shell, command=more, outside="needs docker")
        assert type(verdict(bench, other, "free", rule)) is ASK, more
    two = await bench.preview(shell, command="docker ps && make", outside="why")
    assert [one.pattern for one in two.rules] == ["docker ps", "make"]
    assert type(verdict(bench, two, "free", *two.rules)) is RUN
    quoted = await bench.preview(shell, command="docker run 'a b'", outside="needs docker")
    assert quoted.rules == ()


async def test_what_is_fed_to_a_command_outside_belongs_to_what_was_allowed(bench: Bench) -> None:
    with_sandbox(bench)
    for name in ("a.yaml", "other.yaml"):
        bench.put(name)
    given = "cat a.yaml | kubectl apply -f - | tail -5"
    preview = await bench.preview(shell, command=given, outside="needs the cluster")
    assert [rule.pattern for rule in preview.rules] == ["cat a.yaml", "kubectl apply -f -"]
    assert type(verdict(bench, preview, "free", *preview.rules)) is RUN
    for fed in ("cat other.yaml", "echo x", "cat a.yaml | cat -", "cat a.yaml | tr a b"):
        command = f"{fed} | kubectl apply -f -"
        other = await bench.preview(shell, command=command, outside="needs the cluster")
        assert type(verdict(bench, other, "free", *preview.rules)) is ASK, fed
    beside = await bench.preview(
        shell, command="cat other.yaml | wc; kubectl apply -f - | head", outside="needs the cluster"
    )
    assert type(verdict(bench, beside, "free", *preview.rules)) is RUN


async def test_what_may_run_outside_may_not_be_typed_into_a_program_there(bench: Bench) -> None:
    with_sandbox(bench)
    preview = replace(
        await bench.preview(shell, command="docker ps", outside="needs docker"), rules=()
    )
    rule = Rule(policy.OUTSIDE_RULES, "docker ps")
    situation = policy.Situation("free", (rule,), bench.workspace)
    assert type(policy.verdict(shell_input, preview, situation)) is ASK
    assert type(policy.verdict(shell, preview, situation)) is RUN


@pytest.mark.parametrize("kind", [policy.SANDBOX_RULES, policy.OUTSIDE_RULES])
async def test_a_rule_that_refuses_holds_for_what_it_was_made_for(bench: Bench, kind: str) -> None:
    with_sandbox(bench)
    inside = await bench.preview(shell, command="make")
    leaving = await bench.preview(shell, command="make", outside="why")
    refused = Rule(kind, "make", is_deny=True)
    wanted = (NO, ASK) if kind == policy.SANDBOX_RULES else (ASK, NO)
    assert (
        type(verdict(bench, inside, "ask", refused)),
        type(verdict(bench, leaving, "ask", refused)),
    ) == wanted


async def test_a_rule_of_the_persons_covers_git_that_is_asked(bench: Bench) -> None:
    with_sandbox(bench)
    preview = await bench.preview(shell, command="git push")
    rule = Rule("shell", "git push")
    assert [type(verdict(bench, preview, mode, rule)) for mode in MODES] == [NO, RUN, RUN]


async def test_a_home_or_a_disk_as_a_whole_is_asked_about(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_sandbox(bench)
    monkeypatch.setenv("HOME", str(bench.root / "me"))
    for arguments in ({"command": "make"}, {"command": "make", "changes": False}):
        preview = await bench.preview(shell, **arguments)
        verdicts = [type(verdict(bench, preview, mode)) for mode in MODES]
        assert verdicts == [NO, ASK, ASK]
    assert type(verdict(bench, await bench.preview(shell, command="ls"), "look")) is RUN
    monkeypatch.setenv("HOME", "/nowhere")
    bench.bound(folders=Workspace("/"))
    preview = await bench.preview(shell, command="make", directory=str(bench.root))
    assert preview.containment is None
    assert type(verdict(bench, preview, "free")) is ASK


async def test_a_sandbox_that_fails_runs_nothing(bench: Bench) -> None:
    with_sandbox(bench)
    with pytest.raises(ToolError, match="could not be made"):
        await bench.run(shell, command="touch made")
    bench.context = replace(
        bench.context, judged=await bench.preview(shell, command="touch made"), sandbox=None
    )
    with pytest.raises(ToolError, match="no sandbox"):
        await bench.run(shell, command="touch made")
    assert list(bench.root.iterdir()) == []


async def test_a_machine_that_is_a_sandbox_runs_commands_of_mode_free(bench: Bench) -> None:
    def on_machine(preview: Preview, mode: Mode) -> type:
        situation = policy.Situation(mode, (), bench.workspace, is_machine_sandbox=True)
        return type(policy.verdict(shell, preview, situation))

    make = await bench.preview(shell, command="cp /etc/hosts . && make")
    assert [on_machine(make, mode) for mode in MODES] == [NO, ASK, RUN]
    protected = await bench.preview(shell, command="echo x >> .envrc")
    assert on_machine(protected, "free") is ASK


@pytest.mark.parametrize(
    "command",
    [
        "git add -A",
        "git commit -qm 'a message --edit'",
        "git commit -am wip",
        "git stash",
        "git stash --include-untracked",
        "git switch -c topic",
        "git checkout -- a.txt",
        "git rebase main",
        "git merge --no-edit topic",
        "git tag v1",
        "git branch topic",
        "git add a && git commit -m x",
        "git --no-pager add a",
        "git add * .[a-z]*",
        "git checkout -- *",
        "git restore *",
        "git mv *.py src/*.txt src/{a,b}.py old",
        "git checkout HEAD@{1}",
    ],
)
def test_git_that_keeps_everything_runs_unasked_and_may_write(command: str) -> None:
    use = git_use(command)
    assert use.is_writable
    assert not use.is_asked


@pytest.mark.parametrize(
    "command",
    [
        "git push",
        "git clean -fd",
        "git -C other push",
        "git -c alias.x='!sh' x",
        "env git push",
        "sh -c 'git push'",
        "git stash drop",
        "git stash clear",
        "git branch -D topic",
        "git branch --del topic",
        "git tag -d v1",
        "git rebase -x make main",
        "git rebase --exec=make main",
        "git rebase -m -x make main",
        "git rebase -mx make main",
        "git commit -S -m x",
        "git merge -s mine topic",
        "git clone -u ./x a b",
        "git checkout -f",
        "git checkout {-f,.}",
        "git branch {-D,topic}",
        "git branch --{delete,quiet} topic",
        "git --no-pager branch *",
        "git branch [-]D topic",
        "git stash {clear,}",
        "git stash c*",
        "git tag -m -- {-d,v1}",
        "git add -A && git stash {drop,--quiet}",
        "git rebase {-x,make} main",
        "echo $(git push)",
        "make && git gc",
    ],
)
def test_git_that_may_lose_or_start_something_is_asked(command: str) -> None:
    assert git_use(command).is_asked


@pytest.mark.parametrize(
    "command",
    [
        "make && git add -A",
        "git add -A | tee log",
        "git log > out",
        "/tmp/git add a",
        "./git add a",
        "git add $(cat names)",
        "git add -A &",
        "GIT_DIR=x git add a",
        "git show HEAD:a.txt",
        "git",
        "",
    ],
)
def test_git_beside_other_programs_finds_its_own_files_read_only(command: str) -> None:
    assert not git_use(command).is_writable


async def test_a_git_that_the_agent_could_have_written_writes_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_sandbox(bench)
    real = await bench.preview(shell, command="git add a")
    assert real.containment is not None
    assert real.containment.is_git_writable
    planted = bench.put("bin/git", "#!/bin/sh\n")
    planted.chmod(0o755)
    path = f"{planted.parent}:{Path(shutil.which('git') or '/usr/bin/git').parent}"
    monkeypatch.setenv("PATH", path)
    shadowed = await bench.preview(shell, command="git add a")
    assert shadowed.containment is not None
    assert not shadowed.containment.is_git_writable
    background = await bench.preview(shell, command="git add a", run_in_background=True)
    assert background.containment is not None
    assert not background.containment.is_git_writable


def test_a_quoted_word_is_one_word_of_git() -> None:
    assert git_use(f"git commit -m {shlex.quote('rm; git push')}").is_writable


@pytest.mark.parametrize("holds", [True, False])
async def test_what_a_rule_may_refuse_once_the_shell_has_replaced_something_is_asked_about(
    bench: Bench, holds: bool
) -> None:
    with_sandbox(bench, holds=holds)

    async def becomes(command: str, *rules: Rule) -> type:
        preview = await bench.preview(shell, command=command)
        situation = policy.Situation("free", rules, bench.workspace, is_machine_sandbox=True)
        return type(policy.verdict(shell, preview, situation))

    refused = Rule("shell", "make deploy", is_deny=True)
    for command in (
        "make$x deploy", "make $x", 'm"$x"ake deploy', "mak? deploy", "ma[k]e deploy",
        "m{ake,} x", "$(echo make) deploy", "for a in deploy; do make $a; done", "eval $x",
        "FOO=1 $x deploy",
    ):  # fmt: skip
        assert await becomes(command) is RUN, command
        assert await becomes(command, refused) is ASK, command
        assert await becomes(command, refused, Rule("shell", command)) is ASK, command
        elsewhere = replace(refused, scope="folder", where="/elsewhere")
        assert await becomes(command, elsewhere) is RUN, command
    for command in ("make test $x", "echo $x", "cc *.c", '[ -n "$x" ]', "make"):
        assert await becomes(command, refused) is RUN, command
    assert await becomes("make $x", Rule("shell", "rm", is_deny=True)) is RUN
