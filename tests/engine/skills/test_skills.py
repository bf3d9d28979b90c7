"""Skills found on disk: where, which of a name wins, and what is said of odd ones."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from desktop_agent import paths
from desktop_agent.core.skills import Skill
from desktop_agent.core.tool import ToolError
from desktop_agent.engine.skills import files
from desktop_agent.engine.skills.scan import DEEPEST, MOST_FOLDERS, Place, Scanner
from tests.engine.workspace.test_programs import first_on_the_path, put
from tests.helpers.skills import Shelf, put_skill


@pytest.fixture
async def shelf(tmp_path: Path) -> AsyncIterator[Shelf]:
    made = Shelf(tmp_path)
    yield made
    await made.skills.close()


def scanned(place: Path, bounds: Path | None = None) -> dict[str, Skill]:
    """The skills of a place by folder name."""
    origin = "folder" if bounds is not None else "mine"
    found = Scanner().scan(Place(place, origin, bounds))
    return {Path(one.skill.directory).name: one.skill for one in found}


def one_with(tmp_path: Path, head: str, name: str = "one") -> Skill:
    put_skill(tmp_path, name, head=head)
    return scanned(tmp_path)[name]


# -- where they are found ---------------------------------------------------------------------


async def test_skills_are_found_in_all_six_places_and_the_first_of_a_name_wins(
    shelf: Shelf,
) -> None:
    places = [
        shelf.folder,
        shelf.root / ".claude" / "skills",
        shelf.mine,
        shelf.others,
        shelf.claude,
        shelf.bundled,
    ]
    for number, place in enumerate(places):
        put_skill(place, "shared", head=f"name: shared\ndescription: from {number}")
        put_skill(place, f"only-{number}")
    await shelf.look()
    shelf.skills.trust(shelf.place, "trust")
    shared = shelf.named("shared")
    assert [skill.description for skill in shared] == [f"from {n}" for n in range(6)]
    assert [skill.origin for skill in shared] == [
        "folder", "folder", "mine", "other_app", "other_app", "bundled",
    ]  # fmt: skip
    winner = str(places[0] / "shared")
    assert [skill.shadowed_by for skill in shared] == ["", *[winner] * 5]
    assert [skill.is_usable for skill in shared] == [True, *[False] * 5]
    assert shelf.usable() == [*(f"only-{n}" for n in range(6)), "shared"]


async def test_a_skill_that_cannot_be_used_takes_nobodys_place(shelf: Shelf) -> None:
    put_skill(shelf.folder, "pdf")  # of a folder that nobody trusts
    put_skill(shelf.mine, "pdf", head="name: pdf")  # without a description
    put_skill(shelf.bundled, "pdf")
    await shelf.look()
    assert [skill.is_usable for skill in shelf.named("pdf")] == [False, False, True]


async def test_the_same_folder_by_two_ways_is_one_skill(shelf: Shelf) -> None:
    put_skill(shelf.others, "pdf")
    shelf.claude.mkdir(parents=True)
    (shelf.claude / "pdf").symlink_to(shelf.others / "pdf")
    await shelf.look()
    assert shelf.one("pdf").shadowed_by == ""


def test_skills_in_a_group_and_inside_another_skill_are_found(tmp_path: Path) -> None:
    put_skill(tmp_path / "group", "grouped")
    put_skill(tmp_path / "group" / "grouped", "inner")
    put_skill(tmp_path / "group" / "grouped" / "more" / "deeper", "innermost")
    assert set(scanned(tmp_path)) == {"grouped", "inner", "innermost"}


@pytest.mark.parametrize("folder", ["assets", "references", "scripts", "node_modules"])
def test_a_template_among_the_files_of_a_skill_is_no_skill(tmp_path: Path, folder: str) -> None:
    put_skill(tmp_path, "outer")
    put_skill(tmp_path / "outer" / folder, "template")
    assert set(scanned(tmp_path)) == {"outer"}


def test_a_skill_of_very_many_folders_hides_none_beside_it(tmp_path: Path) -> None:
    put_skill(tmp_path, "a-large-one")
    for number in range(MOST_FOLDERS + 1):
        (tmp_path / "a-large-one" / "data" / str(number)).mkdir(parents=True)
    put_skill(tmp_path / "group" / "of" / "skills", "small")
    assert set(scanned(tmp_path)) == {"a-large-one", "small"}


@pytest.mark.parametrize(
    ("name", "scripts"),
    [
        ("c\u043ede-review", "Cyrillic and Latin"),
        ("\u03bfffice", "Greek and Latin"),
        ("p\u0430\u03c1er", "Cyrillic, Greek and Latin"),
    ],
)
def test_a_name_that_mixes_scripts_has_a_warning_of_its_own(
    tmp_path: Path, name: str, scripts: str
) -> None:
    skill = one_with(tmp_path, f"name: {name}\ndescription: d", name)
    assert not skill.problem
    assert [w for w in skill.warnings if f"mixes letters of {scripts}" in w]


@pytest.mark.parametrize(
    "name", ["\u043a\u043e\u0434", "\u6587-app", "caf\u00e9", "\u65e5\u306e-x"]
)
def test_a_name_in_one_script_or_in_those_written_together_has_none(
    tmp_path: Path, name: str
) -> None:
    skill = one_with(tmp_path, f"name: {name}\ndescription: d", name)
    assert not [w for w in skill.warnings if "mixes" in w]


def test_the_search_goes_six_folders_deep_and_no_deeper(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*"abcde")
    put_skill(deep, "sixth")
    put_skill(deep / "f", "seventh")
    assert DEEPEST == 6
    assert set(scanned(tmp_path)) == {"sixth"}


def test_what_git_and_npm_keep_is_not_searched(tmp_path: Path) -> None:
    put_skill(tmp_path / ".git", "hidden")
    put_skill(tmp_path / "node_modules", "hidden-too")
    put_skill(tmp_path, "seen")
    assert set(scanned(tmp_path)) == {"seen"}


def test_a_place_of_very_many_folders_is_searched_in_part(tmp_path: Path) -> None:
    for number in range(MOST_FOLDERS + 50):
        (tmp_path / f"f{number}").mkdir()
    put_skill(tmp_path, "zz-last")
    put_skill(tmp_path, "a-first")
    assert set(scanned(tmp_path)) == {"a-first"}


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "back").symlink_to(tmp_path)
    put_skill(tmp_path / "a", "one")
    assert set(scanned(tmp_path)) == {"one"}


@pytest.mark.parametrize("name", ["SKILL.MD", "skill.md", "Skill.md"])
def test_a_file_of_another_case_is_found(tmp_path: Path, name: str) -> None:
    folder = put_skill(tmp_path, "one")
    (folder / "SKILL.md").rename(folder / name)
    skill = scanned(tmp_path)["one"]
    assert (skill.name, skill.problem, Path(skill.location).name) == ("one", "", name)


# -- what is read -----------------------------------------------------------------------------


def test_everything_the_standard_knows_is_read(tmp_path: Path) -> None:
    head = (
        "name: one\ndescription: >-\n  Folded\n  text.\nlicense: MIT\ncompatibility: Needs git\n"
        "allowed-tools: Bash(git:*) Read\nmetadata:\n  author: me\n  version: 1.10"
    )
    skill = one_with(tmp_path, head)
    assert (skill.description, skill.license) == ("Folded text.", "MIT")
    assert (skill.compatibility, skill.allowed_tools) == ("Needs git", "Bash(git:*) Read")
    assert skill.metadata == (("author", "me"), ("version", "1.10"))
    assert (skill.warnings, skill.problem) == ((), "")


VERDICTS = [
    ("name: Upper\ndescription: x", "Upper", "capital letters"),
    ("name: other\ndescription: x", "one", "differs from its folder's"),
    ("name: a--b\ndescription: x", "a--b", "two hyphens in a row"),
    ("name: -a\ndescription: x", "-a", "begins or ends with a hyphen"),
    ("name: a_b\ndescription: x", "a_b", "other than letters, digits and hyphens"),
    (f"name: {'x' * 65}\ndescription: x", "x" * 65, "longer than 64"),
    ("description: x", "one", "name is missing"),
    (f"name: one\ndescription: {'x' * 1025}", "one", "longer than 1,024"),
    (f"name: one\ndescription: x\ncompatibility: {'x' * 501}", "one", "longer than 500"),
    ("name: one\ndescription: x\nversion: 1.0\nmodel: m", "one", "model, version"),
    ("name: one\ndescription: x\ntools: [Read, Grep]", "one", "in brackets"),
    ("name: one\ndescription: x\ndescription: y", "one", "'description' twice"),
    ("name: &a one\ndescription: *a", "one", "an anchor"),
    ("name: one\ndescription: !!str x", "one", "a tag"),
]


@pytest.mark.parametrize(("head", "folder", "words"), VERDICTS)
def test_what_the_standard_refuses_is_loaded_with_a_warning_that_says_why(
    tmp_path: Path, head: str, folder: str, words: str
) -> None:
    skill = one_with(tmp_path, head, folder)
    assert words in " ".join(skill.warnings)
    assert skill.is_usable


@pytest.mark.parametrize("value", ["Use when: a, b", "@mention it", "50% off: now", "`code`: x"])
def test_a_value_that_should_have_had_quotes_is_read_whole(tmp_path: Path, value: str) -> None:
    skill = one_with(tmp_path, f"name: one\ndescription: {value}\nlicense: MIT")
    assert (skill.name, skill.description, skill.license) == ("one", value, "MIT")
    assert "repaired" in skill.warnings[0]


ODD_STARTS = [
    "[team] Write: the plan",
    "{draft} Write the plan",
    "**Write** the plan",
    "&c. and so on: all of it",
    "!! Read this: first",
    "\"Plan\" and 'do': both",
    "'Plan' is what it does",
]


@pytest.mark.parametrize("value", ODD_STARTS)
def test_text_that_begins_like_something_else_is_repaired_and_the_rest_read_as_yaml(
    tmp_path: Path, value: str
) -> None:
    head = f"name: one\ndescription: {value}\nallowed-tools:\n- Read\n- Bash(git *)\nlicense: MIT"
    skill = one_with(tmp_path, head)
    assert (skill.description, skill.allowed_tools) == (value, "Read Bash(git *)")
    assert "repaired" in skill.warnings[0]


def test_quotes_in_quotes_are_kept_and_the_outer_ones_are_not(tmp_path: Path) -> None:
    head = 'name: one\ndescription: "Use for "quick" plans"\nmetadata:\n  author: me'
    skill = one_with(tmp_path, head)
    assert (skill.description, skill.metadata) == ('Use for "quick" plans', (("author", "me"),))


def test_a_list_over_several_lines_outlives_the_repair_of_its_neighbour(tmp_path: Path) -> None:
    head = "name: one\ndescription: Use when: asked\nallowed-tools: [Read,\n  Bash]"
    skill = one_with(tmp_path, head)
    assert (skill.description, skill.allowed_tools) == ("Use when: asked", "Read Bash")


def test_a_head_that_is_no_yaml_at_all_is_read_line_by_line(tmp_path: Path) -> None:
    head = 'name: one\ndescription: "he said" and: left\n\tand came back'
    skill = one_with(tmp_path, head)
    assert skill.name == "one"
    assert "and came back" in skill.description
    assert "line by line" in skill.warnings[0]


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ("name: one", "description is missing"),
        ("name: one\ndescription:", "description is missing"),
        ("- a\n- b", "not a list of fields"),
        ("", "description is missing"),
    ],
)
def test_without_a_description_it_is_shown_but_not_used(
    tmp_path: Path, head: str, words: str
) -> None:
    skill = one_with(tmp_path, head)
    assert words in skill.problem
    assert not skill.is_usable


@pytest.mark.parametrize("start", ["", "# Just a text\n", "---\nname: one\ndescription: x\n"])
def test_a_file_without_a_whole_head_says_so(tmp_path: Path, start: str) -> None:
    folder = put_skill(tmp_path, "one")
    (folder / "SKILL.md").write_text(start)
    skill = scanned(tmp_path)["one"]
    assert "dashes" in skill.problem
    assert skill.warnings == (), "what was not read lacks no name"


def test_a_byte_order_mark_and_windows_lines_change_nothing(tmp_path: Path) -> None:
    folder = put_skill(tmp_path, "one")
    text = (folder / "SKILL.md").read_text().replace("\n", "\r\n")
    (folder / "SKILL.md").write_bytes(b"\xef\xbb\xbf" + text.encode())
    skill = scanned(tmp_path)["one"]
    assert (skill.name, skill.description) == ("one", "Does one well.")
    # The standard's validator reads the lines, and refuses the mark.
    assert [words for words in skill.warnings if "byte order mark" not in words] == []
    assert skill.warnings


def test_the_lines_of_an_old_mac_are_lines(tmp_path: Path) -> None:
    folder = put_skill(tmp_path, "one")
    text = (folder / "SKILL.md").read_text().replace("\n", "\r")
    (folder / "SKILL.md").write_bytes(text.encode())
    skill = scanned(tmp_path)["one"]
    assert (skill.name, skill.description, skill.warnings) == ("one", "Does one well.", ())


@pytest.mark.parametrize(
    ("dashes", "words"), [("---   ", ""), ("--- # ours", ""), ("----", "line 2"), ("--- a", "line")]
)
def test_what_stands_behind_the_first_dashes_is_part_of_the_head(
    tmp_path: Path, dashes: str, words: str
) -> None:
    folder = put_skill(tmp_path, "one")
    text = (folder / "SKILL.md").read_text().replace("---", dashes, 1)
    (folder / "SKILL.md").write_text(text)
    skill = scanned(tmp_path)["one"]
    assert (skill.name, skill.description) == ("one", "Does one well.")
    assert words in " ".join(skill.warnings)
    assert bool(skill.warnings) == bool(words)


def test_scripts_are_counted_by_language(tmp_path: Path) -> None:
    put_skill(
        tmp_path, "one", scripts__a_py="", scripts__b_py="", scripts__c_sh="", notes_md="", d_js=""
    )
    assert scanned(tmp_path)["one"].scripts == ("1 JavaScript", "2 Python", "1 shell")


def test_a_description_in_another_writing_counts_for_as_much_as_it_takes(tmp_path: Path) -> None:
    latin = one_with(tmp_path, f"name: one\ndescription: {'word ' * 40}")
    chinese = one_with(tmp_path, f"name: two\ndescription: {'字' * 200}", "two")
    assert latin.tokens + 80 < chinese.tokens < latin.tokens + 120
    longest = one_with(tmp_path, f"name: six\ndescription: {'x' * 9_000}", "six")
    assert longest.tokens < 1024 // 4 + 60 + len(str(tmp_path)), "the rest is not told to agents"


async def test_what_a_skill_needs_and_this_computer_lacks_is_said(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "bin" / "python3"
    python.parent.mkdir()
    python.symlink_to(os.path.realpath(sys.executable))
    first_on_the_path(monkeypatch, python.parent)
    needs = "python-packages: json, no-such-pkg (nosuch)\n  commands: sh, no-such-program"
    put_skill(shelf.mine, "one", head=f"name: one\ndescription: x\nmetadata:\n  {needs}")
    put_skill(shelf.mine, "two")
    shelf.skills.watch(shelf.place)
    await shelf.until(lambda event: any(skill.needs for skill in event.skills))
    assert shelf.one("one").needs == (
        "Its scripts need the Python package no-such-pkg, which this computer does not have.",
        "It needs the program no-such-program, which this computer does not have.",
    )
    assert shelf.one("two").needs == ()
    assert shelf.usable() == ["one", "two"]


@pytest.mark.skipif(os.name == "nt", reason="the program is made as a shell script")
async def test_the_python_of_a_project_is_not_run_to_see_what_it_lacks(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Agents may have changed it, and it would run outside of the sandbox."""
    mark = tmp_path / "mark"
    first_on_the_path(monkeypatch, put(tmp_path / "env" / "bin" / "python3", mark).parent)
    (tmp_path / "env" / "pyvenv.cfg").touch()
    needs = "python-packages: no-such-pkg\n  commands: no-such-program"
    put_skill(shelf.mine, "one", head=f"name: one\ndescription: x\nmetadata:\n  {needs}")
    shelf.skills.watch(shelf.place)
    await shelf.until(lambda event: any(skill.needs for skill in event.skills))
    (said,) = shelf.one("one").needs
    assert "no-such-program" in said
    assert not mark.exists()


