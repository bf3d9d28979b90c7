"""Commands that run unasked only look, on a real disk: what they read is inside and no secret."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from desktop_agent.core.workspace import Workspace
from desktop_agent.tools.shell.environment import command_environment
from desktop_agent.tools.shell.proof import Proof, prove
from tests.helpers.processes import git

BASH = shutil.which("bash") or "/bin/bash"
CANARY = "canary-5512"


def proof(root: Path, command: str, **extra: str) -> Proof:
    return prove(command, str(root), Workspace(str(root)), command_environment(extra))


def is_proven(root: Path, command: str, **extra: str) -> bool:
    return proof(root, command, **extra).is_whole


def put(root: Path, name: str, content: str = "x\n") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def printed(root: Path, command: str) -> str:
    """Run a command as the shell tool does and return all it printed."""
    ran = subprocess.run(
        [BASH, "--noprofile", "--norc", "-c", command],
        cwd=root,
        env=command_environment({}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return (ran.stdout + ran.stderr).decode("utf-8", "replace")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for name in ("src/app.py", "tests/t.py", "README.md", "notes.log", "a.txt", "b.txt"):
        put(root, name)
    put(root, "package.json", '{"name": "x", "scripts": {}}')
    put(root, "data.csv", "a,b\n")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    return root


# Fifty and more commands by which people look around all day; the last are left to ask.
LOOKING = """
ls -la
ls -R src
ls *.md
ls src/*.py | wc -l
cat README.md
cat src/*.py | head -50
head -20 README.md
tail -n 20 notes.log
wc -l src/*.py
wc -l src/*.py tests/*.py | tail -1
grep -rn TODO src
grep -rn "def main" . --include=*.py
grep -c import src/app.py
grep -rn TODO . | head -20
rg TODO
rg -n "def " src
rg --files
rg -l TODO -g '*.py'
find . -name '*.py'
find src -type f | wc -l
find . -name "*.py" -not -path "./node_modules/*"
tree -L 2
du -sh .
du -sh src/*
df -h
stat README.md
file src/app.py
diff a.txt b.txt
diff -ru src tests
jq . package.json
jq -r '.name' package.json
cat package.json | jq '.scripts | keys'
git status
git status --short
git log --oneline -10
git log -5 --stat
git diff
git diff --stat
git diff --cached --name-only
git branch -a
git show --stat
git blame src/app.py
git ls-files | head
git remote -v
python3 --version
node --version
which python3
pwd
sort a.txt | uniq -c | sort -rn
cut -d, -f1 data.csv
sed -n 1,20p src/app.py
cd src && ls
cmp a.txt b.txt
realpath README.md
test -f package.json && echo yes
git diff HEAD~1
awk '{print $1}' a.txt
git log -p -1
command -v git
ps aux
""".strip().splitlines()


def test_at_most_a_tenth_of_everyday_looking_asks(project: Path) -> None:
    asked = [command for command in LOOKING if not is_proven(project, command)]
    assert len(LOOKING) >= 50
    assert len(asked) <= len(LOOKING) / 10, asked


# ---- the folder a command runs in ----


def test_a_failed_cd_does_not_hide_where_a_link_leads(tmp_path: Path) -> None:
    key = put(tmp_path, "outside/key", CANARY)
    root = tmp_path / "work"
    put(root, "sub/notes")
    (root / "notes").symlink_to(key)
    for command in (
        "cd nope && true ; cat notes",
        "cd nope && true\ncat notes",
        "cd nope && ls || cat notes",
        "cd nope || cat notes",
        "cd nope; cat notes",
        "cd sub && cd nope || cd .. && cat notes",
        "true || cd sub && cat notes",
        "cd sub | true; cat notes",
        "cd sub & cat notes",
        "(cd sub); cat notes",
        "pushd sub; popd; cat notes",
        "cd sub && pwd | cat; cd nope; cat nope/../../notes",
    ):
        assert not is_proven(root, command), command
    assert is_proven(root, "cd sub && cat notes")
    assert is_proven(root, "cd sub && pwd && cat notes | head -3")


def test_an_absolute_path_counts_by_where_it_leads(project: Path, tmp_path: Path) -> None:
    put(tmp_path, "outside", CANARY)
    (project / "link").symlink_to(tmp_path / "outside")
    (project / "away").symlink_to(tmp_path)
    for command in (f"cd {project}/src && ls", f"cat {project}/README.md", f"cd {project}; ls"):
        assert is_proven(project, command), command
    for command in (
        "cat /etc/passwd",
        "ls /",
        "cd / && ls",
        f"cat {tmp_path}/outside",
        f"cat {project}/link",
        f"cd {project}/away && ls",
        f"cd {project}/src; cat link",
        f"cd {project}/nope || cat link",
        f"cat {project}/../outside",
    ):
        assert not is_proven(project, command), command


_COMMANDS = (
    "cd sub", "cd nope", "cd file", "cd link", "cd sub/deep", "cd deep", "cd other", "cd .",
    "cd ''", "cd", "true", "false", "cat notes", "head -1 notes", "cat n*", "cat no?es", "ls",
    "grep -h . notes", "cat sub/notes", "cat */notes", "pushd sub", "popd", "grep -rh . .",
    "(cd sub)", "{ cd sub; }", "! cd sub", "test -f notes", "cd sub 2>/dev/null", "wc notes",
    "diff notes file", "sort notes", "cat link/notes", "rg . notes", "cat ./notes notes",
    "cat -- n*",
)  # fmt: skip
_JOINTS = (" && ", " || ", "; ", "\n", " | ", " & ", " |& ", " && \n ")
_PLACES = (".", "sub", "sub/deep", "other")


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Make folders that differ in which `notes` is a link to a key outside."""
    base = tmp_path_factory.mktemp("worlds")
    key = put(base, "outside/key", CANARY)
    made: list[Path] = []
    for number, linked in enumerate(itertools.product((False, True), repeat=len(_PLACES))):
        root = base / str(number)
        put(root, "file")
        for place, is_link in zip(_PLACES, linked, strict=True):
            if is_link:
                (root / place).mkdir(parents=True, exist_ok=True)
                (root / place / "notes").symlink_to(key)
            else:
                put(root, f"{place}/notes")
        (root / "link").symlink_to("sub")
        made.append(root)
    return made


@given(
    world=st.integers(0, 2 ** len(_PLACES) - 1),
    first=st.sampled_from(_COMMANDS),
    more=st.lists(st.tuples(st.sampled_from(_JOINTS), st.sampled_from(_COMMANDS)), max_size=6),
)
@settings(
    max_examples=1500,
    suppress_health_check=[
        *settings.default.suppress_health_check,
        HealthCheck.function_scoped_fixture,
    ],
)
def test_what_is_proven_never_shows_a_real_shell_the_key(
    worlds: list[Path], world: int, first: str, more: list[tuple[str, str]]
) -> None:
    command = first + "".join(joint + word for joint, word in more)
    root = worlds[world]
    if not is_proven(root, command):
        return
    assert CANARY not in printed(root, command)


def test_the_shell_would_show_the_key_where_nothing_is_proven(worlds: list[Path]) -> None:
    """Or else the test above could not fail."""
    leaky = worlds[-1]
    for command in ("cat n*", "cd sub && cat notes", "cd nope || cat notes", "cat */notes"):
        assert CANARY in printed(leaky, command)
        assert not is_proven(leaky, command)
        assert is_proven(worlds[0], command)


# ---- names, links and secrets ----


def test_a_star_is_looked_up_on_the_disk(project: Path) -> None:
    assert is_proven(project, "cat src/*.py")
    assert is_proven(project, "cat nothing/*.zz")
    (project / "src" / "link.py").symlink_to("/etc/passwd")
    assert not is_proven(project, "cat src/*.py")
    assert not is_proven(project, "wc -l src/l?nk.py")
    assert is_proven(project, "cat src/a*.py")


@pytest.mark.parametrize("name", ["-o", "--output=x", "--compress-program=x", "-S1"])
def test_a_file_named_like_an_option_is_taken_for_one(project: Path, name: str) -> None:
    assert is_proven(project, "sort *.txt")
    put(project, f"{name}.txt")
    assert is_proven(project, "sort a.txt")
    assert not is_proven(project, "sort *.txt")


def test_a_star_stands_for_no_second_operand_that_is_written(project: Path) -> None:
    assert is_proven(project, "uniq a*")
    assert not is_proven(project, "uniq *.txt"), "the second file is where uniq writes"


def test_a_folder_is_searched_only_when_it_holds_no_secret(project: Path) -> None:
    for command in ("grep -rn x .", "rg x", "rg x src", "diff -r src tests", "grep -rn x src"):
        assert is_proven(project, command), command
    put(project, "src/.env")
    for command in ("grep -rn x .", "rg x", "rg x src", "diff -r src tests", "grep -rn x src"):
        assert not is_proven(project, command), command
    assert is_proven(project, "grep -rn x tests")
    (project / "tests" / "link").symlink_to("/etc")
    assert is_proven(project, "grep -rn x tests"), "grep -r follows no link it finds"
    assert not is_proven(project, "diff -r tests tests"), "diff -r does"


def test_options_behind_names_are_checked_as_well(project: Path) -> None:
    assert is_proven(project, "grep x -rn src")
    assert not is_proven(project, "sort a.txt -o b.txt")
    assert not is_proven(project, "sort a.txt --compress-program=./x")


def test_a_version_is_asked_of_programs_not_of_scripts(project: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    put(folder, "node", "#!/bin/sh\ncat ./config | sh\n").chmod(0o755)
    (folder / "git").symlink_to(shutil.which("true") or "/bin/true")
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    assert not is_proven(project, "node --version", PATH=path)
    assert is_proven(project, "git --version", PATH=path)


def test_a_program_that_leads_into_the_folder_is_not_trusted(project: Path, tmp_path: Path) -> None:
    program = put(project, "own/ls", "#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ls").symlink_to(program)
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    assert is_proven(project, "ls")
    assert not is_proven(project, "ls", PATH=path)


@pytest.mark.parametrize("name", ["CDPATH", "BASH_ENV", "GIT_DIR", "BASH_FUNC_ls%%", "LD_PRELOAD"])
def test_an_environment_that_changes_meanings_ends_the_proof(project: Path, name: str) -> None:
    assert not is_proven(project, "ls", **{name: "/tmp"})


# ---- repositories ----


def test_no_look_at_a_plain_repository_is_asked_about(project: Path) -> None:
    git(project, "remote", "add", "origin", "https://example.invalid/x.git")
    for command in ("git status", "git diff", "git log", "cd src && git status", "git branch"):
        assert is_proven(project, command), command


def _config(text: str) -> Callable[[Path], None]:
    def spoil(root: Path) -> None:
        with (root / ".git" / "config").open("a") as file:
            file.write(text)

    return spoil


def _gitlink(root: Path) -> None:
    inner = root / "inner"
    put(inner, "a")
    git(inner, "init", "-q")
    git(inner, "add", "a")
    git(inner, "commit", "-qm", "x")
    git(root, "add", "inner")


def _moved(root: Path) -> None:
    (root / ".git").rename(root.parent / "elsewhere")
    put(root, ".git", f"gitdir: {root.parent / 'elsewhere'}\n")


def _linked(root: Path) -> None:
    (root / ".git").rename(root.parent / "elsewhere")
    (root / ".git").symlink_to(root.parent / "elsewhere")


def _bare(root: Path) -> None:
    git(root, "init", "-q", "--bare", "src/x")
    for name in ("HEAD", "config", "objects", "refs"):
        (root / "src" / "x" / name).rename(root / "src" / name)


def _shown_link(root: Path) -> None:
    (root / ".git" / "rebase-merge").mkdir()
    (root / ".git" / "rebase-merge" / "done").symlink_to("/etc/passwd")


SPOILED = {
    "a monitor": _config('[core]\n\tfsmonitor = "touch ran; false"\n'),
    "a monitor in odd spelling": _config("[CORE]\nFsMonitor=./x\n"),
    "hooks elsewhere": _config("[core]\n\thooksPath = src\n"),
    "a worktree elsewhere": _config("[core]\n\tworktree = /etc\n"),
    "an included file": _config("[include]\n\tpath = ../src/app.py\n"),
    "a conditional include": _config('[includeIf "gitdir:/"]\n\tpath = x\n'),
    "a filter": _config('[filter "x"]\n\tclean = touch ran\n'),
    "a text conversion": _config('[diff "x"]\n\ttextconv = touch ran\n'),
    "an external diff": _config("[diff]\n\texternal = touch ran\n"),
    "signatures": _config("[log]\n\tshowSignature = true\n[gpg]\n\tprogram = ./x\n"),
    "a promisor": _config('[remote "x"]\n\turl = ext::sh\n\tpromisor = true\n'),
    "a pretty format": _config('[format]\n\tpretty = "%G?"\n'),
    "a line that goes on": _config("[user]\n\tname = x\\\n[core]\n"),
    "a head and a key on one line": _config("[core] fsmonitor = ./x\n"),
    "attributes": lambda root: put(root, ".git/info/attributes") and None,
    "a hook": lambda root: put(root, ".git/hooks/post-index-change") and None,
    "objects elsewhere": lambda root: put(root, ".git/objects/info/alternates") and None,
    "a common folder": lambda root: put(root, ".git/commondir", "/x") and None,
    "no head": lambda root: (root / ".git" / "HEAD").unlink(),
    "a submodule": _gitlink,
    "a file for a folder": _moved,
    "a link for a folder": _linked,
    "a link that is shown": _shown_link,
}  # fmt: skip


@pytest.mark.parametrize("kind", SPOILED)
def test_a_repository_that_could_start_programs_is_asked_about(project: Path, kind: str) -> None:
    SPOILED[kind](project)
    for command in ("git status", "git diff", "git log", "cd src && git status"):
        assert not is_proven(project, command), command


def test_a_bare_repository_in_a_folder_is_asked_about(project: Path) -> None:
    _bare(project)
    assert not is_proven(project, "cd src && git status")
    assert is_proven(project, "git status")


def test_a_repository_around_the_folder_is_asked_about(project: Path) -> None:
    assert not is_proven(project / "src", "git status")


def test_a_tracked_secret_is_not_shown_unasked(project: Path) -> None:
    put(project, "prod.env", "KEY=1")
    git(project, "add", "-f", "prod.env")
    assert is_proven(project, "git status")
    assert is_proven(project, "git diff --stat")
    assert not is_proven(project, "git diff")


def test_what_ran_before_ends_the_proof_of_a_repository(project: Path) -> None:
    assert proof(project, "git add -A && git status").parts == ()
    assert proof(project, "git status && git add -A").parts == (0,)
    assert proof(project, "cd src && pytest").parts == (0,)
    assert proof(project, "cd ../x && pytest; ls").parts == ()


def test_a_monitor_would_run_where_nothing_is_proven(project: Path) -> None:
    """Or else the tests above would guard against nothing."""
    SPOILED["a monitor"](project)
    printed(project, "git status")
    assert (project / "ran").exists()


def test_looking_writes_nothing_into_the_repository(project: Path) -> None:
    os.utime(project / "README.md", (1, 1))
    index = project / ".git" / "index"
    before = index.read_bytes()
    assert is_proven(project, "git status")
    printed(project, "git status")
    assert index.read_bytes() == before
