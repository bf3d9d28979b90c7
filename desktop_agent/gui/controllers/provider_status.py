"""The line at the foot of the sidebar: where what is typed goes, and whether it was answered.

It is a promise about privacy: always the address and the model of the agent that is shown.
"""

from __future__ import annotations

from PySide6.QtCore import QUrl

from desktop_agent.core.events import Event, NoteDelivered, RetryScheduled, StepEnded, TurnEnded
from desktop_agent.core.ids import AgentId
from desktop_agent.core.models import DEMO_MODEL
from desktop_agent.core.providers import provider_title
from desktop_agent.gui.controllers.controller import Controller, WindowParts
from desktop_agent.gui.language_models.text import own_name


class ProviderStatus(Controller):
    """Follows the agent that is shown, and what its model answers to whichever agent."""

    def __init__(self, parts: WindowParts) -> None:
        super().__init__(parts)
        self._model = ("", "")
        session = self._session
        self._show(self.tr("No model chosen yet"), "circle", "subtle")
        for changed in (session.settings_changed, session.agent_shown, session.setup_needed):
            changed.connect(self._follow_model)
        session.followed.connect(self._on_followed)
        self._follow_model()

    def _on_followed(self, events: tuple[Event, ...]) -> None:
        self._follow_model()
        for event in filter(self._known.is_about_shown, events):
            self._apply(event)

    def _follow_model(self) -> None:
        """Start anew for another model. Before there is a session it is the one it would get."""
        settings, session = self._session.settings, self._session
        model = self._known.model_of(session.agent) if session.info is not None else ("", "")
        model = model if model[0] else (settings.model, settings.api_base)
        if model == self._model:
            return
        self._model = model
        if model[0] == DEMO_MODEL:
            self._show(self.tr("Demo model · works offline"), "circle-check", "ok")
        elif model[0]:
            self._show(f"{_place(*model)} · {own_name(model[0])}", "circle", "subtle")
        else:
            self._show(self.tr("No model chosen yet"), "circle", "subtle")

    def _is_answered_there(self, agent_id: AgentId) -> bool:
        return self._known.model_of(agent_id) == self._model

    def _apply(self, event: Event) -> None:
        if not isinstance(event, NoteDelivered | StepEnded | RetryScheduled | TurnEnded):
            return
        if self._model[0] in ("", DEMO_MODEL) or not self._is_answered_there(event.agent_id):
            return
        if isinstance(event, NoteDelivered | StepEnded):
            self._say(self.tr("{place} · {model} · connected"), "circle-check", "ok")
        elif isinstance(event, RetryScheduled):
            self._say(self.tr("{place} · trying again · {model}"), "refresh-cw", "warn")
        elif event.fault and event.fault.kind != "storage":
            texts = {
                "auth": self.tr("{place} · key refused · {model}"),
                "refused": self.tr("{place} · can’t be reached · {model}"),
                "timeout": self.tr("{place} · no answer · {model}"),
                "billing": self.tr("{place} · account needs attention · {model}"),
            }
            text = texts.get(event.fault.kind, self.tr("{place} · last request failed · {model}"))
            self._say(text, "circle-x", "err")

    def _say(self, text: str, icon: str, token: str) -> None:
        name, api_base = self._model
        self._show(text.format(place=_place(name, api_base), model=own_name(name)), icon, token)

    def _show(self, text: str, icon: str, token: str) -> None:
        self._frame.sidebar.set_connection(text, icon, token)


def _place(model: str, api_base: str) -> str:
    """Return the address that was given, else whose the model is."""
    if api_base:
        return QUrl(api_base).authority() or api_base
    return provider_title(model.partition("/")[0].removesuffix("_chat"))
