"""What the window says of a folder that brings skills, instructions or roles along."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from PySide6.QtCore import QCoreApplication

from desktop_agent.core.skills import FolderTrust

translate = QCoreApplication.translate


def is_asking(trust: FolderTrust) -> bool:
    """Whether the user has something to decide: what is ignored stays so."""
    if not trust.brings or trust.is_ignored:
        return False
    return not trust.is_trusted or bool(trust.changed)


def banner_text(trust: FolderTrust) -> str:
    """Say what waits for the user's word."""
    if trust.is_refused:
        return meanwhile_text()
    if trust.is_trusted and trust.changed:
        if len(trust.changed) == 1:
            words = translate("Trust", "{what} changed since you trusted this folder.")
            return words.format(what=trust.changed[0])
        words = translate("Trust", "{n} things changed since you trusted this folder.")
        return words.format(n=len(trust.changed))
    words = translate("Trust", "This folder brings {what}. The agent follows them if you trust it.")
    return words.format(what=joined(trust.brings))


def meanwhile_text() -> str:
    """Say that what was looked at is not what is there now."""
    return translate("Trust", "This folder changed meanwhile; review it again.")


def state_text(trust: FolderTrust) -> str:
    """Say how a folder stands; empty when it brings nothing."""
    if not trust.brings:
        return ""
    if trust.is_ignored:
        return translate("Trust", "Ignored: its skills and instructions are not used.")
    if not trust.is_trusted:
        return translate("Trust", "Not trusted: its skills and instructions are not used.")
    if trust.changed:
        return translate("Trust", "Trusted; what changed since is not used.")
    return translate("Trust", "Trusted: its skills and instructions are used.")


def joined(words: Sequence[str]) -> str:
    """Return `a, b and c`."""
    if len(words) < 2:
        return "".join(words)
    both = translate("Trust", "{some} and {last}")
    return both.format(some=", ".join(words[:-1]), last=words[-1])


def folder_name(root: str) -> str:
    """Return a folder's own name."""
    return PurePath(root).name or root
