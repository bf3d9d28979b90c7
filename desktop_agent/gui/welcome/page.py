"""The first-run page: a model, then a folder. Nothing here blocks, and all of it can wait."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QScrollArea, QStackedWidget, QVBoxLayout, QWidget

from desktop_agent.core.faults import Fault
from desktop_agent.core.models import KeyInfo, ModelInfo, ServerInfo
from desktop_agent.gui.kit.fitted_area import plain_area
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.welcome.folder_step import FolderStep
from desktop_agent.gui.welcome.model_step import ModelStep

_COLUMN = 640


class Welcome(QWidget):
    """Shows the first thing that is missing.

    Signals:
        probe_requested: look for servers, keys and models each time step one is shown;
            answered by `set_servers`, `set_keys`, `set_models`
        check_requested(provider, api_base, key): answered by `set_check_result`
        key_entered(provider, key, where): a key that works; for a typed server the provider
            is its address
        server_added(CustomServer): a server that answers
        models_requested: answered by `set_models`
        model_chosen(name, api_base): final
        folder_requested: open a folder dialog, answered by `set_folder`
        folder_chosen(path): final; the folder may have to be made first
    """

    probe_requested = Signal()
    check_requested = Signal(str, str, str)
    key_entered = Signal(str, str, str)
    server_added = Signal(object)
    models_requested = Signal()
    model_chosen = Signal(str, str)
    folder_requested = Signal()
    folder_chosen = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("welcome")
        self.setAccessibleName(self.tr("First steps"))
        self.models = ModelStep(theme)
        self.folder = FolderStep(theme)
        self._steps = QStackedWidget()
        self._steps.addWidget(_column(self.models))
        self._steps.addWidget(_column(self.folder))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._steps)
        step = self.models
        step.check_requested.connect(self.check_requested)
        step.key_entered.connect(self.key_entered)
        step.server_added.connect(self.server_added)
        step.models_requested.connect(self.models_requested)
        step.model_chosen.connect(self.model_chosen)
        self.folder.folder_requested.connect(self.folder_requested)
        self.folder.folder_chosen.connect(self.folder_chosen)
        self.folder.back_requested.connect(lambda: self.set_progress(""))

    def set_progress(self, model_title: str) -> None:
        """Show the step that comes first: without a model its choice, else the folder's."""
        self.folder.set_model(model_title)
        self._steps.setCurrentIndex(1 if model_title else 0)
        if model_title:
            self.folder.choose.setFocus(Qt.FocusReason.OtherFocusReason)
        elif self.isVisible():
            self._probe()

    @property
    def is_choosing_folder(self) -> bool:
        """Whether the model is chosen and the folder is not."""
        return self._steps.currentIndex() == 1

    def set_servers(self, servers: tuple[ServerInfo, ...]) -> None:
        """Show what runs on this computer."""
        self.models.set_servers(tuple(servers))

    def set_keys(self, keys: tuple[KeyInfo, ...]) -> None:
        """Show whose keys are there."""
        self.models.set_keys(tuple(keys))

    def set_models(self, models: tuple[ModelInfo, ...]) -> None:
        """Show the models of providers whose key is there."""
        self.models.set_models(tuple(models))

    def set_check_result(self, fault: Fault | None) -> None:
        """Tell whether the key or the address works."""
        self.models.set_check_result(fault)

    def set_places(self, has_keyring: bool, keeps_in_file: bool = False) -> None:
        """Know where keys can be kept on this computer."""
        self.models.set_places(has_keyring=has_keyring, keeps_in_file=keeps_in_file)

    def set_folder(self, path: str) -> None:
        """Take the folder from the dialog or a drop."""
        self.folder.set_folder(path)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self.is_choosing_folder:
            self._probe()

    def _probe(self) -> None:
        self.models.set_searching(True)
        self.probe_requested.emit()


def _column(content: QWidget) -> QScrollArea:
    """Return the content in a centred column that scrolls when the window is low."""
    content.setMaximumWidth(_COLUMN)
    holder = QWidget()
    layout = QHBoxLayout(holder)
    layout.setContentsMargins(24, 40, 24, 24)
    layout.addStretch(1)
    layout.addWidget(content, 1000)
    layout.addStretch(1)
    return plain_area(holder)
