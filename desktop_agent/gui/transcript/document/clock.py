"""Times of day, as the user's locale writes them."""

from __future__ import annotations

import time

from PySide6.QtCore import QLocale, QTime


def clock_text(at: float) -> str:
    """Return a time of day, such as `07:12`."""
    if at <= 0:
        return ""
    local = time.localtime(at)
    return QLocale().toString(QTime(local.tm_hour, local.tm_min), QLocale.FormatType.ShortFormat)
