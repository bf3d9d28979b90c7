"""Windows: a file that another program keeps to itself is said to be open there."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import pytest

from desktop_agent.core.tool import ToolError
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.workspace.safe_open import open_read

pytestmark = pytest.mark.skipif(sys.platform != "win32", reason="nobody can keep others out")


def test_who_has_a_file_open_is_no_question_of_rights(tmp_path: Path) -> None:
    path = tmp_path.resolve() / "letter.docx"
    path.write_bytes(b"x")
    assert sys.platform == "win32"
    kernel = ctypes.WinDLL("kernel32")
    kernel.CreateFileW.restype = ctypes.c_void_p
    # To read and write, shared with nobody; it has to exist.
    held = kernel.CreateFileW(str(path), 0xC0000000, 0, None, 3, 0, None)
    try:
        with pytest.raises(ToolError, match="another program has it open"):
            open_read(Workspace(str(path.parent)), path)
    finally:
        kernel.CloseHandle(ctypes.c_void_p(held))
    open_read(Workspace(str(path.parent)), path).close()
