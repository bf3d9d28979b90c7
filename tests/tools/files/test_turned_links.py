"""The file that was judged is the file that is used."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from desktop_agent.core.tool import Tool, ToolError
from desktop_agent.tools.files.reading import read
from desktop_agent.tools.files.search import grep
from desktop_agent.tools.files.writing import write
from desktop_agent.tools.shell.shell import shell
from tests.tools.conftest import Bench


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [(write, {"content": "other"}), (read, {}), (grep, {"pattern": "x"})],
)
async def test_a_link_that_was_turned_after_the_check_is_not_followed(
    bench: Bench, tool: Tool, arguments: dict[str, Any]
) -> None:
    """What was allowed for one file must not reach another that is asked about."""
    plain, secret = bench.put("notes.txt", "x"), bench.put(".env", "KEY=x")
    link = bench.root / "way"
    link.symlink_to(plain)
    judged = await bench.preview(tool, path="way", **arguments)
    link.unlink()
    link.symlink_to(secret)
    bench.context = replace(bench.context, judged=judged)
    with pytest.raises(ToolError, match="not where this path led"):
        await bench.run(tool, path="way", **arguments)
    assert secret.read_text() == "KEY=x"


async def test_a_command_does_not_run_where_a_turned_link_leads(bench: Bench) -> None:
    bench.put("src/a")
    bench.put(".git/config", "old")
    link = bench.root / "way"
    link.symlink_to("src")
    command = {"command": "echo new > config", "directory": "way"}
    judged = await bench.preview(shell, **command)
    link.unlink()
    link.symlink_to(".git")
    bench.context = replace(bench.context, judged=judged)
    with pytest.raises(ToolError, match="not where this path led"):
        await bench.run(shell, **command)
    assert (bench.root / ".git" / "config").read_text() == "old"
