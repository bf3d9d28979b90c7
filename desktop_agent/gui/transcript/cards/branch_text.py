"""What is said of a place where a session has several branches."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from desktop_agent.gui.transcript.state.items import BranchItem

translate = QCoreApplication.translate


def branch_text(item: BranchItem) -> str:
    """Return which branch is shown."""
    words = translate("Transcript", "Branch {place} of {count}")
    return words.format(place=item.place + 1, count=len(item.heads))
