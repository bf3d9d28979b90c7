"""Settings: what is kept on the disk so that changes of files can be taken back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QDateTime, QLocale, Signal

from desktop_agent.core.changes import UndoUsage
from desktop_agent.gui.kit.dialogs.question import Question
from desktop_agent.gui.kit.folders import short_path
from desktop_agent.gui.kit.safe_text import path_text
from desktop_agent.gui.kit.text import size_text
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import TextButton, TextLabel
from desktop_agent.gui.settings.rows import SettingGroup, item_row


class UndoGroup(SettingGroup):
    """A row for each folder, the one that takes most first.

    Signals:
        emptied(folder): nothing of it can be taken back any more, as the user agreed
    """

    emptied = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "")
        self._stack.insertWidget(0, TextLabel(self.tr("Kept for undo"), "section"))
        self.setObjectName("undoGroup")
        self.set_usage(())

    def set_usage(self, usage: Sequence[UndoUsage]) -> None:
        """Show what is kept for each folder."""
        self.clear()
        if not usage:
            self.add_widget(TextLabel(self.tr("Nothing is kept at present."), "muted"))
        for one in usage:
            name = path_text(short_path(one.folder))
            empty = TextButton(self._theme, self.tr("Empty…"), name="emptyUndo")
            empty.setAccessibleDescription(name)
            empty.clicked.connect(partial(self._ask, one.folder, name))
            detail = size_text(one.size)
            if one.since > 0:
                day = QDateTime.fromSecsSinceEpoch(int(one.since)).date()
                date = QLocale().toString(day, QLocale.FormatType.ShortFormat)
                detail += " · " + self.tr("since {date}").format(date=date)
            self.add_widget(item_row(self._theme, "folder", name, detail, empty))

    def _ask(self, folder: str, name: str) -> None:
        box = Question(
            self._theme,
            self,
            name="emptyUndoQuestion",
            title=self.tr("Empty what is kept for undo?"),
            text=self.tr("Empty what is kept for {folder}?").format(folder=name),
            detail=self.tr("What agents changed there so far can’t be taken back any more."),
            icon="trash-2",
            token="err",
        )
        box.add(self.tr("Empty"), icon="trash-2")
        box.accepted.connect(partial(self.emptied.emit, folder))
        box.open()
