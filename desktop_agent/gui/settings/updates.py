"""Settings: a check for a newer version, when the user asks or has allowed it."""

from __future__ import annotations

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QVBoxLayout, QWidget

from desktop_agent.core.updates import UpdateAnswer
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import TextButton, TextLabel
from desktop_agent.gui.settings.rows import SettingGroup, Switch


class UpdateGroup(SettingGroup):
    """Nothing is downloaded or installed here.

    Signals:
        check_requested: answered by `set_answer`
    """

    check_requested = Signal()

    def __init__(self, theme: Theme, weekly: Switch, parent: QWidget | None = None) -> None:
        super().__init__(theme, "", parent)
        self.setAccessibleName(self.tr("Updates"))
        self._page = ""
        self._check = TextButton(theme, self.tr("Check for updates"))
        self._check.setObjectName("checkUpdates")
        self._check.clicked.connect(self._on_check)
        self.add_row(
            self.tr("Newer versions"),
            self.tr("Asks which version is the newest, and tells nothing about you"),
            self._check,
        )
        self.add_row(
            self.tr("Check once a week"),
            self.tr("While the app is open; it never installs anything or restarts"),
            weekly,
        )
        weekly.setAccessibleName(self.tr("Check for updates once a week"))
        self.add_widget(self._make_answer(theme))

    def _make_answer(self, theme: Theme) -> QWidget:
        self._answer = QWidget()
        line = QVBoxLayout(self._answer)
        line.setContentsMargins(0, 4, 0, 10)
        self._words = TextLabel("", name="updateAnswer", wraps=True)
        self._get = TextButton(theme, self.tr("Open its page"))
        self._get.setObjectName("openUpdatePage")
        self._get.clicked.connect(lambda: QDesktopServices.openUrl(QUrl(self._page)))
        line.addWidget(self._words)
        line.addWidget(self._get, 0, Qt.AlignmentFlag.AlignLeft)
        self._answer.hide()
        return self._answer

    def set_answer(self, answer: UpdateAnswer) -> None:
        self._check.setEnabled(True)
        if answer.problem:
            words = answer.problem
        elif answer.newest:
            words = self.tr("Version {version} is there.").format(version=answer.newest)
        else:
            words = self.tr("You have the newest version.")
        self._say(words)
        self._page = answer.page
        self._get.setVisible(bool(answer.newest and answer.page))

    def _on_check(self) -> None:
        self._check.setEnabled(False)
        self._say(self.tr("Asking…"))
        self._get.hide()
        self.check_requested.emit()

    def _say(self, words: str) -> None:
        self._words.setText(words)
        self._answer.show()
