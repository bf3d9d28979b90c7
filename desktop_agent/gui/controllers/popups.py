"""What opens over the window: made when first wanted, fed with answers from the engine's side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace
from PySide6.QtCore import Signal
from PySide6.QtGui import QAction

from desktop_agent.core.models import ModelInfo
from desktop_agent.core.providers import key_owner
from desktop_agent.gui.controllers.controller import Controller, WindowParts
from desktop_agent.gui.controllers.settings import SettingsController, open_checkup
from desktop_agent.gui.language_models.text import model_title, own_name
from desktop_agent.gui.state.session_state import AgentPage

if TYPE_CHECKING:
    from desktop_agent.gui.frame.command_palette import CommandPalette
    from desktop_agent.gui.kit.lists.filter_delegate import PickRow
    from desktop_agent.gui.language_models.picker import ModelPicker
    from desktop_agent.gui.transcript.view.view import TranscriptView
    from desktop_agent.gui.workspace.picker import WorkspacePicker


class PopupController(Controller):
    """Owns folder picker, model picker and command palette; each is loaded when first opened.

    Signals:
        folder_found(path): what came out of a dialog
        picker_made(WorkspacePicker): the folder picker, once
    """

    folder_found = Signal(str)
    picker_made = Signal(object)

    def __init__(self, parts: WindowParts, settings: SettingsController) -> None:
        super().__init__(parts)
        self._settings = settings
        self._models: tuple[ModelInfo, ...] = ()
        self._picker: WorkspacePicker | None = None
        self._model_picker: ModelPicker | None = None
        self._palette: CommandPalette | None = None
        self._session.settings_changed.connect(self._feed_folders)
        self._session.workspace_changed.connect(self._feed_folders)
        self._session.agent_shown.connect(self._on_agent_shown)
        self._pages.page_made.connect(self._on_page_made)
        self._frame.sidebar.workspace.clicked.connect(self.open_picker)
        self._frame.composer.model_picker_requested.connect(self.open_models)

    def _on_page_made(self, view: TranscriptView) -> None:
        view.fault_action.connect(self._act)

    def _act(self, action: str) -> None:
        """Do what a failed turn offers."""
        session = self._session
        if action == "edit_key":
            name, base = self._known.model_of(session.agent)
            self._settings.open_keys(base or key_owner(name or session.settings.model))
        elif action == "switch_model":
            self.open_models()
        elif action == "settings":
            self._settings.open_setting("models")
        else:
            session.tell(self._engine.resume)

    # -- folders -----------------------------------------------------------------------------

    def open_picker(self) -> None:
        picker = self._picker or self._make_picker()
        self._feed_folders()
        picker.open_below(self._frame.sidebar.workspace)
        picker.search.setFocus()

    def offer_folder(self, path: str) -> None:
        """Take a folder that was dropped; a risky one is asked about in the picker."""
        picker = self._picker or self._make_picker()
        if not picker.offer(path):
            self.open_picker()

    def browse(self) -> None:
        self._choose_folder(self.tr("Open folder"), self.folder_found.emit)

    def _make_picker(self) -> WorkspacePicker:
        from desktop_agent.gui.workspace.picker import WorkspacePicker

        self._picker = picker = WorkspacePicker(self._theme, self._frame.window())
        picker.folder_chosen.connect(self._session.open_folder)
        picker.extra.workspace_changed.connect(self._session.set_workspace)
        picker.recent_removed.connect(self._session.forget_folder)
        picker.machine.toggled.connect(self._set_machine_sandbox)
        picker.browse_requested.connect(self.browse)
        picker.extra.add_requested.connect(
            lambda: self._choose_folder(self.tr("Also allow this folder"), picker.extra.add)
        )
        self.picker_made.emit(picker)
        return picker

    def _set_machine_sandbox(self, is_on: bool) -> None:
        self._session.set(self._engine.set_machine_sandbox, is_on)

    def _choose_folder(self, title: str, then: Callable[[str], None]) -> None:
        from PySide6.QtWidgets import QFileDialog  # slow to load, and rarely wanted

        dialog = QFileDialog(self._frame.window(), title)
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        if self._session.workspace is not None:
            dialog.setDirectory(self._session.workspace.root)
        dialog.fileSelected.connect(then)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _feed_folders(self) -> None:
        if self._picker is not None:
            counts: dict[str, int] = {}
            for info in self._known.running():
                counts[info.workspace.root] = counts.get(info.workspace.root, 0) + 1
            recent = self._session.settings.recent_folders
            is_open = self._session.current is not None
            self._picker.machine.set_state(self._known.is_machine_sandbox if is_open else None)
            self._picker.set_state(self._session.workspace, recent, counts)

    # -- models ------------------------------------------------------------------------------

    def open_models(self) -> None:
        picker = self._model_picker or self._make_models()
        info, settings = self._session.info, self._session.settings
        name, base = (info.model, info.api_base) if info else (settings.model, settings.api_base)
        picker.set_favourites(settings.favourite_models)
        picker.set_models(self._models)
        picker.set_current(name, base)
        picker.set_loading()
        picker.open_at(self._frame.composer.bar.model)
        self._queries.ask(self._show_models, self._queries.catalog.models(settings))

    def _on_agent_shown(self, page: AgentPage) -> None:
        if not self._session.is_at_main:
            self.name_model(*self._known.model_of(page.agent_id))

    def name_model(self, name: str, api_base: str) -> None:
        """Say in the message box what the model is called."""
        composer = self._frame.composer
        for model in self._models:
            if (model.name, model.api_base) == (name, api_base):
                composer.set_model(model_title(model), model.has_images)
                return
        composer.set_model(own_name(name))

    def _make_models(self) -> ModelPicker:
        from desktop_agent.gui.language_models.picker import ModelPicker

        self._model_picker = picker = ModelPicker(self._theme, self._frame.window())
        picker.chosen.connect(self._on_model_chosen)
        picker.key_requested.connect(self._settings.open_keys)
        picker.settings_requested.connect(self._settings.open_keys)
        picker.favourites_changed.connect(self._on_favourites_changed)
        picker.check_requested.connect(self._check_model)
        return picker

    def _check_model(self, model: ModelInfo) -> None:
        open_checkup(self._theme, self._queries, model, self._frame.composer.bar.model)

    def _show_models(self, models: tuple[ModelInfo, ...]) -> None:
        self._models = models
        if self._model_picker is not None:
            self._model_picker.set_models(models)
        if self._session.info is not None:
            self.name_model(*self._known.model_of(self._session.agent))

    def _on_model_chosen(self, name: str, api_base: str) -> None:
        self.name_model(name, api_base)
        self._session.choose_model(name, api_base)

    def _on_favourites_changed(self, names: Sequence[str]) -> None:
        settings = replace(self._session.settings, favourite_models=tuple(names))
        self._session.apply_settings(settings)

    # -- commands ----------------------------------------------------------------------------

    def open_palette(self, actions: Sequence[QAction], *, with_choices: bool = True) -> None:
        """Open the list of all sessions, of these commands, and of what can be chosen."""
        if self._palette is None:
            from desktop_agent.gui.frame.command_palette import CommandPalette

            self._palette = CommandPalette(self._theme, self._frame.window())
            self._palette.session_chosen.connect(self._session.choose_session)
        sessions = self._known.sessions.values()
        newest = sorted(sessions, key=lambda info: info.updated_at, reverse=True)
        choices = self._offered() if with_choices else ()
        self._palette.open_over(self._frame.window(), actions, newest, choices)

    def _offered(self) -> tuple[PickRow, ...]:
        """Return what the palette offers to choose: mode, place, theme, settings, models."""
        from desktop_agent.gui.controllers.quick_choices import QuickChoices

        composer, sources = self._frame.composer, (self._session, self._settings)
        choices = QuickChoices(*sources, composer.bar.mode, self._begin_task)
        return choices.rows(self._models or self._used())

    def _begin_task(self, place: str) -> None:
        self._frame.composer.box.begin_task(place)
        self._frame.composer.focus_text()

    def _used(self) -> tuple[ModelInfo, ...]:
        """Return the models of the settings and of all sessions.

        Providers and servers are asked for theirs by the list of models alone.
        """
        settings = self._session.settings
        names = [(settings.model, settings.api_base)]
        names += [(info.model, info.api_base) for info in self._known.sessions.values()]
        unique = dict.fromkeys((name, base) for name, base in names if name)
        return tuple(ModelInfo(name, api_base=base) for name, base in unique)

    def open_shortcuts(self, actions: Sequence[QAction]) -> None:
        from desktop_agent.gui.frame.shortcuts_dialog import ShortcutsDialog, other_keys

        if self._palette is not None:
            self._palette.close()
        send, other = self.tr("Enter"), self.tr("Ctrl+Enter")
        if self._session.settings.send_with_ctrl_enter:
            send, other = other, self.tr("Ctrl+Shift+Enter")
        groups = other_keys(send=send, other=other)
        more = {self.tr("Stop"): self.tr("Esc, twice")}
        ShortcutsDialog(self._theme, actions, groups, self._frame.window(), more=more).open()
