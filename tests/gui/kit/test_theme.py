"""The look follows the person: dark or light, large or small, still or moving."""

import json
import os
import subprocess
import sys

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QComboBox, QLabel, QLineEdit, QPushButton, QWidget

from desktop_agent import paths
from desktop_agent.gui.kit.search_field import SearchField
from desktop_agent.gui.kit.theme import contrasting
from desktop_agent.gui.kit.widgets import ElidedLabel, IconButton, Spinner

_FONTS_OF_THEIR_OWN = {"win32": "windows", "darwin": "cocoa"}


def luminance(color):
    def linear(value):
        return value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4

    return (
        0.2126 * linear(color.redF())
        + 0.7152 * linear(color.greenF())
        + 0.0722 * linear(color.blueF())
    )


def contrast(first, second):
    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_on_every_ground(theme, scheme):
    theme.configure(scheme)
    for ground in ("window", "canvas", "raised", "sunken"):
        assert contrast(theme.color("fg"), theme.color(ground)) >= 7
        assert contrast(theme.color("muted"), theme.color(ground)) >= 4.5
        assert contrast(theme.color("line3"), theme.color(ground)) >= 3
    assert contrast(theme.color("onAccent"), theme.color("accentFill")) >= 4.5


@pytest.mark.parametrize(
    ("base", "text", "highlight", "link"),
    [
        ("#202020", "#ffffff", "#8ee3f0", "#75e9fc"),  # Aquatic
        ("#fffaef", "#3d3d3d", "#903909", "#1c5e75"),  # Desert
        ("#2d3236", "#ffffff", "#a1bfde", "#70ebde"),  # Dusk
        ("#000000", "#ffff00", "#101010", "#000000"),  # of one's own
        ("#ffffff", "#000000", "#308cc6", "#0000ff"),  # Fusion
    ],
)
def test_text_can_be_read_in_any_contrast_theme(base, text, highlight, link):
    role, system = QPalette.ColorRole, QPalette()
    for one, color in zip(
        (role.Base, role.Text, role.Highlight, role.Link),
        (base, text, highlight, link),
        strict=True,
    ):
        system.setColor(one, QColor(color))
    schemes = json.loads(paths.resource("theme.json").read_text("utf-8"))["color"]
    found = {token: QColor(color) for token, color in contrasting(schemes, system).items()}
    assert (found["canvas"], found["fg"]) == (QColor(base), QColor(text))
    assert found["raised"] == found["warnSoft"] == QColor(base), "soft grounds give way"
    assert found["muted"] == found["line"] == QColor(text), "so does grey"
    for ground in ("window", "canvas", "raised", "sunken", "sel", "active", "found", "hover"):
        for ink in ("fg", "muted", "subtle"):
            assert contrast(found[ink], found[ground]) >= 4.5
    assert contrast(found["sel"], found["canvas"]) >= 1.5
    for ink in ("accent", "err", "ok", "warn", "c_com", "delFg"):
        assert contrast(found[ink], found["canvas"]) >= 4


def test_larger_text_makes_controls_larger(theme, qtbot):
    button = QPushButton("Go")
    qtbot.addWidget(button)
    button.show()
    before = button.sizeHint().height()
    theme.configure("light", 200)
    button.ensurePolished()
    assert button.sizeHint().height() > before
    assert theme.text_px("ui") == 26
    assert theme.size("row") == 64


_FONTS = """
from PySide6.QtWidgets import QApplication
from desktop_agent.gui.kit.theme import Theme
app = QApplication(["app", "-platform", "{platform}", "-style", "fusion"])
theme = Theme(app)
kinds = ("QMenu", "QAbstractItemView", "QMessageBox", "QTipLabel")
print(*{{QApplication.font(kind).pixelSize() == theme.text_px("ui") for kind in kinds}})
"""


@pytest.mark.skipif(sys.platform not in _FONTS_OF_THEIR_OWN, reason="they have the app's there")
def test_menus_lists_and_messages_have_the_font_of_the_app():
    """A first style sheet brings back the system's, which grow with no text size of ours."""
    code = _FONTS.format(platform=_FONTS_OF_THEIR_OWN[sys.platform])
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.stdout.strip() == "True", ran.stderr