async def test_without_python_a_skill_that_needs_it_says_so(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f".:{shelf.root}")
    put_skill(shelf.mine, "one", head="name: one\ndescription: x\nmetadata:\n  python-packages: x")
    shelf.skills.watch(shelf.place)
    await shelf.until(lambda event: any(skill.needs for skill in event.skills))
    (said,) = shelf.one("one").needs
    assert "Python 3" in said


def test_the_skills_that_come_with_the_app_keep_the_standard(tmp_path: Path) -> None:
    found = scanned(paths.builtin_skills())
    assert found
    assert [skill for skill in found.values() if skill.warnings or skill.problem] == []
    assert all(name == skill.name for name, skill in found.items())


# -- hostile ones -----------------------------------------------------------------------------


def beside_a_good_one(tmp_path: Path, name: str = "bad") -> Skill:
    """Scan and return the bad one; the good one beside it must be there."""
    put_skill(tmp_path / "skills", "good")
    found = scanned(tmp_path / "skills", tmp_path.resolve())
    assert found["good"].problem == ""
    return found[name]


BOMBS = {
    "aliases": "a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "\n".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 9)}]" for n in range(8)
    )
    + "\nname: bad\ndescription: *i",
    "many aliases": "name: bad\na: &a x\nb: [" + ",".join(["*a"] * 100) + "]",
    "deep lists": "[" * 30_000,
    "deep maps": "{a: " * 15_000,
    "deep blocks": "- " * 30_000,
    "many parts": "name: bad\na:\n" + "- x\n" * 15_000,
    "long": "name: bad\ndescription: " + "x" * 70_000,
}


