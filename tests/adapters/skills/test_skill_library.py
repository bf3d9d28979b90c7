"""Skills are fetched, looked at, installed, updated and removed, from real repositories."""

from __future__ import annotations

import stat
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from desktop_agent.adapters.skills.library import SkillLibrary
from desktop_agent.adapters.skills.state import read_origins
from desktop_agent.core.skill_install import SkillLibraryError
from tests.adapters.skills.skill_sources import (
    Home,
    Repo,
    git,
    make_repository,
    skill_text,
    snapshot,
    write_files,
    zipped,
)

TWO = {
    "README.md": "Skills of ours.",
    "skills/alpha/SKILL.md": skill_text("alpha"),
    "skills/alpha/scripts/count.py": "print(1)\n",
    "skills/alpha/scripts/run.sh": "echo 1\n",
    "skills/beta/SKILL.md": skill_text("beta"),
    "skills/beta/references/long.md": "Long.\n",
}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest_asyncio.fixture
async def library(home: Home) -> AsyncIterator[SkillLibrary]:
    library = home.library()
    yield library
    await library.close()


async def test_the_skills_of_a_repository_are_listed_with_what_is_in_them(
    tmp_path: Path, home: Home, library: SkillLibrary
) -> None:
    repo = make_repository(tmp_path / "repo", TWO)
    fetched = await library.fetch(str(repo.path))
    alpha, beta = fetched.skills
    assert (alpha.name, alpha.description, alpha.folder) == ("alpha", "Does alpha.", "skills/alpha")
    assert alpha.scripts == ("1 Python", "1 shell")
    assert [file.path for file in alpha.files] == ["SKILL.md", "scripts/count.py", "scripts/run.sh"]
    assert (beta.name, beta.scripts, beta.problem, beta.clash) == ("beta", (), "", "")
    assert fetched.commit == repo.head
    assert fetched.source == str(repo.path)
    assert not home.mine.exists()


async def test_files_can_be_read_before_anything_is_installed(
    tmp_path: Path, library: SkillLibrary
) -> None:
    files = {
        **TWO,
        "skills/alpha/logo.png": b"\x89PNG\0\xff",
        "skills/alpha/big.txt": "x" * 300_000,
    }
    repo = make_repository(tmp_path / "repo", files)
    fetched = await library.fetch(str(repo.path))
    assert await library.preview(fetched.id, "skills/alpha", "scripts/count.py") == "print(1)\n"
    assert "not text (6 bytes)" in await library.preview(fetched.id, "skills/alpha", "logo.png")
    big = await library.preview(fetched.id, "skills/alpha", "big.txt")
    assert big.endswith("… 100,000 more characters.")
    for path in ("../beta/SKILL.md", "/etc/passwd", "nothing.md"):
        with pytest.raises(SkillLibraryError, match="There is no file"):
            await library.preview(fetched.id, "skills/alpha", path)


async def test_only_the_chosen_skills_are_installed_and_their_commit_is_kept(
    tmp_path: Path, home: Home, library: SkillLibrary
) -> None:
    repo = make_repository(tmp_path / "repo", TWO)
    fetched = await library.fetch(str(repo.path))
    assert await library.install(fetched.id, ["skills/alpha"], target="mine") == ("alpha",)
    assert [path.name for path in home.mine.iterdir()] == ["alpha"]
    assert (home.mine / "alpha/scripts/count.py").read_text() == "print(1)\n"
    origin = read_origins(home.top / "config")[str(home.mine / "alpha")]
    assert (origin.source, origin.commit, origin.folder) == (
        str(repo.path),
        repo.head,
        "skills/alpha",
    )
    assert home.changes == [1]


async def test_a_skill_can_go_into_the_folder_that_is_worked_in(
    tmp_path: Path, library: SkillLibrary
) -> None:
    repo = make_repository(tmp_path / "repo", TWO)
    root = tmp_path / "work"
    root.mkdir()
    fetched = await library.fetch(str(repo.path))
    folders = [skill.folder for skill in fetched.skills]
    assert await library.install(fetched.id, folders, target="folder", root=str(root)) == (
        "alpha",
        "beta",
    )
    assert sorted(path.name for path in (root / ".agents").iterdir()) == ["skills"]
    assert (root / ".agents/skills/beta/references/long.md").is_file()
    await library.remove(str(root / ".agents/skills/beta"))
    assert [path.name for path in (root / ".agents/skills").iterdir()] == ["alpha"]


