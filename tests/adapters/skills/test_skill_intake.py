"""The gate for fetched files, with names at random: whatever comes, nothing lies outside."""

from __future__ import annotations

import tempfile
from pathlib import Path, PureWindowsPath

from hypothesis import given, settings
from hypothesis import strategies as st

from desktop_agent.adapters.skills.fetch.found import directory_name
from desktop_agent.adapters.skills.fetch.intake import Intake, Limits, checked_path, remove_tree
from desktop_agent.core.skill_install import SkillLibraryError

_ODD = (
    "\0",
    "\u202e",
    "e\u0301",
    "é",
    "\udcff",
    "n" * 260,
    "a ",
    "",
    "..\\..",
    "\\",
    "\U0002000b" * 64,
)
_PLAIN = [
    "..",
    ".",
    "a",
    "A",
    "SKILL.md",
    "skill.MD",
    "con",
    "C:",
    "x:y",
    "~",
    ".git",
    "nul.txt",
    "b.",
    "~1",
    "*",
]
_PARTS = st.sampled_from([*_ODD, *_PLAIN])
_PATHS = st.one_of(
    st.text(max_size=40),
    st.lists(_PARTS, min_size=1, max_size=6).map("/".join),
    st.lists(_PARTS, min_size=1, max_size=4).map("\\".join),
)


@settings(max_examples=300)
@given(st.lists(_PATHS, max_size=12))
def test_whatever_files_are_called_they_lie_in_the_folder_or_nowhere(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as made:
        top = Path(made).resolve()
        root = top / "in"
        root.mkdir()
        intake = Intake(root, Limits())
        for name in names:
            try:
                path = checked_path(name)
            except (ValueError, SkillLibraryError):
                continue
            intake.add(path, (b"x",))
        assert [path.name for path in top.iterdir()] == ["in"]
        files = [path for path in root.rglob("*") if path.is_file()]
        assert len(files) == intake.count
        folded = {str(path.relative_to(root)).casefold() for path in files}
        assert len(folded) == len(files)
        for path in files:
            assert path.resolve().is_relative_to(root)
            assert not PureWindowsPath(path.relative_to(root)).is_absolute()
        remove_tree(root)
        assert not root.exists()


@settings(max_examples=500)
@given(_PATHS, _PATHS)
def test_a_skills_folder_has_one_plain_name_whatever_it_calls_itself(
    name: str, folder: str
) -> None:
    made = directory_name(name, folder)
    assert checked_path(made).parts == (made,)
    assert 0 < len(made) <= 64
    assert len(made.encode()) <= 120
    assert not made.startswith((".", "-", "~"))
