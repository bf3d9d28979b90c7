"""Files and pictures that go with a note: read with limits, or refused with the reason."""

from __future__ import annotations

import os
import re
import stat
import threading
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace
from PySide6.QtCore import (
    QBuffer,
    QByteArray,
    QCoreApplication,
    QIODevice,
    QObject,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QImage, QImageReader

from desktop_agent.core.mcp import McpAnswer
from desktop_agent.core.messages import ImagePart, TextPart
from desktop_agent.core.parts.origins import AttachedFile, ServerResource
from desktop_agent.core.parts.pictures import picture_type
from desktop_agent.gui.composer.server_offers import ServerSource
from desktop_agent.gui.kit.background import Relay
from desktop_agent.gui.kit.pictures import MOST_PIXELS
from desktop_agent.gui.kit.safe_text import clean
from desktop_agent.gui.kit.text import size_text

translate = QCoreApplication.translate

MAX_ATTACHMENTS = 20
MAX_TEXT_BYTES = 256 * 1024
MAX_IMAGE_BYTES = 20 * 1024 * 1024
# Providers refuse pictures over 5 MB in base64, and shrink what is wider than this anyway.
_SENT_IMAGE_BYTES = 3_700_000
_SENT_IMAGE_EDGE = 2048
# Named here, on the window's thread: the bindings make an enumeration when it is first named.
_READ_ONLY, _WRITE_ONLY = QIODevice.OpenModeFlag.ReadOnly, QIODevice.OpenModeFlag.WriteOnly
_KEEPING = Qt.AspectRatioMode.KeepAspectRatio
_SMOOTH = Qt.TransformationMode.SmoothTransformation

_CONVERTED = (b"BM", b"II*\x00", b"MM\x00*")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


class Attachment(msgspec.Struct, frozen=True):
    """One chip. Without a part it is being read, or was refused for `reason`.

    A `source` is read when the message is sent: it `is_awaited` from then on.
    """

    name: str
    part: TextPart | ImagePart | None = None
    reason: str = ""
    detail: str = ""
    source: ServerSource | None = None
    is_awaited: bool = False

    @property
    def is_reading(self) -> bool:
        """Whether it is still on its way from the disk, or from a server."""
        return self._is_open and not self.is_unread

    @property
    def is_unread(self) -> bool:
        """Whether it is read only when the message is sent."""
        return self._is_open and self.source is not None and not self.is_awaited

    @property
    def _is_open(self) -> bool:
        return self.part is None and not self.reason


class Refused(Exception):
    """The file can't be attached; the text says why, for the user."""


def read_attachment(path: Path, root: str = "") -> Attachment:
    """Read a file as text or as a picture. Never waits on a pipe, never reads past a limit."""
    name = path.name or str(path)
    try:
        content = _read_bounded(path)
        part = _as_part(content, path, root)
    except Refused as refusal:
        return Attachment(name, reason=str(refusal), detail=str(path))
    except OSError as error:
        return Attachment(name, reason=_system_text(error), detail=str(path))
    return Attachment(name, part, detail=f"{path} · {size_text(len(content))}")


def text_attachment(name: str, text: str) -> Attachment:
    """Return pasted text as an attachment; an editor would freeze on a very long line."""
    size = len(text.encode("utf-8", "replace"))
    if size > MAX_TEXT_BYTES:
        return Attachment(name, reason=_too_big(size, MAX_TEXT_BYTES))
    return Attachment(name, TextPart(text, AttachedFile(name)), detail=size_text(size))


def resource_attachment(source: ServerSource, answer: McpAnswer) -> Attachment:
    """Return what a server gave for a resource as an attachment: its text, or else its picture."""
    about = Attachment(source.title, detail=source.resource.uri, source=source)
    text = clean(answer.text)
    size = len(text.encode("utf-8", "replace"))
    if size > MAX_TEXT_BYTES:
        return replace(about, reason=_too_big(size, MAX_TEXT_BYTES))
    if text.strip():
        origin = ServerResource(source.server, source.resource.uri, source.resource.name)
        return replace(about, part=TextPart(text, origin))
    if not answer.images:
        words = translate("Attachments", "The server gave neither a text nor a picture.")
        return replace(about, reason=words)
    try:
        return replace(about, part=_image_part(answer.images[0].data, source.title))
    except Refused as refusal:
        return replace(about, reason=str(refusal))


def image_attachment(image: QImage, name: str) -> Attachment:
    """Return a picture from the clipboard as an attachment."""
    try:
        return Attachment(name, _encoded(image, name), detail=_pixels(image.size()))
    except Refused as refusal:
        return Attachment(name, reason=str(refusal))


def _read_bounded(path: Path) -> bytes:
    # The file's kind is checked before it is opened: opening some devices has effects.
    _check_kind(path.stat().st_mode)
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags | getattr(os, "O_CLOEXEC", 0))
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(stream.fileno())
        _check_kind(status.st_mode)
        head = stream.read(16)
        limit = MAX_IMAGE_BYTES if _is_image(head) else MAX_TEXT_BYTES
        if status.st_size > limit:
            raise Refused(_too_big(status.st_size, limit))
        content = head + stream.read(limit + 1 - len(head))
    if len(content) > limit:
        raise Refused(_too_big(len(content), limit))
    return content


