"""The settings window: pages at the left, and every change takes effect at once."""

from __future__ import annotations

from typing import get_args

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtWidgets import QDialog, QFrame, QScrollArea, QStackedWidget, QWidget

from desktop_agent.core.providers import host_of, key_owner
from desktop_agent.core.settings import Settings
from desktop_agent.gui.kit.lists.filter_delegate import PickRow
from desktop_agent.gui.kit.lists.filter_list import FilterList
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import column, named, row
from desktop_agent.gui.settings.about_page import AboutPage
from desktop_agent.gui.settings.index import PageName, page_titles
from desktop_agent.gui.settings.models_page import ModelsPage
from desktop_agent.gui.settings.pages import AppearancePage, BehaviourPage
from desktop_agent.gui.settings.places_page import PlacesPage
from desktop_agent.gui.settings.rules_page import RulesPage
from desktop_agent.gui.settings.sandbox_page import SandboxPage

_NAMES: tuple[PageName, ...] = get_args(PageName)
# In widths of the text size.
_SIDE, _WIDE, _HIGH = 15, 63, 48
_SIDE_SHARE = 0.37
_TITLE = 36
_ICONS = ("sun", "key", "settings", "shield-check", "box", "server", "info")


class SettingsDialog(QDialog):
    """The pages; what `models`, `rules`, `undo` and `about` request is connected there.

    Signals:
        settings_changed(Settings): one new value
    """

    settings_changed = Signal(object)

    def __init__(self, theme: Theme, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._settings = settings
        self.setObjectName("settingsDialog")
        self.setWindowTitle(self.tr("Settings"))
        # Each is made where it stays: what is put elsewhere has all in it styled again. The names
        # come first, and so have the focus when it opens.
        self._pages = inside = QStackedWidget(self)
        self._side = side = named(QFrame(self), "sidebar")
        self._names = self._make_names()
        column(self._names, None, spacing=-1, edges=(8, 14, 8, 8), within=side)
        self._appearance = AppearancePage(theme, settings, inside)
        self.models = ModelsPage(theme, settings, inside)
        self._behaviour = BehaviourPage(theme, settings, inside)
        self.undo = self._behaviour.undo
        self.rules = RulesPage(theme, inside)
        self.sandbox = SandboxPage(theme, settings, inside)
        self.places = PlacesPage(theme, settings, inside)
        self.about = AboutPage(theme, settings, inside)
        self._editors = (
            self._appearance,
            self.models,
            self._behaviour,
            self.sandbox,
            self.places,
            self.about,
        )
        for page in self._editors:
            page.changed.connect(self._on_changed)
        pages = (*self._editors[:3], self.rules, *self._editors[3:])
        for page in pages:
            self._pages.addWidget(page)
        row(side, (self._pages, 1), spacing=0, within=self)
        self.setMinimumSize(560, 400)
        theme.changed.connect(self._fit)
        self._fit()

    def _make_names(self) -> FilterList:
        names = named(FilterList(self._theme, self.tr("Pages")), "settingsPages")
        rows = [
            PickRow(name, title, icon=icon)
            for (name, title), icon in zip(page_titles().items(), _ICONS, strict=True)
        ]
        names.show_rows(tuple(rows))
        names.selectionModel().currentRowChanged.connect(self._on_page)
        return names

    def _on_page(self, index: QModelIndex) -> None:
        self._pages.setCurrentIndex(index.row())

    def _fit(self) -> None:
        letter = self._theme.text_px("ui")
        self._names.setFixedHeight(self._names.height_for(len(_NAMES)))
        room = self.screen().availableGeometry()
        edge = self.frameGeometry().size() - self.geometry().size()
        # Before it is shown nobody knows how high its title will be.
        title = max(edge.height(), _TITLE)
        wide = min(_WIDE * letter, room.width() - edge.width())
        high = min(_HIGH * letter, room.height() - title)
        self.resize(wide, high)
        if self.isVisible():
            # Larger than it was, it may not hang over the edge.
            left = min(self.x(), room.right() + 1 - wide - edge.width())
            top = min(self.y(), room.bottom() + 1 - high - title)
            self.move(max(left, room.left()), max(top, room.top()))
        # On a small screen the pages need the room more than their names do.
        self._side.setFixedWidth(min(_SIDE * letter, round(wide * _SIDE_SHARE)))

    # -- down -----------------------------------------------------------------------------

    def set_settings(self, settings: Settings) -> None:
        self._settings = settings
        for page in self._editors:
            page.show_settings(settings)

    def open_page(self, name: PageName) -> None:
        self._names.setCurrentIndex(self._names.model().index(_NAMES.index(name), 0))
        self.show()
        self.raise_()
        self.activateWindow()

    def open_setting(self, page: PageName, name: str = "") -> None:
        """Open a page with the focus on the control of this object name, scrolled to."""
        self.open_page(page)
        control = self._pages.findChild(QWidget, name) if name else None
        if control is not None and control.isVisible():
            control.setFocus(Qt.FocusReason.ShortcutFocusReason)
            for area in self._pages.findChildren(QScrollArea):
                if area.isAncestorOf(control):
                    area.ensureWidgetVisible(control)

    def show_keys(self, provider: str = "") -> None:
        """Show where a key is entered, for this provider, or this server's address, if known."""
        self.open_page("models")
        if "://" in provider and key_owner(provider) == host_of(provider):
            self.models.server_form.select_server(self.models.typed_address(provider))
        elif provider:
            self.models.key_form.select_provider(key_owner(provider))
        else:
            self.models.key_form.setFocus(Qt.FocusReason.OtherFocusReason)

    def _on_changed(self, settings: Settings) -> None:
        # Every page holds its own copy: a change on one must not undo another's.
        self.set_settings(settings)
        self.settings_changed.emit(settings)
