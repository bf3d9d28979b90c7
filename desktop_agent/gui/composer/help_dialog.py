"""A chapter of the README, read in the app."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, Qt, QUrl
from PySide6.QtGui import QInputMethodEvent, QTextBlockFormat, QTextCursor, QTextDocument
from PySide6.QtWidgets import QDialog, QTextBrowser, QWidget

from desktop_agent import paths
from desktop_agent.gui.kit.fitted_area import fit_dialog
from desktop_agent.gui.kit.links import open_link
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import TextButton, column, refuse_input_methods, row

_WIDE, _HIGH = 56, 44  # in widths of the text size
_LEADING = 130.0  # per cent
translate = QCoreApplication.translate


def open_chapter(theme: Theme, name: str, parent: QWidget) -> QDialog:
    """Open a chapter, such as `sandbox`, over a window; it is gone when it is closed."""
    title, _, text = paths.resource(f"help/{name}.md").read_text("utf-8").partition("\n")
    dialog = QDialog(parent)
    dialog.setObjectName("helpDialog")
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.setWindowTitle(title.removeprefix("## "))
    browser = _HelpText(dialog)
    browser.setObjectName("helpText")
    browser.setAccessibleName(dialog.windowTitle())
    browser.setFont(theme.font("ui"))
    browser.setDocument(_document(text, theme, browser))
    # It loads nothing by itself: a link opens in the user's browser.
    browser.setOpenLinks(False)
    browser.anchorClicked.connect(_open)
    close = TextButton(theme, translate("Help", "Close"), name="closeHelp")
    close.clicked.connect(dialog.accept)
    edge = theme.space("l")
    parts = ((browser, 1), row(None, close))
    column(*parts, spacing=theme.space("m"), edges=edge, within=dialog)
    fit_dialog(dialog, theme, _WIDE, _HIGH)
    dialog.open()
    browser.setFocus(Qt.FocusReason.PopupFocusReason)
    return dialog


class _HelpText(QTextBrowser):
    """Lets no input method write into it; see `ReadOnlyText`."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        refuse_input_methods(self)

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        event.ignore()


def _document(text: str, theme: Theme, parent: QWidget) -> QTextDocument:
    """Return a text with room between its paragraphs, which Markdown leaves out."""
    document = QTextDocument(parent)
    document.setDefaultFont(theme.font("ui"))
    document.setMarkdown(text)
    block = document.begin()
    while block.isValid():
        cursor = QTextCursor(block)
        if cursor.currentTable() is None:  # pyright: ignore[reportUnnecessaryComparison]
            shape = block.blockFormat()
            shape.setTopMargin(theme.space("m"))
            shape.setLineHeight(_LEADING, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
            cursor.setBlockFormat(shape)
        block = block.next()
    return document


def _open(url: QUrl) -> None:
    open_link(url.toString())