BOMB_WORDS = {
    "aliases": "grows to more than 10,000 values",
    "many aliases": "has more than 50 aliases",
    "deep lists": "is nested more than 20 deep",
    "deep maps": "is nested more than 20 deep",
    "deep blocks": "is nested more than 20 deep",
    "many parts": "grows to more than 10,000 values",
    "long": "is longer than 64,000 characters",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_yaml_bomb_is_a_sentence(tmp_path: Path, bomb: str) -> None:
    put_skill(tmp_path / "skills", "bad", head=BOMBS[bomb])
    assert beside_a_good_one(tmp_path).problem == f"Its front matter {BOMB_WORDS[bomb]}."


def test_yaml_that_would_run_code_is_text(tmp_path: Path) -> None:
    path = tmp_path / "ran"
    put_skill(
        tmp_path / "skills",
        "bad",
        head=f"name: bad\ndescription: !!python/object/apply:os.mkdir ['{path}']",
    )
    beside_a_good_one(tmp_path)
    assert not path.exists()


def test_a_pipe_or_a_socket_in_place_of_the_file_is_a_sentence_and_nobody_waits(
    tmp_path: Path,
) -> None:
    for name in ("bad", "worse"):
        (tmp_path / "skills" / name).mkdir(parents=True)
    os.mkfifo(tmp_path / "skills" / "bad" / "SKILL.md")
    with socket.socket(socket.AF_UNIX) as server:
        folder = os.open(tmp_path / "skills" / "worse", os.O_RDONLY)
        server.bind(f"/proc/self/fd/{folder}/SKILL.md")
        os.close(folder)
        assert "not a regular file" in beside_a_good_one(tmp_path).problem
        assert beside_a_good_one(tmp_path, "worse").problem.startswith("It can't be read")


def test_a_folder_in_place_of_the_file_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "skills" / "bad" / "SKILL.md").mkdir(parents=True)
    assert "SKILL.md is a folder" in beside_a_good_one(tmp_path).problem


