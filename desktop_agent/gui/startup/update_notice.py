"""Looks for a newer version once a week, if the user has allowed it, and says so once."""

from __future__ import annotations

from PySide6.QtCore import QObject

from desktop_agent.core.updates import UpdateAnswer
from desktop_agent.gui.bridge.bridge import Bridge
from desktop_agent.gui.frame.notice_bar import Notice
from desktop_agent.gui.window.main_window import MainWindow


class UpdateNotice(QObject):
    """Asks behind the start. A failed check is not worth a word: it was not the user's."""

    def __init__(self, window: MainWindow, bridge: Bridge) -> None:
        super().__init__(window)
        self._window = window
        bridge.started.connect(self._ask)

    def _ask(self) -> None:
        if self._window.flow.settings.check_updates_weekly:
            queries = self._window.queries
            queries.ask(self._tell, queries.updates.check_if_due())

    def _tell(self, answer: UpdateAnswer) -> None:
        if answer.newest:
            words = self.tr("Version {version} is there: see Settings, About.")
            text = words.format(version=answer.newest)
            self._window.frame.notices.put("update", Notice(text, "info"))
