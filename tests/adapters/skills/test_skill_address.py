"""What people paste is read as the place it names, and as no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from desktop_agent.adapters.skills.fetch.address import Download, Local, Repository, read_address
from desktop_agent.core.skill_install import SkillLibraryError
from tests.adapters.skills.skill_sources import make_repository, write_files

HUB, LAB = "https://github.com/team/skills", "https://gitlab.example.org/group/sub/skills"


@pytest.mark.parametrize(
    ("address", "url", "tail"),
    [
        (HUB, HUB, ""),
        (f"  {HUB}/  ", HUB, ""),
        (f"<{HUB}>", HUB, ""),
        (f"{HUB}.git", f"{HUB}.git", ""),
        (f"git+{HUB}.git", f"{HUB}.git", ""),
        (f"{HUB}?tab=readme-ov-file#skills", HUB, ""),
        ("github.com/team/skills", HUB, ""),
        ("team/skills", HUB, ""),
        (f"{HUB}/tree/main", HUB, "main"),
        (f"{HUB}/tree/main/skills/pdf/", HUB, "main/skills/pdf"),
        (f"{HUB}/tree/main/my%20skills/pdf", HUB, "main/my skills/pdf"),
        (f"{HUB}/blob/v1.0/pdf/SKILL.md?plain=1", HUB, "v1.0/pdf"),
        (f"{HUB}/blob/main/skill.md", HUB, "main"),
        (f"{HUB}/raw/main/pdf/SKILL.md", HUB, "main/pdf"),
        ("https://raw.githubusercontent.com/team/skills/main/pdf/SKILL.md", HUB, "main/pdf"),
        (f"{LAB}/-/tree/main/pdf?ref_type=heads", LAB, "main/pdf"),
        (f"{LAB}/-/blob/main/pdf/SKILL.md", LAB, "main/pdf"),
        (LAB, LAB, ""),
        ("https://codeberg.org/team/skills/src/branch/main/pdf", "https://codeberg.org/team/skills",
         "main/pdf"),
        ("https://bitbucket.org/team/skills/src/main/pdf", "https://bitbucket.org/team/skills",
         "main/pdf"),
        ("https://git.example.org:8443/deep/er/skills.git",
         "https://git.example.org:8443/deep/er/skills.git", ""),
        ("git@github.com:team/skills.git", "git@github.com:team/skills.git", ""),
        ("ssh://git@example.org:2222/team/skills.git", "ssh://git@example.org:2222/team/skills.git",
         ""),
    ],
)  # fmt: skip
def test_repositories_and_folders_in_them(address: str, url: str, tail: str) -> None:
    place = read_address(address)
    assert isinstance(place, Repository)
    assert (place.url, place.tail) == (url, tail)
    assert place.protocol == ("ssh" if "@" in url else "https")


@pytest.mark.parametrize(
    ("address", "url", "is_markdown"),
    [
        ("https://example.org/a/pdf.zip", "https://example.org/a/pdf.zip", False),
        ("https://example.org/pdf.SKILL?key=1", "https://example.org/pdf.SKILL?key=1", False),
        (f"{HUB}/releases/download/v1/pdf.skill", f"{HUB}/releases/download/v1/pdf.skill", False),
        (f"{HUB}/archive/refs/heads/main.zip", f"{HUB}/archive/refs/heads/main.zip", False),
        (f"{HUB}/blob/main/pdf.zip", f"{HUB}/raw/main/pdf.zip", False),
        ("https://example.org/notes/alpha.md", "https://example.org/notes/alpha.md", True),
    ],
)
def test_files_to_download(address: str, url: str, is_markdown: bool) -> None:
    assert read_address(address) == Download(url, is_markdown)


def test_what_lies_on_this_computer(tmp_path: Path, own_home: Path) -> None:
    folder = write_files(tmp_path / "with blank", {"a/SKILL.md": "x"})
    file = write_files(own_home, {"a.zip": "x"}) / "a.zip"
    repo = make_repository(tmp_path / "repo", {"a/SKILL.md": "x"})
    bare = tmp_path / "bare.git"
    (bare / "objects").mkdir(parents=True)
    (bare / "refs").mkdir()
    (bare / "HEAD").write_text("ref: refs/heads/main\n")
    assert read_address(str(folder)) == Local(folder)
    assert read_address(f'"{folder}"') == Local(folder)
    assert read_address(folder.as_uri()) == Local(folder)
    assert read_address("~/a.zip") == Local(file)
    assert read_address(str(repo.path)) == Repository(repo.path.as_uri(), "file")
    assert read_address(str(repo.path / "a")) == Local(repo.path / "a")
    assert read_address(str(bare)) == Repository(bare.as_uri(), "file")


def test_encryption_is_only_left_out_for_this_computer_and_only_in_tests() -> None:
    for address in ("http://127.0.0.1:1/x.zip", "http://localhost/team/x", "http://[::1]/x.zip"):
        with pytest.raises(SkillLibraryError, match="Use the https:// address"):
            read_address(address)
        read_address(address, allows_loopback_http=True)
    for address in ("http://example.org/x.zip", "http://127.0.0.1.example.org/x.zip"):
        with pytest.raises(SkillLibraryError, match="Use the https:// address"):
            read_address(address, allows_loopback_http=True)


@pytest.mark.parametrize("address", ["a." * 400, "./" + "a" * 400, "file:///" + "a" * 400])
def test_an_address_too_long_for_a_file_name_is_refused_in_words(address: str) -> None:
    with pytest.raises(SkillLibraryError):
        read_address(address)
