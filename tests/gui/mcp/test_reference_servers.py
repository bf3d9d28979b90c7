"""The reference servers of the protocol: added by hand, called, killed and back.

They are programs of others, looked for in the folder that REFERENCE_SERVERS names: `npm install`ed
in it, and `pip install`ed into its virtual environment `v`.
"""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from desktop_agent.core.approvals import Rule
from tests.gui.mcp.test_servers_window import (  # noqa: F401
    is_running,
    saved,
    state_of,
    until,
    window,
)
from tests.helpers.providers import Calls, Say
from tests.helpers.windows import bridge_of

PLACE = Path(os.environ.get("REFERENCE_SERVERS", "/nowhere"))
NODE, PYTHON = PLACE / "node_modules/.bin", PLACE / "v/bin"

pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="REFERENCE_SERVERS has no servers")

ENTITY = {"name": "gull", "entityType": "bird", "observations": ["sits on the lighthouse"]}
CASES = [
    (NODE / "mcp-server-everything", "echo", {"message": "halloo"}, "halloo"),
    (NODE / "mcp-server-filesystem", "list_directory", {"path": "{project}"}, "notes.txt"),
    (NODE / "mcp-server-memory", "create_entities", {"entities": [ENTITY]}, "lighthouse"),
    (PYTHON / "mcp-server-git", "git_status", {"repo_path": "{project}"}, "branch"),
    (PYTHON / "mcp-server-time", "get_current_time", {"timezone": "Asia/Tokyo"}, "+09:00"),
]


def processes_of(program):
    """Return the processes that run this program."""
    found = []
    for one in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = one.read_bytes().split(b"\0")
        except OSError:
            continue
        if str(program).encode() in words[:2]:
            found.append(int(one.parent.name))
    return found


def call(window, provider, qtbot, name, tool, given):  # noqa: F811
    """Have the agent call a tool, and return what the model was told."""
    before = len(provider.requests)
    provider.push(Calls((f"mcp__{name}__{tool}", given)), Say("Seen."))
    window.frame.composer.set_text("go on")
    qtbot.keyClick(window.frame.composer.focusWidget(), Qt.Key.Key_Return)
    until(qtbot, lambda: len(provider.requests) == before + 2)
    provider.wait_answered(before + 2)
    return json.dumps(provider.requests[-1].results[-1])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].name)
def test_a_reference_server_is_added_called_killed_and_back(window, provider, project, qtbot, case):  # noqa: F811
    program, tool, given, answer = case
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    given = json.loads(json.dumps(given).replace("{project}", str(project)))
    has_folder = program.name.endswith("filesystem")
    command = f"{program} {project}" if has_folder else str(program)
    kept = f"MEMORY_FILE_PATH={project / 'memory.jsonl'}"
    saved(window, qtbot, name="ref", command=command, variables=kept)
    listed = [one.name for one in state_of(window, "ref").tools]
    assert tool in listed
    window.full.leave()
    bridge_of(window).engine.add_rule(Rule(f"mcp__ref__{tool}", "", scope="everywhere"))
    assert answer in call(window, provider, qtbot, "ref", tool, given)
    since, first = state_of(window, "ref").since, processes_of(program)
    assert first
    for pid in first:
        os.kill(pid, signal.SIGKILL)
    until(qtbot, lambda: is_running(window, "ref") and state_of(window, "ref").since != since)
    assert not set(processes_of(program)) & set(first)
    again = {"entities": [{**ENTITY, "name": "tern"}]} if "entities" in given else given
    assert answer in call(window, provider, qtbot, "ref", tool, again)