def test_a_pipe_among_the_files_holds_nothing_up(tmp_path: Path) -> None:
    folder = put_skill(tmp_path / "skills", "bad")
    os.mkfifo(folder / "pipe")
    assert beside_a_good_one(tmp_path).problem == ""


def test_a_file_that_became_a_pipe_or_a_link_after_the_look_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/etc/passwd")
    with files.held(str(tmp_path.resolve())) as folder:
        with pytest.raises(ToolError, match="not a regular file"):
            folder.text("pipe")
        with pytest.raises(OSError, match="symbolic links"):
            folder.text("link")


def test_a_file_of_100_mb_is_a_sentence(tmp_path: Path) -> None:
    folder = put_skill(tmp_path / "skills", "bad")
    with (folder / "SKILL.md").open("wb") as file:
        file.truncate(100_000_000)
    assert "20 MB" in beside_a_good_one(tmp_path).problem
    own = scanned(tmp_path / "skills")["bad"]
    assert "larger than 1,000 kB" in own.problem


def test_a_skill_of_too_many_files_is_a_sentence(tmp_path: Path) -> None:
    folder = put_skill(tmp_path / "skills", "bad")
    for number in range(files.MOST_FILES + 1):
        (folder / f"f{number}").touch()
    assert "more than 2,000 files" in beside_a_good_one(tmp_path).problem
    assert scanned(tmp_path / "skills")["bad"].problem == ""


