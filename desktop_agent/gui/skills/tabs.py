"""Which skills are listed: all, or those of one origin, each with its number."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from desktop_agent.gui.kit.lists.tab_row import TabRow
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.skills.list_model import TABS, Tab
from desktop_agent.gui.skills.text import origin_title


class SkillTabs(TabRow):
    """Empty ones are not offered."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        tabs = [(tab, "") for tab in TABS]
        super().__init__(theme, "", "skillTab", tabs, parent)
        self.setAccessibleName(self.tr("Which skills"))
        self.setObjectName("skillTabs")

    @property
    def tab(self) -> Tab:
        """The tab that is chosen."""
        return next(tab for tab in TABS if tab == self.current)

    def set_counts(self, counts: dict[Tab, int]) -> None:
        for tab in TABS:
            button = self.buttons[tab]
            title = self.tr("All") if tab == "all" else origin_title(tab)
            words = f"{title}  {counts[tab]}"
            if button.text() != words:
                button.setText(words)
                button.setAccessibleName(f"{title}, {counts[tab]}")
            button.setVisible(tab == "all" or counts[tab] > 0 or button.isChecked())
