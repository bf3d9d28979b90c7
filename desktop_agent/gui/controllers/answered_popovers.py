"""Popovers that ask for one thing and show what came of it, over what they were opened from."""

from __future__ import annotations

import shiboken6
from PySide6.QtWidgets import QWidget

from desktop_agent.core.models import ModelCheckup, ModelInfo
from desktop_agent.core.sandbox import SandboxState
from desktop_agent.gui.bridge.bridge import Queries
from desktop_agent.gui.kit.theme import Theme


def open_checkup(theme: Theme, queries: Queries, model: ModelInfo, anchor: QWidget) -> None:
    """Find out how a model does, which takes two requests to it, and show it above the anchor."""
    from desktop_agent.gui.language_models.checkup_popover import CheckupPopover  # rarely wanted

    popover = CheckupPopover(theme, model, anchor.window())
    popover.closed.connect(popover.deleteLater)
    popover.open_below(anchor, above=True)

    def show(found: ModelCheckup) -> None:
        if shiboken6.isValid(popover):
            popover.show_checkup(found)

    queries.ask(show, queries.catalog.examine(model.name, model.api_base))


def open_sandbox_fix(
    theme: Theme, queries: Queries, state: SandboxState | None, anchor: QWidget
) -> None:
    """Show the command that would mend the sandbox, and run it once the person agrees.

    What came of it and was not read there is told as a notice.
    """
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
