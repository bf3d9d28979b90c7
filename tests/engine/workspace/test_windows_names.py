"""Names that PowerShell looks for elsewhere than below the folder a command runs in."""

from __future__ import annotations

import pytest

from desktop_agent.engine.workspace.windows_names import is_rooted


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
