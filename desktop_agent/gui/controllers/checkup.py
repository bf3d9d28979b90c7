"""The check of a model: asked for in the list of models, shown over what it was opened from."""

from __future__ import annotations

import shiboken6
from PySide6.QtWidgets import QWidget

from desktop_agent.core.models import ModelCheckup, ModelInfo
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
