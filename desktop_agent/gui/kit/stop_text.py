"""Who stopped an agent, in words."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

from desktop_agent.gui.kit.text import plain

translate = QCoreApplication.translate


@dataclass(frozen=True, slots=True)
class StopWords:
    """Who stopped an agent, in words that also stand within a sentence."""

    nobody: str = "stopped"
    user: str = "stopped by you"
    app: str = "stopped when the app was closed"
    ended: str = "stopped because its parent ended"
    agent: str = "stopped by {name}"
    parent: str = "stopped by its parent"

    def of(self, by: str, name: str) -> str:
        """Return who stopped it; `name` is the name of the agent that did, if it is known."""
        known = {"": self.nobody, "user": self.user, "app": self.app, "ended": self.ended}
        if by in known:
            return known[by]
        return self.agent.replace("{name}", plain(name)) if plain(name) else self.parent


def stop_words() -> StopWords:
    """Return the words for who stopped an agent."""
    return StopWords(
        nobody=translate("Agents", "stopped"),
        user=translate("Agents", "stopped by you"),
        app=translate("Agents", "stopped when the app was closed"),
        ended=translate("Agents", "stopped because its parent ended"),
        agent=translate("Agents", "stopped by {name}"),
        parent=translate("Agents", "stopped by its parent"),
    )
