"""*Fix* of a sandbox that doesn't hold: the command is shown, and run once the person agrees."""

from __future__ import annotations

import shiboken6
from PySide6.QtWidgets import QWidget

from desktop_agent.core.sandbox import SandboxState
from desktop_agent.gui.bridge.bridge import Queries
from desktop_agent.gui.kit.theme import Theme


def open_sandbox_fix(
    theme: Theme, queries: Queries, state: SandboxState | None, anchor: QWidget
) -> None:
    """Ask above the anchor; what was not read there is told as a notice."""
    from desktop_agent.gui.composer.sandbox_fix import SandboxFixPopover  # rarely wanted

    command = state.command if state is not None else ()
    if not command:
        return
    popover = SandboxFixPopover(theme, command, anchor.window())
    popover.closed.connect(popover.deleteLater)

    def show(failed: str) -> None:
        if shiboken6.isValid(popover) and popover.isVisible():
            popover.show_result(failed)
        elif failed:
            queries.failed.emit(failed)

    popover.agreed.connect(lambda: queries.ask(show, queries.engine.fix_sandbox(command)))
    popover.open_at(anchor)
