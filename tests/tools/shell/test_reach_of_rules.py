"""What a rule allowed does not reach what is asked about in every mode, whatever leads there."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from desktop_agent.core.approvals import Rule
from desktop_agent.core.tool import Tool
from desktop_agent.engine.permissions import policy
from desktop_agent.tools.files.writing import write
from desktop_agent.tools.shell.shell import shell
from desktop_agent.tools.shell.whole_reads import is_published
from tests.tools.conftest import Bench
from tests.tools.shell.test_proof import git, printed
from tests.tools.shell.test_sandbox_verdicts import ASK, RUN, verdict, with_sandbox


async def becomes(bench: Bench, command: str, *patterns: str) -> type:
    rules = [Rule("shell", pattern) for pattern in patterns]
    return type(verdict(bench, await bench.preview(shell, command=command), "free", *rules))


async def test_a_link_that_leads_outside_is_asked_about(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("outside")
    bench.put("src/a.txt")
    (bench.root / "away").symlink_to(tmp_path)
    (bench.root / "notes").symlink_to(tmp_path / "notes.txt")
    (bench.root / "code").symlink_to("src")
    (bench.root / "tool").symlink_to("/usr/bin/env")
    for name in ("away/notes.txt", "notes", "src/../away/x", "--file=away/notes.txt", "away"):
        assert await becomes(bench, f"grep -r x {name}", "grep") is ASK, name
    for name in ("src/a.txt", "code/a.txt", "code/new", "tool", "."):
        assert await becomes(bench, f"grep -r x {name}", "grep") is RUN, name


async def test_a_secret_that_a_pattern_stands_for_is_asked_about(
    bench: Bench, tmp_path: Path
) -> None:
    for name in ("credentials.json", "src/server.key", "src/a.txt", "data/b.txt"):
        bench.put(name)
    (bench.root / "away").symlink_to(tmp_path)
    (bench.root / "text").symlink_to(bench.root / "credentials.json")
    for pattern in ("c*", "cr[e]dentials.json", "src/*", "s*/s*y", "a*/x", "t*t", "..*/x"):
        assert await becomes(bench, f"cat -n {pattern}", "cat") is ASK, pattern
        assert await becomes(bench, f"cat a {pattern} | tail", "cat", "tail") is ASK, pattern
    for pattern in ("src/*.txt", "d*/*", "'c*'", "x*", "src/a.tx[t]"):
        assert await becomes(bench, f"cat -n {pattern}", "cat") is RUN, pattern


async def test_a_secret_below_a_folder_that_is_searched_is_asked_about(bench: Bench) -> None:
    for name in (".env", "src/server.key", "docs/a.md", "node_modules/x/cert.pem"):
        bench.put(name)
    for words in ("grep -rn x .", "grep -R x", "grep --recursive -e x src", "grep -d recurse x"):
        assert await becomes(bench, words, "grep") is ASK, words
    for words in ("rg -uu x", "rg --hidden x .", "rg --no-ignore x src", "diff -r src docs"):
        assert await becomes(bench, words, "rg", "diff") is ASK, words
    assert await becomes(bench, "cd src && grep -r x .", "grep", "cd src") is ASK
    for words in ("-r x s*", "-r x ./*", "--recurs x .", "-r --label a x", "-r x d*/../s?c"):
        assert await becomes(bench, f"grep {words}", "grep") is ASK, words
    for words in ("--max-depth 3 x", "--sort path x", "--color never x"):
        assert await becomes(bench, f"rg --hidden {words}", "rg") is ASK, words
    for words in (
        "-r x docs",
        "-r x node_modules",
        "-rl x",
        "x docs/a.md",
        "-r x d*",
        "-rn --include='*.md' x",
    ):
        assert await becomes(bench, f"grep {words}", "grep") is RUN, words
    assert await becomes(bench, "grep -r --exclude='.e*' --exclude-dir src x .", "grep") is RUN
    for words in ("rg x", "rg -u -g '!src' x", "rg -u -tpy x", "rg -u x docs"):
        assert await becomes(bench, words, "rg") is RUN, words


@pytest.mark.parametrize(
    ("start", "folder", "is_skipped"),
    [
        ("/opt/shop/.", "/opt/shop", False),
        ("/usr/local/src/shop/web", "/usr/local/src/shop", False),
        ("/usr/../home/ada", "/home/ada", False),
        ("/usr/share", "/home/ada", True),
        ("/usr", "/home/ada", True),
        ("/opt/shop/node_modules/x", "/opt/shop", True),
    ],
)
def test_a_search_is_not_looked_through_where_it_begins_among_what_others_published(
    start: str, folder: str, is_skipped: bool
) -> None:
    assert is_published(start, folder) is is_skipped


async def test_a_secret_behind_the_letters_of_options_is_asked_about(bench: Bench) -> None:
    (bench.root / "k").symlink_to("/home/someone/.ssh/id_rsa")
    for option in ("-f.env", "-vf.env", "-fcredentials.json", "-f/home/x/notes", "-f../x", "-fk"):
        assert await becomes(bench, f"grep {option} a.txt", "grep") is ASK, option
    assert await becomes(bench, "git commit -Fk --allow-empty", "git commit") is ASK
    for option in ("-nri", "-A3", "-fnames", "-f./names", "-e.", "-rI"):
        assert await becomes(bench, f"grep {option} a.txt", "grep") is RUN, option


async def test_a_file_that_a_program_of_jq_reads_is_asked_about(bench: Bench) -> None:
    bench.put("credentials.json", "{}")
    bench.put("read.jq", 'import "credentials" as $it {search: "./"}; $it')
    for words in (
        """-n 'import "credentials" as $it; $it'""", "-n -f read.jq", "-nrf read.jq", "-r . -f2",
        "-n --from-file read.jq", "-L . '.a' x.json", "-n env.HOME",
    ):  # fmt: skip
        assert await becomes(bench, f"jq {words}", "jq") is ASK, words
    for words in ("--arg a b '.x[$a]' x.json", "'.files' x.json", "-r '.environment' x.json"):
        assert await becomes(bench, f"jq {words}", "jq") is RUN, words


async def test_git_in_what_it_takes_for_a_repository_by_its_form_is_asked_about(
    bench: Bench,
) -> None:
    """The settings of such a folder, which a clone may bring along, start what they name."""
    git(bench.root, "init", "-q")
    settings = (
        "[core]\nrepositoryformatversion = 0\nbare = false\nworktree = .\n"
        'fsmonitor = "touch made; false"\n'
    )
    for name, content in (
        ("HEAD", "ref: refs/heads/main\n"), ("config", settings), ("objects/x", ""), ("refs/x", ""),
    ):  # fmt: skip
        bench.put(f"assets/{name}", content)
    bench.put("assets/deep/a.txt")
    for moves in ("cd assets", "cd assets/deep", "cd assets && cd deep", "cd assets; cd .."):
        assert await becomes(bench, f"{moves} && git status", "git status") is ASK, moves
    assert await becomes(bench, "git status", "git status") is RUN
    inside = await bench.preview(shell, command="git status", directory="assets")
    assert verdict(bench, inside, "free", Rule("shell", "git status")) == policy.Asked(
        f"It touches {bench.root}/assets, which is asked about in every mode."
    )
    printed(bench.root, "cd assets/deep && git status")
    assert (bench.root / "assets/made").exists(), "or else there would be no reason to ask"


async def test_no_folder_makes_a_path_pass_for_an_address_or_a_text(bench: Bench) -> None:
    for name in ("x://../.env", "x:///../../outside", "'y\n/../.env'"):
        assert await becomes(bench, f"cat -n {name}", "cat") is RUN, "there is no such file"
    bench.put("x:/a")
    bench.put("y\n/a")
    for name in ("--file=x://../.env", "x://../.env", "x:///../../outside", "'y\n/../.env'"):
        assert await becomes(bench, f"cat -n {name}", "cat") is ASK, name


async def test_names_are_looked_up_in_the_folder_that_a_command_moved_to(
    bench: Bench, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("outside")
    bench.put("sub/deep/credentials.json")
    bench.put("sub/deep/plain.txt")
    (bench.root / "sub/notes").symlink_to(tmp_path / "notes.txt")
    for command in ("cd sub && cat notes", "cd sub && cd deep && cat c*", "cd sub/deep; cat c*"):
        assert await becomes(bench, f"{command} | nl", "cat", "nl") is ASK, command
    assert await becomes(bench, "cd sub/deep && cat p* -n | nl", "cat", "nl") is RUN


@pytest.mark.skipif(sys.platform != "linux", reason="names are text elsewhere")
async def test_names_that_are_no_text_are_asked_about_as_others(bench: Bench) -> None:
    for name in (b"caf\xe9/.env", b"k\xe9y.pem"):
        bench.put(os.fsdecode(name))
    (bench.root / os.fsdecode(b"way\xe9")).symlink_to("/etc")
    preview = await bench.preview(shell, command="cat caf*/.env k* way*/passwd")
    assert preview.protected == ("caf*/.env", "caf?/.env", "k?y.pem")
    assert preview.outside == ("way?/passwd",)


async def test_a_rule_for_leaving_the_sandbox_is_not_for_the_folders_program_of_the_name(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_sandbox(bench)
    system, own = tmp_path / "bin", bench.root / ".venv" / "bin"
    for path in (system / "git", system / "python3", own / "git", own / "tool"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    (own / "python3").symlink_to(system / "python3")
    (own / "link").symlink_to(own / "git")
    (system / "link").symlink_to(system / "git")

    async def is_run(command: str) -> bool:
        preview = await bench.preview(shell, command=command, outside="why")
        rule = Rule("shell_outside", command)
        return type(verdict(bench, preview, "free", rule)) is RUN

    monkeypatch.setenv("PATH", f"{own}{os.pathsep}{system}")
    assert [await is_run(f"{name} x") for name in ("git", "link")] == [False, False]
    assert not await is_run("python3 x && git push")
    for command in ("python3 x.py", "tool x", str(own / "git")):
        assert await is_run(command), command
    monkeypatch.setenv("PATH", f"{system}{os.pathsep}{own}")
    assert await is_run("git x")


async def test_no_rule_is_offered_where_it_would_be_asked_about_all_the_same(bench: Bench) -> None:
    for name in (".env", "a.txt", "AGENTS.md"):
        bench.put(name)

    async def is_offered(which: Tool, *rules: Rule, **arguments: str) -> bool:
        preview = await bench.preview(which, **arguments)
        situation = policy.Situation("ask", rules, bench.workspace, is_repeated=True)
        assert preview.rules, "the card has nothing to leave out"
        return bool(policy.offered(which, preview, situation))

    assert not await is_offered(write, path="AGENTS.md", content="x")
    assert await is_offered(write, path="b.txt", content="x")
    for command in ("cat .env", "pytest ../other"):
        assert not await is_offered(shell, command=command), command
    known = Rule("shell", "pytest")
    assert not await is_offered(shell, known, command="pytest"), (
        "only the repetition is asked about"
    )
    for command in ("pytest", "make test && mypy a.txt"):
        assert await is_offered(shell, command=command), command