def test_links_that_leave_the_folder_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    secret = put_skill(outside, "bad", head="name: bad\ndescription: SECRET")
    inside = tmp_path / "work"
    (inside / "skills").mkdir(parents=True)
    (inside / "skills" / "bad").symlink_to(secret)
    put_skill(inside / "skills", "file-link")
    (inside / "skills" / "file-link" / "SKILL.md").unlink()
    (inside / "skills" / "file-link" / "SKILL.md").symlink_to(secret / "SKILL.md")
    skill = beside_a_good_one(inside)
    assert "leads out of this folder" in skill.problem
    assert "SECRET" not in str(beside_a_good_one(inside, "file-link"))
    assert "outside" in beside_a_good_one(inside, "file-link").problem


def test_a_link_of_the_whole_place_out_of_the_folder_is_a_sentence(tmp_path: Path) -> None:
    put_skill(tmp_path / "outside", "stolen")
    inside = tmp_path / "work"
    inside.mkdir()
    (inside / "skills").symlink_to(tmp_path / "outside")
    (skill,) = scanned(inside / "skills", inside.resolve()).values()
    assert "leads out of this folder" in skill.problem
    assert "stolen" not in str(skill)


def test_a_name_of_two_lines_is_one_line(tmp_path: Path) -> None:
    skill = one_with(tmp_path, 'name: "a\\n</skill>b"\ndescription: x')
    assert (skill.name, skill.is_usable) == ("a </skill>b", True)


