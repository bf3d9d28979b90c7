"""Which items of a transcript tell what was done to files, and what they tell. No Qt."""

from __future__ import annotations

from msgspec.structs import replace

from desktop_agent.core.changes import ChangeSet
from desktop_agent.core.ids import AgentId, MessageId
from desktop_agent.gui.state.change_sets import ChangeSets, FileCounts
from desktop_agent.gui.transcript.state.items import (
    AgentMessageItem,
    ChangesItem,
    Item,
    ToolItem,
    TurnItem,
    UndoItem,
)

_ALL = ""


class FileChanges:
    """Changes of files as one agent's transcript shows them.

    At a turn's end they are told in groups: one for each message of the user's in the main
    agent's transcript, subagents included, and one for all of the agent in a subagent's.
    """

    def __init__(self, agent_id: AgentId) -> None:
        self.sets = ChangeSets()
        self.is_main = True
        self._agent_id = agent_id
        self.clear()

    def clear(self) -> None:
        """Forget the turns; what is known of changes stays."""
        # Of the turn that runs, in order.
        self._running: dict[str, None] = {}
        # By group, the key of the turn's end that tells of it; by that key, its groups.
        self._ends: dict[str, str] = {}
        self._told: dict[str, list[str]] = {}

    def begin_message(self, message_id: MessageId) -> None:
        """The user's message is worked on."""
        self._running[message_id if self.is_main else _ALL] = None

    def take(self, made: ChangeSet) -> str:
        """Take in a change set; return the group it belongs to."""
        self.sets.add(made)
        group = (made.message_id or "-") if self.is_main else _ALL
        if made.agent_id == self._agent_id and made.kind != "undo":
            self._running[group] = None
        return group

    def end_turn(self, turn: str) -> list[str]:
        """Return the groups of the turn that ends, the last first."""
        groups = self._told[turn] = list(self._running)
        self._running.clear()
        self._ends.update((one, turn) for one in groups)
        return groups[::-1]

    @property
    def ended(self) -> tuple[str, ...]:
        """The groups of turns that are over."""
        return tuple(self._ends)

    def turn_of(self, group: str) -> str:
        """Return the key of the turn's end that tells of a group; empty without one."""
        return self._ends.get(group, "")

    def line(self, group: str, turn: TurnItem) -> ChangesItem | None:
        """Return the line of a group after the end of its turn; None if nothing was changed."""
        counts = self._counts(group)
        if counts is None:
            return None
        first = next((one for one in self._told[turn.key] if self._counts(one)), "")
        seconds = turn.seconds if group == first and turn.reason == "finished" else 0.0
        key = f"changes/{group}"
        if self.is_main:
            return ChangesItem(key, counts, turn.key, MessageId(group), seconds=seconds)
        return ChangesItem(key, counts, turn.key, agent_id=self._agent_id, seconds=seconds)

    def _counts(self, group: str) -> FileCounts | None:
        if self.is_main:
            return self.sets.of_message(MessageId(group))
        return self.sets.of_agent(self._agent_id)

    def shown(self, item: Item) -> Item:
        """Return an item as it is with what is known now; the same one if nothing differs."""
        match item:
            case ToolItem():
                counts = self.sets.of_call(self._agent_id, item.key)
                ids = self.sets.ids_of_call(self._agent_id, item.key)
                changed = replace(item, changes=counts, set_ids=ids)
            case AgentMessageItem(kind="report"):
                changed = replace(item, changes=self.sets.of_agent(item.agent_id))
            case UndoItem():
                is_undone = self.sets.undone_by(item.key) is not None
                changed = replace(
                    item, is_redo=self.sets.is_redo(item.changes), is_undone=is_undone
                )
            case _:
                return item
        return item if changed == item else changed
