"""What is read without being named: by response files, by patterns, and by their order."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.tools.shell.test_proof import CANARY, git, is_proven, printed, put


@pytest.mark.skipif(shutil.which("strings") is None, reason="needs binutils")
def test_what_a_response_file_names_is_not_read_unasked(tmp_path: Path) -> None:
    root = tmp_path / "project"
    put(root, ".env", f"PASSWORD={CANARY}\n")
    put(root, "names", f"-n 1 {root}/.env\n")
    for command in ("strings @names", "strings -a @names", "strings -- @names"):
        assert CANARY in printed(root, command)
        assert not is_proven(root, command)
    assert is_proven(root, "strings names")


@pytest.mark.parametrize(
    "pattern", ["..*/key", "./..*/key", ".?/key", "src/..*/..*/key", ".*./key"]
)
def test_a_pattern_that_may_stand_for_the_folder_above_is_asked_about(
    tmp_path: Path, pattern: str
) -> None:
    """Bash before 5.2 finds `..` by it, as the `sh` of this machine may do."""
    put(tmp_path, "key", CANARY)
    root = tmp_path / "project"
    put(root, "src/a")
    assert CANARY in printed(root, f"shopt -u globskipdots 2>/dev/null; cat {pattern}")
    for command in (f"cat {pattern}", f"grep -rh . {pattern.removesuffix('/key')}"):
        assert not is_proven(root, command)
    assert is_proven(root, "cat src/.a*")


@pytest.mark.parametrize(
    ("files", "command"),
    [
        (("B.key", "a"), "grep -h *"),
        (("B.key", "a"), "rg -I *"),
        (("B.key", "a"), "jq *"),
        (("1p", "=;1e touch made"), "sed -n *"),
        (("-e", "B.key", "a"), "grep -h x *"),
        (("!", "-vPATH", "x"), "printf *; ls"),
    ],
)
def test_no_order_of_the_names_that_a_star_stands_for_is_relied_on(
    tmp_path: Path, files: tuple[str, ...], command: str
) -> None:
    """Where `a` comes before `B.key`, as in most languages, it is what to search for."""
    root = tmp_path / "project"
    for name in files:
        put(root, name)
    assert not is_proven(root, command)


@pytest.mark.parametrize("form", ["%n", "'%-5.*ln'", "'%s%n' a", "*"])
def test_what_sets_a_variable_may_lead_to_a_program_of_the_folder(
    tmp_path: Path, form: str
) -> None:
    """A `PATH` of `0`, `1` or `5` is a folder beside the project's files."""
    put(tmp_path, "%n", "")
    for folder in ("0", "1", "5"):
        put(tmp_path, f"{folder}/ls", f"#!/bin/sh\necho {CANARY}\n").chmod(0o755)
    values = "3 PATH" if ".*" in form else "PATH"
    command = f"cd . && printf {form} {values}; ls"
    assert (form == "*") or CANARY in printed(tmp_path, command)
    assert not is_proven(tmp_path, command)
    for plain in ("printf '%s\\n' a", r"printf '100%%\n'", "printf name"):
        assert is_proven(tmp_path, plain), plain


@pytest.mark.parametrize(
    "redirect", ["2&>/dev/null", "12345678901>/dev/null", "99999999999999999999>&2"]
)
def test_a_number_that_is_no_descriptor_is_the_name_of_a_file(
    tmp_path: Path, redirect: str
) -> None:
    root, number = tmp_path / "project", re.match("[0-9]+", redirect)
    put(root, "a", CANARY)
    outside = put(tmp_path, "outside")
    assert number is not None
    (root / number[0]).symlink_to("../outside")
    assert not is_proven(root, f"uniq a {redirect}")
    printed(root, f"uniq a {redirect}")
    assert outside.read_text().strip() == CANARY, "uniq writes to its second file"
    assert is_proven(root, "uniq a 2>/dev/null")
    assert is_proven(root, "uniq a 2>&1")


def test_where_all_names_are_read_a_star_is_not_asked_about(tmp_path: Path) -> None:
    root = tmp_path / "project"
    for name in ("a.txt", "b.txt", "src/c.txt", "src/d.txt"):
        put(root, name)
    for command in (
        "grep x *.txt", "grep -rn x src/*", "grep -e x *.txt", "sed -n 1,5p *.txt", "cat * | wc",
        "rg x *.txt", "echo *", "cut -d , -f 1 *.txt", "diff *.txt", "sort -k 2 *.txt", "ls -d *",
        "find *.txt -name x", "grep a*z *.txt", "grep a.* *.txt",
    ):  # fmt: skip
        assert is_proven(root, command), command


def test_no_search_is_taken_for_a_list_of_files(tmp_path: Path) -> None:
    """Ripgrep 14 and 15 search when they are asked for both; version 13 refuses or lists."""
    put(tmp_path, ".env", CANARY)
    for kind in ("--json", "-c", "-l", "-nl", "--count", "--files-with-matches"):
        for command in (f"rg --files {kind} -. . .", f"rg {kind} --type-list -. . ."):
            assert not is_proven(tmp_path, command), command
    for command in ("rg --files", "rg --files --hidden -g '*.py'", "rg --type-list"):
        assert is_proven(tmp_path, command), command


@pytest.mark.parametrize("kind", ["linked", "included", "named", "in a folder of settings"])
def test_settings_of_the_user_that_an_agent_may_write_are_reckoned_with(
    tmp_path: Path, kind: str
) -> None:
    """Who keeps them in a folder with others ("dotfiles") may have that folder open."""
    root, home = tmp_path / "dotfiles", tmp_path / "home"
    git(put(root, "a").parent, "init", "-q")
    put(home, "other", f"[safe]\n\tdirectory = {root}\n[core]\n\tpager = less -R\n")
    settings = put(root, "settings", '[core]\n\tfsmonitor = "touch made; false"\n')
    put(home, ".gitconfig", "[include]\n\tpath = ~/other\n[user]\n\tname = a/b\n")
    assert is_proven(root, "git status", HOME=str(home))
    if kind == "linked":
        (home / ".gitconfig").unlink()
        (home / ".gitconfig").symlink_to(settings)
    elif kind == "included":
        put(home, "other", f"[include] path = {root}/settings\n")
    elif kind == "named":
        put(home, ".gitconfig", f'[core]\n\tfsmonitor = "{root}/run -v"\n')
    else:
        (home / ".config").mkdir()
        (home / ".config/git").symlink_to(root)
        settings.rename(root / "config")
    assert not is_proven(root, "git status", HOME=str(home))


def test_a_home_that_is_open_as_a_whole_keeps_its_settings(tmp_path: Path) -> None:
    git(put(tmp_path, "a").parent, "init", "-q")
    put(tmp_path, ".gitconfig", "[user]\n\tname = a\n")
    assert is_proven(tmp_path, "git status", HOME=str(tmp_path))
