"""The one style sheet, made from the tokens. Every control that takes the focus shows it."""

from __future__ import annotations

from collections.abc import Mapping
from string import Template
from typing import Any

from PySide6.QtGui import QColor

_TOKENS = (
    *("window", "canvas", "raised", "sunken", "hover", "active", "line", "line2", "line3", "sel"),
    *("fg", "muted", "subtle", "accent", "accentFill", "onAccent", "accentSoft"),
    *("ok", "okSoft", "warn", "warnSoft", "warnLine", "err", "errSoft", "addFg", "delFg"),
)

_TEXT = Template("""
QToolTip { background: $raised; color: $fg; border: ${edge}px solid $line2; padding: 4px 8px; }
QLabel { background: transparent; color: $fg; }
QLabel:disabled { color: $line3; }
QLabel[role="muted"] { color: $muted; }
QLabel[role="subtle"] { color: $subtle; font-size: ${small}px; }
QLabel[role="caption"] { color: $subtle; font-size: ${caption}px; }
QLabel[role="section"] { color: $subtle; font-size: ${caption}px; font-weight: 600; }
QLabel[role="title"] { font-size: ${body}px; font-weight: 600; }
QLabel[role="titleErr"] { font-size: ${body}px; font-weight: 600; color: $err; }
QLabel[role="strong"] { font-weight: 600; }
QLabel[role="body"] { font-size: ${body}px; }
QLabel[role="h1"] { font-size: ${h1}px; font-weight: 600; }
QLabel[role="h2"] { font-size: ${h2}px; font-weight: 600; }
QLabel[role="h3"] { font-size: ${h3}px; font-weight: 600; }
QLabel[role="ok"] { color: $ok; }
QLabel[role="warn"] { color: $warn; }
QLabel[role="error"] { color: $err; }
QLabel[role="added"] { color: $addFg; }
QLabel[role="removed"] { color: $delFg; }
QLabel[role="mono"] { font-family: "JetBrains Mono"; font-size: ${small}px; }
QLabel[role="chip"] { background: $hover; color: $muted; border-radius: 8px; padding: 1px 8px;
  min-height: 16px; font-size: ${caption}px; font-weight: 500; }
QLabel[tone="ok"] { background: $okSoft; color: $ok; }
QLabel[tone="warn"] { background: $warnSoft; color: $warn; }
QLabel[tone="err"] { background: $errSoft; color: $err; }
QLabel[tone="accent"] { background: $accentSoft; color: $accent; }
""")

_BUTTONS = Template("""
QAbstractButton, QComboBox, QAbstractSlider { outline: none; }
QPushButton { background: $raised; color: $fg; border: ${edge}px solid $line2; border-radius: 6px;
  padding: 5px 12px; min-height: 18px; font-weight: 500; }
QPushButton:hover { background: $hover; }
QPushButton:pressed { background: $active; }
QPushButton:disabled { color: $line3; background: transparent; border-color: $line; }
QPushButton:focus { border: 2px solid $accent; padding: ${pad4}px ${pad11}px; }
QPushButton[kind="primary"] { background: $accentFill; color: $onAccent;
  border: ${edge}px solid $accentFill; }
QPushButton[kind="primary"]:hover { background: $accent_hover; border-color: $accent_hover; }
QPushButton[kind="primary"]:pressed { background: $accent_pressed; border-color: $accent_pressed; }
QPushButton[kind="primary"]:focus { border: 2px solid $fg; }
QPushButton[kind="primary"]:disabled { background: $active; color: $muted; border-color: $active; }
QPushButton[kind="ghost"] { background: transparent; border: ${edge}px solid transparent;
  color: $muted; padding: 4px 8px; }
QPushButton[kind="ghost"]:hover { background: $hover; color: $fg; }
QPushButton[kind="ghost"]:pressed { background: $active; }
QPushButton[kind="ghost"]:focus { border: 2px solid $accent; padding: ${pad3}px ${pad7}px; }
QPushButton[kind="ghost"]:disabled { color: $line3; }
QPushButton[kind="tab"] { background: transparent; border: ${edge}px solid transparent;
  color: $muted; padding: 4px 10px; }
QPushButton[kind="tab"]:hover { background: $hover; color: $fg; }
QPushButton[kind="tab"]:checked { background: $accentFill; color: $onAccent; }
QPushButton[kind="tab"]:focus { border: 2px solid $accent; padding: ${pad3}px ${pad9}px; }
QPushButton[kind="tab"]:checked:focus { border-color: $fg; }
QPushButton[kind="section"] { background: transparent; border: ${edge}px solid transparent;
  color: $subtle; font-size: ${caption}px; font-weight: 600; padding: 2px 6px; text-align: left; }
QPushButton[kind="section"]:hover { background: $hover; color: $fg; }
QPushButton[kind="section"]:focus { border: 2px solid $accent; padding: 1px 5px; }
QPushButton#newSession { min-height: 20px; }
QPushButton#examplePrompt { min-height: 30px; border-radius: 10px; }
QPushButton[tone="danger"] { color: $err; }
QPushButton[tone="warn"] { color: $warn; }
QToolButton { background: transparent; color: $muted; border: ${edge}px solid transparent;
  border-radius: 6px; padding: 5px; font-weight: 500; }
QToolButton:hover { background: $hover; color: $fg; }
QToolButton:pressed, QToolButton:checked { background: $active; color: $fg; }
QToolButton:focus { border: 2px solid $accent; padding: ${pad4}px; }
QToolButton:disabled { color: $line3; }
QToolButton::menu-indicator { image: none; }
""")

