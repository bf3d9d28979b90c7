"""The engine's commands about a session as a whole."""

from __future__ import annotations

from desktop_agent.engine.sessions.branch_commands import BranchCommands
from desktop_agent.engine.sessions.change_commands import ChangeCommands
from desktop_agent.engine.sessions.keeping_commands import KeepingCommands


class SessionCommands(ChangeCommands, KeepingCommands, BranchCommands):
    """Mixed into the engine: what a session changed, where it is kept, and its branches."""
