"""What a command leaves in folders that are protected by name runs no more than elsewhere."""

from __future__ import annotations

import pytest

from tests.adapters.sandbox.bench import Bench, interpreter, make_repository

PLACES = ("credentials", "lib.git", ".vscode/sub", ".github/workflows", "a/b/c/d/x.key/sub")


async def test_a_repository_in_a_folder_with_a_protected_name_runs_nothing(bench: Bench) -> None:
    named = " ".join(PLACES)
    made = "git init -q $d; printf '[core]\\n\\tfsmonitor = touch ran\\n' >> $d/.git/config"
    lines = (await bench.run(f"for d in {named}; do {made}; done")).lines
    assert {line.split(" could ")[0] for line in lines} == {
        f"{bench.work}/{place}/.git/config" for place in PLACES
    }


async def test_the_settings_of_the_persons_repository_in_such_a_folder_stay(bench: Bench) -> None:
    deepest = bench.work / PLACES[-1]
    make_repository(deepest)
    before = (deepest / ".git/config").read_text()
    for git in (False, True):
        done = await bench.run(f"git -C {deepest} config core.fsmonitor x", git=git)
        assert done.code != 0
    assert (deepest / ".git/config").read_text() == before


async def test_a_link_by_the_name_of_a_folder_that_runs_is_set_aside(bench: Bench) -> None:
    script = "mkdir tasks; echo {} > tasks/tasks.json; ln -s tasks .vscode; ln -s later .zed"
    lines = (await bench.run(script)).lines
    assert {line.split(" would ")[0] for line in lines} == {
        f"{bench.work}/{name}" for name in (".vscode", ".zed")
    }
    assert not (bench.work / ".vscode").exists()
    assert (bench.work / "tasks/tasks.json").exists()


async def test_a_flood_of_files_hides_no_task_made_later_in_an_empty_folder(bench: Bench) -> None:
    """Where the folder is listed among the first, it is read-only; else the file is set aside."""
    await bench.run("for i in $(seq 210); do : > $i.key; done; mkdir .vscode")
    await bench.run("echo {} > .vscode/tasks.json")
    assert not (bench.work / ".vscode/tasks.json").exists()


# Repositories inside git's own folders, which are not searched, and `.git` files that lead there.
_POINTERS = """
import os, sys
def repository(path, tree, evil):
    for name in ("objects", "refs"):
        os.makedirs(f"{path}/{name}")
    open(f"{path}/HEAD", "w").write("ref: refs/heads/main\\n")
    open(f"{path}/config", "w").write(f"[core]\\n\\tworktree = {os.path.abspath(tree)}\\n"
        + f"\\tfsmonitor = {os.path.abspath('program')}\\n" * evil)
def tree(name, line):
    os.mkdir(name)
    open(f"{name}/.git", "w").write(f"gitdir: ../{line}\\n")
open("program", "w").write("#!/bin/sh\\ntouch " + os.path.abspath("ran") + "\\n")
os.chmod("program", 0o755)
"""
_MISREAD = """
repository("top/.git", ".", False)
for number, end in enumerate(("\\nx", " ", "\\0x")):
    plain, evil = f"top/.git/{number}", f"top/.git/{number}{end}"
    if end[0] == "\\0":
        plain, evil = f"{plain}\\ufffdx", plain
    repository(plain, f"tree{number}", False)
    repository(evil, f"tree{number}", True)
    tree(f"tree{number}", f"top/.git/{number}{end}")
own = "top/.git/worktrees/shared"
repository(own, "shared", False)
repository("top/.git/worktrees/.. ", "shared", True)
open(f"{own}/commondir", "w").write("../.. \\n")
open(f"{own}/gitdir", "w").write(os.path.abspath("shared/.git") + "\\n")
tree("shared", own)
"""
_REPLACED = """
for name in ("one", "two"):
    repository(f"{name}/.git", name, False)
    repository(f"{name}/.git/a", "tree0", name == "two")
    repository(f"{name}/.git/b", "tree1", name == "two")
os.symlink("one/.git", "link")
tree("tree0", "link/a")
tree("tree1", "one/.git/b")
"""


@pytest.mark.parametrize(
    ("made", "then", "trees"),
    [
        (_MISREAD, "", ("tree0", "tree1", "tree2", "shared")),
        (_REPLACED, "ln -sfn two/.git link", ("tree0",)),
        (_REPLACED, "mv one old; mv two one", ("tree1",)),
    ],
)
async def test_a_pointer_leads_git_to_no_repository_that_was_not_looked_at(
    bench: Bench, made: str, then: str, trees: tuple[str, ...]
) -> None:
    await bench.run([*interpreter(), "-c", _POINTERS + made])
    if then:
        await bench.run(then)
    for tree in trees:
        bench.free(f"git -C {tree} status")
    assert not (bench.work / "ran").exists()


async def test_a_repository_that_was_made_works_on_no_folder_elsewhere(bench: Bench) -> None:
    elsewhere = ("/etc", "../../..", '"../../.."', '../x"/../../.."', "../link", "../link/../x")
    inside = ("..", str(bench.work / "x"), '"../../x"')
    made = "".join(
        f"git init -q {number}; ln -s /etc/ssl {number}/link;"
        f" echo 'worktree = {place}' >> {number}/.git/config\n"
        for number, place in enumerate((*elsewhere, *inside))
    )
    lines = (await bench.run(made)).lines
    assert {line.split(" could ")[0] for line in lines} == {
        f"{bench.work}/{number}/.git/config" for number in range(len(elsewhere))
    }


async def test_what_is_told_of_a_name_that_is_no_text_is_one_line_of_text(bench: Bench) -> None:
    (line,) = (await bench.run('d=$\'caf\\xe9\\n2\'; mkdir "$d"; : > "$d/.envrc"')).lines
    assert line.startswith(f"{bench.work}/caf?\\n2/.envrc would run by itself")