_FIELDS = Template("""
QLineEdit, QPlainTextEdit, QTextEdit, QAbstractSpinBox, QComboBox { background: $canvas;
  color: $fg; border: ${edge}px solid $line3; border-radius: 6px; padding: 5px 8px;
  selection-background-color: $sel; selection-color: $fg; placeholder-text-color: $subtle; }
QLineEdit:focus, QPlainTextEdit:focus, QTextEdit:focus, QAbstractSpinBox:focus, QComboBox:focus {
  border: 2px solid $accent; padding: ${pad4}px ${pad7}px; }
QLineEdit:disabled, QPlainTextEdit:disabled, QAbstractSpinBox:disabled, QComboBox:disabled {
  color: $line3; border-color: $line; }
QLineEdit[problem="true"] { border-color: $err; }
QComboBox { padding-right: ${drop}px; min-height: 18px; combobox-popup: 0; }
QComboBox:focus { padding-right: ${drop_focus}px; }
QComboBox::drop-down { border: none; width: ${drop}px; }
QComboBox::down-arrow { image: url("$arrow"); width: ${mark}px; height: ${mark}px; }
QComboBox QAbstractItemView, QComboBox QAbstractItemView:focus { background: $raised; color: $fg;
  border: ${edge}px solid $line2; selection-background-color: $active; selection-color: $fg;
  outline: none; padding: 4px; }
QAbstractSpinBox QLineEdit, QComboBox QLineEdit { border: none; padding: 0; }
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button { border: none; width: ${step}px;
  background: transparent; }
QAbstractSpinBox::up-button:hover, QAbstractSpinBox::down-button:hover { background: $hover; }
QAbstractSpinBox::up-arrow { image: url("$arrow_up"); width: ${tip}px; height: ${tip}px; }
QAbstractSpinBox::down-arrow { image: url("$arrow"); width: ${tip}px; height: ${tip}px; }
QCheckBox, QRadioButton { background: transparent; color: $fg; spacing: 8px; padding: 2px;
  border: 2px solid transparent; border-radius: 6px; outline: none; }
QCheckBox:focus, QRadioButton:focus { border-color: $accent; }
#answerOption QRadioButton:focus { border-color: transparent; }
QCheckBox:disabled, QRadioButton:disabled { color: $line3; }
QCheckBox[kind="bare"] { border: none; padding: 0; spacing: 0; min-width: ${hit}px;
  max-width: ${hit}px; min-height: ${hit}px; }
#settingGroup QCheckBox[kind="bare"]::indicator { subcontrol-position: right center; }
QCheckBox::indicator, QRadioButton::indicator { width: ${mark}px;
  height: ${mark}px;
  border: ${edge}px solid $line3; background: $canvas; }
QCheckBox::indicator { border-radius: 4px; }
QRadioButton::indicator { border-radius: ${round}px; }
QCheckBox::indicator:checked { background: $accentFill; border-color: $accentFill;
  image: url("$check"); }
QCheckBox[kind="bare"]::indicator:focus { border: 2px solid $accent; }
QCheckBox[kind="bare"]::indicator:checked:focus { border: 2px solid $fg; }
QRadioButton::indicator:checked { border-color: $accentFill;
  background: qradialgradient(cx: 0.5, cy: 0.5, radius: 0.5, fx: 0.5, fy: 0.5,
    stop: 0 $onAccent, stop: 0.38 $onAccent, stop: 0.48 $accentFill, stop: 1 $accentFill); }
QProgressBar { background: $line; border: none; border-radius: 2px; max-height: 4px; color: $fg; }
QProgressBar::chunk { background: $accentFill; border-radius: 2px; }
""")

