"""Text from outside made safe to show: hidden characters, terminal codes, endless lines."""

from __future__ import annotations

import re
import unicodedata

# A line this long is given a place to break: laying out one of a megabyte takes 18 s.
UNBROKEN_LIMIT = 1_000
_BREAK = "\u200b"
# In characters and lines; what is longer would cover the screen.
_LONGEST_TIP, _WIDEST_TIP, _TIP_LINES = 1_500, 100, 40
# What a document does not hold as one character, as it is structure to Qt or lost on the way
# to it: marks of frames and objects, characters that are none, marks of the byte order. Those
# are taken off the front of a text by the bindings, or have all of it read with its bytes
# swapped.
_RESERVED = re.compile("[\x00\ufdd0-\ufdef\ufffc\ufeff\ufffe\uffff]")
_LINE_END = re.compile("\r\n|[\r\u2028\u2029]")
_DOCUMENT_ENDS = dict.fromkeys(map(ord, "\u2028\u2029\ufdd0\ufdd1"), "\n")
_HALF = re.compile("[\ud800-\udfff]")
_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]")
_TERMINAL = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)|[@-Z\\^_=>78])"
)
_LINE_BREAKING = re.compile("[\n\t]")
_UNUSUAL = re.compile(r"[^ -~\n\t]")
_UNBROKEN = re.compile(rf"[^\s\u200b]{{{UNBROKEN_LIMIT}}}(?=[^\s\u200b])")
_LONG_WORD = re.compile(r"[^\s\u200b]{30}(?=[^\s\u200b])")
# So much of a line a name may leave empty where it is broken.
_PIECE = 8
_NAME = re.compile(r"(?:[^\s/\u200b]|/(?=\d))+")
_BLANK_LOOKING = (
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u180f\u2800\u3164\uffa0"
)
# It makes a sign of what it follows, an emoji; behind anything else it is nothing to see.
_LONE_SELECTOR = re.compile("(?<![^\x00-\x7f\ufe0f])\ufe0f(?!\u20e3)")


def typed_text(raw: str) -> str:
    """Return what was typed, from the raw text of a document.

    Qt's plain text of it has common spaces in place of non-breaking ones.
    """
    return raw.translate(_DOCUMENT_ENDS)


