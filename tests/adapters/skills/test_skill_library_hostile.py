"""Whatever is in a zip, a folder or a repository: nothing runs, nothing outside changes, and the
person is told in words."""

from __future__ import annotations

import os
import stat
import struct
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

import pytest

from desktop_agent.core.skill_install import Fetched, SkillLibraryError
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

SKILL = {"alpha/SKILL.md": skill_text("alpha")}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that nothing may touch; all that is fetched lies in another, which ends empty."""
    folder = write_files(tmp_path / "outside", {"keys.txt": "secret", "bin/tool": "#!/bin/sh\n"})
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    before = snapshot(folder)
    yield folder
    assert snapshot(folder) == before
    assert list(place.iterdir()) == []


def _entry(name: str, mode: int = 0o644 | stat.S_IFREG) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)
    entry.create_system = 3
    entry.external_attr = mode << 16
    return entry


def _packed(*entries: tuple[zipfile.ZipInfo, str | bytes]) -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("alpha/SKILL.md", skill_text("alpha"))
        for entry, content in entries:
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return file.getvalue()


async def _fetch(home: Home, path: Path) -> Fetched:
    library = home.library()
    try:
        return await library.fetch(str(path))
    finally:
        await library.close()


async def _fetch_zip(home: Home, tmp_path: Path, content: bytes) -> Fetched:
    file = tmp_path / "hostile.zip"
    file.write_bytes(content)
    return await _fetch(home, file)


@pytest.mark.parametrize(
    "name",
    [
        "../outside/keys.txt",
        "alpha/../../outside/keys.txt",
        "alpha/scripts/../../../outside/keys.txt",
        "/etc/cron.d/alpha",
        "//server/share/alpha",
        "C:\\Windows\\alpha.dll",
        "C:alpha.dll",
        "\\\\server\\share\\alpha.dll",
        "..\\outside\\keys.txt",
        "alpha/SKILL.md\0.txt",
    ],
)
async def test_a_zip_with_a_path_that_leads_out_is_refused_whole(
    tmp_path: Path, home: Home, outside: Path, name: str
) -> None:
    content = _packed((_entry("alpha/" + "x" * (len(name) - 6)), "evil"))
    placeholder = ("alpha/" + "x" * (len(name) - 6)).encode()
    content = content.replace(placeholder, name.encode())
    with pytest.raises(SkillLibraryError, match="not safe, so nothing was taken"):
        await _fetch_zip(home, tmp_path, content)


async def test_a_zip_that_holds_a_name_twice_is_refused(
    tmp_path: Path, home: Home, outside: Path
) -> None:
    content = _packed((_entry("alpha/run.sh"), "echo good"), (_entry("alpha/rux.sh"), "echo evil"))
    with pytest.raises(SkillLibraryError, match=r"holds alpha/run\.sh twice"):
        await _fetch_zip(home, tmp_path, content.replace(b"rux.sh", b"run.sh"))
    again = content.replace(b"alpha/rux.sh", b"alpha//un.sh").replace(b"run.sh", b"/un.sh")
    with pytest.raises(SkillLibraryError):
        await _fetch_zip(home, tmp_path, again)


async def test_links_devices_and_odd_names_in_a_zip_are_left_out_and_told(
    tmp_path: Path, home: Home, outside: Path
) -> None:
    fetched = await _fetch_zip(
        home,
        tmp_path,
        _packed(
            (_entry("alpha/link", stat.S_IFLNK | 0o777), str(outside / "keys.txt")),
            (_entry("alpha/pipe", stat.S_IFIFO | 0o644), ""),
            (_entry("alpha/disk", stat.S_IFBLK | 0o644), ""),
            (_entry("alpha/.git/hooks/post-checkout"), "echo evil"),
            (_entry("alpha/CON.txt"), "x"),
            (_entry("alpha/a:b"), "x"),
            (_entry("alpha/dot."), "x"),
            (_entry("alpha/turned\u202etxt.exe"), "x"),
            (_entry("alpha/" + "n" * 300), "x"),
            (_entry("alpha/skill.MD"), skill_text("other")),
            (_entry("ALPHA/more.md"), "x"),
            (_entry("alpha/good.md"), "good"),
        ),
    )
    (skill,) = fetched.skills
    assert [file.path for file in skill.files] == ["SKILL.md", "good.md"]
    told = "\n".join(fetched.skipped)
    for words in (
        "alpha/link was left out: it is a link.",
        "alpha/pipe was left out: it is not a file.",
        "alpha/disk was left out: it is not a file.",
        "alpha/CON.txt was left out: it is a reserved device name.",
        "alpha/a:b was left out: it names an alternate stream.",
        "alpha/dot. was left out: it has a name that ends with a dot or a space.",
        "alpha/turned\\u202etxt.exe was left out: its name holds hidden characters.",
        "was left out: its name is too long.",
        "alpha/skill.MD was left out: it has the same name as alpha/SKILL.md, but for",
    ):
        assert words in told


async def test_a_zip_that_unpacks_to_far_more_than_it_holds_is_refused(
    tmp_path: Path, home: Home, outside: Path
) -> None:
    zeros = b"\0" * 15_000_000
    with pytest.raises(SkillLibraryError, match="unpacks to far more than it holds"):
        await _fetch_zip(home, tmp_path, _packed((_entry("alpha/zeros"), zeros)))
    # The sizes in its list are what the maker wrote there.
    honest = _packed((_entry("alpha/zeros"), b"\0" * 25_000_000))
    with pytest.raises(SkillLibraryError, match="larger than 20 MB"):
        await _fetch_zip(home, tmp_path, honest)
    lying = honest.replace(struct.pack("<L", 25_000_000), struct.pack("<L", 10))
    with pytest.raises(SkillLibraryError, match=r"damaged|far more"):
        await _fetch_zip(home, tmp_path, lying)


async def test_a_zip_in_a_zip_stays_a_file(tmp_path: Path, home: Home, outside: Path) -> None:
    inner = zipped({"../../outside/keys.txt": "evil", "beta/SKILL.md": skill_text("beta")})
    fetched = await _fetch_zip(home, tmp_path, zipped({**SKILL, "alpha/inner.zip": inner}))
    assert [skill.name for skill in fetched.skills] == ["alpha"]
    assert [file.path for file in fetched.skills[0].files] == ["SKILL.md", "inner.zip"]


async def test_too_many_files_and_too_large_ones_are_refused(
    tmp_path: Path, home: Home, outside: Path
) -> None:
    many = {f"alpha/f{number}.txt": "x" for number in range(2_000)}
    with pytest.raises(SkillLibraryError, match="have 2,001 files; 2,000 is the limit"):
        await _fetch_zip(home, tmp_path, zipped({**SKILL, **many}))
    with pytest.raises(SkillLibraryError, match="have 2,001 files; 2,000 is the limit"):
        await _fetch(home, write_files(tmp_path / "many", {**SKILL, **many}))
    large = {**SKILL, "alpha/large.bin": os.urandom(21_000_000)}
    with pytest.raises(SkillLibraryError, match="zip is larger than 20 MB"):
        await _fetch_zip(home, tmp_path, zipped(large))
    with pytest.raises(SkillLibraryError, match="larger than 20 MB"):
        await _fetch(home, write_files(tmp_path / "large", large))
    with pytest.raises(SkillLibraryError, match="larger than 20 MB"):
        await _fetch(home, make_repository(tmp_path / "repo", large).path)


async def test_a_zip_with_a_list_that_would_fill_the_memory_is_not_read(
    tmp_path: Path, home: Home, outside: Path
) -> None:
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for number in range(60_000):
            archive.writestr(zipfile.ZipInfo(f"n{number}"), b"")
    with pytest.raises(SkillLibraryError, match="too many files"):
        await _fetch_zip(home, tmp_path, file.getvalue())


@pytest.mark.parametrize("comment", [b"", b"c" * 65_535])
async def test_a_zip_that_describes_its_list_twice_is_not_read_by_the_longer_one(
    tmp_path: Path, home: Home, outside: Path, comment: bytes
) -> None:
    content = zipped({**SKILL, "alpha/more.md": "x"}, comment)
    at = content.index(b"PK\x05\x06")
    count, size, offset = struct.unpack_from("<HLL", content, at + 10)
    large = struct.pack(
        "<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, offset
    ) + struct.pack("<4sLQL", b"PK\x06\x07", 0, at, 1)
    modest = content[at : at + 12] + struct.pack("<L", 100) + content[at + 16 :]
    with pytest.raises(SkillLibraryError, match="zip64"):
        await _fetch_zip(home, tmp_path, content[:at] + large + modest)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: content[: len(content) // 2],
        lambda content: content[:40] + b"\xff" * 40 + content[80:],
        lambda content: b"PK\x03\x04" + b"\0" * 100,
        lambda content: b"PK\x05\x06" + b"\xff" * 18,
        lambda content: b"",
        lambda content: b"<html>Sign in</html>",
    ],
)
async def test_a_damaged_zip_is_told_as_one(
    tmp_path: Path, home: Home, outside: Path, spoil: Callable[[bytes], bytes]
) -> None:
    with pytest.raises(SkillLibraryError, match=r"damaged|not a skill|No skill|too many"):
        await _fetch_zip(home, tmp_path, spoil(_packed((_entry("alpha/more.md"), "x" * 900))))


async def test_a_zip_with_a_password_says_so(tmp_path: Path, home: Home, outside: Path) -> None:
    content = bytearray(_packed((_entry("alpha/secret.md"), "x")))
    at = content.rindex(b"PK\x01\x02")
    content[at + 8] |= 1
    fetched = await _fetch_zip(home, tmp_path, bytes(content))
    assert fetched.skipped == ("alpha/secret.md was left out: it needs a password.",)


async def test_links_pipes_and_other_oddities_in_a_folder_are_left_out(
    tmp_path: Path, home: Home, outside: Path
) -> None:
    folder = write_files(tmp_path / "loose", {**SKILL, "alpha/good.md": "good"})
    (folder / "alpha/link").symlink_to(outside / "keys.txt")
    (folder / "alpha/folder").symlink_to(outside)
    (folder / "alpha/loop").symlink_to(folder)
    (folder / "beta").mkdir()
    (folder / "beta/SKILL.md").symlink_to(outside / "keys.txt")
    os.mkfifo(folder / "alpha/pipe")
    (folder / "gamma").mkdir()
    os.mkfifo(folder / "gamma/SKILL.md")
    os.mkfifo(folder / "alpha" / os.fsdecode(b"odd\xff"))
    write_files(folder, {"node_modules/x/SKILL.md": skill_text("x")})
    fetched = await _fetch(home, folder)
    (skill,) = fetched.skills
    assert [file.path for file in skill.files] == ["SKILL.md", "good.md"]
    told = "\n".join(fetched.skipped)
    for name in ("alpha/link", "alpha/folder", "alpha/loop", "beta/SKILL.md", "gamma/SKILL.md"):
        assert f"{name} was left out" in told
    assert "odd\\udcff was left out: its name holds hidden characters." in told


@pytest.mark.parametrize(
    "content",
    [
        b"---\nname: alpha\ndescription: \xff\xfe caf\xe9\n---\n",
        skill_text("alpha").encode("utf-16"),
        b"\0\1\2\3" * 1000,
        b"",
        b"---\n" + b"a: &a [1]\nb: &b [*a,*a,*a]\n" * 5_000 + b"---\n",
        b"---\nname: alpha\ndescription: !!python/object/apply:os.system [x]\n---\n",
        b"---\n" + b"[" * 50_000 + b"\n---\n",
        b"---\nname: alpha\ndescription: x\n",
        b"x" * 1_200_000,
    ],
)
async def test_a_skill_md_that_is_no_text_or_a_trap_is_told_and_not_installed(
    tmp_path: Path, home: Home, outside: Path, content: bytes
) -> None:
    folder = write_files(tmp_path / "loose", {"good/SKILL.md": skill_text("good")})
    write_files(folder, {"alpha/SKILL.md": content})
    library = home.library()
    fetched = await library.fetch(str(folder))
    problems = {skill.folder: skill.problem for skill in fetched.skills}
    assert problems["good"] == ""
    if problems["alpha"]:
        with pytest.raises(SkillLibraryError, match="can't be installed"):
            await library.install(fetched.id, ["alpha"], target="mine")
    assert await library.install(fetched.id, ["good"], target="mine") == ("good",)
    await library.close()


@pytest.mark.parametrize(
    "name",
    ["../../outside", "/etc", "..", "a/b", "C:\\x", "con", ".git", "", "x" * 300, "~", "\u202ex"],
)
async def test_a_name_that_imitates_a_path_becomes_a_plain_folder(
    tmp_path: Path, home: Home, outside: Path, name: str
) -> None:
    text = f"---\nname: {name!r}\ndescription: Odd.\n---\nText"
    folder = write_files(tmp_path / "loose", {"good/SKILL.md": text})
    library = home.library()
    fetched = await library.fetch(str(folder))
    await library.install(fetched.id, ["good"], target="mine")
    (placed,) = home.mine.iterdir()
    assert placed.parent == home.mine
    assert not placed.name.startswith(".")
    assert len(placed.name) <= 64
    assert sorted(path.name for path in home.mine.parent.iterdir()) == [
        "skill_origins.json",
        "skills",
    ]
    await library.close()


async def test_two_skills_of_one_name_do_not_overwrite_each_other(
    tmp_path: Path, home: Home, outside: Path
) -> None:
    files = {"one/SKILL.md": skill_text("same", "One."), "two/SKILL.md": skill_text("same", "Two.")}
    library = home.library()
    fetched = await library.fetch(str(write_files(tmp_path / "loose", files)))
    assert await library.install(fetched.id, ["one", "two"], target="mine") == ("same",)
    assert "One." in (home.mine / "same/SKILL.md").read_text()
    await library.close()


class Trap:
    """A program that leaves a mark when it is run, by whoever."""

    def __init__(self, folder: Path) -> None:
        self.mark = folder / "it-ran"
        self.program = folder / "trap.sh"
        self.program.write_text(f"#!/bin/sh\necho ran >> '{self.mark}'\ncat\n")
        self.program.chmod(0o755)


@pytest.fixture
def trap(tmp_path: Path) -> Iterator[Trap]:
    made = Trap(tmp_path)
    yield made
    assert not made.mark.exists(), made.mark.read_text()


def _hooks(repo: Repo, trap: Trap) -> None:
    for name in ("post-checkout", "post-merge", "reference-transaction", "pre-auto-gc", "update"):
        hook = repo.path / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(trap.program.read_text())
        hook.chmod(0o755)


def _monitor(repo: Repo, trap: Trap) -> None:
    git(repo.path, "config", "core.fsmonitor", str(trap.program))


def _filters(repo: Repo, trap: Trap) -> None:
    for name in ("smudge", "clean", "process"):
        git(repo.path, "config", f"filter.evil.{name}", str(trap.program))
    git(repo.path, "config", "diff.evil.textconv", str(trap.program))


def _settings(repo: Repo, trap: Trap) -> None:
    for name in (
        "core.sshCommand", "core.pager", "core.editor", "core.gitProxy", "core.askPass",
        "core.alternateRefsCommand", "uploadpack.packObjectsHook", "credential.helper",
        "gpg.program", "diff.external", "pager.ls-tree", "remote.origin.uploadpack",
        "alias.cat-file", "alias.upload-pack", "trace2.eventTarget",
    ):  # fmt: skip
        git(repo.path, "config", name, f"!{trap.program}" if "alias" in name else str(trap.program))
    git(repo.path, "config", "core.hooksPath", str(trap.program.parent))


def _promise(repo: Repo, trap: Trap) -> None:
    """A repository that says: what is missing here, another one has; ask it like this."""
    git(repo.path, "config", "remote.evil.url", "/nowhere")
    git(repo.path, "config", "remote.evil.promisor", "true")
    git(repo.path, "config", "remote.evil.uploadpack", str(trap.program))
    git(repo.path, "config", "extensions.partialClone", "evil")
    git(repo.path, "config", "core.repositoryFormatVersion", "1")
    name = git(repo.path, "rev-parse", "HEAD:alpha/SKILL.md")
    (repo.path / ".git/objects" / name[:2] / name[2:]).unlink()


def _submodule(repo: Repo, trap: Trap) -> None:
    git(repo.path, "update-index", "--add", "--cacheinfo", f"160000,{repo.head},alpha/inner")
    text = f'[submodule "alpha/inner"]\npath = alpha/inner\nurl = ext::{trap.program}\n'
    (repo.path / ".gitmodules").write_text(text + f"update = !{trap.program}\n")
    git(repo.path, "add", ".gitmodules")
    git(repo.path, "commit", "--quiet", "--message", "submodule")


@pytest.mark.parametrize("set_up", [_hooks, _monitor, _filters, _settings, _promise, _submodule])
async def test_no_program_of_a_repository_is_ever_run(
    tmp_path: Path, home: Home, outside: Path, trap: Trap, set_up: Callable[[Repo, Trap], None]
) -> None:
    files = {**SKILL, "alpha/.gitattributes": "* filter=evil diff=evil\n", "alpha/a.txt": "text"}
    repo = make_repository(tmp_path / "repo", files)
    set_up(repo, trap)
    trap.mark.unlink(missing_ok=True)
    before = snapshot(repo.path)
    library = home.library()
    if set_up is _promise:
        with pytest.raises(SkillLibraryError):
            await library.fetch(str(repo.path))
    else:
        fetched = await library.fetch(str(repo.path))
        assert await library.install(fetched.id, ["alpha"], target="mine") == ("alpha",)
        assert (home.mine / "alpha/a.txt").read_text() == "text"
        assert await library.check_update(str(home.mine / "alpha")) is None
        if set_up is _submodule:
            assert any("alpha/inner was left out: it is another" in t for t in fetched.skipped)
    await library.close()
    assert snapshot(repo.path) == before


def _with_tree(repo: Repo, lines: list[tuple[str, str, str]]) -> None:
    """Commit a tree that git itself would never make."""
    listing = "".join(f"{mode} blob {name}\t{path}\0" for mode, name, path in lines)
    tree = git(repo.path, "mktree", "-z", stdin=listing.encode("utf-8", "surrogateescape"))
    commit = git(repo.path, "commit-tree", tree, "-m", "hostile")
    git(repo.path, "update-ref", "refs/heads/main", commit)


async def test_hostile_names_in_a_repository_are_left_out(
    tmp_path: Path, home: Home, outside: Path
) -> None:
    repo = make_repository(tmp_path / "repo", {"SKILL.md": skill_text("alpha"), "x": "evil"})
    main, evil = (git(repo.path, "rev-parse", f"HEAD:{name}") for name in ("SKILL.md", "x"))
    names = ["..\\keys.txt", "C:keys.txt", "nul", "odd\udcff", "skill.md", "new\nline"]
    _with_tree(
        repo,
        [("100644", main, "SKILL.md"), ("120000", evil, "link"), ("100755", evil, "run.sh")]
        + [("100644", evil, name) for name in names],
    )
    library = home.library()
    fetched = await library.fetch(str(repo.path))
    (skill,) = fetched.skills
    assert [file.path for file in skill.files] == ["SKILL.md", "run.sh"]
    assert len(fetched.skipped) == 7
    await library.close()


async def test_large_files_that_are_kept_elsewhere_are_told(
    tmp_path: Path, home: Home, outside: Path
) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n"
    repo = make_repository(tmp_path / "repo", {**SKILL, "alpha/model.bin": pointer})
    fetched = await _fetch(home, repo.path)
    assert fetched.skipped == (
        "alpha/model.bin was left out: its content is kept elsewhere (Git LFS).",
    )


async def test_git_reads_nobodys_settings_and_asks_nothing(
    tmp_path: Path, home: Home, outside: Path, trap: Trap, own_home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    (own_home / ".gitconfig").write_text(
        f"[core]\n\tfsmonitor = {trap.program}\n\thooksPath = {trap.program.parent}\n"
        f"[uploadpack]\n\tpackObjectsHook = {trap.program}\n"
        f'[url "ext::{trap.program} "]\n\tinsteadOf = file:///\n[protocol]\n\tallow = always\n'
    )
    for name in ("GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_PROXY_COMMAND", "GIT_EXTERNAL_DIFF"):
        monkeypatch.setenv(name, str(trap.program))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "uploadpack.packObjectsHook")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(trap.program))
    monkeypatch.setenv("GIT_DIR", str(outside))
    monkeypatch.setenv("GIT_TEMPLATE_DIR", str(trap.program.parent))
    with monkeypatch.context() as calm:
        for name in ("GIT_CONFIG_COUNT", "GIT_DIR", "GIT_TEMPLATE_DIR", "GIT_EXTERNAL_DIFF"):
            calm.delenv(name)
        repo = make_repository(tmp_path / "repo", SKILL)
    fetched = await _fetch(home, repo.path)
    assert [skill.name for skill in fetched.skills] == ["alpha"]


@pytest.mark.parametrize(
    "address",
    [
        "ext::sh -c 'touch owned'",
        "ext::sh",
        "fd::17/foo",
        "git://example.org/x",
        "ftp://example.org/x.zip",
        "http://example.org/x.zip",
        "ssh://-oProxyCommand=touch/x",
        "ssh://me:secret@example.org/x",
        "-oProxyCommand=touch:x",
        "--upload-pack=touch",
        "https://me:secret@example.org/x",
        "https:///x",
        "https://exa mple.org/x",
        "javascript:alert(1)",
        "",
        "   ",
        "a\nb",
        "//server/share/skills",
        "\\\\server\\share",
        "/nowhere/at/all",
    ],
)
async def test_an_address_that_is_none_starts_nothing(
    home: Home, outside: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    def fail(*words: object, **_: object) -> None:
        raise AssertionError(f"started {words}")

    monkeypatch.setattr("asyncio.create_subprocess_exec", fail)
    monkeypatch.setattr(subprocess, "Popen", fail)
    with pytest.raises(SkillLibraryError) as refused:
        await home.library().fetch(address)
    assert "secret" not in str(refused.value)


async def test_without_git_the_person_is_told_what_to_do(
    tmp_path: Path, home: Home, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = make_repository(tmp_path / "repo", SKILL)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(SkillLibraryError, match="Git is not installed"):
        await home.library().fetch(str(repo.path))