_VIEWS = Template("""
QAbstractScrollArea { border: none; }
QAbstractScrollArea::corner { background: transparent; border: none; }
QTextBrowser, QListView, QTreeView, QScrollArea { background: transparent; border: none;
  padding: 0; outline: none; }
QTextBrowser:focus { border: none; padding: 0; }
QListView, QTreeView { border: 2px solid transparent; border-radius: 6px; }
#serverTools { background: $raised; border: ${edge}px solid $line; border-radius: 8px; }
#skillDetailArea, #updateArea, #shortcutList, #taskGraph,
#pictureCanvas { border: 2px solid transparent;
  border-radius: 6px; }
#skillDetailArea[ring="true"]:focus, #updateArea[ring="true"]:focus,
#shortcutList[ring="true"]:focus, #taskGraph[ring="true"]:focus,
#pictureCanvas[ring="true"]:focus { border-color: $accent; }
QListView::item, QTreeView::item { border-radius: 6px; padding: 4px 8px; color: $fg; }
QListView::item:hover, QTreeView::item:hover { background: $hover; }
QListView::item:selected, QTreeView::item:selected { background: $active; color: $fg; }
QTableView { background: $canvas; gridline-color: $line; border: ${edge}px solid $line;
  border-radius: 6px; selection-background-color: $active; selection-color: $fg; outline: none; }
QTableView::item { padding: 0 8px; }
QTableCornerButton::section { background: $sunken; border: none; }
QHeaderView { background: $sunken; }
QHeaderView::section { background: $sunken; color: $muted; border: none;
  border-bottom: ${edge}px solid $line; padding: 6px 8px; font-weight: 600; }
QScrollBar:vertical { background: transparent; width: ${scrollbar}px; margin: 2px; }
QScrollBar:horizontal { background: transparent; height: ${scrollbar}px; margin: 2px; }
QScrollBar::handle { background: $line2; border-radius: 3px; }
QScrollBar::handle:hover { background: $line3; }
QScrollBar::handle:vertical { min-height: 32px; }
QScrollBar::handle:horizontal { min-width: 32px; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QSplitter::handle { background: $line; }
QDialog, QMessageBox, QMainWindow { background: $window; }
QMenu { background: $raised; color: $fg; border: ${edge}px solid $line2; border-radius: 8px;
  padding: 4px; icon-size: ${icon}px; }
QMenu::item { padding: 6px 24px 6px 8px; border-radius: 5px; }
QMenu::item:selected { background: $active; }
QMenu::item:disabled { color: $line3; }
QMenu::separator { height: 1px; background: $line; margin: 4px 6px; }
QMenu::icon { padding-left: 8px; }
QMenu::right-arrow { image: url("$arrow_right"); width: ${mark}px; height: ${mark}px; }
QMenuBar { background: $window; color: $fg; }
QMenuBar::item { padding: 4px 8px; border-radius: 4px; background: transparent; }
QMenuBar::item:selected { background: $hover; }
""")

