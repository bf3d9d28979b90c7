"""The skills as rows under headings, searched without asking anybody."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from PySide6.QtCore import QObject, Qt, Signal

from desktop_agent.core.skills import Skill, SkillOrigin
from desktop_agent.gui.kit.lists.check_box import check_state
from desktop_agent.gui.kit.lists.list_model import ROW_ROLE, Index, SnapshotListModel
from desktop_agent.gui.kit.safe_text import plain_tip
from desktop_agent.gui.skills.text import ORIGINS, origin_title, spoken

TABS = ("all", *ORIGINS)


class SkillRow(msgspec.Struct, frozen=True):
    """A skill, or the heading of a group. `searched` is what a search looks at."""

    key: str
    title: str
    skill: Skill | None = None
    searched: str = ""

    @property
    def is_heading(self) -> bool:
        """Whether it is only words over a group."""
        return self.skill is None


def rows_of(skills: Iterable[Skill], known: Iterable[SkillRow] = ()) -> tuple[SkillRow, ...]:
    """Return a row for each skill, group after group; rows that stay the same are `known`."""
    old = {row.key: row for row in known}
    groups: dict[SkillOrigin, list[SkillRow]] = {origin: [] for origin in ORIGINS}
    for skill in skills:
        row = old.get(skill.directory)
        if row is None or row.skill != skill:
            words = f"{skill.name}\n{skill.description}".casefold()
            row = SkillRow(skill.directory, skill.name, skill, words)
        groups[skill.origin].append(row)
    return tuple(row for origin in ORIGINS for row in groups[origin])


def counts(rows: Iterable[SkillRow]) -> dict[str, int]:
    """Return how many skills each tab has."""
    origins = [row.skill.origin for row in rows if row.skill is not None]
    return {"all": len(origins), **{origin: origins.count(origin) for origin in ORIGINS}}


def shown_rows(rows: Sequence[SkillRow], tab: str, text: str) -> tuple[SkillRow, ...]:
    """Return the rows of a tab that hold every word, with headings where there are groups."""
    words = text.casefold().split()
    found: list[SkillRow] = []
    group: SkillOrigin | None = None
    for row in rows:
        skill = row.skill
        if skill is None or tab not in ("all", skill.origin):
            continue
        if words and not all(word in row.searched for word in words):
            continue
        if tab == "all" and skill.origin != group:
            group = skill.origin
            found.append(_HEADINGS.setdefault(group, SkillRow(f"group:{group}", "")))
        found.append(row)
    return tuple(found)


# The same object each time: what is the same at both ends of a list is not compared.
_HEADINGS: dict[SkillOrigin, SkillRow] = {}


def heading_text(row: SkillRow) -> str:
    """Return the words of a heading, in the present language."""
    return next(origin_title(one) for one in ORIGINS if row.key == f"group:{one}")


class SkillListModel(SnapshotListModel[SkillRow]):
    """The row changes when the next snapshot says so.

    Signals:
        switched(Skill, bool): a request
    """

    switched = Signal(object, bool)

    def __init__(self, parent: QObject | None = None) -> None:
        role = Qt.ItemDataRole
        super().__init__(
            lambda row: row.key,
            {
                int(role.DisplayRole): lambda row: row.title or heading_text(row),
                int(role.ToolTipRole): _tip,
                int(role.AccessibleTextRole): _spoken,
                int(role.CheckStateRole): _check_state,
            },
            parent,
            _flags,
        )

    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        row = index.data(ROW_ROLE)
        if role != Qt.ItemDataRole.CheckStateRole or row is None or not can_switch(row.skill):
            return False
        self.switched.emit(row.skill, Qt.CheckState(value) == Qt.CheckState.Checked)
        return True


def can_switch(skill: Skill | None) -> bool:
    """Whether switching it on or off means anything."""
    return skill is not None and not skill.problem


def _spoken(row: SkillRow) -> str:
    return spoken(row.skill) if row.skill is not None else heading_text(row)


def _tip(row: SkillRow) -> str | None:
    if row.skill is None:
        return None
    lines = (row.skill.description, row.skill.problem, *row.skill.needs, *row.skill.warnings)
    return plain_tip("\n".join(line for line in lines if line)) or None


def _check_state(row: SkillRow) -> Qt.CheckState | None:
    if row.skill is None or not can_switch(row.skill):
        return None
    return check_state(is_on=row.skill.is_enabled)


def _flags(row: SkillRow) -> Qt.ItemFlag:
    flag = Qt.ItemFlag
    if row.is_heading:
        return flag.NoItemFlags
    usual = flag.ItemIsEnabled | flag.ItemIsSelectable
    return usual | flag.ItemIsUserCheckable if can_switch(row.skill) else usual
