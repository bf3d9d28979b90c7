"""What the command palette offers besides commands: mode, theme, model, and every setting."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication

from desktop_agent.core.models import ModelInfo
from desktop_agent.core.settings import Settings
from desktop_agent.gui.composer.mode_button import ModeButton
from desktop_agent.gui.controllers.session import SessionController
from desktop_agent.gui.controllers.settings import SettingsController
from desktop_agent.gui.kit.lists.filter_delegate import PickRow
from desktop_agent.gui.language_models.text import can_work, model_group, model_title
from desktop_agent.gui.settings.index import page_titles, setting_entries


class QuickChoices:
    """Makes rows under headings; the `value` of a row is called when it is picked."""

    def __init__(
        self,
        session: SessionController,
        settings: SettingsController,
        mode: ModeButton,
        begin_task: Callable[[str], None],
    ) -> None:
        """`begin_task` puts what has a subagent work at a place before what is typed already."""
        self._begin_task = begin_task
        self._session = session
        self._settings = settings
        self._mode = mode

    def rows(self, models: Iterable[ModelInfo]) -> tuple[PickRow, ...]:
        """Return all choices; of the models those that can be used as they are."""
        return (
            *_under(_tr("Mode"), self._modes()),
            *_under(_tr("Run on"), self._places()),
            *_under(_tr("Theme"), self._themes()),
            *_under(_tr("Settings"), self._pages()),
            *_under(_tr("Model"), self._models(models)),
        )

    def _modes(self) -> tuple[PickRow, ...]:
        if self._session.info is None:
            return ()
        return tuple(
            PickRow(
                f"mode {mode}",
                _tr("Mode: {mode}").format(mode=title),
                icon=icon,
                is_current=mode == self._mode.mode,
                value=partial(self._mode.choose, mode),
            )
            for mode, title, icon in self._mode.choices()
        )

    def _places(self) -> tuple[PickRow, ...]:
        if self._session.info is None:
            return ()
        return tuple(
            PickRow(
                f"run on {one.name}",
                _tr("Run on {place}…").format(place=one.name),
                icon="server",
                tag=one.target,
                value=partial(self._begin_task, one.name),
            )
            for one in self._session.settings.places
        )

    def _themes(self) -> tuple[PickRow, ...]:
        looks = (
            ("system", _tr("As the system")),
            ("light", _tr("Light")),
            ("dark", _tr("Dark")),
        )
        settings = self._session.settings
        return tuple(
            PickRow(
                f"theme {look}",
                _tr("Theme: {theme}").format(theme=title),
                icon="sun",
                is_current=look == settings.theme,
                value=partial(self._change, theme=look),
            )
            for look, title in looks
        )

    def _pages(self) -> tuple[PickRow, ...]:
        titles, opened = page_titles(), self._settings.open_setting
        pages = [
            PickRow(
                f"page {page}",
                _tr("Settings: {page}").format(page=title),
                icon="settings",
                value=partial(opened, page),
            )
            for page, title in titles.items()
        ]
        found = [
            PickRow(
                f"setting {one.control}",
                one.title,
                icon="settings",
                tag=_tr("Settings: {page}").format(page=titles[one.page]),
                value=partial(opened, one.page, one.control),
            )
            for one in setting_entries()
        ]
        return (*pages, *found)

    def _models(self, models: Iterable[ModelInfo]) -> tuple[PickRow, ...]:
        info, settings = self._session.info, self._session.settings
        current = (info.model, info.api_base) if info else (settings.model, settings.api_base)
        return tuple(
            PickRow(
                f"model {one.name}\n{one.api_base}",
                _tr("Model: {model}").format(model=model_title(one)),
                icon="server" if one.api_base else "sparkles",
                tag=model_group(one),
                is_current=(one.name, one.api_base) == current,
                value=partial(self._session.choose_model, one.name, one.api_base),
            )
            for one in models
            if (one.is_ready or one.api_base) and can_work(one)
        )

    def _change(self, **fields: object) -> None:
        changed: Settings = replace(self._session.settings, **fields)
        self._session.apply_settings(changed)


def _under(title: str, rows: tuple[PickRow, ...]) -> tuple[PickRow, ...]:
    return (PickRow(f"#choice {title}", title, is_heading=True), *rows) if rows else ()


def _tr(text: str) -> str:
    return QCoreApplication.translate("QuickChoices", text)
