"""Who asks for high contrast gets the system's own colours."""

from PySide6.QtGui import QColor, QPalette

from desktop_agent.gui.kit.theme import _contrasting


def test_soft_grounds_and_grey_text_give_way_to_the_systems_colours(theme):
    system = QPalette()
    system.setColor(QPalette.ColorRole.Base, QColor("#000000"))
    system.setColor(QPalette.ColorRole.Text, QColor("#ffff00"))
    named = {token: theme.color(token).name() for token in ("muted", "raised", "warnSoft", "line")}
    picked = _contrasting(named, system)
    assert picked["muted"] == picked["line"] == "#ffff00"
    assert picked["raised"] == picked["warnSoft"] == "#000000"
