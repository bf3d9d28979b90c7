"""Opens the settings and carries what they show and change over the bridge."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

import shiboken6
from PySide6.QtWidgets import QWidget

from desktop_agent.core.approvals import Rule
from desktop_agent.core.changes import UndoError
from desktop_agent.core.commands import KeyPlace
from desktop_agent.core.events import Event
from desktop_agent.core.faults import Fault
from desktop_agent.core.models import ModelCheckup, ModelInfo
from desktop_agent.core.network.places import Place, PlaceCheck
from desktop_agent.core.sandbox import SandboxState
from desktop_agent.core.settings import Settings
from desktop_agent.core.updates import UpdateAnswer
from desktop_agent.gui.bridge.bridge import Queries
from desktop_agent.gui.controllers.controller import Controller, WindowParts
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.state.session_state import Facet

if TYPE_CHECKING:
    from desktop_agent.gui.language_models.key_form import KeyForm
    from desktop_agent.gui.language_models.server_form import ServerForm
    from desktop_agent.gui.settings.dialog import SettingsDialog
    from desktop_agent.gui.settings.index import PageName

_Reach = Callable[[Place], Coroutine[Any, Any, PlaceCheck]]


class SettingsController(Controller):
    """One dialog at a time; it works on the settings as they are when it opens."""

    def __init__(self, parts: WindowParts) -> None:
        super().__init__(parts)
        self._dialog: SettingsDialog | None = None
        self._session.followed.connect(self._on_followed)
        sandbox = self._frame.composer.bar.sandbox
        sandbox.check_requested.connect(self._engine.check_sandbox)
        sandbox.fix_requested.connect(self._fix_sandbox)
        self._session.settings_changed.connect(self._follow)

    def open(self) -> None:
        dialog = self._dialog or self._make()
        dialog.rules.set_folder(self.root)
        dialog.sandbox.set_place(self._session.workspace, self._session.current)
        dialog.show()
        dialog.raise_()
        dialog.activateWindow()
        self._feed()

    def open_setting(self, page: PageName, name: str = "") -> None:
        """Open the settings at the control of this object name, or at the page's beginning."""
        self.open()
        if self._dialog is not None:
            self._dialog.open_setting(page, name)

    def open_keys(self, provider: str = "") -> None:
        """Open where the key of a provider, or of the server at an address, is entered."""
        self.open()
        if self._dialog is not None:
            self._dialog.show_keys(provider)

    def _on_followed(self, _: tuple[Event, ...], changed: Facet) -> None:
        if self._dialog is not None and Facet.SANDBOX in changed:
            self._dialog.sandbox.set_sandbox(self._known.sandbox)

    def _follow(self, settings: Settings) -> None:
        """Show settings that were changed elsewhere, such as the text size by a key."""
        if self._dialog is not None:
            self._dialog.set_settings(settings)

    def _make(self) -> SettingsDialog:
        # Nobody waits for the settings at the start of the app.
        from desktop_agent.gui.settings.dialog import SettingsDialog

        self._dialog = dialog = SettingsDialog(
            self._theme, self._session.settings, self._frame.window()
        )
        dialog.settings_changed.connect(self._session.apply_settings)
        dialog.models.key_entered.connect(self._keep_key)
        dialog.models.key_deleted.connect(self._delete_key)
        dialog.models.models_requested.connect(self._feed)
        dialog.models.check_requested.connect(partial(open_checkup, self._theme, self._queries))
        for form in (dialog.models.key_form, dialog.models.server_form):
            form.check_requested.connect(partial(self._check, form))
        dialog.rules.rule_deleted.connect(self._delete_rule)
        dialog.rules.rule_added.connect(self._add_rule)
        dialog.about.update_check_requested.connect(self._check_updates)
        dialog.sandbox.rule_deleted.connect(self._delete_rule)
        dialog.sandbox.rule_added.connect(self._add_rule)
        dialog.sandbox.contents_requested.connect(self._feed_sandbox)
        dialog.sandbox.cache_emptied.connect(self._feed_sandbox)
        dialog.sandbox.check_requested.connect(self._engine.check_sandbox)
        dialog.sandbox.fix_requested.connect(self._fix_sandbox)
        dialog.sandbox.set_sandbox(self._known.sandbox)
        dialog.places.check_requested.connect(partial(self._reach, self._queries.places.check))
        dialog.places.install_requested.connect(partial(self._reach, self._queries.places.install))
        dialog.undo.emptied.connect(self._empty_undo)
        dialog.finished.connect(self._on_finished)
        return dialog

    def _feed(self) -> None:
        self._queries.run(self._feed_after(), "settings")
        self._queries.run(self._feed_undo(), "what is kept for undo")

    async def _feed_after(self, change: Coroutine[Any, Any, object] | None = None) -> None:
        """Show what is known, when something was changed."""
        if change is not None:
            await change
        queries, settings = self._queries, self._session.settings
        rules = await queries.engine.rules()
        keys = await queries.keys.keys()
        can_update = await queries.updates.can_ask()
        if self._dialog is not None:
            self._dialog.rules.set_rules(rules)
            self._dialog.sandbox.set_rules(rules)
            self._dialog.models.set_keys(keys)
            self._dialog.about.set_can_update(can_update)
        has_keyring = await queries.keys.has_keyring()
        models = await queries.catalog.models(settings)
        if self._dialog is not None:
            self._dialog.models.set_has_keyring(has_keyring)
            self._dialog.models.set_models(models)

    def _feed_sandbox(self, emptied: str = "") -> None:
        self._queries.run(self._feed_sandbox_after(emptied), "settings")

    async def _feed_sandbox_after(self, emptied: str) -> None:
        """Show what is in the sandbox, after a cache was emptied if one is named."""
        engine = self._queries.engine
        if emptied:
            await engine.empty_cache(emptied)
        contents = await engine.sandbox_contents(self.root)
        if self._dialog is not None:
            self._dialog.sandbox.set_contents(contents)

    async def _feed_undo(self, emptied: str | None = None) -> None:
        """Show what is kept for undo, after a folder of it was emptied if one is named."""
        changes = self._queries.changes
        try:
            if emptied is not None:
                await changes.empty_undo(emptied)
            usage = await changes.undo_usage()
        except UndoError as error:
            self._queries.failed.emit(str(error))
            return
        if self._dialog is not None:
            self._dialog.undo.set_usage(usage)

    def _empty_undo(self, folder: str) -> None:
        self._queries.run(self._feed_undo(folder), "emptying what is kept for undo")

    def _check(self, form: KeyForm | ServerForm, provider: str, api_base: str, key: str) -> None:
        def show(fault: Fault | None) -> None:
            if shiboken6.isValid(form):  # it may be closed by now
                form.set_result(fault)

        self._queries.ask(show, self._queries.catalog.check(provider, api_base, key))

    def _reach(self, ask: _Reach, place: Place) -> None:
        def show(found: PlaceCheck) -> None:
            if self._dialog is not None:
                self._dialog.places.set_result(place, found)

        self._queries.ask(show, ask(place))

    def _check_updates(self) -> None:
        self._queries.ask(self._show_update, self._queries.updates.check())

    def _show_update(self, answer: UpdateAnswer) -> None:
        if self._dialog is not None:
            self._dialog.about.set_update_answer(answer)

    def _fix_sandbox(self, anchor: QWidget) -> None:
        open_sandbox_fix(self._theme, self._queries, self._known.sandbox, anchor)

    def _keep_key(self, provider: str, key: str, where: KeyPlace) -> None:
        change = self._queries.keys.set_key(provider, key, where)
        self._queries.run(self._feed_after(change), "keeping the key")

    def _delete_key(self, provider: str) -> None:
        change = self._queries.keys.delete_key(provider)
        self._queries.run(self._feed_after(change), "deleting the key")

    def _delete_rule(self, rule: Rule) -> None:
        self._engine.delete_rule(rule)
        self._feed()

    def _add_rule(self, rule: Rule) -> None:
        self._engine.add_rule(rule)
        self._feed()

    def _on_finished(self) -> None:
        if self._dialog is not None:
            self._dialog.deleteLater()
            self._dialog = None