async def test_a_link_in_the_folder_leads_no_installation_out_of_it(
    tmp_path: Path, library: SkillLibrary
) -> None:
    repo = make_repository(tmp_path / "repo", TWO)
    elsewhere, root = tmp_path / "elsewhere", tmp_path / "work"
    elsewhere.mkdir()
    root.mkdir()
    (root / ".agents").symlink_to(elsewhere)
    fetched = await library.fetch(str(repo.path))
    with pytest.raises(SkillLibraryError, match="link that leads out"):
        await library.install(fetched.id, ["skills/alpha"], target="folder", root=str(root))
    assert list(elsewhere.iterdir()) == []


async def test_a_name_that_is_taken_is_skipped_unless_it_shall_be_replaced(
    tmp_path: Path, home: Home, library: SkillLibrary
) -> None:
    repo = make_repository(tmp_path / "repo", TWO)
    write_files(
        home.mine, {"Alpha/SKILL.md": skill_text("alpha", "My own."), "Alpha/mine.txt": "m"}
    )
    fetched = await library.fetch(str(repo.path))
    assert [skill.clash for skill in fetched.skills] == ["Replaces your skill Alpha.", ""]
    both = [skill.folder for skill in fetched.skills]
    assert await library.install(fetched.id, both, target="mine") == ("beta",)
    with pytest.raises(SkillLibraryError, match="alpha is there already"):
        await library.install(fetched.id, both[:1], target="mine")
    assert (home.mine / "Alpha/mine.txt").is_file()
    assert await library.install(fetched.id, both[:1], target="mine", replace=True) == ("alpha",)
    assert not (home.mine / "Alpha/mine.txt").exists()
    assert "Do it well." in (home.mine / "Alpha/SKILL.md").read_text()
    (kept,) = home.removed.iterdir()
    assert (kept / "mine.txt").read_text() == "m"


async def test_what_would_be_replaced_is_told_for_each_target(
    tmp_path: Path, library: SkillLibrary
) -> None:
    repo = make_repository(tmp_path / "repo", TWO)
    root = write_files(tmp_path / "work", {".agents/skills/b/SKILL.md": skill_text("beta")})
    fetched = await library.fetch(str(repo.path))
    assert await library.clashes(fetched.id, "mine", "") == {}
    assert await library.clashes(fetched.id, "folder", str(root)) == {
        "skills/beta": "Replaces the skill b of this folder."
    }


async def test_an_update_shows_what_it_changes_and_waits_for_a_word(
    tmp_path: Path, home: Home, library: SkillLibrary
) -> None:
    repo = make_repository(tmp_path / "repo", TWO)
    fetched = await library.fetch(str(repo.path))
    await library.install(fetched.id, ["skills/alpha", "skills/beta"], target="mine")
    directory = str(home.mine / "alpha")
    assert await library.check_update(directory) is None

    commit = repo.commit(
        {
            "skills/alpha/SKILL.md": skill_text("alpha", "Do it better."),
            "skills/alpha/scripts/run.sh": None,
            "skills/alpha/new.bin": b"\0\1",
        }
    )
    update = await library.check_update(directory)
    assert update is not None
    assert (update.name, update.commit, update.files_changed) == ("alpha", commit, 3)
    assert "-Do it well.\n+Do it better.\n" in update.diff
    assert "--- a/scripts/run.sh\n+++ /dev/null\n" in update.diff
    assert "+++ b/new.bin\n@@ not compared line by line: 0 bytes before, 2 now @@" in update.diff
    assert "Do it well." in (home.mine / "alpha/SKILL.md").read_text()
    assert await library.check_update(str(home.mine / "beta")) is None

    await library.update(update.id)
    assert "Do it better." in (home.mine / "alpha/SKILL.md").read_text()
    assert not (home.mine / "alpha/scripts/run.sh").exists()
    assert read_origins(home.top / "config")[directory].commit == commit
    assert await library.check_update(directory) is None
    (kept,) = home.removed.iterdir()
    assert (kept / "scripts/run.sh").is_file()