def clean(text: str) -> str:
    """Return the text as a document can hold it: as many characters there as here.

    Every end of a line is a newline, half characters (lone surrogates) are joined or become
    U+FFFD, and what Qt takes as structure, or loses, is left out.
    """
    if text.isascii():
        if "\r" not in text and "\0" not in text:
            return text
    elif _HALF.search(text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _RESERVED.sub("", _LINE_END.sub("\n", text))


def one_line(text: str) -> str:
    """Return the text as one line that a block of a document can hold."""
    return " ".join(clean(text).split())


def utf16_length(text: str) -> int:
    """Return how long a text is in a document, which counts halves of rare characters."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf16_slice(text: str, start: int, end: int) -> str:
    """Return a part by positions as a document counts them, where rare characters take two."""
    if text.isascii():
        return text[start:end]
    units = text.encode("utf-16-le", "surrogatepass")[2 * start : 2 * end]
    return units.decode("utf-16-le", "replace")


def without_direction_marks(text: str) -> str:
    """Return the text without marks that turn the order of what follows them."""
    return _DIRECTION.sub("", text)


def breakable(text: str) -> str:
    """Return the text with a soft break, which takes no room, in every endless word."""
    return _UNBROKEN.sub(lambda found: found[0] + _BREAK, text)


def label_text(text: str) -> str:
    """Return the text with soft breaks in long words, which a label would cut at its edge.

    Not for what is to be copied.
    """
    return _LONG_WORD.sub(lambda found: found[0] + _BREAK, text)


def name_text(text: str, longest: int) -> str:
    """Return a path or a command with soft breaks in names that are longer than so many letters.

    Lines end behind a slash by themselves. What has such a break is not to be copied.
    """

    def broken(found: re.Match[str]) -> str:
        name = found[0]
        if len(name) <= longest:
            return name
        return _BREAK.join(name[at : at + _PIECE] for at in range(0, len(name), _PIECE))

    return _NAME.sub(broken, text)


def with_marks(text: str) -> str:
    """Return the text with every hidden, control or direction character shown as a mark."""
    if "\ufe0f" in text:
        text = _LONE_SELECTOR.sub(lambda found: _mark(found[0]), text)
    return _UNUSUAL.sub(lambda found: _mark(found[0]) if _is_hidden(found[0]) else found[0], text)


def path_text(path: str) -> str:
    """Return a path for one line, with every hidden character marked, ends of lines too."""
    if path.isascii() and path.isprintable():
        return path
    return _LINE_BREAKING.sub(lambda found: _mark(found[0]), with_marks(path))


def terminal_text(text: str) -> str:
    """Return a program's output as a user should see it: colours off, overwritten lines gone."""
    plain = _TERMINAL.sub("", text).replace("\r\n", "\n")
    if "\r" in plain:
        plain = "\n".join(_last_state(line) for line in plain.split("\n"))
    return with_marks(plain)


def hard_wrapped(text: str) -> str:
    """Return the text with endless lines cut into lines, for views that can't break softly."""
    lines = text.split("\n")
    if all(len(line) <= UNBROKEN_LIMIT for line in lines):
        return text
    step = UNBROKEN_LIMIT
    return "\n".join(
        "\n".join(line[at : at + step] for at in range(0, len(line), step)) if line else ""
        for line in lines
    )


def elapsed_text(seconds: float) -> str:
    """Return a time that runs, such as `0:07` or `1:02:03`."""
    whole = max(0, int(seconds))
    hours, rest = divmod(whole, 3600)
    minutes, seconds_left = divmod(rest, 60)
    if hours:
        return f"{hours}:{minutes:02}:{seconds_left:02}"
    return f"{minutes}:{seconds_left:02}"


def duration_text(seconds: float) -> str:
    """Return a time that is over, such as `0.2 s` or `2 m 04 s`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, left = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} m {left:02} s"
    return f"{minutes // 60} h {minutes % 60:02} m"


def _last_state(line: str) -> str:
    """Return what a line shows after its carriage returns."""
    return next((part for part in reversed(line.split("\r")) if part), "")


def _is_hidden(char: str) -> bool:
    code = ord(char)
    if code < 0xA0 or char in _BLANK_LOOKING or 0xE0000 <= code <= 0xE0FFF:
        return True
    if 0xFE00 <= code <= 0xFE0E or code in (0x2028, 0x2029):
        return True
    # Odd spaces pass for the ordinary one, or for none.
    return unicodedata.category(char) in {"Cf", "Cc", "Co", "Cn", "Cs", "Zs", "Zl", "Zp"}


def _mark(char: str) -> str:
    return f"⟨U+{ord(char):04X}⟩"


def plain_tip(text: str) -> str:
    """Return what shows this text, if not without end: a picture named in it is never opened."""
    text = clean(text)
    shown = "\n".join(text[:_LONGEST_TIP].split("\n", _TIP_LINES)[:_TIP_LINES])
    if len(shown) < len(text):
        text = f"{shown.rstrip()}…"
    # Qt wraps marked text alone; a line of any other is as wide as the screen.
    is_wide = any(len(line) > _WIDEST_TIP for line in text.split("\n"))
    if not is_wide and "<" not in text and "&" not in text:
        return text
    return f'<p style="white-space: pre-wrap">{escaped(label_text(text))}</p>'


def escaped(text: str) -> str:
    """Return the text for HTML; the standard module brings the names of 2,000 characters."""
    for sign, name in (("&", "amp"), ("<", "lt"), (">", "gt"), ('"', "quot"), ("'", "#x27")):
        text = text.replace(sign, f"&{name};")
    return text
