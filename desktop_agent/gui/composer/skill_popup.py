"""The list of skills that opens behind a `/`; the text keeps the focus."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QListWidgetItem, QWidget

from desktop_agent.core.skills import Skill
from desktop_agent.gui.composer.file_popup import FilePopup
from desktop_agent.gui.kit.fuzzy import ranked
from desktop_agent.gui.kit.lists.filter_delegate import FilterDelegate, PickRow
from desktop_agent.gui.kit.lists.list_model import ROW_ROLE
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.skills.text import origin_word, state_icon

_SHOWN = 20


class SkillPopup(FilePopup):
    """`chosen` carries a skill's name."""

    def __init__(self, theme: Theme, anchor: QWidget) -> None:
        super().__init__(theme, anchor)
        self.setObjectName("skillPopup")
        self.name_list(self.tr("Skills that match"), self.tr("No skill matches"))
        self.list.setItemDelegate(FilterDelegate(theme, self.list))

    def show_skills(self, text: str, skills: Sequence[Skill]) -> None:
        """Show what matches, best first."""
        by_name = ranked(text, skills, lambda one: one.name)
        names = {one.name for one in by_name}
        wanted = text.casefold()
        by_words = (
            one for one in skills if one.name not in names and wanted in one.description.casefold()
        )
        self.show_items([self._item(one) for one in (*by_name, *by_words)][:_SHOWN])

    def _item(self, skill: Skill) -> QListWidgetItem:
        item = QListWidgetItem(skill.name)
        line = " ".join(skill.description.split())
        item.setData(
            ROW_ROLE,
            PickRow(
                skill.name,
                skill.name,
                detail=line,
                icon=state_icon(skill)[0],
                tag=origin_word(skill.origin),
            ),
        )
        item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{skill.name}, {line}")
        return item
