"""Small texts that outlive the app, by key: unsent drafts, folders that were confirmed."""

from __future__ import annotations

import json
import logging
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import cast

from PySide6.QtCore import QEvent, QIODevice, QObject, QSaveFile, QTimer

_log = logging.getLogger(__name__)
_SAVE_MS = 600
_MOST = 200


class TextCache(QObject):
    """One file, read when first asked and written a moment after a change.

    A damaged or unwritable file costs the texts in it, nothing else.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._texts: dict[str, str] | None = None
        self._delay = QTimer(self, singleShot=True)
        self._delay.setInterval(_SAVE_MS)
        self._delay.timeout.connect(self.save)

    @classmethod
    def of(cls, path: Path, owner: QObject) -> TextCache:
        """Return the cache of a file: one for all windows, or one would undo the other's."""
        cache = _caches.get(path)
        if cache is None:
            cache = _caches[path] = cls(path)
        owner.installEventFilter(cache)
        return cache

    def text(self, key: str) -> str:
        """Return the text of a key; empty when there is none."""
        return self._all().get(key, "")

    def keep(self, key: str, text: str) -> None:
        """Keep a text; an empty one is forgotten, at once: what was sent must not come back."""
        texts = self._all()
        if texts.get(key, "") == text:
            return
        texts.pop(key, None)
        if not text:
            self.save()
            return
        texts[key] = text
        while len(texts) > _MOST:
            del texts[next(iter(texts))]
        self._delay.start()

    def forget(self, is_gone: Callable[[str], bool]) -> None:
        texts = self._all()
        for key in (gone := [key for key in texts if is_gone(key)]):
            del texts[key]
        if gone:
            self.save()

    def save(self) -> None:
        self._delay.stop()
        file = QSaveFile(str(self._path))
        if not file.open(QIODevice.OpenModeFlag.WriteOnly):
            _log.warning("%s can't be written: %s", self._path, file.errorString())
            return
        file.write(json.dumps(self._all(), ensure_ascii=False).encode("utf-8", "replace"))
        file.commit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Write what waits when an owner is hidden, as at the end of the app."""
        if event.type() == QEvent.Type.Hide and self._delay.isActive():
            self.save()
        return False

    def _all(self) -> dict[str, str]:
        if self._texts is None:
            self._texts = self._read()
        return self._texts

    def _read(self) -> dict[str, str]:
        try:
            found = json.loads(self._path.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        if not isinstance(found, dict):
            return {}
        texts = cast("dict[str, object]", found)
        return {key: text for key, text in texts.items() if isinstance(text, str)}


_caches: weakref.WeakValueDictionary[Path, TextCache] = weakref.WeakValueDictionary()
