"""Finds keys that this process gave out, or parts of them, in any text that came from outside.

A provider can repeat the key that it was sent: as it is, in base64 or hexadecimal, with its
characters escaped for URLs, JSON or HTML, or cut. Any run of `_RUN` characters counts. The work
is linear in the text, however many keys there are.
"""

from __future__ import annotations

import base64
import os
import re
import threading
from collections.abc import Iterator
from typing import Any, cast

HIDDEN = "[hidden]"

_RUN = 8
# For what is shorter in content: hexadecimal, and small letters, which may be words.
_LONG_RUN = 16
# Shorter keys can't be distinguished from ordinary words.
_SHORTEST = 6
_LONGEST = 4096
# What servers that need no key are given for one.
_PLACEHOLDERS = frozenset({
    "api-key", "api_key", "apikey", "changeme", "dummy-key", "dummy_key", "lm-studio", "lmstudio",
    "localhost", "no-key", "no-key-required", "not-needed", "not_needed", "not-required", "notused",
    "ollama", "placeholder", "sk-no-key-required", "your-api-key", "your_api_key",
})  # fmt: skip
# What divides an address, and how long a piece of it is that may be a secret.
_AUTHORITY_END = re.compile(r"[/?#]")
_JOINTS = re.compile(r"[/?&=#@:;]")
_LONG_PIECE = 12
_NOT_IN_BASE64 = frozenset("._-~\\ ")
# What a provider's keys all begin with, such as `sk-ant-api03-`, is no secret.
_PUBLIC_HEAD = re.compile(r"(?:[a-z]{1,10}\d{0,2}[-_]){1,4}")
_WORDS = re.compile(r"[a-z_\-]*")
# Escaped once or more: %41, %2541, \u0041, \\u0041, \x41, &#65;, &#x41;, \/.
_ESCAPED = re.compile(
    r"(?:%(?:25){0,2}|\\{1,8}u00|\\{1,8}x|&#[xX]0{0,4})(?P<hex>[0-9A-Fa-f]{2});?"
    r"|&#0{0,4}(?P<decimal>[0-9]{2,3});?"
    r"|\\{1,8}(?P<plain>[/+=\"'.:~_\-])"
)
_MAYBE_ESCAPED = re.compile(r"[%\\]|&#")
_HALF_ESCAPED = re.compile(
    r"(?:%(?:25){0,2}[0-9A-Fa-f]?|\\{1,8}(?:u0{0,2}[0-9A-Fa-f]?|x[0-9A-Fa-f]?)?"
    r"|&(?:#[xX]?[0-9A-Fa-f]{0,6})?)\Z"
)
_LONGEST_ESCAPE = 16
# Fewer than `_RUN // 2` characters of a key were given out; each may be escaped.
_KEPT_BEFORE = _RUN // 2 * 10
_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