async def with_alpha(tmp_path: Path, home: Home) -> tuple[Repo, SkillLibrary]:
    """Return a repository, and a library with one skill of it."""
    repo = make_repository(tmp_path / "repo", TWO)
    library = home.library()
    fetched = await library.fetch(str(repo.path))
    await library.install(fetched.id, ["skills/alpha"], target="mine")
    return repo, library


async def test_changes_of_ones_own_are_told_before_an_update_replaces_them(
    tmp_path: Path, home: Home
) -> None:
    _, library = await with_alpha(tmp_path, home)
    alpha = home.mine / "alpha"
    write_files(alpha, {"scripts/__pycache__/count.cpython-311.pyc": b"\0"})
    assert await library.check_update(str(alpha)) is None, "running a script is not a change"
    write_files(alpha, {"SKILL.md": skill_text("alpha", "As I like it.")})
    update = await library.check_update(str(alpha))
    assert update is not None
    assert update.warnings == (
        "You changed this skill since it was installed. The update replaces your changes.",
    )
    await library.close()


async def test_an_update_of_what_is_gone_leaves_the_skill_as_it_is(
    tmp_path: Path, home: Home
) -> None:
    repo, library = await with_alpha(tmp_path, home)
    repo.commit({"skills/alpha": None})
    with pytest.raises(SkillLibraryError, match="no folder skills/alpha"):
        await library.check_update(str(home.mine / "alpha"))
    repo.path.rename(tmp_path / "moved")
    with pytest.raises(SkillLibraryError, match="doesn't exist"):
        await library.check_update(str(home.mine / "alpha"))
    write_files(home.mine, {"own/SKILL.md": skill_text("own")})
    with pytest.raises(SkillLibraryError, match="not installed from an address"):
        await library.check_update(str(home.mine / "own"))
    assert (home.mine / "alpha/SKILL.md").is_file()
    await library.close()


async def test_a_removed_skill_is_kept(tmp_path: Path, home: Home) -> None:
    _, library = await with_alpha(tmp_path, home)
    await library.remove(str(home.mine / "alpha"))
    assert list(home.mine.iterdir()) == []
    (kept,) = home.removed.iterdir()
    assert (kept / "scripts/count.py").is_file()
    assert read_origins(home.top / "config") == {}
    with pytest.raises(SkillLibraryError, match="not there any more"):
        await library.remove(str(home.mine / "alpha"))
    await library.close()


async def test_what_was_removed_a_month_ago_is_deleted_when_the_next_is(
    tmp_path: Path, home: Home
) -> None:
    _, library = await with_alpha(tmp_path, home)
    for days in (31, 29):
        at = time.strftime("%Y%m%d-%H%M%S", time.localtime(time.time() - days * 24 * 3600))
        write_files(home.removed / f"beta-{at}-0a1b", {"SKILL.md": str(days)})
    write_files(home.removed / ".skill-incoming-0123456789ab", {"SKILL.md": "half"})
    write_files(home.removed / "my-own-copy", {"SKILL.md": "mine"})
    await library.remove(str(home.mine / "alpha"))
    left = [path.name.partition("-")[0] for path in sorted(home.removed.iterdir())]
    assert left == ["alpha", "beta", "my"]
    assert next(home.removed.glob("beta-*/SKILL.md")).read_text() == "29"
    await library.close()


async def test_a_removed_skill_comes_back_as_it_was_with_where_it_is_from(
    tmp_path: Path, home: Home
) -> None:
    repo, library = await with_alpha(tmp_path, home)
    alpha = home.mine / "alpha"
    write_files(alpha, {"notes.md": "My own."})
    before, known = snapshot(home.mine), read_origins(home.top / "config")
    key = await library.remove(str(alpha))
    changes = len(home.changes)
    await library.bring_back(key)
    assert snapshot(home.mine) == before
    assert read_origins(home.top / "config") == known
    assert known[str(alpha)].commit == repo.head
    assert (list(home.removed.iterdir()), len(home.changes)) == ([], changes + 1)
    with pytest.raises(SkillLibraryError, match="back already"):
        await library.bring_back(key)
    await library.close()