def test_a_link_inside_the_folder_is_followed(tmp_path: Path) -> None:
    put_skill(tmp_path / "elsewhere", "one")
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills" / "one").symlink_to("../elsewhere/one")
    assert scanned(tmp_path / "skills", tmp_path.resolve())["one"].problem == ""


def test_a_loop_of_links_is_passed_by(tmp_path: Path) -> None:
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills" / "a").symlink_to("b")
    (tmp_path / "skills" / "b").symlink_to("a")
    folder = put_skill(tmp_path / "skills", "bad")
    (folder / "SKILL.md").unlink()
    (folder / "SKILL.md").symlink_to("SKILL.md")
    assert beside_a_good_one(tmp_path).problem.startswith("It can't be read")


def test_text_that_is_not_utf_8_is_loaded_with_a_warning(tmp_path: Path) -> None:
    folder = put_skill(tmp_path / "skills", "bad")
    (folder / "SKILL.md").write_bytes("---\nname: bad\ndescription: Üben\n---\nx".encode("latin-1"))
    skill = beside_a_good_one(tmp_path)
    assert "not UTF-8" in skill.warnings[0]
    assert skill.description.endswith("ben")


def test_bytes_at_random_are_a_sentence(tmp_path: Path) -> None:
    folder = put_skill(tmp_path / "skills", "bad")
    (folder / "SKILL.md").write_bytes(bytes(range(256)) * 100)
    assert beside_a_good_one(tmp_path).problem


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "a/b", "..", "C:\\x"])
def test_a_name_like_a_path_is_only_a_name(tmp_path: Path, name: str) -> None:
    put_skill(tmp_path / "skills", "bad", head=f"name: '{name}'\ndescription: x")
    skill = beside_a_good_one(tmp_path)
    assert skill.name == name
    assert Path(skill.directory) == tmp_path.resolve() / "skills" / "bad"
    assert skill.warnings


def test_characters_that_cannot_be_seen_are_left_out_and_told(tmp_path: Path) -> None:
    unseen = "pd\u202ef\u200b \U000e0041\U000e0042\x1b[31m"
    put_skill(tmp_path / "skills", "bad", head=f'name: "{unseen}"\ndescription: "{unseen} reads"')
    skill = beside_a_good_one(tmp_path)
    assert (skill.name, skill.description) == ("pdf [31m", "pdf [31m reads")
    assert "invisible" in " ".join(skill.warnings)


def test_a_name_on_disk_that_is_no_text_is_a_sentence_that_can_be_sent(tmp_path: Path) -> None:
    (tmp_path / "skills").mkdir()
    folder = Path(os.fsdecode(os.fsencode(tmp_path / "skills") + b"/b\xffd"))
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: a\ndescription: b\n---\n")
    put_skill(tmp_path / "skills", "one")
    Path(os.fsdecode(os.fsencode(tmp_path / "skills" / "one") + b"/f\xff.md")).touch()
    skill = beside_a_good_one(tmp_path, "b?d")
    assert "not UTF-8" in skill.problem
    msgspec.json.encode(skill)
    assert scanned(tmp_path / "skills")["one"].problem == ""


def test_a_folder_that_may_not_be_read_is_passed_by(tmp_path: Path) -> None:
    folder = put_skill(tmp_path / "skills", "bad")
    (folder / "SKILL.md").chmod(0)
    try:
        skill = beside_a_good_one(tmp_path)
        # An administrator reads everything.
        assert skill.problem == "" if os.geteuid() == 0 else "permission" in skill.problem
    finally:
        (folder / "SKILL.md").chmod(0o644)