def test_an_explicit_font_survives_the_style_sheet(theme, qtbot):
    label = QLabel("Title")
    qtbot.addWidget(label)
    label.setFont(theme.font("h1", "semibold"))
    label.show()
    assert label.font().pixelSize() == theme.text_px("h1")


@pytest.mark.parametrize("make", [QLineEdit, QPushButton, QComboBox])
def test_the_focus_can_be_seen(theme, qtbot, make):
    window = QWidget()
    qtbot.addWidget(window)
    control = make(window)
    control.resize(120, 40)
    with qtbot.waitExposed(window):
        window.show()
    window.activateWindow()
    control.clearFocus()
    plain = control.grab().toImage()
    control.setFocus()
    qtbot.waitFocus(control)
    assert control.grab().toImage() != plain


def test_every_icon_can_be_drawn(theme):
    for path in sorted(paths.resource("icons").glob("*.svg")):
        image = theme.pixmap(path.stem, "fg", 16).toImage()
        assert any(image.pixelColor(x, y).alpha() for x in range(16) for y in range(16)), path.name


def test_nothing_turns_when_motion_is_off(theme, qtbot):
    spinner = Spinner(theme)
    qtbot.addWidget(spinner)
    spinner.show()
    theme.pulse.findChild(QTimer).timeout.emit()
    assert theme.pulse.angle == 0.0
    assert theme.pulse.is_still
    theme.configure("light", 100, False)
    with qtbot.waitSignal(theme.pulse.ticked):
        pass
    assert not theme.pulse.is_still


def test_a_shortened_text_can_still_be_read_whole(theme, qtbot):
    label = ElidedLabel("A rather long name of a folder")
    qtbot.addWidget(label)
    label.resize(60, 20)
    label.show()
    assert label.text().endswith("…")
    assert label.toolTip() == "A rather long name of a folder"
    assert label.accessibleName() == "A rather long name of a folder"


def test_buttons_and_fields_have_names_for_screen_readers(theme, qtbot):
    button = IconButton(theme, "settings", "Settings")
    field = SearchField(theme, "Search sessions")
    for widget in (button, field):
        qtbot.addWidget(widget)
    assert button.accessibleName() == "Settings"
    assert field.accessibleName() == "Search sessions"
    inner = [one.accessibleName() for one in field.findChildren(type(button).__mro__[1])]
    assert all(inner)


PROGRAM = """
import os
from PySide6.QtWidgets import QApplication, QCheckBox, QStyle, QStyleOptionButton
from desktop_agent.gui.kit.theme import Theme

app = QApplication([])
theme = Theme(app)
theme.configure("light")
box = QCheckBox()
box.setChecked(True)
image = box.grab().toImage()
option = QStyleOptionButton()
box.initStyleOption(option)
mark = box.style().subElementRect(QStyle.SubElement.SE_CheckBoxIndicator, option, box)
mark.adjust(4, 4, -4, -4)
ground = theme.color("accentFill").rgb()
rows = range(mark.top(), mark.bottom())
places = [(x, y) for x in range(mark.left(), mark.right()) for y in rows]
print(sum(image.pixel(*place) != ground for place in places), len(places), flush=True)
os._exit(9)
"""


@pytest.mark.parametrize("home", ["home", "a 'home' (mine) 100%"])
def test_a_window_that_is_killed_leaves_nothing_behind_and_its_marks_are_seen(tmp_path, home):
    place = tmp_path / "tmp"
    place.mkdir()
    own = {"DESKTOP_AGENT_HOME": str(tmp_path / home)} | dict.fromkeys(
        ("TMPDIR", "TEMP", "TMP"), str(place)
    )
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env={**os.environ, **own}, capture_output=True, text=True)
    assert done.returncode == 9, done.stderr
    drawn, room = map(int, done.stdout.split())
    assert 5 < drawn < room
    assert list(place.iterdir()) == []


def test_spinners_are_as_large_as_icons_beside_text_of_any_size(theme, qtbot):
    spinner = Spinner(theme, 16)
    qtbot.addWidget(spinner)
    theme.configure("light", 200)
    assert spinner.width() == theme.icon_px(16) == 32
    theme.configure("light", 100)
    assert spinner.width() == 16