def _check_kind(mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise Refused(translate("Attachments", "This is a folder. Mention it with @ instead."))
    if not stat.S_ISREG(mode):
        raise Refused(translate("Attachments", "This is not a regular file."))


def _as_part(content: bytes, path: Path, root: str) -> TextPart | ImagePart:
    if _is_image(content[:16]):
        return _image_part(content, path.name)
    return TextPart(_decoded(content), AttachedFile(_shown_path(path, root)))


def _shown_path(path: Path, root: str) -> str:
    if root and path.is_relative_to(root):
        return path.relative_to(root).as_posix()
    return str(path)


def _decoded(content: bytes) -> str:
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encodings = ("utf-16",)
    elif _CONTROL.search(content):
        raise Refused(
            translate(
                "Attachments",
                "This is not a text file. Put it into the folder and mention it with @ instead.",
            )
        )
    else:
        encodings = ("utf-8-sig", "cp1252", "latin-1")
    for encoding in encodings:
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise Refused(translate("Attachments", "The text of this file can't be read."))


def _is_image(head: bytes) -> bool:
    return bool(picture_type(head)) or head.startswith(_CONVERTED)


def _image_part(content: bytes, name: str) -> ImagePart:
    array = QByteArray(content)
    buffer = QBuffer(array)
    buffer.open(_READ_ONLY)
    reader = QImageReader(buffer)
    size = reader.size()
    if not size.isValid():
        raise _damaged()
    if size.width() * size.height() > MOST_PIXELS:
        raise _too_large(size)
    media_type = picture_type(content[:16])
    is_small = max(size.width(), size.height()) <= _SENT_IMAGE_EDGE
    if media_type and is_small and len(content) <= _SENT_IMAGE_BYTES:
        return ImagePart(media_type, content, name)
    reader.setAutoTransform(True)
    image = reader.read()
    if image.isNull():
        raise _damaged()
    return _encoded(image, name)


def _encoded(image: QImage, name: str) -> ImagePart:
    if image.isNull():
        raise _damaged()
    if max(image.width(), image.height()) > _SENT_IMAGE_EDGE:
        edge = QSize(_SENT_IMAGE_EDGE, _SENT_IMAGE_EDGE)
        image = image.scaled(edge, _KEEPING, _SMOOTH)
    for kind, media_type in (("PNG", "image/png"), ("JPEG", "image/jpeg")):
        encoded = _saved(image, kind)
        if encoded and len(encoded) <= _SENT_IMAGE_BYTES:
            return ImagePart(media_type, encoded, name)
    raise _too_large(image.size())


def _saved(image: QImage, kind: str) -> bytes:
    array = QByteArray()
    buffer = QBuffer(array)
    buffer.open(_WRITE_ONLY)
    # The stubs want bytes for the format, the call itself takes a str as well.
    image.save(buffer, kind, 85 if kind == "JPEG" else -1)  # pyright: ignore[reportCallIssue, reportArgumentType]
    return bytes(array.data())


def _damaged() -> Refused:
    return Refused(translate("Attachments", "This picture is damaged or of an unknown kind."))


def _too_large(size: QSize) -> Refused:
    words = translate("Attachments", "This picture is too large: {size}.")
    return Refused(words.format(size=_pixels(size)))


def _pixels(size: QSize) -> str:
    return f"{size.width()} × {size.height()}"


def _too_big(size: int, limit: int) -> str:
    words = translate("Attachments", "Too big: {size}. The limit is {limit}.")
    return words.format(size=size_text(size), limit=size_text(limit))


def _system_text(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return translate("Attachments", "The file is not there any more.")
    if isinstance(error, PermissionError):
        return translate("Attachments", "You have no right to read this file.")
    return translate("Attachments", "The file can't be read: {why}.").format(
        why=error.strerror or str(error)
    )


def _too_many() -> str:
    words = translate("Attachments", "At most {count} attachments go with one message.")
    return words.format(count=MAX_ATTACHMENTS)


class AttachmentList(QObject):
    """The attachments of one draft. Files are read beside the window, in the order they came."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        # By number, oldest first.
        self.entries: dict[int, Attachment] = {}
        self._aside: dict[int, Attachment] = {}
        # Where those that are files came from.
        self._paths: dict[int, Path] = {}
        self._next = 0
        self._relay = Relay()
        self._relay.done.connect(self._on_read, Qt.ConnectionType.QueuedConnection)

    @property
    def parts(self) -> tuple[TextPart | ImagePart, ...]:
        """What goes out; refused files are left behind."""
        return tuple(entry.part for entry in self.entries.values() if entry.part is not None)

    @property
    def is_reading(self) -> bool:
        return any(entry.is_reading for entry in self.entries.values())

    def add_files(self, paths: Sequence[Path], root: str = "") -> None:
        """Show the files at once and read them one after another; one that is there, again."""
        paths = tuple(dict.fromkeys(paths))
        for number in [n for n, path in self._paths.items() if path in paths]:
            self.entries.pop(number, None)
            del self._paths[number]
        room = self._room
        unread = (Attachment(path.name or str(path), detail=str(path)) for path in paths[:room])
        numbers = list(zip(map(self._add, unread), paths, strict=False))
        self._paths.update(numbers)
        if len(paths) > room:
            # One chip tells of all the others: a thousand would fill the window.
            name = paths[room].name
            if len(paths) > room + 1:
                words = translate("Attachments", "{count} files")
                name = words.format(count=len(paths) - room)
            self._add(Attachment(name, reason=_too_many()))
        if numbers:
            # A daemon: a file on a network disk that hangs must not keep the app from ending.
            work = (self._relay, numbers, root)
            threading.Thread(target=_read_all, args=work, daemon=True).start()
        self.changed.emit()

    def add_image(self, image: QImage, name: str) -> None:
        """Show a picture at once; to write a large one as a file takes a moment."""
        number = self._add(Attachment(name))
        if self.entries[number].is_reading:
            work = (self._relay, number, image, name)
            threading.Thread(target=_write_image, args=work, daemon=True).start()
        self.changed.emit()

    def add(self, attachment: Attachment) -> None:
        """Add one that is already read."""
        self._add(attachment)
        self.changed.emit()

    def take_unread(self) -> tuple[tuple[int, ServerSource], ...]:
        """Return what is to be read now, by number; each is read once, and settled after."""
        unread = {number: one for number, one in self.entries.items() if one.is_unread}
        for number, one in unread.items():
            self.entries[number] = replace(one, is_awaited=True)
        if unread:
            self.changed.emit()
        return tuple((number, one.source) for number, one in unread.items() if one.source)

    def settle(self, number: int, attachment: Attachment) -> None:
        """Take what was read, unless it was removed meanwhile."""
        self._on_read(number, attachment)

    def remove(self, number: int) -> None:
        """Take one away; removing it twice is harmless."""
        if self.entries.pop(number, None) is not None:
            self.changed.emit()

    def clear(self) -> None:
        self._paths.clear()
        if self.entries:
            self.entries.clear()
            self.changed.emit()

    @property
    def has_aside(self) -> bool:
        return bool(self._aside)

    def put_aside(self) -> None:
        """Have all that is here wait, while another message is written in the same box."""
        self._aside, self.entries = self.entries, {}

    def bring_back(self) -> None:
        """Have what waits be here again, before what came since."""
        self.entries, self._aside = {**self._aside, **self.entries}, {}

    @property
    def _room(self) -> int:
        return MAX_ATTACHMENTS - sum(1 for one in self.entries.values() if not one.reason)

    def _add(self, attachment: Attachment) -> int:
        if not attachment.reason and self._room <= 0:
            attachment = Attachment(attachment.name, reason=_too_many(), detail=attachment.detail)
        self._next += 1
        self.entries[self._next] = attachment
        return self._next

    def _on_read(self, number: int, attachment: Attachment) -> None:
        for held in (self.entries, self._aside):
            if number in held:
                held[number] = attachment
                self.changed.emit()


def _write_image(relay: Relay, number: int, image: QImage, name: str) -> None:
    relay.done.emit(number, image_attachment(image, name))


def _read_all(relay: Relay, numbers: list[tuple[int, Path]], root: str) -> None:
    for number, path in numbers:
        relay.done.emit(number, read_attachment(path, root))