def open_checkup(theme: Theme, queries: Queries, model: ModelInfo, anchor: QWidget) -> None:
    """Find out how a model does, which takes two requests to it, and show it above the anchor."""
    from desktop_agent.gui.language_models.checkup_popover import CheckupPopover  # rarely wanted

    popover = CheckupPopover(theme, model, anchor.window())
    popover.closed.connect(popover.deleteLater)
    popover.open_below(anchor, above=True)

    def show(found: ModelCheckup) -> None:
        if shiboken6.isValid(popover):
            popover.show_checkup(found)

    queries.ask(show, queries.catalog.examine(model.name, model.api_base))


def open_sandbox_fix(
    theme: Theme, queries: Queries, state: SandboxState | None, anchor: QWidget
) -> None:
    """Show the command that would mend the sandbox, and run it once the person agrees.

    What came of it and was not read there is told as a notice.
    """
    from desktop_agent.gui.composer.sandbox_fix import SandboxFixPopover  # rarely wanted

    command = state.command if state is not None else ()
    if not command:
        return
    popover = SandboxFixPopover(theme, command, anchor.window())
    popover.closed.connect(popover.deleteLater)

    def show(failed: str) -> None:
        if shiboken6.isValid(popover) and popover.isVisible():
            popover.show_result(failed)
        elif failed:
            queries.failed.emit(failed)

    popover.agreed.connect(lambda: queries.ask(show, queries.engine.fix_sandbox(command)))
    popover.open_at(anchor)