async def test_what_took_a_removed_skills_place_is_not_replaced_by_it(
    tmp_path: Path, home: Home
) -> None:
    _, library = await with_alpha(tmp_path, home)
    alpha = home.mine / "alpha"
    key = await library.remove(str(alpha))
    write_files(alpha, {"SKILL.md": skill_text("alpha", "Another.")})
    with pytest.raises(SkillLibraryError, match="another alpha by now") as refused:
        await library.bring_back(key)
    (kept,) = home.removed.iterdir()
    assert str(kept) in str(refused.value)
    assert "Another." in (alpha / "SKILL.md").read_text()
    (alpha / "SKILL.md").unlink()
    alpha.rmdir()
    await library.bring_back(key)
    assert (alpha / "scripts/count.py").is_file()
    await library.close()


async def test_a_removed_skill_does_not_come_back_through_a_link(
    tmp_path: Path, home: Home, library: SkillLibrary
) -> None:
    repo = make_repository(tmp_path / "repo", TWO)
    project = write_files(tmp_path / "project", {"notes.txt": "x"})
    fetched = await library.fetch(str(repo.path))
    await library.install(fetched.id, ["skills/alpha"], target="folder", root=str(project))
    skills = project / ".agents" / "skills"
    key = await library.remove(str(skills / "alpha"))
    outside = tmp_path / "outside"
    outside.mkdir()
    skills.rmdir()
    skills.symlink_to(outside)
    with pytest.raises(SkillLibraryError, match="is a link by now"):
        await library.bring_back(key)
    assert list(outside.iterdir()) == []
    assert len(list(home.removed.iterdir())) == 1


async def test_of_several_of_one_name_the_one_nearest_to_the_top_is_meant(
    tmp_path: Path, home: Home, library: SkillLibrary
) -> None:
    files = {
        "docs/ja/skills/alpha/SKILL.md": skill_text("alpha", description="Translated."),
        "skills/alpha/SKILL.md": skill_text("alpha"),
        "docs/ko/skills/Alpha/SKILL.md": skill_text("Alpha", description="Again."),
        "skills/beta/SKILL.md": skill_text("beta"),
        "broken/SKILL.md": "---\nname: beta\n---\n",
    }
    fetched = await library.fetch(str(write_files(tmp_path / "collection", files)))
    twins = {skill.folder: skill.twin for skill in fetched.skills}
    words = "Has the name of the one in skills/alpha."
    assert twins == {
        "broken": "",
        "docs/ko/skills/Alpha": words,
        "docs/ja/skills/alpha": words,
        "skills/alpha": "",
        "skills/beta": "",
    }
    folders = ["docs/ja/skills/alpha", "skills/alpha", "skills/beta"]
    names = await library.install(fetched.id, folders, target="mine", replace=True)
    assert names == ("alpha", "beta")
    assert "Does alpha." in (home.mine / "alpha/SKILL.md").read_text()
    assert not home.removed.exists()
    with pytest.raises(SkillLibraryError, match="alpha, beta are there already"):
        await library.install(fetched.id, ["skills/alpha", "skills/beta"], target="mine")


async def test_what_is_not_ones_own_is_not_removed(
    tmp_path: Path, home: Home, own_home: Path, library: SkillLibrary
) -> None:
    others = [
        write_files(own_home / ".agents/skills/x", {"SKILL.md": skill_text("x")}),
        write_files(own_home / ".claude/skills/x", {"SKILL.md": skill_text("x")}),
        write_files(tmp_path / "app/skills/pdf", {"SKILL.md": skill_text("pdf")}),
        write_files(home.mine, {"own/SKILL.md": skill_text("own")}),
        tmp_path,
    ]
    before = snapshot(*others[:3])
    for other in others:
        with pytest.raises(SkillLibraryError, match="can be switched off"):
            await library.remove(str(other))
    assert snapshot(*others[:3]) == before


