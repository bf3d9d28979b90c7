"""The word at the foot of the sidebar: which provider answers, and whether it did."""

from __future__ import annotations

from PySide6.QtCore import QUrl

from desktop_agent.core.events import Event, NoteDelivered, RetryScheduled, StepEnded, TurnEnded
from desktop_agent.core.models import DEMO_MODEL
from desktop_agent.core.providers import provider_title
from desktop_agent.core.settings import Settings
from desktop_agent.gui.controllers.controller import Controller, WindowParts
from desktop_agent.gui.state.session_state import AgentPage


class ProviderStatus(Controller):
    """Follows the session that is shown."""

    def __init__(self, parts: WindowParts) -> None:
        super().__init__(parts)
        self._provider = ""
        session = self._session
        self._show(self.tr("No model chosen yet"), "circle", "subtle")
        self._follow_settings(session.settings)
        session.settings_changed.connect(self._follow_settings)
        session.shown.connect(self._on_shown)
        session.followed.connect(self._on_followed)

    def _follow_settings(self, settings: Settings) -> None:
        """Before there is a session, the model is the one that it would get."""
        if self._session.info is None:
            self._set_model(settings.model)

    def _on_shown(self, page: AgentPage) -> None:
        self._set_model(page.info.model, page.info.api_base)

    def _on_followed(self, events: tuple[Event, ...]) -> None:
        for event in filter(self._known.is_about_shown, events):
            self._apply(event)

    def _set_model(self, model: str, api_base: str = "") -> None:
        """Start anew for a model; one of a server of the user's own goes by its host."""
        self._provider = "" if model == DEMO_MODEL else _provider(model, api_base)
        if model == DEMO_MODEL:
            self._show(self.tr("Demo model · works offline"), "circle-check", "ok")
        elif model:
            self._show(self._provider, "circle", "subtle")

    def _apply(self, event: Event) -> None:
        if not self._provider:
            return
        if isinstance(event, NoteDelivered | StepEnded):
            self._say(self.tr("{provider} · connected"), "circle-check", "ok")
        elif isinstance(event, RetryScheduled):
            self._say(self.tr("{provider} · trying again"), "refresh-cw", "warn")
        elif isinstance(event, TurnEnded) and event.fault and event.fault.kind != "storage":
            texts = {
                "auth": self.tr("{provider} · key refused"),
                "refused": self.tr("{provider} · can’t be reached"),
                "timeout": self.tr("{provider} · no answer"),
                "billing": self.tr("{provider} · account needs attention"),
            }
            text = texts.get(event.fault.kind, self.tr("{provider} · last request failed"))
            self._say(text, "circle-x", "err")

    def _say(self, text: str, icon: str, token: str) -> None:
        self._show(text.format(provider=self._provider), icon, token)

    def _show(self, text: str, icon: str, token: str) -> None:
        self._frame.sidebar.set_connection(text, icon, token)


def _provider(model: str, api_base: str) -> str:
    name = model.partition("/")[0]
    # Any server that speaks OpenAI's interface has models of that prefix.
    if api_base and name == "openai":
        return QUrl(api_base).authority() or api_base
    return provider_title(name.removesuffix("_chat"))
