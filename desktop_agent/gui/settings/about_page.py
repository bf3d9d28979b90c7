"""Settings: the version and newer ones, where things are kept, whose work is in the app."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QShowEvent
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from desktop_agent import __version__, paths
from desktop_agent.core.settings import Settings
from desktop_agent.core.updates import UpdateAnswer
from desktop_agent.gui.kit.folders import short_path
from desktop_agent.gui.kit.reading_order import bring_into_sight
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    ElidedLabel,
    GhostButton,
    ReadOnlyText,
    TextButton,
    TextLabel,
    column,
    named,
)
from desktop_agent.gui.settings.pages import SettingsPage
from desktop_agent.gui.settings.rows import SettingGroup, Switch

_PARTS = (
    ("PySide6_Essentials", "Qt and PySide6", "LGPL-3.0"),
    ("qasync", "qasync", "BSD-2-Clause"),
    ("litellm", "LiteLLM", "MIT"),
    ("mcp", "MCP SDK", "MIT"),
    ("msgspec", "msgspec", "BSD-3-Clause"),
    ("httpx", "HTTPX", "BSD-3-Clause"),
    ("markdown-it-py", "markdown-it-py", "MIT"),
    ("linkify-it-py", "linkify-it-py", "MIT"),
    ("Pygments", "Pygments", "BSD-2-Clause"),
    ("platformdirs", "platformdirs", "MIT"),
    ("keyring", "keyring", "MIT"),
    ("pathspec", "pathspec", "MPL-2.0"),
    ("pypdf", "pypdf", "BSD-3-Clause"),
    ("python-docx", "python-docx", "MIT"),
    ("openpyxl", "openpyxl", "MIT"),
    ("python-pptx", "python-pptx", "MIT"),
    ("", "Inter", "OFL-1.1"),
    ("", "JetBrains Mono", "OFL-1.1"),
    ("", "Lucide icons", "ISC"),
)
# Installers have the licences of all that is in them; a checkout has those of its own folder.
_ALL = "licenses.txt"
_BUNDLED = ("fonts/Inter-LICENSE.txt", "fonts/JetBrainsMono-LICENSE.txt", "icons/LICENSE")


class AboutPage(SettingsPage):
    """Opens folders with the system's own file browser.

    `set_can_update` says whether this build has an update server.

    Signals:
        update_check_requested: answered by `set_update_answer`
    """

    update_check_requested = Signal()

    def __init__(self, theme: Theme, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(settings, parent)
        self._theme = theme
        weekly = Switch("weeklyUpdates")
        self.bind("check_updates_weekly", weekly)
        self._updates = UpdateGroup(theme, weekly)
        self._updates.check_requested.connect(self.update_check_requested)
        self._updates.hide()
        title = TextLabel(self.tr("Desktop Agent"), "h2")
        version = TextLabel(self.tr("Version {version}").format(version=__version__), "muted")
        places = SettingGroup(theme, self.tr("Where things are"))
        for name, words, folder in (
            ("openData", self.tr("Sessions and logs"), paths.data_dir()),
            ("openConfig", self.tr("Settings"), paths.config_dir()),
        ):
            button = TextButton(theme, self.tr("Open"), name=name)
            button.clicked.connect(lambda _=False, one=folder: _open_folder(one))
            places.add_row(words, short_path(str(folder)), button)
            button.setAccessibleName(self.tr("Open the folder: {what}").format(what=words))
        head = QWidget()
        column(title, version, spacing=2, within=head)
        parts = _PartsGroup(theme, self.tr("Made with"))
        self.fill(head, self._updates, places, parts)

    def set_can_update(self, can_update: bool) -> None:
        """Offer the check, or not: a copy that was not installed does not know where to ask."""
        self._updates.setVisible(can_update)

    def set_update_answer(self, answer: UpdateAnswer) -> None:
        self._updates.set_answer(answer)


class _PartsGroup(SettingGroup):
    """Whose work is in the app, looked up when somebody looks at it."""

    def __init__(self, theme: Theme, title: str) -> None:
        super().__init__(theme, title)
        texts = ReadOnlyText(self)
        self._texts = named(texts, "licenceTexts", self.tr("Licences of all parts"))
        texts.setMinimumHeight(220)
        texts.hide()

    def showEvent(self, event: QShowEvent) -> None:
        if not self.row_count():
            show = GhostButton(self._theme, self.tr("Licences of all parts"), "file-text")
            show.setObjectName("showLicences")
            show.clicked.connect(self._show_texts)
            holder = QWidget()
            column(show, self._texts, spacing=-1, edges=(0, 6, 0, 8), within=holder)
            self.add_widget(_table())
            self.add_widget(holder)
        super().showEvent(event)

    def _show_texts(self) -> None:
        if not self._texts.toPlainText():
            names = (_ALL,) if paths.resource(_ALL).is_file() else _BUNDLED
            texts = [_licence(name) for name in names]
            self._texts.setPlainText("\n\n".join(filter(None, texts)))
        is_wanted = not self._texts.isVisible()
        self._texts.setVisible(is_wanted)
        if is_wanted:
            # Below all else, it opens out of sight; it has its place once it is laid out.
            QTimer.singleShot(0, self, lambda: bring_into_sight(self._texts))


def _table() -> QWidget:
    table = QWidget()
    grid = QGridLayout(table)
    grid.setContentsMargins(0, 10, 0, 6)
    grid.setHorizontalSpacing(16)
    grid.setVerticalSpacing(5)
    grid.setColumnStretch(0, 1)
    for number, (package, title, licence) in enumerate(_PARTS):
        grid.addWidget(ElidedLabel(title), number, 0)
        grid.addWidget(TextLabel(_version(package), "subtle"), number, 1)
        grid.addWidget(TextLabel(licence, "subtle"), number, 2)
    return table


def _version(package: str) -> str:
    try:
        return metadata.version(package) if package else ""
    except metadata.PackageNotFoundError:
        return ""  # no package of its own


def _licence(name: str) -> str:
    try:
        return f"{name}\n\n{paths.resource(name).read_text('utf-8')}"
    except OSError:
        return ""


def _open_folder(folder: Path) -> None:
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))


class UpdateGroup(SettingGroup):
    """Nothing is downloaded or installed here.

    Signals:
        check_requested: answered by `set_answer`
    """

    check_requested = Signal()

    def __init__(self, theme: Theme, weekly: Switch) -> None:
        super().__init__(theme, "")
        self.setAccessibleName(self.tr("Updates"))
        self._page = ""
        self._check = TextButton(theme, self.tr("Check for updates"), name="checkUpdates")
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
        self._get = TextButton(theme, self.tr("Open its page"), name="openUpdatePage")
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
