"""The skills that come with the app: valid, complete, harmless, and found by the app."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import docx
import pytest

from desktop_agent import paths
from desktop_agent.engine.skills.requirements import look, needs_of
from desktop_agent.engine.skills.scan import Place, Scanner
from tests.skills.scripts import run, succeed
from tests.skills.test_pdf import make_pdf
from tests.skills.test_release_notes import Repository

NAMES = ["code-review", "document", "pdf", "release-notes", "skill-creator", "spreadsheet"]
SCRIPTS = sorted(paths.builtin_skills().glob("*/scripts/*.py"))
PROGRAMS = [path for path in SCRIPTS if "__main__" in path.read_text(encoding="utf-8")]
NETWORK = {"socket", "ssl", "http", "urllib.request", "requests", "httpx", "ftplib", "smtplib"}


def test_the_app_finds_them_without_a_warning_and_with_all_they_need(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = Scanner().scan(Place(paths.builtin_skills(), "bundled"))
    assert [one.skill.name for one in found] == NAMES
    for one in found:
        assert (one.skill.warnings, one.skill.problem) == ((), "")
        assert one.skill.license == "MIT"
    packages = {one.skill.name: needs_of(one.skill).packages for one in found}
    assert packages["document"] == (("python-docx", "docx"), ("markdown-it-py", "markdown_it"))
    assert packages["pdf"] == (("pypdf", "pypdf"),)
    assert packages["spreadsheet"] == (("openpyxl", "openpyxl"),)
    for _, module in (one for named in packages.values() for one in named):
        assert importlib.util.find_spec(module) is not None
    own = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", os.pathsep.join((own, os.environ["PATH"])))
    assert look(one.skill for one in found).missing == {}


def test_their_own_checker_has_nothing_to_say() -> None:
    folders = [paths.builtin_skills() / name for name in NAMES]
    out = succeed("skill-creator", "skill.py", "check", "--strict", *folders)
    assert out == "".join(f"{folder}: valid\n" for folder in folders)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: f"{path.parts[-3]}/{path.name}")
def test_every_program_explains_itself_and_refuses_nonsense(path: Path) -> None:
    skill = path.parts[-3]
    before = set(path.parent.rglob("*"))
    assert succeed(skill, path.name, "--help").startswith("usage: ")
    assert set(path.parent.rglob("*")) == before, "an installed app must stay as it is"
    done = run(skill, path.name, "--no-such-option")
    assert (done.code, done.out) == (2, "")


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    """`script | head`, as agents like to write it."""
    table = tmp_path / "a.csv"
    table.write_text("a,b\n1,2\n", encoding="utf-8")
    document = make_pdf(tmp_path / "a.pdf", ["One"])
    word = tmp_path / "a.docx"
    docx.Document().save(str(word))
    repository = Repository(tmp_path / "repo")
    repository.commit("feat: one")
    for skill, words in {
        "pdf": ["pdf.py", "text", document],
        "spreadsheet": ["sheet.py", "read", table],
        "document": ["document.py", "to-markdown", word],
        "release-notes": ["commits.py", "--repo", repository.path],
        "skill-creator": ["skill.py", "check", paths.builtin_skills() / "pdf"],
    }.items():
        script = paths.builtin_skills() / skill / "scripts" / str(words[0])
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run(
            [sys.executable, script, *words[1:]], stdout=writer, stderr=subprocess.PIPE, check=False
        )
        os.close(writer)
        assert (done.returncode, done.stderr) == (0, b""), skill


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parts[-3]}/{path.name}")
def test_no_script_uses_the_network(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    named = {alias.name for n in ast.walk(tree) if isinstance(n, ast.Import) for alias in n.names}
    named |= {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert named & NETWORK == set()


def test_what_a_text_tells_to_run_is_understood_by_the_scripts() -> None:
    """Each line with a script in it, up to the arguments: the command must exist."""
    for name in NAMES:
        text = (paths.builtin_skills() / name / "SKILL.md").read_text(encoding="utf-8")
        for script, rest in re.findall(r"python3 scripts/([\w.]+)((?: [^`|\n]+)?)", text):
            command = rest.split()[0] if rest and re.match(r" [a-z]", rest) else ""
            words = [command, "--help"] if command and name != "release-notes" else ["--help"]
            usage = succeed(name, script, *words)
            for option in re.findall(r" (--[a-z-]+)", rest):
                assert option in usage, f"{name}: {script} {command} has no {option}"


def test_the_commands_of_a_review_work_in_a_repository(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        command = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *words]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, check=True, encoding="utf-8"
        ).stdout

    git("init", "--quiet", "--initial-branch=main")
    (tmp_path / "a.py").write_text("a = 1\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "one")
    git("switch", "--quiet", "--create", "topic")
    (tmp_path / "a.py").write_text("a = 2\n")
    git("commit", "--quiet", "--all", "--message", "two")
    text = (paths.builtin_skills() / "code-review/SKILL.md").read_text(encoding="utf-8")
    assert "git diff $(git merge-base origin/main HEAD)..HEAD" in text
    base = git("merge-base", "main", "HEAD").strip()
    assert "+a = 2" in git("diff", f"{base}..HEAD")
    (tmp_path / "new.py").write_text("new\n")
    for command in re.findall(r"`git ((?:status|diff --stat|diff HEAD|show)[^`$]*)`", text):
        git(*command.replace("COMMIT", "HEAD").split())
    assert "?? new.py" in git("status", "--short")
