"""A window that shows a picture large: fitted, or at any scale, and saved as a file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import PurePath

from PySide6.QtCore import QIODevice, QSaveFile, QSize, QStandardPaths, Qt, Signal
from PySide6.QtGui import (
    QBrush,
    QImage,
    QKeySequence,
    QPainter,
    QPixmap,
    QResizeEvent,
    QShortcut,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QGraphicsPixmapItem,
    QGraphicsScene,
    QGraphicsView,
    QWidget,
)

from desktop_agent.core.messages import ImagePart
from desktop_agent.core.parts.pictures import picture_type
from desktop_agent.gui.kit.background import Background
from desktop_agent.gui.kit.lists.keyboard_focus import KeyboardRing
from desktop_agent.gui.kit.pictures import decoded, picture_size
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    IconButton,
    PrimaryButton,
    TextButton,
    TextLabel,
    column,
    row,
)
from desktop_agent.gui.transcript.cards.picture_text import picture_measures, picture_name

# A larger picture is shown with fewer pixels: 24 million take 100 MB.
_SHOWN_PIXELS = 24_000_000
_STEP = 1.25
_SMALLEST, _LARGEST = 0.02, 16.0
_NOTCH = 120


class PictureViewer(QDialog):
    """Shows one of several pictures. `+`, `-`, `0` (fit) and `1` (100 %) change the scale."""

    def __init__(
        self, theme: Theme, pictures: Sequence[ImagePart], which: int, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self.setObjectName("pictureViewer")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._pictures = pictures
        self._which = which
        self._asked = 0
        self._background = Background(self)
        self._background.done.connect(self._on_loaded)
        self._canvas = _Canvas(theme, self)
        self._canvas.zoomed.connect(self._show_scale)
        self._state = TextLabel("", "muted", self, name="pictureState")
        self._scale = TextLabel("", "muted", self, name="pictureScale")
        self._place = TextLabel("", "muted", self, name="picturePlace")
        head = row((self._state, 1), self._place, *self._step_buttons(theme))
        foot = row(*self._zoom_buttons(theme), self._scale, None, *self._end_buttons(theme))
        column(head, (self._canvas, 1), foot, spacing=10, edges=(16, 12, 16, 14), within=self)
        self.resize(960, 700)
        self._show()

    @property
    def _picture(self) -> ImagePart:
        return self._pictures[self._which]

    def _step_buttons(self, theme: Theme) -> list[QWidget]:
        if len(self._pictures) == 1:
            return []
        before = IconButton(theme, "chevron-left", self.tr("Previous picture"), keys="PgUp")
        after = IconButton(theme, "chevron-right", self.tr("Next picture"), keys="PgDown")
        for button, keys, step in ((before, "PgUp", -1), (after, "PgDown", 1)):
            button.setObjectName("pictureBefore" if step < 0 else "pictureAfter")
            act = partial(self._step, step)
            button.clicked.connect(act)
            QShortcut(QKeySequence(keys), self, act)
        return [before, after]

    def _zoom_buttons(self, theme: Theme) -> list[QWidget]:
        canvas = self._canvas
        fit = TextButton(theme, self.tr("Fit"), name="fitPicture", clicked=canvas.fit)
        fit.setToolTip(self.tr("Show all of it (0)"))
        whole = TextButton(theme, self.tr("100 %"), name="wholePicture")
        whole.setToolTip(self.tr("A pixel for each of its own (1)"))
        smaller = IconButton(theme, "minus", self.tr("Smaller"), keys="-", name="smallerPicture")
        larger = IconButton(theme, "plus", self.tr("Larger"), keys="+", name="largerPicture")
        acts = (
            (whole, partial(canvas.zoom_to, 1.0), ("1", "Ctrl+1")),
            (smaller, partial(canvas.zoom_by, 1 / _STEP), ("-", "Ctrl+-")),
            (larger, partial(canvas.zoom_by, _STEP), ("+", "=", "Ctrl++", "Ctrl+=")),
        )
        for button, act, keys in acts:
            button.clicked.connect(act)
            for key in keys:
                QShortcut(QKeySequence(key), self, act)
        for key in ("0", "Ctrl+0"):
            QShortcut(QKeySequence(key), self, canvas.fit)
        return [fit, whole, smaller, larger]

    def _end_buttons(self, theme: Theme) -> list[QWidget]:
        save = TextButton(theme, self.tr("Save as…"), "download", name="savePicture")
        save.setToolTip(self.tr("Keep a copy of the file (Ctrl+S)"))
        save.clicked.connect(self._ask_where)
        QShortcut(QKeySequence(QKeySequence.StandardKey.Save), self, self._ask_where)
        close = PrimaryButton(theme, self.tr("Close"), name="closePicture", clicked=self.accept)
        return [save, close]

    def _step(self, step: int) -> None:
        self._which = (self._which + step) % len(self._pictures)
        self._show()

    def _show(self) -> None:
        name = picture_name(self._picture, self._which + 1)
        size = picture_size(self._picture.data)
        self.setWindowTitle(name)
        self._canvas.clear(size)
        measures = picture_measures(self._picture, size)
        self._canvas.setAccessibleName(f"{name}, {measures}")
        self._scale.setText("")
        if len(self._pictures) > 1:
            self._place.setText(f"{self._which + 1} / {len(self._pictures)}")
        if size.isEmpty():
            self._say_damaged()
            return
        self._state.setText(measures)
        self._background.forget(self._asked)
        self._asked = self._background.ask(partial(decoded, self._picture.data, _bounded(size)))

    def _say_damaged(self) -> None:
        words = self.tr("This picture can't be shown: it is damaged, or too large.")
        self._state.setText(words)
        self._canvas.setAccessibleName(words)

    def _on_loaded(self, number: int, image: object) -> None:
        if number != self._asked:
            return
        if isinstance(image, QImage) and not image.isNull():
            self._canvas.show_image(image)
        else:
            self._say_damaged()

    def _show_scale(self, factor: float) -> None:
        words = f"{factor * 100:.0f} %"
        self._scale.setText(words)
        self._canvas.setAccessibleDescription(words)

    # -- a copy of the file ----------------------------------------------------------------

    def _ask_where(self) -> None:
        from PySide6.QtWidgets import QFileDialog  # slow to load, and rarely wanted

        dialog = QFileDialog(self, self.tr("Save picture as"))
        dialog.setObjectName("savePictureDialog")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDirectory(
            QStandardPaths.writableLocation(QStandardPaths.StandardLocation.PicturesLocation)
        )
        dialog.selectFile(file_name(self._picture))
        dialog.fileSelected.connect(partial(self._save, self._picture.data))
        dialog.open()

    def _save(self, data: bytes, path: str) -> None:
        file = QSaveFile(path)
        is_written = file.open(QIODevice.OpenModeFlag.WriteOnly)
        is_written = is_written and file.write(data) == len(data) and file.commit()
        said = self.tr("Saved as {path}") if is_written else self.tr("Not saved: {why}")
        self._state.setText(said.format(path=path, why=file.errorString()))


class _Canvas(KeyboardRing, QGraphicsView):
    """The picture at some scale. `zoomed(float)`: 1.0 is a pixel of the screen for each of its."""

    zoomed = Signal(float)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("pictureCanvas")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setScene(QGraphicsScene(self))
        self.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        self.setDragMode(QGraphicsView.DragMode.ScrollHandDrag)
        self.setTransformationAnchor(QGraphicsView.ViewportAnchor.AnchorUnderMouse)
        self._theme = theme
        theme.changed.connect(self._on_theme_changed)
        self._on_theme_changed()
        self._item: QGraphicsPixmapItem | None = None
        self._whole = QSize()
        self._is_fitted = True

    def _on_theme_changed(self) -> None:
        self.setBackgroundBrush(QBrush(self._theme.color("sunken")))

    def clear(self, size: QSize) -> None:
        """Show nothing; a picture of this size comes."""
        self.scene().clear()
        self._item = None
        self._whole = size

    def show_image(self, image: QImage) -> None:
        """Show the picture, or one that was made smaller, fitted to the window."""
        self.scene().clear()
        if image.hasAlphaChannel():
            # What is drawn without a ground is drawn for paper.
            none, paper = Qt.PenStyle.NoPen, Qt.GlobalColor.white
            self.scene().addRect(0, 0, image.width(), image.height(), none, paper)
        self._item = self.scene().addPixmap(QPixmap.fromImage(image))
        self._item.setTransformationMode(Qt.TransformationMode.SmoothTransformation)
        self.scene().setSceneRect(self._item.boundingRect())
        self.fit()

    @property
    def scale_now(self) -> float:
        """The screen's pixels for each of the picture's own."""
        if self._item is None:
            return 1.0
        return self.transform().m11() * self.devicePixelRatioF() / self._own_pixels

    @property
    def _own_pixels(self) -> float:
        """The picture's own pixels for each that was decoded."""
        assert self._item is not None
        return self._whole.width() / self._item.pixmap().width()

    def fit(self) -> None:
        """Show all of it, not larger than it is, and keep to that."""
        self._is_fitted = True
        # All of it is shown; bars that come for a rounded pixel would change the room, and so on.
        self._show_bars(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        if self._item is None:
            return
        size, room = self._item.pixmap().size(), self.viewport().size()
        fitting = min(room.width() / size.width(), room.height() / size.height())
        self._scale_to(min(fitting, self._own_pixels / self.devicePixelRatioF()))

    def zoom_by(self, factor: float) -> None:
        """Show it larger or smaller."""
        self.zoom_to(self.scale_now * factor)

    def zoom_to(self, scale: float) -> None:
        """Show it at this scale, within limits."""
        if self._item is not None:
            self._is_fitted = False
            self._show_bars(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
            scale = min(_LARGEST, max(_SMALLEST, scale))
            self._scale_to(scale * self._own_pixels / self.devicePixelRatioF())

    def _show_bars(self, policy: Qt.ScrollBarPolicy) -> None:
        self.setHorizontalScrollBarPolicy(policy)
        self.setVerticalScrollBarPolicy(policy)

    def _scale_to(self, factor: float) -> None:
        now = self.transform().m11()
        self.scale(factor / now, factor / now)
        self.zoomed.emit(self.scale_now)

    def wheelEvent(self, event: QWheelEvent) -> None:
        self.zoom_by(_STEP ** (event.angleDelta().y() / _NOTCH))
        event.accept()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._is_fitted:
            self.fit()


def _bounded(size: QSize) -> QSize:
    """Return the size at which a picture of this size is decoded."""
    pixels = size.width() * size.height()
    return size if pixels <= _SHOWN_PIXELS else size * (_SHOWN_PIXELS / pixels) ** 0.5


def file_name(picture: ImagePart) -> str:
    """Return a name to save a picture under: the end of what it was called, and its real kind."""
    kind = picture_type(picture.data[:16]).removeprefix("image/") or "bin"
    base = PurePath(picture.name.replace("\\", "/")).name
    safe = "".join(one if one.isprintable() and one not in '<>:"|?*' else "_" for one in base)
    stem = PurePath(safe).stem.strip(". ")[:100]
    return f"{stem or 'picture'}.{'jpg' if kind == 'jpeg' else kind}"
