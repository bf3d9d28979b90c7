"""The `skill-creator` skill's script: what it begins is valid, and it judges by the standard."""

from __future__ import annotations

from pathlib import Path

import pytest

from desktop_agent.engine.skills.front_matter import parse
from desktop_agent.engine.skills.rules import declared
from tests.skills.scripts import Done, run

GOOD = "name: {name}\ndescription: Checks invoices. Use it when an invoice has to be checked.\n"


def skill(*words: str | Path) -> Done:
    return run("skill-creator", "skill.py", *words)


def make(folder: Path, head: str, body: str = "# Title\n\nText.\n") -> Path:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\n{head}---\n\n{body}", encoding="utf-8")
    return folder


def test_a_new_skill_is_valid_from_the_start(tmp_path: Path) -> None:
    words = 'Checks invoices: totals, "tax" and dates. Use it when one comes in.'
    done = skill("new", "invoice-check", "--description", words, "--into", tmp_path / "skills")
    made = tmp_path / "skills/invoice-check"
    assert done.out.strip() == str(made / "SKILL.md")
    assert skill("check", "--strict", made).out == f"{made}: valid\n"
    front = parse((made / "SKILL.md").read_text(encoding="utf-8"))
    says = declared(front, "invoice-check")
    assert (says.name, says.warnings, says.problem) == ("invoice-check", (), "")
    assert says.description == words.replace('"', "'")


@pytest.mark.parametrize("name", ["Invoice", "-x", "a--b", "a/b", "../a", "", "x" * 65])
def test_a_name_that_the_standard_refuses_makes_nothing(tmp_path: Path, name: str) -> None:
    done = skill("new", "--description=Does it. Use when.", "--into", tmp_path, "--", name)
    assert done.code == 1
    assert done.err
    assert list(tmp_path.iterdir()) == []


def test_a_skill_that_is_there_is_not_begun_again(tmp_path: Path) -> None:
    made = make(tmp_path / "alpha", GOOD.format(name="alpha"))
    before = (made / "SKILL.md").read_bytes()
    done = skill("new", "alpha", "--description", "x", "--into", tmp_path)
    assert (done.code, "is there already" in done.err) == (1, True)
    assert (made / "SKILL.md").read_bytes() == before


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ("description: Use it when.\n", "The name is missing."),
        ("name: alpha\n", "The description is missing."),
        ("name: Alpha\ndescription: Use it when.\n", "small letters"),
        ("name: beta\ndescription: Use it when.\n", "must be that of the folder, 'alpha'"),
        (f"name: alpha\ndescription: {'x' * 1025}\n", "1025 characters; 1024 is the limit"),
        (f"{GOOD.format(name='alpha')}version: 1\n", "The standard has no field version."),
        (f"{GOOD.format(name='alpha')}compatibility: {'x' * 501}\n", "more than 500"),
        ("name: alpha\ndescription: Use: it when\n", 'put the value in "quotes"'),
        ("name: alpha\nname: alpha\ndescription: Use it when.\n", "stands there twice"),
    ],
)
def test_what_the_standard_refuses_is_an_error_in_words(
    tmp_path: Path, head: str, words: str
) -> None:
    made = make(tmp_path / "alpha", head)
    done = skill("check", made)
    assert done.code == 1
    assert words in done.out
    front = parse((made / "SKILL.md").read_text(encoding="utf-8"))
    says = declared(front, "alpha")
    is_told = bool(says.warnings or says.problem)
    assert is_told or "twice" in words, "the app itself must see it too"


@pytest.mark.parametrize(
    "head",
    [
        GOOD.format(name="alpha"),
        'name: alpha\ndescription: "Use: it when # quoted"\n',
        "name: alpha\ndescription: |\n  Two lines,\n  use them when.\nlicense: MIT\n",
        f"{GOOD.format(name='alpha')}metadata:\n  by: ada\n  version: '1'\nallowed-tools: Read\n",
    ],
)
def test_what_the_standard_takes_is_valid(tmp_path: Path, head: str) -> None:
    made = make(tmp_path / "alpha", head)
    assert "alpha: valid" in skill("check", made).out
    front = parse((made / "SKILL.md").read_text(encoding="utf-8"))
    assert declared(front, "alpha").warnings == ()


def test_a_folder_that_holds_no_skill_says_why(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd/SKILL.md").write_bytes(b"---\nname: \xff\n---\n")
    open_head = tmp_path / "open"
    open_head.mkdir()
    (open_head / "SKILL.md").write_text("---\nname: open\n", encoding="utf-8")
    done = skill("check", tmp_path / "none", *(tmp_path / n for n in ("empty", "odd", "open")))
    told = [line.split("error: ")[1] for line in done.out.splitlines()]
    assert told == [
        f"There is no folder {tmp_path / 'none'}.",
        "There is no SKILL.md in the folder.",
        "SKILL.md is not UTF-8 text.",
        "The front matter does not end: a second line of three dashes is missing.",
    ]


def test_what_could_be_better_is_told_and_refused_only_if_wanted(tmp_path: Path) -> None:
    body = (
        "Run `scripts/gone.py` and read [more](references/more.md) or ../secret.txt.\n"
        "It lies in /home/ada/skills/alpha.\u200b\n" + "Text.\n" * 500
    )
    made = make(tmp_path / "alpha", "name: alpha\ndescription: Checks.\n", body)
    (made / "references").mkdir()
    (made / "references/more.md").write_text("More.", encoding="utf-8")
    (made / "references/forgotten.md").write_text("Never read.", encoding="utf-8")
    (made / "link").symlink_to(tmp_path)
    (made / "pointer.md").symlink_to(made / "SKILL.md")
    done = skill("check", made)
    assert done.code == 0
    for words in (
        "The description is very short",
        "Move what is not always needed into references/.",
        "The text names scripts/gone.py, which is not there.",
        "/home/ada/skills/alpha.\u200b exists on this computer only",
        "invisible characters",
        "references/forgotten.md is named nowhere",
        "pointer.md is a link",
        "link is a link",
    ):
        assert words in done.out
    assert "references/more.md" not in done.out
    assert skill("check", "--strict", made).code == 1
