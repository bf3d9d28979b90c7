"""What opens over the window: made when first wanted, fed with answers from the engine's side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace
from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from desktop_agent.core.ids import SessionId
from desktop_agent.core.models import ModelInfo
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.settings import Settings
from desktop_agent.gui.bridge.requests import Queries
from desktop_agent.gui.controllers.session import SessionController
from desktop_agent.gui.controllers.settings import SettingsController
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.language_models.text import model_title, own_name


class PopupController(QObject):
    """Owns folder picker, model picker and command palette; each is loaded when first opened.

    `folder_found` gives what came out of a dialog; `folder_chosen` one that is settled;
    `picker_made` the folder picker, once.
    """

    folder_chosen = Signal(str)
    folder_found = Signal(str)
    workspace_changed = Signal(object)
    recent_removed = Signal(str)
    model_chosen = Signal(str, str)
    model_titled = Signal(str, object)
    session_chosen = Signal(str)
    picker_made = Signal(object)

    def __init__(
        self,
        theme: Theme,
        window: QWidget,
        queries: Queries,
        flow: SessionController,
        settings_window: SettingsController,
    ) -> None:
        super().__init__(window)
        self._theme = theme
        self._window = window
        self._queries = queries
        self._flow = flow
        self._settings_window = settings_window
        self._models: tuple[ModelInfo, ...] = ()
        self._picker: Any = None
        self._model_picker: Any = None
        self._palette: Any = None
        flow.settings_changed.connect(self._on_settings_changed)
        flow.workspace_changed.connect(lambda _: self._feed_folders(()))

    # -- folders -----------------------------------------------------------------------------

    def open_picker(self, anchor: QWidget, running: Sequence[SessionInfo]) -> None:
        """Open the folder picker at its button."""
        picker = self._folder_picker()
        self._feed_folders(running)
        picker.open_below(anchor)
        picker.search.setFocus()

    def offer_folder(self, anchor: QWidget, path: str, running: Sequence[SessionInfo]) -> None:
        """Take a folder that was dropped; a risky one is asked about in the picker."""
        if not self._folder_picker().offer(path):
            self.open_picker(anchor, running)

    def browse(self) -> None:
        """Let the person find a folder on the disk."""
        self._choose_folder(self.tr("Open folder"), self.folder_found.emit)

    def _folder_picker(self) -> Any:
        if self._picker is None:
            from desktop_agent.gui.workspace.picker import WorkspacePicker

            self._picker = WorkspacePicker(self._theme, self._window)
            self._picker.folder_chosen.connect(self.folder_chosen)
            self._picker.extra.workspace_changed.connect(self.workspace_changed)
            self._picker.recent_removed.connect(self.recent_removed)
            self._picker.browse_requested.connect(self.browse)
            self._picker.extra.add_requested.connect(self._browse_extra)
            self.picker_made.emit(self._picker)
        return self._picker

    def _browse_extra(self) -> None:
        if self._picker is not None:
            self._choose_folder(self.tr("Also allow this folder"), self._picker.extra.add)

    def _choose_folder(self, title: str, then: Callable[[str], None]) -> None:
        from PySide6.QtWidgets import QFileDialog  # dear, and rarely wanted

        dialog = QFileDialog(self._window, title)
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        if self._flow.workspace is not None:
            dialog.setDirectory(self._flow.workspace.root)
        dialog.fileSelected.connect(then)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _feed_folders(self, running: Sequence[SessionInfo]) -> None:
        if self._picker is not None:
            counts: dict[str, int] = {}
            for info in running:
                counts[info.workspace.root] = counts.get(info.workspace.root, 0) + 1
            recent = self._flow.settings.recent_folders
            self._picker.set_state(self._flow.workspace, recent, counts)

    # -- models ------------------------------------------------------------------------------

    def open_models(self, anchor: QWidget) -> None:
        """Open the list of models; providers and servers are asked anew."""
        picker = self._models_picker()
        info = self._flow.info
        settings = self._flow.settings
        name, base = (info.model, info.api_base) if info else (settings.model, settings.api_base)
        picker.set_favourites(settings.favourite_models)
        picker.set_models(self._models)
        picker.set_current(name, base)
        picker.set_loading()
        picker.open_at(anchor)
        self._queries.ask(self._take_models, self._queries.catalog.models(settings))

    def name_model(self, name: str, api_base: str) -> None:
        """Tell the composer what the model is called, and whether it takes pictures."""
        for model in self._models:
            if (model.name, model.api_base) == (name, api_base):
                self.model_titled.emit(model_title(model), model.has_images)
                return
        self.model_titled.emit(own_name(name), None)

    def _models_picker(self) -> Any:
        if self._model_picker is None:
            from desktop_agent.gui.language_models.picker import ModelPicker

            self._model_picker = ModelPicker(self._theme, self._window)
            self._model_picker.chosen.connect(self._on_model_chosen)
            self._model_picker.key_requested.connect(self._settings_window.open_keys)
            self._model_picker.settings_requested.connect(self._settings_window.open)
            self._model_picker.favourites_changed.connect(self._on_favourites_changed)
        return self._model_picker

    def _take_models(self, models: tuple[ModelInfo, ...]) -> None:
        self._models = models
        if self._model_picker is not None:
            self._model_picker.set_models(models)
        if self._flow.info is not None:
            self.name_model(self._flow.info.model, self._flow.info.api_base)

    def _on_model_chosen(self, name: str, api_base: str) -> None:
        self.name_model(name, api_base)
        self.model_chosen.emit(name, api_base)

    def _on_favourites_changed(self, names: Sequence[str]) -> None:
        settings = replace(self._flow.settings, favourite_models=tuple(names))
        self._flow.apply_settings(settings)

    def _on_settings_changed(self, settings: Settings) -> None:
        if self._picker is not None and self._picker.isVisible():
            self._feed_folders(())

    # -- commands ----------------------------------------------------------------------------

    def open_palette(
        self, actions: Sequence[QAction], sessions: Mapping[SessionId, SessionInfo]
    ) -> None:
        """Open the list of all commands and sessions."""
        if self._palette is None:
            from desktop_agent.gui.frame.command_palette import CommandPalette

            self._palette = CommandPalette(self._theme, self._window)
            self._palette.session_chosen.connect(self.session_chosen)
        newest = sorted(sessions.values(), key=lambda info: info.updated_at, reverse=True)
        self._palette.open_over(self._window, actions, newest)

    def open_shortcuts(self, actions: Sequence[QAction]) -> None:
        """Show every key there is."""
        from desktop_agent.gui.frame.shortcut_names import other_keys
        from desktop_agent.gui.frame.shortcuts_dialog import ShortcutsDialog

        if self._palette is not None:
            self._palette.close()
        send, other = self.tr("Enter"), self.tr("Ctrl+Enter")
        if self._flow.settings.send_with_ctrl_enter:
            send, other = other, self.tr("Ctrl+Shift+Enter")
        groups = other_keys(send=send, other=other)
        more = {self.tr("Stop"): self.tr("Esc, twice")}
        ShortcutsDialog(self._theme, actions, groups, self._window, more=more).open()
