"""What was typed and attached and not sent yet, by session and agent; the texts outlive the app."""

from __future__ import annotations

import weakref
from collections.abc import Collection, Sequence
from pathlib import Path

from PySide6.QtCore import QObject

from desktop_agent import paths
from desktop_agent.core.ids import AgentId, NoteId, SessionId
from desktop_agent.core.notes import Note
from desktop_agent.gui.composer.attachments import Attachment, AttachmentList
from desktop_agent.gui.kit.text_cache import TextCache
from desktop_agent.gui.state.branch_draft import BranchDraft

_MAX_SENT = 50
# Behind the key of a draft: of its text that is put aside.
_ASIDE = "/aside"


class Draft:
    """Text, attachments, skills by name, and the texts sent before, for Up and Down.

    The message begins a branch in place of `branch`, if that is set. While that is an earlier
    message, edited, what was begun before it is put aside.
    """

    def __init__(self, text: str = "") -> None:
        self.text = text
        self.attachments = AttachmentList()
        self.skills: list[str] = []
        self.branch: BranchDraft | None = None
        self.text_aside = ""
        self._skills_aside: list[str] = []
        self._sent: dict[NoteId, str] = {}
        self._place = 0

    def remember(self, note: Note) -> None:
        """Keep a sent text, under its id: an edited one replaces itself."""
        is_written = note.sender == "user" and note.kind in ("message", "steer")
        if not is_written or not note.text:
            return
        self._sent[note.id] = note.text
        while len(self._sent) > _MAX_SENT:
            del self._sent[next(iter(self._sent))]
        self._place = 0

    def begin_branch(self, branch: BranchDraft | None) -> None:
        """Have the message begin a branch, or with None not any more."""
        is_edit = branch is not None and branch.is_edit
        if self._is_unedited and (is_edit or self.text_aside or self.attachments.has_aside):
            self.text, self.skills = "", []
        if is_edit or branch is None:
            self._bring_back()
        if branch is not None and is_edit:
            self.text_aside, self.text = self.text, branch.said
            self._skills_aside, self.skills = self.skills, list(branch.skills)
            self.attachments.put_aside()
        self.branch = branch
        # Whoever shows the draft has its text and skills to show anew as well.
        self.attachments.changed.emit()

    @property
    def _is_unedited(self) -> bool:
        return self.branch is not None and self.branch.is_edit and self.text == self.branch.said

    def _bring_back(self) -> None:
        self.text, self.text_aside = _joined(self.text, self.text_aside), ""
        self.skills += [name for name in self._skills_aside if name not in self.skills]
        self._skills_aside = []
        self.attachments.bring_back()

    def take_back(
        self, note: Note, attached: Sequence[Attachment], branch: BranchDraft | None = None
    ) -> None:
        """Hold what was not sent again, before what was written since; `branch` it was to begin."""
        if branch is not None and self.branch is None:
            self.begin_branch(branch)
            if branch.is_edit:
                self.text, self.skills = "", []
        self.text = _joined(note.text, self.text)
        self.skills += [name for name in note.skills if name not in self.skills]
        for one in attached:
            self.attachments.add(one)
        self.attachments.changed.emit()

    def recall(self, step: int) -> str | None:
        """Return the text one older (-1) or newer (1); empty past the newest, None past the end."""
        sent = tuple(self._sent.values())
        place = self._place - step
        if place > len(sent):
            return None
        self._place = max(0, place)
        return sent[-place] if place > 0 else ""

    def stop_recalling(self) -> None:
        """Begin at the newest again."""
        self._place = 0


class _SharedDrafts(dict[str, Draft]):
    """By session and agent, for all windows: another one may go on with what was begun in one."""


class Drafts:
    """One draft for each agent that was written to, and one for before there is a session."""

    def __init__(self, owner: QObject) -> None:
        path = paths.data_dir() / "drafts.json"
        self._kept = TextCache.of(path, owner)
        self._shared = _shared.setdefault(path, _SharedDrafts())
        self._key = ""
        # What is typed before there is a session.
        self.first = self._open = Draft()
        self._carried = ""

    def open(self, session_id: SessionId, agent_id: AgentId, typed: str = "") -> Draft:
        """Return an agent's draft; what is typed is its text from now on.

        The first one takes `typed` along, which was written while there was no session yet.
        """
        is_first = not self._key
        self._key = f"{session_id}/{agent_id}"
        if self._key not in self._shared:
            aside = self._kept.text(self._key + _ASIDE)
            self._shared[self._key] = Draft(_joined(self._kept.text(self._key), aside))
        draft = self._open = self._shared[self._key]
        if is_first and typed:
            draft.text = f"{draft.text}\n{typed}" if draft.text else typed
        carried, self._carried = self._carried, ""
        draft.text = draft.text or carried
        return draft

    def carry(self, text: str) -> None:
        """Have this be the text of the draft that is opened next, if that one is empty."""
        self._carried = text

    def forget_erased(self, sessions: Collection[SessionId]) -> None:
        """Forget what was typed in sessions that are not among these, which can come back."""

        def is_gone(key: str) -> bool:
            return key.partition("/")[0] not in sessions

        self._kept.forget(is_gone)
        for key in [key for key in self._shared if key != self._key and is_gone(key)]:
            del self._shared[key]

    def keep(self, text: str) -> None:
        """Have this be the text of the draft that is open."""
        self._open.text = text
        if self._key:
            self._kept.keep(self._key, text)
            self._kept.keep(self._key + _ASIDE, self._open.text_aside)


def _joined(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text)


_shared: weakref.WeakValueDictionary[Path, _SharedDrafts] = weakref.WeakValueDictionary()
