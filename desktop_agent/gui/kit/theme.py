"""Colours, type, icons and motion of the window; follows the system or the user's choice."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from PySide6.QtCore import QByteArray, QObject, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QIcon, QPainter, QPalette, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication

from desktop_agent import paths
from desktop_agent.gui.kit.spinner import SpinnerClock
from desktop_agent.gui.kit.stylesheet import build_stylesheet

_WEIGHTS = {"regular": 400, "medium": 500, "semibold": 600, "bold": 700}
_FIRST_FONTS = ("Inter-Regular.otf", "Inter-Medium.otf", "Inter-SemiBold.otf")
_LATER_FONTS = ("Inter-Italic.otf", "JetBrainsMono-Regular.ttf", "JetBrainsMono-Bold.ttf")
# Set on an application that was made with this style: setting it takes Qt a moment.
HAS_STYLE = "hasFusionStyle"
# Heights that hold a line of text grow with the user's text size, and so does the column of
# text: a line holds as many words in any size.
_GROWING = {
    *("row", "row2", "session_row", "section_row", "control", "diff_line", "header", "send"),
    "transcript_max",
}
# These take a part of what the words in them take.
_WIDENING = {"sidebar", "right", "center_min", "page_min"}
_SCHEMES = {"light": Qt.ColorScheme.Light, "dark": Qt.ColorScheme.Dark}
_MAX_PIXMAPS = 600
# The least contrast of text with its ground, as WCAG counts it.
_READABLE = 4.5
_TOLD_APART = 1.5
# Of the ink, in the ground of what is selected where the system's colour for that can't be used.
_TINT = 0.3


class Theme(QObject):
    """The one source of look. Given to each widget; emits `changed` after a new look is set.

    `is_hurried` leaves out the fonts that no empty window needs, until `load_fonts`.
    """

    changed = Signal()

    def __init__(self, app: QApplication, *, is_hurried: bool = False) -> None:
        super().__init__(app)
        self._app = app
        # Any: JSON of our own.
        self._tokens: dict[str, Any] = json.loads(paths.resource("theme.json").read_text("utf-8"))
        self._scheme = "system"
        self._text_scale: int = 100
        self._reduced_motion: bool = False
        self._icons = str(paths.resource("icons"))
        self._colors: dict[str, QColor] = {}
        self._fonts: dict[tuple[str, str, bool], QFont] = {}
        self._pixmaps: dict[tuple[str, str, int, float], QPixmap] = {}
        self._blanks: dict[int, QIcon] = {}
        # Not in the system's temporary folder: who is killed would leave them there.
        self._images = paths.images_dir()
        self.pulse = SpinnerClock(self, self._tokens["motion"])
        self._later_fonts = _LATER_FONTS
        _load(_FIRST_FONTS)
        if not is_hurried:
            self.load_fonts()
        if not app.property(HAS_STYLE):
            app.setStyle("Fusion")
        # Both wrappers are kept: the inner one dies with the outer one's Python object.
        self._hints = app.styleHints()
        self._contrast = self._hints.accessibility()
        self._hints.colorSchemeChanged.connect(self._on_system_changed)
        self._contrast.contrastPreferenceChanged.connect(self._apply)
        self._apply()

    def configure(
        self, scheme: str = "system", text_scale: int = 100, reduce_motion: bool = False
    ) -> None:
        """Follow the user's settings: `system`, `light` or `dark`, and a percentage."""
        wanted = (scheme, text_scale, reduce_motion)
        if wanted == (self._scheme, self._text_scale, self._reduced_motion):
            return
        self._scheme, self._text_scale, self._reduced_motion = wanted
        self._hints.setColorScheme(_SCHEMES.get(scheme, Qt.ColorScheme.Unknown))
        self._apply()

    def load_fonts(self) -> None:
        """Load the fonts that were left out; harmless when repeated."""
        names, self._later_fonts = self._later_fonts, ()
        _load(names)

    @property
    def is_dark(self) -> bool:
        """Whether text is lighter than its ground."""
        return self._colors["fg"].lightness() > self._colors["canvas"].lightness()

    @property
    def _wants_dark(self) -> bool:
        if self._scheme != "system":
            return self._scheme == "dark"
        return self._hints.colorScheme() == Qt.ColorScheme.Dark

    @property
    def is_high_contrast(self) -> bool:
        return self._contrast.contrastPreference() == Qt.ContrastPreference.HighContrast

    def color(self, token: str) -> QColor:
        """Return a colour by its token, such as `muted`; unknown tokens raise KeyError."""
        return self._colors[token]

    def font(self, size: str = "ui", weight: str = "regular", mono: bool = False) -> QFont:
        """Return a font by the names of the type scale (`caption` … `h1`), the caller's own."""
        found = self._fonts.get((size, weight, mono))
        if found is None:
            found = self._fonts[size, weight, mono] = self._make_font(size, weight, mono=mono)
        return QFont(found)

    def _make_font(self, size: str, weight: str, *, mono: bool) -> QFont:
        if mono:
            self.load_fonts()
        font = QFont()
        font.setFamilies(self._tokens["type"]["family"]["mono" if mono else "ui"])
        font.setPixelSize(self.text_px(size))
        font.setWeight(QFont.Weight(_WEIGHTS[weight]))
        font.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
        return font

    def text_px(self, size: str) -> int:
        """Return a size of the type scale in pixels, at the user's text size."""
        return max(8, round(self._tokens["type"]["px"][size] * self._text_scale / 100))

    def space(self, name: str) -> int:
        """Return a distance by its name, `xxs` to `xxl`."""
        return int(self._tokens["space"][name])

    def radius(self, name: str) -> int:
        """Return a corner radius: `chip`, `ctl`, `card` or `composer`."""
        return int(self._tokens["radius"][name])

    def size(self, name: str) -> int:
        """Return a measure by its name; heights of rows and controls follow the text size."""
        pixels = int(self._tokens["size"][name])
        if name in _WIDENING and self._text_scale > 100:
            return round(pixels * (1 + (self._text_scale - 100) / 250))
        if name in _GROWING and self._text_scale > 100:
            return round(pixels * self._text_scale / 100)
        return pixels

    def window_default(self) -> tuple[int, int]:
        """Return the size of a window that was never resized."""
        width, height = self._tokens["size"]["window_default"]
        return int(width), int(height)

    def icon_px(self, size: int) -> int:
        """Return an icon's size beside text of the user's size."""
        return round(size * max(100, self._text_scale) / 100)

    def icon(self, name: str, token: str = "muted", size: int = 0) -> QIcon:
        """Return a tinted icon, sharp on this screen; of the size in menus if none is given."""
        icon = QIcon()
        for ratio in {1.0, self._app.devicePixelRatio()}:
            icon.addPixmap(self.pixmap(name, token, size or self.icon_px(16), ratio))
        return icon

    def blank(self, size: int = 16) -> QIcon:
        """Return an icon that keeps the room of one that is not drawn yet."""
        found = self._blanks.get(size)
        if found is None:
            pixmap = QPixmap(size, size)
            pixmap.fill(Qt.GlobalColor.transparent)
            found = self._blanks[size] = QIcon(pixmap)
        return found

    def pixmap(self, name: str, token: str = "muted", size: int = 16, dpr: float = 1.0) -> QPixmap:
        """Return the icon `resources/icons/<name>.svg` in the colour of the token."""
        key = (name, self.color(token).name(), size, dpr)
        found = self._pixmaps.get(key)
        if found is None:
            if len(self._pixmaps) >= _MAX_PIXMAPS:
                self._pixmaps.clear()
            found = self._pixmaps[key] = _render(self._svg(name, key[1]), size, dpr)
        return found

    def _svg(self, name: str, color: str) -> bytes:
        # Plain strings: some fifty icons are read before the first paint.
        with open(f"{self._icons}/{name}.svg", "rb") as file:  # noqa: PTH123
            return file.read().replace(b"currentColor", color.encode())

    def _on_system_changed(self) -> None:
        if self._scheme == "system":
            self._apply()

    def _apply(self) -> None:
        schemes = self._tokens["color"]
        named = schemes["dark" if self._wants_dark else "light"]
        if self.is_high_contrast:
            named = contrasting(schemes, _system_palette(self._app))
        self._colors = {token: QColor(value) for token, value in named.items()}
        self._fonts.clear()
        self.pulse.is_still = self._reduced_motion
        is_first = not self._app.styleSheet()
        self._app.setFont(self.font())
        self._app.setPalette(_palette(self._colors))
        self._app.setStyleSheet(build_stylesheet(self, self._indicator_images()))
        if is_first:  # it brings back the system's fonts of menus, lists, tips and messages
            self._app.setFont(self.font())
        self.changed.emit()

    def _indicator_images(self) -> dict[str, str]:
        """Write the marks that only a style sheet can place: they need a file each."""
        wanted = {
            "check": ("check", "onAccent"),
            "arrow": ("chevron-down", "muted"),
            "arrow_up": ("chevron-up", "muted"),
            "arrow_right": ("chevron-right", "muted"),
        }
        found: dict[str, str] = {}
        for mark, (name, token) in wanted.items():
            color = self.color(token).name()
            path = self._images / f"{name}-{color[1:]}.svg"
            image = self._svg(name, color)
            # Where the disk is full, a mark is missing.
            with contextlib.suppress(OSError):
                if not path.is_file() or path.read_bytes() != image:
                    path.write_bytes(image)
            found[mark] = path.as_posix().replace("\\", "\\\\").replace('"', '\\"')
        return found


