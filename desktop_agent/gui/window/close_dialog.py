"""What closing the window means while agents work."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QMessageBox, QWidget

Choice = Literal["tray", "quit", "cancel"]


def ask_before_closing(parent: QWidget, running: int, *, has_tray: bool) -> Choice:
    """Ask what to do with the work that goes on. Closing the question is *Cancel*."""
    box = make_question(parent, running, has_tray=has_tray)
    box.exec()
    clicked = box.clickedButton() or box.escapeButton()
    return clicked.property("choice")


def make_question(parent: QWidget, running: int, *, has_tray: bool) -> QMessageBox:
    """Return the question; each button's property `choice` says what it means."""
    box = QMessageBox(parent)
    box.setObjectName("closeQuestion")
    box.setIcon(QMessageBox.Icon.NoIcon)
    box.setWindowTitle(_tr("Quit?"))
    if running == 1:
        box.setText(_tr("An agent is still working."))
    else:
        box.setText(_tr("{n} agents are still working.").format(n=running))
    box.setInformativeText(
        _tr("If you stop now, what is done so far is kept and you can continue later.")
    )
    role = QMessageBox.ButtonRole
    if has_tray:
        tray = box.addButton(_tr("Keep working in the tray"), role.AcceptRole)
        tray.setProperty("choice", "tray")
    stop = box.addButton(_tr("Stop and quit"), role.DestructiveRole)
    stop.setProperty("choice", "quit")
    cancel = box.addButton(_tr("Cancel"), role.RejectRole)
    cancel.setProperty("choice", "cancel")
    box.setDefaultButton(cancel)
    box.setEscapeButton(cancel)
    return box


def _tr(text: str) -> str:
    return QCoreApplication.translate("Closing", text)
