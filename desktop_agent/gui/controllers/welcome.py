"""Feeds the first-run page and takes its results: a model, then a folder."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace
from PySide6.QtCore import Signal

from desktop_agent.core.commands import KeyPlace
from desktop_agent.core.models import DEMO_MODEL
from desktop_agent.core.settings import CustomServer
from desktop_agent.gui.controllers.controller import Controller, WindowParts

if TYPE_CHECKING:
    from desktop_agent.gui.language_models.key_form import KeyForm
    from desktop_agent.gui.language_models.server_form import ServerForm
    from desktop_agent.gui.welcome.model_step import ModelStep
    from desktop_agent.gui.welcome.page import Welcome


class WelcomeController(Controller):
    """Shows the page for what is missing.

    Signals:
        browse_requested: open a folder dialog, answered by `take_folder`
    """

    browse_requested = Signal()

    def __init__(self, parts: WindowParts) -> None:
        super().__init__(parts)
        self._page: Welcome | None = None

    def show(self) -> None:
        """Bring the page to the front, at the first thing that is missing."""
        page = self._page or self._make()
        self._frame.stack.setCurrentWidget(page)
        page.set_progress(_model_text(self._session.settings.model))

    def take_folder(self, path: str) -> bool:
        """Give the page a folder that was found or dropped; False while it is not shown."""
        page = self._page
        if page is None or not page.isVisible() or not page.is_choosing_folder:
            return False
        page.folder.set_folder(path)
        return True

    def _make(self) -> Welcome:
        # Most starts never need the page.
        from desktop_agent.gui.welcome.page import Welcome

        self._page = page = Welcome(self._theme, self._frame.stack)
        self._frame.stack.addWidget(page)
        step = page.models
        page.probe_requested.connect(partial(self._probe, step))
        step.models_requested.connect(partial(self._ask_models, step))
        for form in (step.key_form, step.server_form):
            form.check_requested.connect(partial(self._check, form))
        step.key_entered.connect(partial(self._keep_key, step))
        step.server_added.connect(self._add_server)
        step.model_chosen.connect(partial(self._on_model_chosen, page))
        page.folder.folder_requested.connect(self.browse_requested)
        page.folder.folder_chosen.connect(self._on_folder_chosen)
        return page

    def _probe(self, step: ModelStep) -> None:
        self._queries.run(self._look_around(step), "first run")

    async def _look_around(self, step: ModelStep) -> None:
        queries = self._queries
        step.set_servers(await queries.catalog.find_servers())
        step.set_keys(await queries.keys.keys())
        has_keyring = await queries.keys.has_keyring()
        step.key_form.set_places(
            has_keyring=has_keyring, keeps_in_file=self._session.settings.keep_keys_in_file
        )
        step.set_models(await queries.catalog.models(self._session.settings))

    def _ask_models(self, step: ModelStep) -> None:
        self._queries.ask(step.set_models, self._queries.catalog.models(self._session.settings))

    def _check(self, form: KeyForm | ServerForm, provider: str, api_base: str, key: str) -> None:
        self._queries.ask(form.set_result, self._queries.catalog.check(provider, api_base, key))

    def _keep_key(self, step: ModelStep, provider: str, key: str, where: KeyPlace) -> None:
        self._queries.run(self._keep(step, provider, key, where), "keeping the key")

    async def _keep(self, step: ModelStep, provider: str, key: str, where: KeyPlace) -> None:
        queries = self._queries
        await queries.keys.set_key(provider, key, where)
        step.set_keys(await queries.keys.keys())
        step.set_models(await queries.catalog.models(self._session.settings))

    def _add_server(self, server: CustomServer) -> None:
        settings = self._session.settings
        known = tuple(one for one in settings.servers if one != server)
        self._session.apply_settings(replace(settings, servers=(*known, server)))

    def _on_model_chosen(self, page: Welcome, name: str, api_base: str) -> None:
        self._session.choose_model(name, api_base)
        if self._session.workspace is None:
            page.set_progress(_model_text(name))

    def _on_folder_chosen(self, path: str) -> None:
        folder = Path(path)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            text = self.tr("The folder can’t be made: {why}.")
            self._queries.failed.emit(text.format(why=error.strerror))
            return
        self._session.open_folder(str(folder))


def _model_text(name: str) -> str:
    return "Demo model" if name == DEMO_MODEL else name.rpartition("/")[2]