def _load(names: Iterable[str]) -> None:
    fonts = paths.resource("fonts")
    for name in names:
        QFontDatabase.addApplicationFont(str(fonts / name))


def _render(source: bytes, size: int, dpr: float) -> QPixmap:
    pixels = max(1, round(size * dpr))
    pixmap = QPixmap(pixels, pixels)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    QSvgRenderer(QByteArray(source)).render(painter, QRectF(0, 0, pixels, pixels))
    painter.end()
    pixmap.setDevicePixelRatio(dpr)
    return pixmap


def _palette(colors: dict[str, QColor]) -> QPalette:
    role = QPalette.ColorRole
    palette = QPalette()
    for one, token in (
        (role.Window, "window"),
        (role.Base, "canvas"),
        (role.AlternateBase, "sunken"),
        (role.Button, "raised"),
        (role.WindowText, "fg"),
        (role.Text, "fg"),
        (role.ButtonText, "fg"),
        (role.BrightText, "onAccent"),
        (role.Highlight, "sel"),
        (role.HighlightedText, "fg"),
        (role.Link, "accent"),
        (role.LinkVisited, "accent"),
        (role.PlaceholderText, "subtle"),
        (role.ToolTipBase, "raised"),
        (role.ToolTipText, "fg"),
        (role.Light, "raised"),
        (role.Midlight, "hover"),
        (role.Mid, "line"),
        (role.Dark, "line2"),
        (role.Shadow, "line3"),
        (role.Accent, "accentFill"),
    ):
        palette.setColor(one, colors[token])
    for one in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, one, colors["line3"])
    return palette


