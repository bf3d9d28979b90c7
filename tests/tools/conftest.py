"""A folder to work in and a context for tool calls, all real."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from desktop_agent.core.ids import AgentId, new_session_id
from desktop_agent.core.sandbox import Boundary
from desktop_agent.core.tool import Preview, Tool, ToolContext, ToolOutput
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.agent.read_files import FilesSeen
from desktop_agent.engine.workspace.output_files import OutputFiles
from desktop_agent.tools.shell.jobs import Jobs


@dataclass
class Bench:
    """Calls tools the way the dispatcher does, and keeps what they reported."""

    root: Path
    context: ToolContext
    jobs: Jobs
    reported: list[str] = field(default_factory=list)
    questions: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)

    @property
    def workspace(self) -> Workspace:
        return self.context.workspace

    def bound(self, **changes: Any) -> None:
        """Change what its calls may reach."""
        within = msgspec.structs.replace(self.context.boundary, **changes)
        self.context = replace(self.context, boundary=within)

    async def run(self, tool: Tool, **arguments: Any) -> ToolOutput:
        return await tool.run(tool.parse(arguments), self.context)

    async def preview(self, tool: Tool, **arguments: Any) -> Preview:
        assert tool.preview is not None
        return await tool.preview(tool.parse(arguments), self.context)

    def put(self, name: str, content: str | bytes = "") -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    root = tmp_path / "work"
    root.mkdir()
    jobs = Jobs()
    made: list[Bench] = []

    async def ask(question: str, options: tuple[str, ...]) -> str:
        made[0].questions.append((question, options))
        return "blue"

    report: Callable[[str], None] = lambda text: made[0].reported.append(text)  # noqa: E731
    context = ToolContext(
        agent_id=AgentId("ag_test"),
        call_id="call_1",
        boundary=Boundary(new_session_id(), Workspace(str(root))),
        report=report,
        ask_user=ask,
        files=FilesSeen(),
        outputs=OutputFiles(tmp_path / "outputs").of(new_session_id()),
        jobs=jobs,
    )
    made.append(Bench(root, context, jobs))
    yield made[0]
    await jobs.close()


def with_folders(
    bench: Bench, readable: Iterable[Path] = (), writable: Iterable[Path] = ()
) -> None:
    """Give the bench another workspace."""
    root, more = str(bench.root), tuple(map(str, writable))
    bench.bound(folders=Workspace(root, tuple(map(str, readable)), more))