class _Runs:
    """Every run of one length that gives a key away, and the shorter pieces to look for first."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.stride = length // 2
        self.piece = length - self.stride + 1
        self.runs: set[str] = set()
        self.pieces: set[str] = set()

    def add(self, run: str) -> None:
        self.runs.add(run)
        last = self.length - self.piece
        self.pieces.update(run[at : at + self.piece] for at in range(last + 1))

    def places(self, text: str) -> Iterator[int]:
        """Yield where a run begins; each holds a piece that begins at a multiple of `stride`."""
        piece, pieces = self.piece, self.pieces
        ends = range(0, len(text) - piece + 1, self.stride)
        for found in [at for at in ends if text[at : at + piece] in pieces]:
            for start in range(max(0, found + piece - self.length), found + 1):
                if text[start : start + self.length] in self.runs:
                    yield start


class KnownKeys:
    """The keys that were given out since the start. Safe to use from several threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._keys: set[str] = set()
        self._by_length: dict[int, _Runs] = {}
        self._runs: tuple[_Runs, ...] = ()
        self._forms = ""

    def remember(self, key: str | None) -> None:
        """Hide this key from now on; what is too short, or known for no key, is ignored.

        So is what only names a place, as `GOOGLE_APPLICATION_CREDENTIALS` does; of an address only
        what may be secret in it is hidden.
        """
        whole = (key or "").strip()[:_LONGEST]
        for each in _secret_parts(whole):
            self._remember(each)

    def _remember(self, key: str) -> None:
        is_number = key.isdigit() and len(key) < _RUN  # as that of MAX_TOKENS
        is_short = len(key) < _SHORTEST or is_number
        if key in self._keys or is_short or key.lower() in _PLACEHOLDERS:
            return
        with self._guard:
            for run in _telling_runs(key):
                runs = self._by_length.get(len(run))
                if runs is None:
                    runs = self._by_length[len(run)] = _Runs(len(run))
                runs.add(run.translate(_LOWER))
            self._forms = "\n".join((self._forms, *_forms(key))).translate(_LOWER)
            self._runs = tuple(self._by_length.values())
            self._keys.add(key)

    def hide(self, text: str) -> str:
        """Return the text with `HIDDEN` in the place of each key and part of one."""
        if not self._runs:
            return text
        found = self.find(text)
        if not found:
            return text
        out: list[str] = []
        at = 0
        for start, end in found:
            out += (text[at:start], HIDDEN)
            at = end
        return "".join((*out, text[at:]))

    def hide_all(self, value: Any) -> Any:
        """Return a JSON value with all its texts treated by `hide`."""
        if isinstance(value, str):
            return self.hide(value)
        if isinstance(value, dict):
            named = cast(dict[str, Any], value)
            return {self.hide(name): self.hide_all(each) for name, each in named.items()}
        if isinstance(value, list):
            return [self.hide_all(each) for each in cast(list[Any], value)]
        return value

    def find(self, text: str) -> list[tuple[int, int]]:
        """Return where keys stand, in order: starts and ends, none of which touch."""
        plain, places = _unescaped(text)
        runs = sorted((at, at + one.length) for one in self._runs for at in one.places(plain))
        found: list[tuple[int, int]] = []
        for start, end in runs:
            if found and start <= found[-1][1]:
                found[-1] = (found[-1][0], max(end, found[-1][1]))
            else:
                found.append((start, end))
        return found if places is None else [(places[start], places[end]) for start, end in found]

    def unfinished(self, text: str) -> int:
        """Return where at the text's end a key may have begun of which more is to come."""
        tail = _HALF_ESCAPED.search(text, max(0, len(text) - _LONGEST_ESCAPE))
        end = tail.start() if tail is not None else len(text)
        if not self._runs:
            return len(text)
        begin = max(0, end - _LONG_RUN * _LONGEST_ESCAPE)
        plain, places = _unescaped(text[begin:end])
        count = _RUN // 2
        while count <= len(plain) and count < _LONG_RUN and plain[-count:] in self._forms:
            count += 1
        if count == _RUN // 2:
            return end
        at = len(plain) - count + 1
        return begin + (at if places is None else places[at])

    def stream(self) -> KeyStream:
        """Return what hides keys in a text that comes in pieces."""
        return KeyStream(self)


class KeyStream:
    """Hides keys in a text wherever it is cut; what may be the beginning of one is held back.

    Fewer than `_RUN // 2` characters of a key can get through.
    """

    def __init__(self, keys: KnownKeys) -> None:
        self._keys = keys
        self._before = ""  # given out, or hidden, already
        self._held = ""
        self._is_hiding = False

    def feed(self, piece: str) -> str:
        """Take a piece, return what can be shown."""
        return self._advance(piece, is_last=False)

    def finish(self) -> str:
        """Return what is left: no more comes."""
        return self._advance("", is_last=True)

    def _advance(self, piece: str, *, is_last: bool) -> str:
        whole = self._before + self._held + piece
        at = len(self._before)
        end = len(whole) if is_last else max(at, self._keys.unfinished(whole))
        out: list[str] = []
        for start, stop in self._keys.find(whole):
            if stop <= at:
                continue
            if start > at or not self._is_hiding:
                out += (whole[at:start], HIDDEN)
            at = stop
            self._is_hiding = True
        if at < end:
            out.append(whole[at:end])
            self._is_hiding = False
            at = end
        self._held = whole[at:]
        self._before = whole[max(0, at - _KEPT_BEFORE) : at]
        return "".join(out)


