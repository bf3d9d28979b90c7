"""`run` with nobody there: commands reach the hosts that the command line names, and no other."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from desktop_agent.core.events import ApprovalRequested, ToolEnded
from tests.helpers.providers import Calls, LoopbackProvider, Received, Say
from tests.test_headless import run_lines
from tests.test_headless_sandbox import CAN_ENTER

# Names that nobody has: the guard says so only of a host that it was allowed to look up.
NAME, OTHER = "packages.invalid", "elsewhere.invalid"


def fetching() -> LoopbackProvider:
    def answer(request: Received) -> Say | Calls:
        if request.results:
            return Say("Over.")
        command = "".join(f"curl -sS http://{name}/a; echo; " for name in (NAME, OTHER))
        return Calls(("shell", {"command": command}))

    return LoopbackProvider("openai", otherwise=answer)


@pytest.mark.skipif(
    not (CAN_ENTER and shutil.which("curl")), reason="needs bubblewrap, user namespaces and curl"
)
def test_a_command_reaches_the_hosts_of_the_command_line_and_no_other(tmp_path: Path) -> None:
    with fetching() as provider:
        options = ("--model", provider.model, "--api-base", provider.api_base, "--mode", "free")
        given = ("--sandbox", "on", "--allow-host", NAME)
        code, lines, _ = run_lines("Go", "--workspace", tmp_path, *options, *given)
    assert code == 0
    ended = next(line for line in lines if isinstance(line, ToolEnded))
    assert f"The address of {NAME} was not found." in ended.result.text
    assert (
        f"Nobody is here to allow {OTHER}; a run allows it with --allow-host {OTHER}:80."
        in ended.result.text
    )
    asked = [line.request for line in lines if isinstance(line, ApprovalRequested)]
    assert [request.title for request in asked] == [f"Allow {OTHER}?"]
    assert "`curl -sS" in asked[0].reason
