"""Feeds the first-run page and takes its results: a model, then a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QStackedWidget

from desktop_agent.core.commands import KeyPlace
from desktop_agent.core.models import DEMO_MODEL
from desktop_agent.core.settings import CustomServer
from desktop_agent.gui.bridge.requests import Queries
from desktop_agent.gui.controllers.session import SessionController
from desktop_agent.gui.kit.theme import Theme


class WelcomeController(QObject):
    """Shows the page for what is missing. `browse_requested` asks for a folder dialog."""

    browse_requested = Signal()

    def __init__(
        self, theme: Theme, stack: QStackedWidget, queries: Queries, flow: SessionController
    ) -> None:
        super().__init__(stack)
        self._theme = theme
        self._stack = stack
        self._queries = queries
        self._flow = flow
        self._page: Any = None

    def show(self) -> None:
        """Bring the page to the front, at the first thing that is missing."""
        if self._page is None:
            self._page = self._make()
        self._stack.setCurrentWidget(self._page)
        self._page.set_progress(model_words(self._flow.settings.model))

    def take_folder(self, path: str) -> bool:
        """Give the page a folder that was found or dropped; False while it is not shown."""
        if self._page is None or not self._page.isVisible() or not self._page.is_choosing_folder:
            return False
        self._page.set_folder(path)
        return True

    def _make(self) -> Any:
        # Most starts never need the page.
        from desktop_agent.gui.welcome.page import Welcome

        page = Welcome(self._theme, self._stack)
        self._stack.addWidget(page)
        page.probe_requested.connect(self._probe)
        page.models_requested.connect(self._ask_models)
        page.check_requested.connect(self._check)
        page.key_entered.connect(self._keep_key)
        page.server_added.connect(self._add_server)
        page.model_chosen.connect(self._on_model_chosen)
        page.folder_requested.connect(self.browse_requested)
        page.folder_chosen.connect(self._on_folder_chosen)
        return page

    def _probe(self) -> None:
        self._queries.run(self._look_around(), "first run")

    async def _look_around(self) -> None:
        queries = self._queries
        self._page.set_servers(await queries.catalog.find_servers())
        self._page.set_keys(await queries.keys.keys())
        has_keyring = await queries.keys.has_keyring()
        self._page.set_places(has_keyring, self._flow.settings.keep_keys_in_file)
        self._page.set_models(await queries.catalog.models(self._flow.settings))

    def _ask_models(self) -> None:
        models = self._queries.catalog.models(self._flow.settings)
        self._queries.ask(self._page.set_models, models)

    def _check(self, provider: str, api_base: str, key: str) -> None:
        check = self._queries.catalog.check(provider, api_base, key)
        self._queries.ask(self._page.set_check_result, check)

    def _keep_key(self, provider: str, key: str, where: KeyPlace) -> None:
        self._queries.run(self._keep(provider, key, where), "keeping the key")

    async def _keep(self, provider: str, key: str, where: KeyPlace) -> None:
        queries = self._queries
        await queries.keys.set_key(provider, key, where)
        keys = await queries.keys.keys()
        self._page.set_keys(keys)
        self._page.set_models(await queries.catalog.models(self._flow.settings))

    def _add_server(self, server: CustomServer) -> None:
        known = tuple(one for one in self._flow.settings.servers if one != server)
        self._flow.apply_settings(replace(self._flow.settings, servers=(*known, server)))
        self._ask_models()

    def _on_model_chosen(self, name: str, api_base: str) -> None:
        self._flow.choose_model(name, api_base)
        if self._flow.workspace is None:
            self._page.set_progress(model_words(name))

    def _on_folder_chosen(self, path: str) -> None:
        folder = Path(path)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            text = self.tr("The folder can’t be made: {why}.")
            self._queries.failed.emit(text.format(why=error.strerror))
            return
        self._flow.open_folder(str(folder))


def model_words(name: str) -> str:
    """Return a model's name for people; nothing for no model."""
    return "Demo model" if name == DEMO_MODEL else name.rpartition("/")[2]