def _system_palette(app: QApplication) -> QPalette:
    """Return the palette to take the colours from; on Windows the application's is undone first.

    A contrast theme of Windows has colours that the person chose. Fusion's own know the scheme
    alone, which is light there whatever they are.
    """
    if sys.platform != "win32":
        return app.style().standardPalette()
    app.setPalette(QPalette())
    return app.palette()


def contrasting(schemes: Mapping[str, Mapping[str, str]], system: QPalette) -> dict[str, str]:
    """Return the tokens in the system's own colours: no soft grounds, full-strength edges.

    Those that the system has no colour for are those of the scheme whose ground is like its.
    """
    role = QPalette.ColorRole
    ground, ink = system.color(role.Base), system.color(role.Text)
    picked = dict(schemes["dark" if _luminance(ground) < _luminance(ink) else "light"])
    for token in ("window", "canvas", "raised", "sunken", "accentSoft"):
        picked[token] = ground.name()
    for token in ("okSoft", "warnSoft", "errSoft", "addBg", "delBg"):
        picked[token] = ground.name()
    for token in ("fg", "muted", "subtle", "line", "line2", "line3", "warnLine", "c_com"):
        picked[token] = ink.name()
    # The ink of what is selected is that of all else here.
    chosen, link = system.color(role.Highlight), system.color(role.Link)
    is_usable = _ratio(ink, chosen) >= _READABLE and _ratio(chosen, ground) >= _TOLD_APART
    marked = (chosen if is_usable else _tinted(ground, ink)).name()
    picked |= dict.fromkeys(("sel", "active", "found"), marked)
    picked["accent"] = (link if _ratio(link, ground) >= _READABLE else ink).name()
    return picked


def _tinted(ground: QColor, ink: QColor) -> QColor:
    channels = (QColor.redF, QColor.greenF, QColor.blueF)
    return QColor.fromRgbF(*(get(ground) * (1 - _TINT) + get(ink) * _TINT for get in channels))


def _ratio(first: QColor, second: QColor) -> float:
    """Return the contrast of two colours as WCAG counts it, from 1 to 21."""
    dark, light = sorted((_luminance(first), _luminance(second)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(color: QColor) -> float:
    red, green, blue = map(_linear, (color.redF(), color.greenF(), color.blueF()))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(value: float) -> float:
    return value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4


def mono_font(theme: Theme, size: str = "ui", weight: str = "regular") -> QFont:
    """Return the fixed-width font without ligatures: `--` must not look like one dash."""
    font = theme.font(size, weight, mono=True)
    for feature in ("calt", "liga"):
        font.setFeature(QFont.Tag.fromString(feature), 0)
    return font
