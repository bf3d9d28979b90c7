"""An engine with the real tools and the real process that keeps what they change."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from desktop_agent.adapters.undo.process_history import ProcessHistory
from desktop_agent.core.approvals import AllowOnce
from desktop_agent.core.changes import ChangeSet, UndoReport, UndoScope
from desktop_agent.core.events import ApprovalRequested, Event, FilesChanged
from desktop_agent.core.ids import MessageId
from desktop_agent.core.tool import Tool
from desktop_agent.engine.base.ports import FileHistory
from desktop_agent.tools.builtin import builtin_tools
from desktop_agent.tools.shell.jobs import Jobs
from tests.engine.rig import Rig
from tests.engine.tree.tree_rig import TreeModel


class UndoRig(Rig):
    """Works unasked in `tmp_path/work`; subagents have scripts of their own, by their prompt."""

    def __init__(
        self,
        tmp_path: Path,
        script: list[Any],
        children: dict[str, list[Any]] | None = None,
        *,
        history: FileHistory | None = None,
        **more: Any,
    ) -> None:
        self.folder = tmp_path / "work"
        self.folder.mkdir(exist_ok=True)
        self.undo_folder = tmp_path / "data" / "undo"
        self.history = history or ProcessHistory(self.undo_folder)
        super().__init__(
            self.folder,
            model=TreeModel(script, children or {}),
            mode="free",
            new_jobs=Jobs,
            history=self.history,
            is_machine_sandbox=True,
            **more,
        )

    def _tools(self) -> list[Tool] | Callable[[], list[Tool]]:
        return list(builtin_tools())

    def _on_event(self, event: Event) -> None:
        super()._on_event(event)
        if isinstance(event, ApprovalRequested):  # what deletes something is asked about
            self.engine.decide(event.request.id, AllowOnce())

    @property
    def sets(self) -> list[ChangeSet]:
        """What was told of changed files."""
        return [event.changes for event in self.of(FilesChanged)]

    @property
    def user_messages(self) -> list[MessageId]:
        """The person's messages to the main agent, oldest first."""
        told = (m for m in self.messages_of(self.agent_id) if m.role == "user")
        return [message.id for message in told if message.sender == "user"]

    def scope(self, **of: Any) -> UndoScope:
        """A part of this session."""
        return UndoScope(self.session_id, **of)

    async def undo(self, **of: Any) -> UndoReport:
        """Take back a part of this session, keeping what changed since."""
        return await self.engine.undo(self.scope(**of), {})

    def tree_of_files(self) -> dict[str, tuple[str, bytes]]:
        """Everything in the folder: kind with mode, and content or target."""
        found: dict[str, tuple[str, bytes]] = {}
        for path in sorted(self.folder.rglob("*")):
            if ".outputs" in path.parts:
                continue
            name, mode = str(path.relative_to(self.folder)), oct(path.lstat().st_mode)
            if path.is_symlink():
                found[name] = ("link", os.fsencode(path.readlink()))
            else:
                found[name] = (mode, path.read_bytes() if path.is_file() else b"")
        return found
