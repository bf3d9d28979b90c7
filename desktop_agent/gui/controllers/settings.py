"""Opens the settings and carries what they show and change over the bridge."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.core.approvals import Rule
from desktop_agent.core.commands import KeyPlace
from desktop_agent.core.faults import Fault
from desktop_agent.core.sandbox import SandboxState
from desktop_agent.core.settings import Settings
from desktop_agent.core.updates import UpdateAnswer
from desktop_agent.gui.bridge.requests import Queries
from desktop_agent.gui.controllers.session import SessionController
from desktop_agent.gui.kit.theme import Theme


class SettingsController(QObject):
    """One dialog at a time; it works on the settings as they are when it opens."""

    rule_deleted = Signal(object)
    rule_added = Signal(object)
    sandbox_check_requested = Signal()

    def __init__(
        self, theme: Theme, window: QWidget, queries: Queries, flow: SessionController
    ) -> None:
        super().__init__(window)
        self._theme = theme
        self._window = window
        self._queries = queries
        self._flow = flow
        self._dialog: Any = None
        self._sandbox: SandboxState | None = None

    def open(self) -> None:
        """Show the settings."""
        if self._dialog is None:
            self._dialog = self._make()
        workspace = self._flow.workspace
        self._dialog.set_folder(workspace.root if workspace else "")
        self._dialog.show()
        self._dialog.raise_()
        self._dialog.activateWindow()
        self._queries.run(self._feed(), "settings")

    def open_keys(self, provider: str = "") -> None:
        """Show where keys are entered, for this provider."""
        self.open()
        self._dialog.show_keys(provider)

    def _make(self) -> Any:
        # Nobody waits for the settings at the start of the app.
        from desktop_agent.gui.settings.dialog import SettingsDialog

        dialog = SettingsDialog(self._theme, self._flow.settings, self._window)
        dialog.settings_changed.connect(self._flow.apply_settings)
        dialog.key_entered.connect(self._keep_key)
        dialog.key_deleted.connect(self._delete_key)
        dialog.rule_deleted.connect(self._delete_rule)
        dialog.rule_added.connect(self._add_rule)
        dialog.check_requested.connect(self._check)
        dialog.models_requested.connect(self._ask_models)
        dialog.update_check_requested.connect(self._check_updates)
        dialog.sandbox_check_requested.connect(self.sandbox_check_requested)
        dialog.set_sandbox(self._sandbox)
        dialog.finished.connect(self._on_finished)
        return dialog

    async def _feed(self) -> None:
        queries, settings = self._queries, self._flow.settings
        rules = await queries.engine.rules()
        keys = await queries.keys.keys()
        can_update = await queries.updates.can_ask()
        if self._dialog is not None:
            self._dialog.set_rules(rules)
            self._dialog.set_keys(keys)
            self._dialog.set_can_update(can_update)
        has_keyring = await queries.keys.has_keyring()
        models = await queries.catalog.models(settings)
        if self._dialog is not None:
            self._dialog.set_has_keyring(has_keyring)
            self._dialog.set_models(models)

    def _check(self, provider: str, api_base: str, key: str) -> None:
        self._queries.ask(self._tell_check, self._queries.catalog.check(provider, api_base, key))

    def _tell_check(self, fault: Fault | None) -> None:
        if self._dialog is not None:
            self._dialog.set_check_result(fault)

    def _check_updates(self) -> None:
        self._queries.ask(self._tell_update, self._queries.updates.check())

    def _tell_update(self, answer: UpdateAnswer) -> None:
        if self._dialog is not None:
            self._dialog.set_update_answer(answer)

    def _ask_models(self) -> None:
        self._queries.run(self._feed(), "settings")

    def _keep_key(self, provider: str, key: str, where: KeyPlace) -> None:
        change = self._queries.keys.set_key(provider, key, where)
        self._queries.run(self._change_keys(change), "keeping the key")

    def _delete_key(self, provider: str) -> None:
        change = self._queries.keys.delete_key(provider)
        self._queries.run(self._change_keys(change), "deleting the key")

    async def _change_keys(self, change: Awaitable[object]) -> None:
        await change
        await self._feed()

    def _delete_rule(self, rule: Rule) -> None:
        self.rule_deleted.emit(rule)
        self._queries.run(self._feed(), "settings")

    def _add_rule(self, rule: Rule) -> None:
        self.rule_added.emit(rule)
        self._queries.run(self._feed(), "settings")

    def set_sandbox(self, state: SandboxState | None) -> None:
        """Know whether commands are contained."""
        self._sandbox = state
        if self._dialog is not None:
            self._dialog.set_sandbox(state)

    def follow(self, settings: Settings) -> None:
        """Show settings that were changed elsewhere, such as the text size by a key."""
        if self._dialog is not None:
            self._dialog.set_settings(settings)

    def _on_finished(self) -> None:
        if self._dialog is not None:
            self._dialog.deleteLater()
            self._dialog = None