@pytest.mark.parametrize(
    ("tail", "names"),
    [
        ("tree/main/skills/alpha", ["alpha"]),
        ("tree/feature/nested", ["alpha", "beta", "gamma"]),
        ("tree/feature/nested/skills/gamma", ["gamma"]),
        ("blob/main/skills/beta/SKILL.md", ["beta"]),
        ("tree/v1.0", ["alpha", "beta"]),
        ("tree/{commit}/skills", ["alpha", "beta"]),
    ],
)
async def test_a_branch_a_tag_a_commit_and_a_folder_are_found_in_an_address(
    tmp_path: Path, home: Home, tail: str, names: list[str]
) -> None:
    from desktop_agent.adapters.skills.fetch import git as skill_git
    from desktop_agent.adapters.skills.fetch.address import Repository
    from desktop_agent.adapters.skills.fetch.intake import Intake, Limits

    repo = make_repository(tmp_path / "repo", TWO)
    git(repo.path, "tag", "v1.0")
    first = repo.head
    git(repo.path, "switch", "--quiet", "--create", "feature/nested")
    repo.commit({"skills/gamma/SKILL.md": skill_text("gamma")})
    git(repo.path, "switch", "--quiet", "main")
    rest = tail.replace("{commit}", first).partition("/")[2].removesuffix("/SKILL.md")
    place = Repository(repo.path.as_uri(), "file", rest)
    own = tmp_path / "own"
    own.mkdir()
    intake = Intake(tmp_path / "in", Limits())
    await skill_git.fetch(place, own, intake)
    found = sorted(path.parent.name for path in (tmp_path / "in").rglob("SKILL.md"))
    assert found == names


async def test_of_a_large_repository_only_the_skills_are_fetched(
    tmp_path: Path, library: SkillLibrary
) -> None:
    many = {f"src/{number}.txt": f"{number}" for number in range(2_100)}
    huge = {"video.bin": b"\1" * 25_000_000, "skills/alpha/SKILL.md": skill_text("alpha")}
    repo = make_repository(tmp_path / "repo", {**many, **huge})
    git(repo.path, "config", "uploadpack.allowFilter", "true")
    fetched = await library.fetch(str(repo.path))
    assert [skill.name for skill in fetched.skills] == ["alpha"]


async def test_a_folder_a_zip_and_a_single_file_give_skills_too(
    tmp_path: Path, home: Home, library: SkillLibrary
) -> None:
    folder = write_files(tmp_path / "loose", TWO)
    packed = tmp_path / "two.zip"
    packed.write_bytes(zipped(TWO, comment=b"a" * 40))
    one = tmp_path / "alpha.skill"
    one.write_bytes(zipped({"alpha/SKILL.md": skill_text("alpha")}))
    flat = tmp_path / "flat.zip"
    flat.write_bytes(zipped({"SKILL.md": skill_text("alpha"), "notes/a.md": "a"}))
    single = write_files(tmp_path, {"anything.md": skill_text("alpha")}) / "anything.md"
    found = {
        place.name: await library.fetch(str(place)) for place in (folder, packed, one, flat, single)
    }
    names = {name: [skill.name for skill in got.skills] for name, got in found.items()}
    assert names == {
        "loose": ["alpha", "beta"],
        "two.zip": ["alpha", "beta"],
        "alpha.skill": ["alpha"],
        "flat.zip": ["alpha"],
        "anything.md": ["alpha"],
    }
    assert found["two.zip"].commit == "a" * 40
    assert await library.install(found["flat.zip"].id, [""], target="mine") == ("alpha",)
    assert (home.mine / "alpha/notes/a.md").is_file()
    assert await library.check_update(str(home.mine / "alpha")) is None


