"""Pictures of what is looked at rather than read: pictures in the transcript, and one opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace
from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QPointF, QRectF, Qt, QUrl
from PySide6.QtGui import QColor, QImage, QLinearGradient, QPainter, QPen
from PySide6.QtWidgets import QPushButton

from desktop_agent.core.events import AgentEvent, MessageAdded, ToolEnded, ToolStarted
from desktop_agent.core.ids import MessageId
from desktop_agent.core.messages import (
    FilesDisplay,
    ImagePart,
    Message,
    TextPart,
    ToolCall,
    ToolResult,
)
from desktop_agent.gui.transcript.cards.pictures_card import PictureTile
from desktop_agent.gui.transcript.view.table_data import parse_table
from desktop_agent.gui.transcript.view.text_dialogs import ask_to_open
from desktop_agent.gui.window.tray import make_question
from tests import gallery_story as story
from tests.helpers.windows import part

if TYPE_CHECKING:
    from tests.gallery import Gallery


async def show_look(gallery: Gallery) -> None:
    """Take every picture of them."""
    opened = replace(story.stopped(), events=tuple(_events()))
    gallery.show(opened)
    await gallery.take("90-pictures")
    tiles = gallery.window.findChildren(PictureTile)
    tiles[1].setFocus(Qt.FocusReason.TabFocusReason)
    await gallery.take("91-pictures-focus")
    tiles[1].click()
    viewer = part(gallery.window, "pictureViewer")
    await gallery.take("92-picture-large", viewer)
    viewer.findChild(QPushButton, "wholePicture").click()
    await gallery.take("93-picture-whole", viewer)
    viewer.reject()
    await _show_table(gallery)
    await _show_questions(gallery)


async def _show_questions(gallery: Gallery) -> None:
    window, theme = gallery.window, gallery.theme
    link = ask_to_open(theme, QUrl("http://localhost:5173/login?next=%2F"), window, lambda _: None)
    assert link is not None
    link.open()
    await gallery.take("96-link", link)
    link.reject()
    question = make_question(theme, window, 2, has_tray=True, has_places=True)
    question.open()
    await gallery.take("97-quit", question)
    question.reject()


async def _show_table(gallery: Gallery) -> None:
    view = gallery.window.pages.page(gallery.window.flow.agent)
    assert view is not None
    cities = ("Berlin", "Kraków", "Lisbon", "São Paulo", "東京")
    lines = [f"{n},{cities[n % 5]},{(n * 7919) % 9973 / 10},=A{n}*2" for n in range(1, 1205)]
    data = "\n".join(["id,city,revenue,note", *lines]).encode()
    view.show_rows(parse_table(data))
    viewer = part(gallery.window, "tableViewer")
    await gallery.take("94-table", viewer)
    part(gallery.window, "tableSearch").setText("lis")
    await gallery.take("95-table-found", viewer)
    viewer.reject()


def _events() -> list[AgentEvent]:
    said = TextPart("Which of the two plots shows the regression? Here is last week's.")
    asked = Message(MessageId("me_1"), "user", (said, _chart("last-week.png", 640, 400, 3)))
    charts = (_chart("latency-p99.png", 1600, 900, 1), _chart("throughput.png", 700, 900, 2))
    calls = [ToolCall(f"call_{one.name}", "read", {"path": one.name}) for one in charts]
    calls.append(ToolCall("call_broken", "read", {"path": "cut.png"}))
    broken = ImagePart("image/png", charts[0].data[:300], "cut.png")
    answer = Message(MessageId("me_2"), "assistant", tuple(calls))
    found: list[AgentEvent] = [MessageAdded(story.MAIN, asked), MessageAdded(story.MAIN, answer)]
    for call, chart in zip(calls, (*charts, broken), strict=True):
        shown = FilesDisplay((chart.name,), "image, 48 kB")
        result = ToolResult(call.id, "an image", display=shown, images=(chart,))
        found.append(ToolStarted(story.MAIN, call, f"reading {chart.name}", story.NOW))
        found.append(ToolEnded(story.MAIN, result, "ok", 0.1))
    words = "The **p99 latency** doubles at 14:20; throughput follows two minutes later."
    end = Message(MessageId("me_3"), "assistant", (TextPart(words),))
    return [*found, MessageAdded(story.MAIN, end)]


def _chart(name: str, width: int, height: int, seed: int) -> ImagePart:
    """Return a line drawn on paper."""
    image = QImage(width, height, QImage.Format.Format_RGB32)
    painter = QPainter(image)
    ground = QLinearGradient(0, 0, 0, height)
    ground.setColorAt(0, QColor("#ffffff"))
    ground.setColorAt(1, QColor("#e8eef8"))
    painter.fillRect(QRectF(image.rect()), ground)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor("#c4ccd8"), max(1, height // 400)))
    for line in range(1, 6):
        painter.drawLine(QPointF(0, line * height / 6), QPointF(width, line * height / 6))
    painter.setPen(QPen(QColor("#2f6bff"), max(2, height // 120)))
    points = [
        QPointF(at * width / 40, height * (0.75 - (0.4 if at > 24 else 0) - (at * seed % 7) / 40))
        for at in range(41)
    ]
    painter.drawPolyline(points)
    painter.end()
    held = QByteArray()
    buffer = QBuffer(held)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # pyright: ignore[reportCallIssue, reportArgumentType]
    return ImagePart("image/png", bytes(held.data()), name)
