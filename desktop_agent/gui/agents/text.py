"""The words of the tree of subagents, translated."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from desktop_agent.gui.agents.rows import AgentWords, RowState
from desktop_agent.gui.kit.stop_text import stop_words

translate = QCoreApplication.translate

# State icon and colour; a running row has a spinner in its place.
STATE_ICONS = {
    "queued": ("circle-dashed", "muted"),
    "waiting": ("circle-dot", "accent"),
    "needs_approval": ("shield-alert", "warn"),
    "needs_answer": ("message-circle-question-mark", "warn"),
    "paused": ("circle-pause", "muted"),
    "held": ("gauge", "warn"),
    "stopping": ("circle-stop", "warn"),
    "done": ("circle-check", "ok"),
    "failed": ("circle-x", "err"),
    "stopped": ("circle-slash", "subtle"),
    "over_budget": ("gauge", "subtle"),
}
CHIP_TONES = {
    "needs_approval": ("warnSoft", "warn"),
    "needs_answer": ("warnSoft", "warn"),
    "held": ("warnSoft", "warn"),
    "done": ("okSoft", "ok"),
    "failed": ("errSoft", "err"),
}


def agent_words() -> AgentWords:
    """Return the words in the person's language."""
    return AgentWords(
        states={
            "queued": translate("Agents", "queued"),
            "running": translate("Agents", "running"),
            "waiting": translate("Agents", "waiting for its subagents"),
            "needs_approval": translate("Agents", "needs your approval"),
            "needs_answer": translate("Agents", "needs an answer"),
            "paused": translate("Agents", "paused"),
            "held": translate("Agents", "budget reached"),
            "stopping": translate("Agents", "stopping"),
            "done": translate("Agents", "done"),
            "failed": translate("Agents", "failed"),
            "stopped": translate("Agents", "stopped"),
            "over_budget": translate("Agents", "ended at its budget"),
        },
        chips=_chips(),
        silent=translate("Agents", "silent {seconds} s"),
        tokens=translate("Agents", "{count} tokens"),
        seconds=translate("Agents", "{s} s"),
        minutes=translate("Agents", "{m} m {s} s"),
        hours=translate("Agents", "{h} h {m} m"),
        budget=translate("Agents", "{percent} % of its budget"),
        cost=translate("Agents", "${cost}"),
        waits=translate("Agents", "its subagents work"),
        ran=(
            translate("Agents", "before it ran any tools"),
            translate("Agents", "after 1 tool; side effects may exist"),
            translate("Agents", "after {count} tools; side effects may exist"),
        ),
        paces={
            "pausing": translate("Agents", "pausing…"),
            "finishing": translate("Agents", "wrapping up…"),
        },
        stops=stop_words(),
    )


def _chips() -> dict[RowState, str]:
    return {
        "queued": translate("Agents", "Queued"),
        "needs_approval": translate("Agents", "Needs approval"),
        "needs_answer": translate("Agents", "Needs answer"),
        "paused": translate("Agents", "Paused"),
        "held": translate("Agents", "Budget reached"),
        "stopping": translate("Agents", "Stopping…"),
        "done": translate("Agents", "Done"),
        "failed": translate("Agents", "Failed"),
        "stopped": translate("Agents", "Stopped"),
        "over_budget": translate("Agents", "Budget reached"),
    }