async def test_the_top_of_a_repository_can_be_a_skill_and_hold_others(
    tmp_path: Path, home: Home, library: SkillLibrary
) -> None:
    files = {"SKILL.md": skill_text("whole"), "more/inner/SKILL.md": skill_text("inner")}
    nested = {"more/inner/assets/template/SKILL.md": skill_text("template")}
    repo = make_repository(tmp_path / "repo", {**files, **nested})
    fetched = await library.fetch(str(repo.path))
    assert [(s.name, s.folder) for s in fetched.skills] == [("whole", ""), ("inner", "more/inner")]
    await library.install(fetched.id, ["more/inner"], target="mine")
    assert (home.mine / "inner/assets/template/SKILL.md").is_file()


async def test_no_more_rights_come_along_than_that_a_script_may_run(
    tmp_path: Path, home: Home, library: SkillLibrary
) -> None:
    folder = write_files(tmp_path / "loose", TWO) / "skills/alpha"
    (folder / "scripts/run.sh").chmod(0o6777)
    (folder / "SKILL.md").chmod(0o4644)
    fetched = await library.fetch(str(folder))
    await library.install(fetched.id, [""], target="mine")
    modes = {
        name: stat.S_IMODE((home.mine / "alpha" / name).stat().st_mode)
        for name in ("SKILL.md", "scripts/run.sh")
    }
    assert modes == {"SKILL.md": 0o644, "scripts/run.sh": 0o755}


