"""What the list of all commands offers for the agents at work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction

from desktop_agent.gui.agents.rows import AgentRow

_WISHES = ("open", "steer", "pause", "step", "stop")
_IN_PANEL = frozenset({"steer", "stop"})
# More than these would bury the other commands; the tree has a filter for them.
_MOST = 6


def agent_commands(panel: Any, parent: QObject, reveal: Callable[[], None]) -> list[QAction]:
    """Return commands for the marked subagent of an AgentPanel, and for those that work.

    `reveal` shows the panel: some go on in it.
    """
    tree = panel.tree
    current = tree.current
    alive = [one for one in tree.rows if not one.info.is_ended and one is not current]
    rows: list[AgentRow] = ([current] if current is not None else []) + alive
    return [one for row in rows[:_MOST] for one in _commands(tree, row, parent, reveal)]


def _commands(
    tree: Any, row: AgentRow, parent: QObject, reveal: Callable[[], None]
) -> Sequence[QAction]:
    offered = tree.view.actions_of_row
    found: list[QAction] = []
    for wish in _WISHES:
        if offered.can_do(row, wish):
            words = f"{offered.title(row, wish).rstrip('…')}: {row.name}"
            action = QAction(words.replace("&", "&&"), parent)
            if wish in _IN_PANEL:
                action.triggered.connect(reveal)
            action.triggered.connect(
                lambda _=False, one=wish: tree.command_requested.emit(row.key, one)
            )
            found.append(action)
    return found
