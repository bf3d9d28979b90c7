"""Settings: keys, servers, the model that new sessions begin with, those for subagents."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.core.models import KeyInfo, ModelInfo
from desktop_agent.core.providers import provider_title
from desktop_agent.core.settings import CustomServer, ListedModel, Settings
from desktop_agent.gui.kit.menu_button import MenuButton
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import IconButton, TextButton, column, named
from desktop_agent.gui.language_models.key_form import KeyForm
from desktop_agent.gui.language_models.picker import ModelPicker
from desktop_agent.gui.language_models.server_form import ServerForm
from desktop_agent.gui.language_models.text import model_group, model_hints, model_title
from desktop_agent.gui.settings.pages import SettingsPage
from desktop_agent.gui.settings.rows import SettingGroup, Switch, item_row


class ModelsPage(SettingsPage):
    """Default models, keys and servers.

    Signals:
        changed(Settings): one new value
        key_entered(provider, key, where), key_deleted(provider): answered by `set_keys`
        models_requested: answered by `set_models`
        check_requested(ModelInfo, QWidget): find out how a model does, shown at this widget
    """

    key_entered = Signal(str, str, str)
    key_deleted = Signal(str)
    models_requested = Signal()
    check_requested = Signal(object, object)

    def __init__(self, theme: Theme, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(settings, parent)
        self._theme = theme
        self._models: tuple[ModelInfo, ...] = ()
        self._has_keyring: bool | None = None
        self._picker: ModelPicker | None = None
        self._picks_for_subagents = False
        model = self._make_choices()
        self._listed = SettingGroup(theme, self.tr("Models for subagents"))
        self._keys = SettingGroup(theme, self.tr("Keys"))
        self._servers = SettingGroup(theme, self.tr("Servers by their address"))
        self._make_forms()
        self._in_file = Switch("keepKeysInFile")
        self._places = SettingGroup(theme)
        self._places.add_row(
            self.tr("Keep keys in a file that only I can read"),
            self.tr("This computer has no keyring; without this, keys are kept until you quit."),
            self.bind("keep_keys_in_file", self._in_file),
        )
        self._places.hide()
        self.set_keys(())
        self.fill(model, self._listed, self._keys, self._places, self._servers)
        self._show_listed()

    def _make_choices(self) -> SettingGroup:
        self._default = named(MenuButton(self._theme, "sparkles"), "defaultModel")
        self._default.clicked.connect(lambda: self._open_picker(self._default))
        self._add = TextButton(self._theme, self.tr("Add…"), "plus", name="addSubagentModel")
        self._add.clicked.connect(lambda: self._open_picker(self._add))
        group = SettingGroup(self._theme)
        group.add_row(
            self.tr("Model of new sessions"),
            self.tr("Each session can change it at the message box"),
            self._default,
        )
        group.add_row(
            self.tr("Models that subagents may use unasked"),
            self.tr(
                "Besides the model of the agent that starts them. For any other you are asked, "
                "with its address and price."
            ),
            self._add,
        )
        return group

    def _make_forms(self) -> None:
        self.key_form = KeyForm(self._theme, asks_place=False)
        self.key_form.accepted.connect(self.key_entered)
        self.server_form = ServerForm(self._theme)
        self.server_form.accepted.connect(self._on_server_accepted)

    def show_settings(self, settings: Settings) -> None:
        """Show the chosen model and the servers."""
        is_new = settings.servers != self._settings.servers or not self._servers.row_count()
        is_new_list = settings.subagent_models != self._settings.subagent_models
        super().show_settings(settings)
        if is_new:
            self._show_servers()
        if is_new_list:
            self._show_listed()
        self._show_default()
        self._show_places()

    def set_keys(self, keys: tuple[KeyInfo, ...]) -> None:
        _refill(self._keys, list(map(self._key_row, keys)), self.key_form)

    def set_models(self, models: tuple[ModelInfo, ...]) -> None:
        self._models = tuple(models)
        if self._picker is not None:
            self._picker.set_models(self._models)
        self._show_default()
        self._show_listed()

    def set_has_keyring(self, has_keyring: bool) -> None:
        """Know whether this computer has a keyring."""
        self._has_keyring = has_keyring
        self._show_places()

    def typed_address(self, api_base: str) -> str:
        """Return a server's address as the user typed it: its models may be at one below that."""
        typed = (server.api_base for server in self._settings.servers)
        return next((one for one in typed if api_base.startswith(one)), api_base)

    # -- rows -----------------------------------------------------------------------------

    def _key_row(self, key: KeyInfo) -> QWidget:
        origin = {
            "environment": self.tr("From the environment: {variable}"),
            "keyring": self.tr("In this computer's keyring"),
            "session": self.tr("Kept until you quit"),
            "file": self.tr("In a file that only you can read"),
        }[key.origin].format(variable=key.variable)
        delete = None
        if key.origin != "environment":
            name = self.tr("Delete the key of {provider}")
            name = name.format(provider=provider_title(key.provider))
            delete = IconButton(self._theme, "trash-2", name, size=14, name="deleteKey")
            delete.clicked.connect(lambda: self.key_deleted.emit(key.provider))
        return item_row(self._theme, "key", provider_title(key.provider), origin, delete)

    def _show_servers(self) -> None:
        lines: list[QWidget] = []
        for server in self._settings.servers:
            name = self.tr("Remove {server}").format(server=server.title)
            remove = IconButton(self._theme, "trash-2", name, size=14, name="removeServer")
            remove.clicked.connect(lambda _=False, one=server: self._remove_server(one))
            lines.append(item_row(self._theme, "server", server.title, server.api_base, remove))
        _refill(self._servers, lines, self.server_form)

    def _show_listed(self) -> None:
        self._listed.clear()
        for listed in self._settings.subagent_models:
            model = self._known(listed.name, listed.api_base)
            name = self.tr("Take {model} off the list").format(model=listed.name)
            remove = IconButton(self._theme, "trash-2", name, size=14, name="removeSubagentModel")
            remove.clicked.connect(lambda _=False, one=listed: self._remove_listed(one))
            where = listed.api_base or model_group(model)
            detail = " · ".join(filter(None, (listed.name, where, model_hints(model))))
            icon = "server" if listed.api_base else "sparkles"
            title = model_title(model)
            self._listed.add_widget(item_row(self._theme, icon, title, detail, remove))
        self._listed.setVisible(bool(self._settings.subagent_models))

    def _known(self, name: str, api_base: str) -> ModelInfo:
        """Return the model as the catalog tells of it, else by its name alone."""
        found = (m for m in self._models if (m.name, m.api_base) == (name, api_base))
        return next(found, ModelInfo(name, api_base=api_base))

    def _show_default(self) -> None:
        settings = self._settings
        name = settings.model.rpartition("/")[2]
        for model in self._models:
            if (model.name, model.api_base) == (settings.model, settings.api_base):
                name = f"{model_title(model)} · {model_group(model)}"
        self._default.set_text(name or self.tr("Choose a model"))
        words = self.tr("Model of new sessions: {name}")
        self._default.setAccessibleName(words.format(name=name or self.tr("none")))

    def _show_places(self) -> None:
        self._places.setVisible(self._has_keyring is False)
        keeps = self._settings.keep_keys_in_file
        self.key_form.set_places(has_keyring=self._has_keyring, keeps_in_file=keeps)

    # -- requests -------------------------------------------------------------------------

    def _open_picker(self, anchor: QWidget) -> None:
        self._picks_for_subagents = anchor is self._add
        if self._picker is None:
            self._picker = ModelPicker(self._theme, self.window())
            self._picker.chosen.connect(self._on_model_chosen)
            self._picker.favourites_changed.connect(partial(self._on_chosen, "favourite_models"))
            self._picker.key_requested.connect(self.key_form.select_provider)
            self._picker.settings_requested.connect(self.key_form.setFocus)
            self._picker.check_requested.connect(self._on_check)
        self._picker.set_favourites(self._settings.favourite_models)
        if self._picks_for_subagents:
            self._picker.set_current("")
        else:
            self._picker.set_current(self._settings.model, self._settings.api_base)
        self._picker.set_models(self._models)
        self._picker.set_loading()
        self.models_requested.emit()
        self._picker.open_at(anchor)

    def _on_check(self, model: ModelInfo) -> None:
        self.check_requested.emit(model, self._add if self._picks_for_subagents else self._default)

    def _on_model_chosen(self, name: str, api_base: str) -> None:
        if self._picks_for_subagents:
            self._list(ListedModel(name, api_base))
            return
        self._change(replace(self._settings, model=name, api_base=api_base))

    def _list(self, model: ListedModel) -> None:
        others = [one for one in self._settings.subagent_models if one != model]
        self._change(replace(self._settings, subagent_models=(*others, model)))

    def _remove_listed(self, model: ListedModel) -> None:
        kept = tuple(one for one in self._settings.subagent_models if one != model)
        self._change(replace(self._settings, subagent_models=kept))

    def _on_server_accepted(self, server: CustomServer, key: str) -> None:
        if key:
            self.key_entered.emit(server.api_base, key, self.key_form.place)
        others = tuple(one for one in self._settings.servers if one.api_base != server.api_base)
        self._change(replace(self._settings, servers=(*others, server)))

    def _remove_server(self, server: CustomServer) -> None:
        kept = tuple(one for one in self._settings.servers if one != server)
        self._change(replace(self._settings, servers=kept))

    def _change(self, settings: Settings) -> None:
        self.show_settings(settings)
        self.changed.emit(settings)


def _refill(group: SettingGroup, lines: list[QWidget], form: QWidget) -> None:
    """Show these lines and the form below them; the focus stays in the group if it was there."""
    focused = group.window().focusWidget()
    # None in a window that was never shown, whatever the stubs say.
    is_here = bool(focused) and group.isAncestorOf(focused)
    is_in_form = is_here and form.isAncestorOf(focused)
    form.setParent(None)
    group.clear()
    for line in lines:
        group.add_widget(line)
    group.add_widget(_padded(form))
    form.show()
    if is_here:
        (focused if is_in_form else form).setFocus(Qt.FocusReason.OtherFocusReason)


def _padded(widget: QWidget) -> QWidget:
    holder = QWidget()
    column(widget, spacing=-1, edges=(0, 12, 0, 12), within=holder)
    return holder
