"""What is said of a picture: its name, and how large it is."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QSize

from desktop_agent.core.messages import ImagePart
from desktop_agent.gui.kit.safe_text import with_marks
from desktop_agent.gui.kit.text import plain, size_text
from desktop_agent.gui.transcript.state.rows import MadePicture, PicturesRow

translate = QCoreApplication.translate
_LONGEST = 200


def picture_name(picture: ImagePart | MadePicture, number: int) -> str:
    """Return a picture's name; `number` is for one without, counted from 1."""
    name = picture.path if isinstance(picture, MadePicture) else picture.name
    known = with_marks(plain(name))[-_LONGEST:]
    return known or translate("Transcript", "Picture {number}").format(number=number)


def picture_measures(picture: ImagePart, size: QSize) -> str:
    """Return how large it is, such as `640 × 480 · 84 KB`."""
    if size.isEmpty():
        return loss_text(None)
    return f"{size.width():,} × {size.height():,} · {size_text(len(picture.data))}"


def loss_text(loss: object) -> str:
    """Return why a picture can't be shown: a PictureLoss, or nothing where it is damaged."""
    words = {
        "changed": translate("Transcript", "changed since"),
        "gone": translate("Transcript", "not there any more"),
    }
    return words.get(str(loss), "") or translate("Transcript", "can't be shown")


def pictures_text(row: PicturesRow) -> str:
    """Return the names of the pictures of a row."""
    names = (picture_name(one, number) for number, one in enumerate(row.pictures, start=1))
    return translate("Transcript", "Pictures: {names}").format(names=", ".join(names))
