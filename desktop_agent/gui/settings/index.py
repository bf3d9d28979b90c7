"""What the settings hold, by name: known before their window is made, which takes a while."""

from __future__ import annotations

from typing import Literal

import msgspec
from PySide6.QtCore import QCoreApplication

PageName = Literal["appearance", "models", "behaviour", "rules", "sandbox", "places", "about"]


class SettingEntry(msgspec.Struct, frozen=True):
    """One setting: the page it is on, its control's object name, and what it is called."""

    page: PageName
    control: str
    title: str


def page_titles() -> dict[PageName, str]:
    """Return what the pages are called, in their order."""
    return {
        "appearance": _tr("Appearance"),
        "models": _tr("Models and keys"),
        "behaviour": _tr("Behaviour"),
        "rules": _tr("Rules"),
        "sandbox": _tr("Sandbox"),
        "places": _tr("Places"),
        "about": _tr("About"),
    }


def setting_entries() -> tuple[SettingEntry, ...]:
    """Return every setting that can always be changed, in the order of the pages."""
    return tuple(
        SettingEntry(page, control, title)
        for page, settings in _settings().items()
        for control, title in settings
    )


def _settings() -> dict[PageName, tuple[tuple[str, str], ...]]:
    return {
        "appearance": (
            ("theme", _tr("Theme")),
            ("textScale", _tr("Text size")),
            ("reduceMotion", _tr("Reduce motion")),
        ),
        "models": (
            ("defaultModel", _tr("Model of new sessions")),
            ("addSubagentModel", _tr("Models that subagents may use unasked")),
        ),
        "behaviour": (
            ("ownInstructions", _tr("Your instructions")),
            ("defaultMode", _tr("Mode of new sessions")),
            ("maxSteps", _tr("Steps in one turn")),
            ("shellTimeout", _tr("Time for a command")),
            ("contextWindow", _tr("Context at most")),
            ("sendKey", _tr("Send a message with")),
            ("steerOnEnter", _tr("While the agent works, send means")),
            *_subagents(),
            ("connectTime", _tr("Waiting for a model: To connect")),
            ("firstByteTime", _tr("Waiting for a model: For the first word")),
            ("idleTime", _tr("Waiting for a model: Idle timeout")),
            ("retryTime", _tr("Waiting for a model: Total retry time")),
            ("maxRetries", _tr("Waiting for a model: Retries")),
        ),
        "sandbox": (("sandboxGpu", _tr("Graphics processor")),),
        "places": (("placeName", _tr("Add a place")),),
    }


def _subagents() -> tuple[tuple[str, str], ...]:
    return (
        ("hasSubagents", _tr("May start subagents")),
        ("maxAgents", _tr("Subagents: At the same time")),
        ("maxChildren", _tr("Subagents: Per agent")),
        ("maxDepth", _tr("Subagents: Nesting depth")),
        ("questionTimeout", _tr("Subagents: Time for an answer")),
        ("subagentSteps", _tr("Budget of a new subagent: Steps")),
        ("subagentCost", _tr("Budget of a new subagent: Cost")),
    )


def _tr(text: str) -> str:
    return QCoreApplication.translate("SettingIndex", text)
