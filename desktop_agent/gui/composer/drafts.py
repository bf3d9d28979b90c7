"""The drafts of all sessions and agents; their texts outlive the app."""

from __future__ import annotations

from collections.abc import Collection

from PySide6.QtCore import QObject

from desktop_agent import paths
from desktop_agent.core.ids import AgentId, SessionId
from desktop_agent.gui.composer.draft import Draft
from desktop_agent.gui.kit.text_cache import TextCache


class Drafts:
    """One draft for each agent that was written to, and one for before there is a session."""

    def __init__(self, owner: QObject) -> None:
        self._kept = TextCache(paths.data_dir() / "drafts.json", owner)
        self._key = ""
        self._drafts: dict[str, Draft] = {"": Draft()}
        self._carried = ""

    def open(self, session_id: SessionId, agent_id: AgentId, typed: str = "") -> Draft:
        """Return an agent's draft; what is typed is its text from now on.

        The first one takes `typed` along, which was written while there was no session yet.
        """
        is_first, self._key = not self._key, f"{session_id}/{agent_id}"
        draft = self._drafts.get(self._key)
        if draft is None:
            draft = self._drafts[self._key] = Draft(self._kept.text(self._key))
        if is_first and typed:
            draft.text = f"{draft.text}\n{typed}" if draft.text else typed
        carried, self._carried = self._carried, ""
        draft.text = draft.text or carried
        return draft

    def carry(self, text: str) -> None:
        """Have this be the text of the draft that is opened next, if that one is empty."""
        self._carried = text

    @property
    def first(self) -> Draft:
        """What is typed before there is a session."""
        return self._drafts[""]

    def forget_deleted(self, sessions: Collection[SessionId]) -> None:
        """Forget what was typed in sessions that are not among these."""

        def is_gone(key: str) -> bool:
            return key.partition("/")[0] not in sessions

        self._kept.forget(is_gone)
        for key in [key for key in self._drafts if key != self._key and key and is_gone(key)]:
            del self._drafts[key]

    def keep(self, text: str) -> None:
        """Keep what is typed now."""
        if self._key:
            self._kept.keep(self._key, text)
