"""The first-run page: a model, then a folder. Nothing here blocks, and all of it can wait."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QScrollArea, QStackedWidget, QWidget

from desktop_agent.gui.kit.fitted_area import plain_area
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import column, row
from desktop_agent.gui.welcome.folder_step import FolderStep
from desktop_agent.gui.welcome.model_step import ModelStep

_COLUMN = 640


class Welcome(QWidget):
    """Shows the first thing that is missing; what the steps `models` and `folder` request is
    connected there.

    Signals:
        probe_requested: look for servers, keys and models each time step one is shown;
            answered by `set_servers`, `set_keys`, `set_models` of `models`
    """

    probe_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("welcome")
        self.setAccessibleName(self.tr("First steps"))
        self.models = ModelStep(theme)
        self.folder = FolderStep(theme)
        self._steps = QStackedWidget()
        self._steps.addWidget(_column(self.models))
        self._steps.addWidget(_column(self.folder))
        column(self._steps, spacing=-1, within=self)
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
        return self._steps.currentIndex() == 1

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
    row(None, (content, 1000), None, spacing=-1, edges=(24, 40, 24, 24), within=holder)
    return plain_area(holder)
