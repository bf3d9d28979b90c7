"""What the window knows of the engine's side: enough to start it, call it and end it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from desktop_agent.core.commands import (
    EngineSide,
    KeyStore,
    ModelCatalog,
    PlaceSetup,
    SessionFiles,
    SettingsStore,
    SkillLibrary,
    UpdateCheck,
)
from desktop_agent.core.events import Event

Emit = Callable[[Event], None]


class Backend(Protocol):
    """What runs on the engine thread."""

    @property
    def engine(self) -> EngineSide: ...
    @property
    def skills(self) -> SkillLibrary: ...
    @property
    def keys(self) -> KeyStore: ...
    @property
    def catalog(self) -> ModelCatalog: ...
    @property
    def files(self) -> SessionFiles: ...
    @property
    def updates(self) -> UpdateCheck: ...
    @property
    def places(self) -> PlaceSetup: ...
    @property
    def settings(self) -> SettingsStore: ...

    async def close(self) -> None: ...


Compose = Callable[[Emit], Awaitable[Backend]]
Part = Callable[[Backend], object]


class BridgeClosed(Exception):
    """The query can't be answered any more: the engine is gone."""