_FRAMES = Template("""
QFrame[frame="card"] { background: $raised; border: ${edge}px solid $line; border-radius: 10px; }
QFrame[frame="sunken"] { background: $sunken; border: ${edge}px solid $line; border-radius: 6px; }
QFrame[frame="warn"] { background: $warnSoft; border: ${edge}px solid $warnLine;
  border-radius: 10px; }
QFrame[frame="error"] { background: $errSoft; border: ${edge}px solid $err; border-radius: 10px; }
QFrame[frame="popover"] { background: $raised; border: ${edge}px solid $line2;
  border-radius: 12px; }
QFrame[frame="chip"] { background: $hover; border: ${edge}px solid $line; border-radius: 6px; }
QFrame[frame="chip"]:focus { border: 2px solid $accent; }
QFrame[frame="chip"][tone="err"] { background: $errSoft; border-color: $err; }
QFrame[frame="line"] { background: $line; border: none; }
#sidebar { background: $window; border: none; border-right: ${edge}px solid $line; }
#center { background: $canvas; }
#rightPanel { background: $window; border: none; border-left: ${edge}px solid $line; }
#skillDetail, #serverDetail { background: $window; border: none;
  border-left: ${edge}px solid $line; }
#trustBanner { background: $accentSoft; border: none; border-bottom: ${edge}px solid $line; }
#dropZone { background: transparent; border: 2px dashed $line2; border-radius: 10px; }
#dropZone[is_over="true"] { border-color: $accent; background: $accentSoft; }
#taskProgress::chunk { background: $ok; }
#header { background: $canvas; border: none; border-bottom: ${edge}px solid $line; }
#findBar { background: $canvas; border-bottom: ${edge}px solid $line; }
#noticeBar { background: $errSoft; border: none; border-bottom: ${edge}px solid $line; }
#noticeBar[tone="warn"] { background: $warnSoft; border-bottom-color: $warnLine; }
#noticeBar[tone="info"] { background: $accentSoft; }
#workspaceButton { background: $raised; border: ${edge}px solid $line; border-radius: 10px; }
#workspaceButton:hover { border-color: $line3; }
#workspaceButton:focus { border: 2px solid $accent; }
#messageActions[over="true"] { background: $raised; border: ${edge}px solid $line2;
  border-radius: 8px; }
#composer { background: $raised; border: ${edge}px solid $line3; border-radius: 14px; }
#composer QPlainTextEdit, #composer QTextEdit { background: transparent; border: none;
  padding: 0; font-size: ${body}px; }
""")


# Any: it is a Theme, whose module imports this one.
def build_stylesheet(theme: Any, images: Mapping[str, str]) -> str:
    """Return the application's style sheet for the theme's present look."""
    edge = 2 if theme.is_high_contrast else 1
    values: dict[str, object] = {token: theme.color(token).name() for token in _TOKENS}
    values |= {size: theme.text_px(size) for size in ("caption", "small", "body", "h1", "h2", "h3")}
    values |= {f"pad{pad}": pad + edge - 1 for pad in (3, 4, 7, 9, 11)}
    values |= images
    values["edge"] = edge
    values |= {"icon": theme.icon_px(16), "mark": theme.icon_px(14), "tip": theme.icon_px(10)}
    values["round"] = theme.icon_px(14) // 2 + edge
    values["hit"] = max(theme.size("hit_min"), theme.icon_px(14) + 2 * edge)
    # The arrow with five pixels around it; a focused field has its edge grow inwards.
    values["drop"] = theme.icon_px(14) + 10
    values["drop_focus"] = theme.icon_px(14) + 9
    values["step"] = theme.icon_px(10) + 10
    values["scrollbar"] = theme.size("scrollbar")
    fill: QColor = theme.color("accentFill")
    values["accent_hover"] = fill.darker(108).name()
    values["accent_pressed"] = fill.darker(118).name()
    return "".join(part.substitute(values) for part in (_TEXT, _BUTTONS, _FIELDS, _VIEWS, _FRAMES))
