"""The settings window: pages at the left, and every change takes effect at once."""

from __future__ import annotations

from typing import Literal, get_args

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QHBoxLayout,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from desktop_agent.core.approvals import Rule
from desktop_agent.core.faults import Fault
from desktop_agent.core.models import KeyInfo, ModelInfo
from desktop_agent.core.sandbox import SandboxState
from desktop_agent.core.settings import Settings
from desktop_agent.core.updates import UpdateAnswer
from desktop_agent.gui.kit.lists.filter_delegate import PickRow
from desktop_agent.gui.kit.lists.filter_list import FilterList
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.settings.about_page import AboutPage
from desktop_agent.gui.settings.models_page import ModelsPage
from desktop_agent.gui.settings.pages import AppearancePage, BehaviourPage
from desktop_agent.gui.settings.rules_page import RulesPage
from desktop_agent.gui.settings.sandbox_page import SandboxPage

PageName = Literal["appearance", "models", "behaviour", "rules", "sandbox", "about"]
_NAMES: tuple[PageName, ...] = get_args(PageName)
# In widths of the text size.
_SIDE, _WIDE, _HIGH = 15, 63, 48
_SIDE_SHARE = 0.37
_TITLE = 36
_ICONS = ("sun", "key", "settings", "shield-check", "shield", "info")


class SettingsDialog(QDialog):
    """Shows the pages; passes their signals on.

    Signals:
        settings_changed(Settings): one new value
        rule_deleted(Rule), rule_added(Rule): answered by a new list of rules
        check_requested(provider, api_base, key): answered by `set_check_result`
        key_entered(provider, key, where), key_deleted(provider): answered by `set_keys`
        models_requested: answered by `set_models`
        update_check_requested: answered by `set_update_answer`
        sandbox_check_requested: answered by `set_sandbox`
    """

    settings_changed = Signal(object)
    check_requested = Signal(str, str, str)
    key_entered = Signal(str, str, str)
    key_deleted = Signal(str)
    models_requested = Signal()
    rule_deleted = Signal(object)
    rule_added = Signal(object)
    update_check_requested = Signal()
    sandbox_check_requested = Signal()

    def __init__(self, theme: Theme, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._settings = settings
        self.setObjectName("settingsDialog")
        self.setWindowTitle(self.tr("Settings"))
        self._appearance = AppearancePage(theme, settings)
        self._models = ModelsPage(theme, settings)
        self._behaviour = BehaviourPage(theme, settings)
        self._rules = RulesPage(theme)
        self._sandbox = SandboxPage(theme)
        self._about = AboutPage(theme, settings)
        self._pages = QStackedWidget()
        for page in (
            self._appearance,
            self._models,
            self._behaviour,
            self._rules,
            self._sandbox,
            self._about,
        ):
            self._pages.addWidget(page)
        self._names = self._make_names()
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        side = QFrame()
        side.setObjectName("sidebar")
        self._side = side
        inner = QVBoxLayout(side)
        inner.setContentsMargins(8, 14, 8, 8)
        inner.addWidget(self._names)
        inner.addStretch(1)
        layout.addWidget(side)
        layout.addWidget(self._pages, 1)
        self.setMinimumSize(560, 400)
        theme.changed.connect(self._fit)
        self._fit()
        self._connect()

    def _connect(self) -> None:
        for page in (self._appearance, self._models, self._behaviour, self._about):
            page.changed.connect(self._on_changed)
        self._models.check_requested.connect(self.check_requested)
        self._models.key_entered.connect(self.key_entered)
        self._models.key_deleted.connect(self.key_deleted)
        self._models.models_requested.connect(self.models_requested)
        self._rules.rule_deleted.connect(self.rule_deleted)
        self._rules.rule_added.connect(self.rule_added)
        self._sandbox.check_requested.connect(self.sandbox_check_requested)
        self._about.update_check_requested.connect(self.update_check_requested)

    def _make_names(self) -> FilterList:
        titles = (
            self.tr("Appearance"),
            self.tr("Models and keys"),
            self.tr("Behaviour"),
            self.tr("Rules"),
            self.tr("Sandbox"),
            self.tr("About"),
        )
        names = FilterList(self._theme, self.tr("Pages"))
        names.setObjectName("settingsPages")
        rows = [
            PickRow(name, title, icon=icon)
            for name, title, icon in zip(_NAMES, titles, _ICONS, strict=True)
        ]
        names.show_rows(tuple(rows))
        names.selectionModel().currentChanged.connect(
            lambda index, _: self._pages.setCurrentIndex(index.row())
        )
        return names

    def _fit(self) -> None:
        """Take the room that the user's text size needs."""
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
        """Show these; nothing is emitted."""
        self._settings = settings
        for page in (self._appearance, self._models, self._behaviour, self._about):
            page.show_settings(settings)

    def set_keys(self, keys: tuple[KeyInfo, ...]) -> None:
        """Show whose keys are there."""
        self._models.set_keys(tuple(keys))

    def set_models(self, models: tuple[ModelInfo, ...]) -> None:
        """Know the models that can be chosen."""
        self._models.set_models(tuple(models))

    def set_rules(self, rules: tuple[Rule, ...]) -> None:
        """Show the approval rules."""
        self._rules.set_rules(tuple(rules))

    def set_sandbox(self, state: SandboxState | None) -> None:
        """Show whether commands are contained; None while it is not known."""
        self._sandbox.set_sandbox(state)

    def set_folder(self, folder: str) -> None:
        """Know the folder that is open, or none."""
        self._rules.set_folder(folder)

    def set_check_result(self, fault: Fault | None) -> None:
        """Tell whether the key or the address works."""
        self._models.set_check_result(fault)

    def set_can_update(self, can_update: bool) -> None:
        """Know whether this copy can ask for newer versions."""
        self._about.set_can_update(can_update)

    def set_update_answer(self, answer: UpdateAnswer) -> None:
        """Tell whether there is a newer version."""
        self._about.set_update_answer(answer)

    def set_has_keyring(self, has_keyring: bool) -> None:
        """Know whether this computer has a keyring."""
        self._models.set_has_keyring(has_keyring)

    def open_page(self, name: PageName) -> None:
        """Show a page, opening the window."""
        self._names.setCurrentIndex(self._names.model().index(_NAMES.index(name), 0))
        self.show()
        self.raise_()
        self.activateWindow()

    def show_keys(self, provider: str = "") -> None:
        """Show where a key is entered, for this provider if it is known."""
        self.open_page("models")
        self._models.key_form.select_provider(provider)

    def _on_changed(self, settings: Settings) -> None:
        # Every page holds its own copy: a change on one must not undo another's.
        self.set_settings(settings)
        self.settings_changed.emit(settings)
