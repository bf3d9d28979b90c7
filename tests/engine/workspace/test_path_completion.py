"""What is typed after `@` finds files, however their names are written."""

import unicodedata

import pytest

from desktop_agent.engine.workspace import path_completion
from desktop_agent.engine.workspace.path_completion import complete_path


@pytest.mark.parametrize("on_disk", ["NFC", "NFD"])
@pytest.mark.parametrize("typed_as", ["NFC", "NFD"])
def test_a_letter_with_an_accent_finds_the_name_with_the_accent_apart(tmp_path, on_disk, typed_as):
    name = unicodedata.normalize(on_disk, "\u00c9t\u00e9/Gr\u00f6\u00dfe.txt")
    (tmp_path / name).parent.mkdir()
    (tmp_path / name).write_text("x", "utf-8")
    for typed in ("\u00e9t\u00e9/g", "gr\u00f6", "\u00e9t\u00e9/gr\u00f6\u00dfe"):
        assert name in complete_path(str(tmp_path), unicodedata.normalize(typed_as, typed), 20)


def test_folders_of_what_tools_made_hide_no_source_in_a_large_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(path_completion, "_LOOKED_AT", 60)
    for folder, count in ((".cache", 70), ("build/out/objects", 70), ("src/app", 3)):
        (tmp_path / folder).mkdir(parents=True)
        for number in range(count):
            (tmp_path / folder / f"main{number}.c").touch()
    (tmp_path / "link").symlink_to(tmp_path / "build")
    for typed in ("src/app/ma", "main0.c"):
        assert "src/app/main0.c" in complete_path(str(tmp_path), typed, 3)
    assert "link/" in complete_path(str(tmp_path), "li", 3)
