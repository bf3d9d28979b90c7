"""A user's message in the document: as it was typed, with what went along and its state."""

from __future__ import annotations

import time
from math import ceil

from PySide6.QtCore import QCoreApplication, QLocale, QTime
from PySide6.QtGui import QFontMetricsF

from desktop_agent.gui.kit.safe_text import with_marks
from desktop_agent.gui.transcript.document.markdown_writer import MarkdownWriter
from desktop_agent.gui.transcript.document.styles import BLOCK_ROLE, Styles
from desktop_agent.gui.transcript.state.items import UserItem

translate = QCoreApplication.translate

_SHOWN_LIMIT = 20_000
_SKILL_GAP = "  "


def write_user_text(item: UserItem, writer: MarkdownWriter, styles: Styles) -> None:
    """Write the message into its bubble."""
    text = item.text[:_SHOWN_LIMIT]
    if words := sender_text(item):
        char = styles.text("caption", "semibold", "muted")
        writer.text_block(words, styles.block("tight", bottom=4), char)
    if item.skills:
        _write_skills(item, writer, styles, bottom=6 if text else 0)
    if text or not (item.attachments or item.skills):
        writer.plain(text, styles.text(), styles.block(bottom=0))
    if len(item.text) > _SHOWN_LIMIT:
        writer.offer_whole(len(item.text))
    if words := _attachment_text(item):
        block = styles.block("tight", top=6 if text else 0, bottom=0)
        writer.text_block(words, block, styles.text("small", token="muted"))
    if words := delivery_text(item):
        char = styles.text("caption", "medium", "err" if item.state == "failed" else "subtle")
        block = styles.block("tight", top=6, bottom=0)
        block.setProperty(BLOCK_ROLE, "state")
        writer.text_block(words, block, char)


def sender_text(item: UserItem) -> str:
    """Say who speaks where it is not the user."""
    return {
        "user": "",
        "parent": translate("Transcript", "From the agent that started it"),
        "agent": translate("Transcript", "From another agent"),
        "app": translate("Transcript", "From the app"),
        "edits": translate("Transcript", "Your edits of the task list"),
    }[item.speaker]


def text_width(item: UserItem, styles: Styles) -> int:
    """Return how wide the message would be without line breaks."""
    shown = [(line, "body") for line in item.text[:2_000].split("\n")]
    shown.append((_attachment_text(item), "small"))
    if item.skills:
        shown.append((_SKILL_GAP.join(f"  {name}  " for name in item.skill_labels), "small"))
    shown.append((delivery_text(item), "caption"))
    shown.append((sender_text(item), "caption"))
    fonts = {size: QFontMetricsF(styles.text(size).font()) for _, size in shown}
    return 1 + max(ceil(fonts[size].horizontalAdvance(line)) for line, size in shown)


def _write_skills(item: UserItem, writer: MarkdownWriter, styles: Styles, *, bottom: float) -> None:
    """Name the skills that were picked, each on a ground of its own."""
    plain = styles.text("small", "medium", "accent")
    chip = styles.text("small", "medium", "accent")
    chip.setBackground(styles.color("canvas"))
    writer.new_block(styles.block("body", bottom=bottom), plain)
    for number, name in enumerate(item.skill_labels):
        if number:
            writer.cursor.insertText(_SKILL_GAP, plain)
        writer.cursor.insertText(f"\u00a0\u00a0{with_marks(name)}\u00a0\u00a0", chip)


def _attachment_text(item: UserItem) -> str:
    """Name what went along; pictures stand below with their names, unless nothing was said."""
    pictured = {picture.name for picture in item.pictures if item.text}
    names = [with_marks(name) for name in item.attachments if name not in pictured]
    words = translate("Transcript", "With {files}").format(files="  ·  ".join(names))
    return words if names else ""


def delivery_text(item: UserItem) -> str:
    """Return the delivery state as shown."""
    if item.state == "sending":
        return translate("Transcript", "Sending…")
    if item.state == "failed":
        return translate("Transcript", "Not delivered")
    if item.state != "delivered":
        return ""
    at = clock_text(item.at)
    if not item.step:
        return translate("Transcript", "Delivered")
    words = translate("Transcript", "Delivered · step {step}")
    return words.format(step=item.step) + (f" · {at}" if at else "")


def clock_text(at: float) -> str:
    """Return a time of day as the user's locale writes it, such as `07:12`."""
    if at <= 0:
        return ""
    local = time.localtime(at)
    return QLocale().toString(QTime(local.tm_hour, local.tm_min), QLocale.FormatType.ShortFormat)