async def test_nothing_is_left_behind_in_the_temporary_folder(
    tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    repo = make_repository(tmp_path / "repo", TWO)
    empty = make_repository(tmp_path / "empty", {"README.md": "Nothing."})
    library = home.library()
    first = await library.fetch(str(repo.path))
    assert [path.stat().st_mode & 0o777 for path in place.iterdir()] == [0o700]
    await library.discard(first.id)
    assert list(place.iterdir()) == []
    with pytest.raises(SkillLibraryError, match="No skill was found"):
        await library.fetch(str(empty.path))
    assert list(place.iterdir()) == []
    with pytest.raises(SkillLibraryError, match="Fetch it again"):
        await library.install(first.id, ["skills/alpha"], target="mine")
    for _ in range(8):
        await library.fetch(str(repo.path))
    assert len(list(place.iterdir())) == 6
    await library.close()
    assert list(place.iterdir()) == []


async def test_a_skill_without_a_description_is_shown_and_not_installed(
    tmp_path: Path, home: Home, library: SkillLibrary
) -> None:
    files = {"bad/SKILL.md": "---\nname: bad\n---\nText", "good/SKILL.md": skill_text("good")}
    folder = write_files(tmp_path / "loose", files)
    fetched = await library.fetch(str(folder))
    assert [skill.problem for skill in fetched.skills] == ["The description is missing.", ""]
    with pytest.raises(SkillLibraryError, match="bad can't be installed"):
        await library.install(fetched.id, ["bad", "good"], target="mine")
    assert not home.mine.exists()


async def test_what_a_killed_app_left_half_done_is_finished_by_the_next_change(
    tmp_path: Path, home: Home, library: SkillLibrary
) -> None:
    repo = make_repository(tmp_path / "repo", TWO)
    fetched = await library.fetch(str(repo.path))
    await library.install(fetched.id, ["skills/alpha"], target="mine")
    beside = home.mine.parent
    (home.mine / "alpha").rename(beside / ".skill-outgoing-0a1b2c-alpha")
    write_files(beside / ".skill-incoming-0a1b2c-alpha", {"SKILL.md": "half"})
    elsewhere = write_files(tmp_path / "elsewhere", {"key": "secret"})
    (elsewhere / "key").chmod(0o600)
    (beside / ".skill-incoming-link").symlink_to(elsewhere)
    (beside / ".skill-outgoing-0-link").symlink_to(elsewhere / "key")
    before = snapshot(elsewhere)
    await library.install(fetched.id, ["skills/beta"], target="mine")
    assert sorted(path.name for path in home.mine.iterdir()) == ["alpha", "beta"]
    assert not any(path.is_dir() and not path.is_symlink() for path in beside.glob(".skill-*"))
    assert snapshot(elsewhere) == before


async def test_an_installation_that_the_disk_refuses_leaves_all_as_it_was(
    tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch, library: SkillLibrary
) -> None:
    repo = make_repository(tmp_path / "repo", TWO)
    fetched = await library.fetch(str(repo.path))
    both = ["skills/alpha", "skills/beta"]
    await library.install(fetched.id, both[:1], target="mine")
    before = snapshot(home.top)
    real = Path.rename

    def refuse(path: Path, target: Path) -> Path:
        if "incoming" in path.name:
            raise OSError(28, "No space left on device", str(target))
        return real(path, target)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(SkillLibraryError, match="The disk did not take it: No space left"):
        await library.install(fetched.id, both, target="mine", replace=True)
    with pytest.raises(SkillLibraryError, match="No space left"):
        await library.install(fetched.id, both[1:], target="mine")
    assert snapshot(home.top) == before
    assert len(home.changes) == 1


async def test_removing_across_disks_is_whole_or_not_at_all(
    tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch, library: SkillLibrary
) -> None:
    repo = make_repository(tmp_path / "repo", TWO)
    fetched = await library.fetch(str(repo.path))
    await library.install(fetched.id, ["skills/alpha", "skills/beta"], target="mine")
    real = Path.rename

    def other_disk(path: Path, target: Path) -> Path:
        if home.removed in target.parents and home.removed not in path.parents:
            raise OSError(18, "Invalid cross-device link")
        return real(path, target)

    monkeypatch.setattr(Path, "rename", other_disk)
    await library.remove(str(home.mine / "alpha"))
    (kept,) = home.removed.iterdir()
    assert (kept / "scripts/count.py").is_file()
    monkeypatch.setattr("shutil.copytree", lambda *_, **__: (_ for _ in ()).throw(OSError(28, "x")))
    with pytest.raises(SkillLibraryError):
        await library.remove(str(home.mine / "beta"))
    assert (home.mine / "beta/SKILL.md").is_file()


async def test_only_what_was_left_out_of_skills_is_told(
    tmp_path: Path, library: SkillLibrary
) -> None:
    folder = write_files(tmp_path / "loose", {**TWO, "docs/a.md": "a"})
    (folder / "docs/link").symlink_to(folder)
    (folder / "skills/alpha/link").symlink_to(folder)
    fetched = await library.fetch(str(folder))
    assert fetched.skipped == ("skills/alpha/link was left out: it is a link.",)


async def test_a_skill_that_nobody_committed_is_not_found_and_that_is_said(
    tmp_path: Path, library: SkillLibrary
) -> None:
    repo = make_repository(tmp_path / "repo", {"README.md": "x"})
    write_files(repo.path, {"skills/alpha/SKILL.md": skill_text("alpha")})
    with pytest.raises(SkillLibraryError, match="only what is committed counts"):
        await library.fetch(str(repo.path))
    assert len((await library.fetch(str(repo.path / "skills"))).skills) == 1


async def test_an_update_that_is_not_wanted_is_thrown_away(
    tmp_path: Path, home: Home, library: SkillLibrary
) -> None:
    repo = make_repository(tmp_path / "repo", TWO)
    fetched = await library.fetch(str(repo.path))
    await library.install(fetched.id, ["skills/alpha"], target="mine")
    repo.commit({"skills/alpha/SKILL.md": skill_text("alpha", "Newer.")})
    update = await library.check_update(str(home.mine / "alpha"))
    assert update is not None
    await library.discard(update.id)
    with pytest.raises(SkillLibraryError, match="Fetch it again"):
        await library.update(update.id)
    assert "Newer" not in (home.mine / "alpha/SKILL.md").read_text()


async def test_a_hundred_skills_are_installed_beside_a_thousand_in_a_moment(
    tmp_path: Path, home: Home, library: SkillLibrary
) -> None:
    for number in range(1_000):
        write_files(home.mine / f"own-{number}", {"SKILL.md": skill_text(f"own-{number}")})
    many = {f"s{n}/SKILL.md": skill_text(f"s{n}") for n in range(100)}
    began = time.process_time()
    fetched = await library.fetch(str(write_files(tmp_path / "many", many)))
    names = [skill.folder for skill in fetched.skills]
    assert len(await library.install(fetched.id, names, target="mine")) == 100
    assert time.process_time() - began < 10
