"""What the words of a command for PowerShell name, and where it looks for that."""

from __future__ import annotations

import pytest

from desktop_agent.engine.workspace.windows_names import (
    is_rooted,
    is_switch,
    paths_in,
    refusal,
    with_percent_signs,
    without_prefix,
)


@pytest.mark.parametrize(
    "path",
    [
        r"C:\Users\ann\notes.txt", "C:/Users", "d:notes", r"\\host\share\x", "//host/share", r"\x",
        r"HKLM:\Software", "Temp:/x", r"FileSystem::C:\x",
        r"Microsoft.PowerShell.Core\FileSystem::\\host\share",
    ],
)  # fmt: skip
def test_a_name_that_begins_elsewhere_is_known(path: str) -> None:
    assert is_rooted(path)


@pytest.mark.parametrize(
    "path", ["src/a.py", r"src\a.py", "fix: words", "HEAD:a.py", "tests/a.py::b", "-n", ".", "a"]
)
def test_a_name_below_the_folder_is_none_of_these(path: str) -> None:
    assert not is_rooted(path)


@pytest.mark.parametrize(
    ("word", "path"),
    [
        (r"a.txt,.git\config", r".git\config"), ("-Path:.env", ".env"), ("-Path:a,.env", ".env"),
        (".env::$DATA", ".env"), (r".git\config:notes", r".git\config"),
        (r"C:\x\.env::$DATA", r"C:\x\.env"),
    ],
)  # fmt: skip
def test_a_file_is_found_in_a_list_an_option_and_by_a_stream_of_its(word: str, path: str) -> None:
    assert path in paths_in(word)


def test_variables_of_the_environment_are_known_by_either_spelling() -> None:
    assert with_percent_signs(r"$env:TEMP\x") == with_percent_signs(r"${ENV:TEMP}\x") == r"%TEMP%\x"
    assert with_percent_signs(r"$HOME\$x:y") == r"$HOME\$x:y"


def test_an_option_of_the_systems_programs_is_no_folder_of_the_disk() -> None:
    assert is_switch("/c")
    assert not is_switch("/users")
    assert not is_switch("/c/x")


@pytest.mark.parametrize(
    ("final", "path"),
    [
        (r"\\?\C:\x\a.txt", r"C:\x\a.txt"),
        (r"\\?\UNC\server\share\a.txt", r"\\server\share\a.txt"),
    ],
)
def test_the_path_of_a_handle_is_called_as_the_folders_are(final: str, path: str) -> None:
    assert without_prefix(final) == path


def test_whole_paths_below_a_folder_on_a_share_are_plain() -> None:
    roots = (r"C:\x", r"\\server\share\proj")
    for path in (r"\\Server\share\proj\a.txt", "//server/share/proj/sub", r"\\server\share\proj"):
        assert refusal(path, roots) == ""
    for path in (r"\\server\share\projects\a", r"\\server\share\proj\NUL", r"\\.\C:", r"\\other\x"):
        assert refusal(path, roots)
