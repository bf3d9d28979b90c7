"""Pictures in the transcript, small: each opens large."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFontMetrics,
    QHideEvent,
    QImage,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QPixmap,
)
from PySide6.QtWidgets import QAbstractButton, QWidget

from desktop_agent.core.messages import ImagePart
from desktop_agent.gui.kit.flow_layout import FlowLayout
from desktop_agent.gui.kit.pictures import decoded, picture_size, read_picture
from desktop_agent.gui.kit.rtl import placed
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import EnterPresses, GhostButton, row
from desktop_agent.gui.transcript.cards.card import Card, CardHost
from desktop_agent.gui.transcript.cards.picture_text import (
    loss_text,
    picture_measures,
    picture_name,
    pictures_text,
)
from desktop_agent.gui.transcript.state.rows import MadePicture, PicturesRow

# A picture by itself, and one of several.
_ALONE, _AMONG = QSize(320, 240), QSize(320, 150)
# So small a one has room around it; so wide is what is said of it at least.
_LEAST, _LEAST_TEXT = QSize(48, 48), 140
# So large is the place of a file that was not read yet.
_UNKNOWN = QSize(200, 150)
_MOST_SHOWN = 24


class PicturesCard(Card):
    """Those of a message stand at its side, others at the leading side."""

    def __init__(self, host: CardHost, shown: PicturesRow) -> None:
        super().__init__(host.theme, host.ground, ground="", edge="")
        self.setObjectName("picturesCard")
        self._host = host
        self._row = shown
        self._tiles: list[PictureTile] = []
        self._more: QWidget | None = None
        self._flow = FlowLayout(spacing=host.theme.space("m"))
        parts = (None, self._flow) if shown.is_said else ((self._flow, 1),)
        self.body.addLayout(row(*parts))
        self.set_row(shown)

    def set_row(self, shown: PicturesRow) -> None:
        """Show these pictures; those that are there already stay."""
        self._row = shown
        pictures = shown.pictures[:_MOST_SHOWN]
        room = _ALONE if len(shown.pictures) == 1 else _AMONG
        while self._tiles and not self._begin(pictures):
            self._drop(self._tiles.pop())
        for tile in self._tiles:
            tile.set_room(room)
        for number in range(len(self._tiles), len(pictures)):
            tile = PictureTile(self._host, pictures[number], number + 1, room, self)
            tile.clicked.connect(lambda _=False, which=number: self._open(which))
            tile.resized.connect(self.resized)
            self._tiles.append(tile)
            self._flow.addWidget(tile)
        self._show_more(len(shown.pictures) - len(pictures))
        self.setAccessibleName(pictures_text(shown))

    def _begin(self, pictures: Sequence[ImagePart | MadePicture]) -> bool:
        """Whether the tiles that are there show the first of these."""
        return [one.source for one in self._tiles] == list(pictures[: len(self._tiles)])

    def _show_more(self, count: int) -> None:
        if self._more is not None:
            self._drop(self._more)
            self._more = None
        if count:
            words = self.tr("{count} more").format(count=count)
            self._more = GhostButton(self._theme, words, "image", self, name="morePictures")
            self._more.clicked.connect(lambda: self._open(_MOST_SHOWN))
            self._flow.addWidget(self._more)

    def _drop(self, part: QWidget) -> None:
        self._flow.removeWidget(part)
        part.hide()
        part.deleteLater()

    def _open(self, which: int) -> None:
        """Show one large, and from there the others that are known by now."""
        known = [tile.picture for tile in self._tiles]
        known += [one if isinstance(one, ImagePart) else None for one in self._others]
        found = {at: one for at, one in enumerate(known) if one is not None}
        if which in found:
            parts = list(found.values())
            self._host.picture_requested.emit(parts, list(found).index(which))

    @property
    def _others(self) -> Sequence[ImagePart | MadePicture]:
        return self._row.pictures[_MOST_SHOWN:]

    def take_focus(self) -> bool:
        """Go to the first picture."""
        self._tiles[0].setFocus(Qt.FocusReason.ShortcutFocusReason)
        return True


class PictureTile(EnterPresses, QAbstractButton):
    """One picture, its name and its size. It is read and decoded when it is first seen.

    `resized`: how large it is became known. `picture` is None before a file was read.
    """

    resized = Signal()

    def __init__(
        self,
        host: CardHost,
        source: ImagePart | MadePicture,
        number: int,
        room: QSize,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("pictureTile")
        self.source = source
        self.picture: ImagePart | None = None
        self._host = host
        self._theme: Theme = host.theme
        self._background = host.background
        self._name = picture_name(source, number)
        self._measures = ""
        self._size = _UNKNOWN
        self._is_damaged = False
        self._pixmap = QPixmap()
        # The number it comes under, 0 before it was asked for.
        self._asked = 0
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.set_room(room)
        if isinstance(source, ImagePart):
            self._take(source)
        self._say()
        self._background.done.connect(self._on_loaded)

    def set_room(self, room: QSize) -> None:
        """Show the picture in so much room, never larger than it is."""
        self._room = room
        self._shown = QSize(_LEAST_TEXT, 0) if self._size.isEmpty() else self._size
        if self._shown.width() > room.width() or self._shown.height() > room.height():
            self._shown = self._shown.scaled(room, Qt.AspectRatioMode.KeepAspectRatio)
        self._box = self._shown.expandedTo(_LEAST)
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        lines = self._theme.space("xs") + 2 * QFontMetrics(self._theme.font("small")).lineSpacing()
        return QSize(max(self._box.width(), _LEAST_TEXT), self._box.height() + lines)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    @property
    def is_loaded(self) -> bool:
        """Whether the picture itself is on screen."""
        return not self._pixmap.isNull()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._background.forget(self._asked)
        if self._pixmap.isNull():
            self._asked = 0

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        box = placed(self.layoutDirection(), self.rect(), QRect(0, 0, *self._box.toTuple()))
        self._paint_picture(painter, box)
        self._paint_text(painter, box.bottom() + 1 + self._theme.space("xs"))
        painter.end()
        self._load()

    def _paint_picture(self, painter: QPainter, box: QRect) -> None:
        theme = self._theme
        edge = QRectF(box).adjusted(0.5, 0.5, -0.5, -0.5)
        outline = QPainterPath()
        outline.addRoundedRect(edge, theme.radius("ctl"), theme.radius("ctl"))
        painter.save()
        painter.setClipPath(outline)
        if self._pixmap.isNull():
            painter.fillRect(box, theme.color("sunken"))
            size = theme.icon_px(16)
            icon = theme.pixmap("image", "subtle", size, self.devicePixelRatioF())
            painter.drawPixmap(box.center().x() - size // 2, box.center().y() - size // 2, icon)
        else:
            # What is drawn without a ground is drawn for paper.
            has_ground = not self._pixmap.hasAlpha()
            paper = theme.color("sunken") if has_ground else Qt.GlobalColor.white
            painter.fillRect(box, paper)
            place = QRect(0, 0, *self._shown.toTuple())
            place.moveCenter(box.center())
            painter.drawPixmap(place, self._pixmap)
        painter.restore()
        token = "accent" if self.hasFocus() else ("line2" if self.underMouse() else "line")
        painter.setPen(QPen(theme.color(token), 2 if self.hasFocus() else 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPath(outline)

    def _paint_text(self, painter: QPainter, top: int) -> None:
        font = self._theme.font("small")
        metrics = QFontMetrics(font)
        painter.setFont(font)
        tones = ("fg", "err" if self._is_damaged else "subtle")
        for text, token in zip((self._name, self._measures), tones, strict=True):
            shown = metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, self.width())
            painter.setPen(self._theme.color(token))
            line = QRect(0, top, self.width(), metrics.lineSpacing())
            leading = Qt.AlignmentFlag.AlignLeading | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(line, leading, shown)
            top += metrics.lineSpacing()

    def _load(self) -> None:
        session = self._host.session
        if self._asked or self._is_damaged:
            return
        if self.picture is not None:
            most = _ALONE * self.devicePixelRatioF()
            self._asked = self._background.ask(partial(decoded, self.picture.data, most))
        elif isinstance(self.source, MadePicture) and session is not None:
            path, until = self.source.path, self.source.until
            act = partial(read_picture, path, session.workspace, until)
            self._asked = self._background.ask(act)

    def _on_loaded(self, number: int, found: object) -> None:
        if number != self._asked:
            return
        if isinstance(found, ImagePart):
            self._asked = 0
            self._take(found)
            self.resized.emit()
        elif isinstance(found, QImage) and not found.isNull():
            self._pixmap = QPixmap.fromImage(found)
        else:
            self._is_damaged = True
            self._measures = loss_text(found)
        self._say()
        self.update()

    def _take(self, picture: ImagePart) -> None:
        """Know what the picture is, and how large."""
        self.picture = picture
        self._size = picture_size(picture.data)
        self._is_damaged = self._size.isEmpty()
        self._measures = picture_measures(picture, self._size)
        self.set_room(self._room)

    def _say(self) -> None:
        self.setAccessibleName(", ".join(filter(None, (self._name, self._measures))))
        self.setAccessibleDescription(self.tr("Press Enter to see it large"))
