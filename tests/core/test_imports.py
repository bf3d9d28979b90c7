"""What is imported without what comes along: nobody waits for it, or gives it memory."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from desktop_agent.core.network.imports import import_without
from tests.helpers.patience import HANG_S

PROGRAM = """
import importlib.util, json, sys
from desktop_agent.core.network.imports import import_httpx
import_httpx()
import_httpx()
import httpx
httpx.AsyncClient(verify=False)
loaded = sorted(sys.modules)
import h2, httpx._main
print(json.dumps(loaded))
"""


def test_httpx_brings_no_command_line_along_and_others_find_all_of_it():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=HANG_S, check=True
    )
    assert not {"rich", "click", "h2"} & set(json.loads(done.stdout))


def test_what_is_loaded_already_is_left_as_it_is():
    before = sys.modules["json"]
    assert import_without("json.tool", "json") is sys.modules["json.tool"]
    assert sys.modules["json"] is before


def test_another_thread_may_have_brought_back_what_was_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "with_others.py").write_text("import sys\ndel sys.modules['hidden_one']\n")
    monkeypatch.syspath_prepend(tmp_path)
    import_without("with_others", "hidden_one")
    assert "hidden_one" not in sys.modules
