"""What the empty message box says."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

translate = QCoreApplication.translate


def idle_words() -> tuple[str, ...]:
    """Return the invitation to an agent at rest; the longest that fits is shown."""
    return (
        translate("Composer", "Ask for something to be done…   / for skills, @ for files"),
        translate("Composer", "Ask for something…"),
    )


def running_words(queue: str, steer: str) -> tuple[str, ...]:
    """Return what the two keys do while a turn is under way; the longest that fits is shown."""
    words = translate(
        "Composer", "{queue} queues for after this turn, {steer} steers at the next step"
    )
    brief = translate("Composer", "{queue}: queue · {steer}: steer")
    return words.format(queue=queue, steer=steer), brief.format(queue=queue, steer=steer)