def _secret_parts(key: str) -> tuple[str, ...]:
    """Return what of it is secret: a place would be found in every other path, or address."""
    scheme, is_address, rest = key.partition("://")
    if not is_address or not scheme.replace("+", "").isalnum():
        return () if _is_path(key) else (key,)
    authority, *path = _AUTHORITY_END.split(rest, maxsplit=1)
    name, _, password = authority.rpartition("@")[0].partition(":")
    pieces = (piece for one in path for piece in _JOINTS.split(one))
    return (password or name, *filter(_is_like_a_key, pieces))


def _is_like_a_key(piece: str) -> bool:
    kinds = (any(map(str.isdigit, piece)), any(map(str.isalpha, piece)))
    return len(piece) >= _LONG_PIECE and all(kinds)


def _is_path(key: str) -> bool:
    if not (key.startswith(("~/", "~\\")) or os.path.isabs(key)):  # noqa: PTH117
        return False
    # A key in Base64 may begin with a slash too, and holds none of these.
    return not _NOT_IN_BASE64.isdisjoint(key) or os.path.exists(key)  # noqa: PTH110


def _unescaped(text: str) -> tuple[str, list[int] | None]:
    """Return the text in small letters without escapes, and where its characters stood."""
    if not _MAYBE_ESCAPED.search(text):
        return text.translate(_LOWER), None
    pieces: list[str] = []
    places: list[int] = []
    at = 0
    for found in _ESCAPED.finditer(text):
        code = int(found["hex"], 16) if found["hex"] else int(found["decimal"] or 0)
        pieces += (text[at : found.start()], found["plain"] or chr(code))
        places.extend(range(at, found.start() + 1))
        at = found.end()
    pieces.append(text[at:])
    places.extend(range(at, len(text) + 1))
    return "".join(pieces).translate(_LOWER), places


def _telling_runs(key: str) -> Iterator[str]:
    if len(key) < _RUN:
        yield key
        return
    head = _PUBLIC_HEAD.match(key)
    public = head.end() if head is not None and len(key) - head.end() >= _LONG_RUN else 0
    for start, run in _cut(key, _RUN):
        if start + _RUN > public and not _WORDS.fullmatch(run):
            yield run
    yield from (run for _, run in _cut(key, min(_LONG_RUN, len(key))))
    for form in _encoded(key):
        yield from (run for _, run in _cut(form, _RUN))
    yield from (run for _, run in _cut(key.encode().hex(), _LONG_RUN))


def _cut(form: str, length: int) -> Iterator[tuple[int, str]]:
    return ((start, form[start : start + length]) for start in range(len(form) - length + 1))


def _forms(key: str) -> tuple[str, ...]:
    return (key, *_encoded(key), key.encode().hex())


def _encoded(key: str) -> Iterator[str]:
    """Yield the key in base64, for each of the three ways in which it can lie in a text.

    Only characters that are made of the key alone: none of what stands before and after it.
    """
    body = key.encode()
    for before in range(3):
        inner = base64.b64encode(bytes(before) + body).decode()
        last = (before + len(body)) * 8 // 6
        form = inner[(before * 8 + 5) // 6 : last]
        yield form
        if "+" in form or "/" in form:
            yield form.replace("+", "-").replace("/", "_")


# One for the process: a key is added when it is given out, every text stored or shown is checked.
KEYS = KnownKeys()
