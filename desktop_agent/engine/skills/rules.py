"""The Agent Skills standard's rules for a SKILL.md, as words for the user."""

from __future__ import annotations

import re
import unicodedata
from typing import cast

import msgspec

from desktop_agent.core.prose.markdown import listed
from desktop_agent.engine.skills.front_matter import FrontMatter, as_text

NAME_LENGTH = 64
DESCRIPTION_LENGTH = 1024
COMPATIBILITY_LENGTH = 500

_KNOWN = frozenset({"name", "description", "license", "compatibility", "metadata", "allowed-tools"})
_TOGETHER = (
    frozenset({"LATIN", "CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"}),
    frozenset({"LATIN", "CJK", "BOPOMOFO"}),
    frozenset({"LATIN", "CJK", "HANGUL"}),
)
# Beyond this a text is not what its field is for.
_LONGEST_NAME = 200
_LONGEST_TEXT = 20_000

# Control characters, marks that turn the direction of text, and characters without a shape:
# what is read must be what is seen. Selectors of a variant and joiners are part of signs and of
# scripts, where they stand behind one; in rows, or behind plain letters, they spell hidden text.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0"
    "\ufff0-\ufffb\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]|(?<![^\x00-\x7f\u200c\u200d\ufe0e\ufe0f])[\ufe0e\ufe0f]"
    "|(?<![^\x00-\x7f\u200c\u200d])[\u200c\u200d]"
)

_UNSEEN_ASCII = bytes(code for code in range(128) if _UNSEEN.match(chr(code)))


class Declared(msgspec.Struct, frozen=True):
    """What a SKILL.md says of its skill, and how that stands to the standard."""

    name: str
    description: str
    license: str = ""
    compatibility: str = ""
    allowed_tools: str = ""
    metadata: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    problem: str = ""


def visible(text: str) -> str:
    """Return the text without characters that can't be seen but would be read."""
    return _UNSEEN.sub("", text) if has_unseen(text) else text


def escaped(text: str) -> str:
    """Return the text as it may stand between tags and in their attributes."""
    for sign, name in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(sign, name)
    return text


def has_unseen(text: str) -> bool:
    """Whether the text holds such characters."""
    if text.isascii():  # as most texts are: five times as fast
        content = text.encode()
        return len(content.translate(None, _UNSEEN_ASCII)) != len(content)
    return _UNSEEN.search(text) is not None


def tokens_of(*texts: str) -> int:
    """Return how much of each request the list's entry takes, about: writings differ in bytes."""
    return sum(len(text.encode("utf-8", "replace")) for text in texts) // 4 + 20


def declared(front: FrontMatter, directory_name: str) -> Declared:
    """Hold a front matter against the standard; only a missing description is fatal."""
    raw = {key: front.text(key) for key in _KNOWN}
    warnings = list(front.warnings)
    if any(has_unseen(text.replace("\r", "")) for text in raw.values()):
        warnings.append("It holds invisible characters, which were left out.")
    if has_unseen(front.body.replace("\r", "")):
        warnings.append("Its text holds invisible characters, which are left out.")
    name = " ".join(visible(raw["name"]).splitlines())
    if front.has_mark:
        warnings.append("The standard's validator refuses the byte order mark before its text.")
    if not front.problem:  # what was not read lacks nothing
        warnings += _of_name(name, directory_name)
    description = visible(raw["description"])[:_LONGEST_TEXT]
    if len(description) > DESCRIPTION_LENGTH:
        warnings.append(f"The description is longer than {DESCRIPTION_LENGTH:,} characters.")
    warnings += _of_others(front, raw)
    return Declared(
        name=name[:_LONGEST_NAME] or visible(directory_name) or "unnamed",
        description=description,
        license=visible(raw["license"])[:_LONGEST_TEXT],
        compatibility=visible(raw["compatibility"])[:_LONGEST_TEXT],
        allowed_tools=visible(raw["allowed-tools"])[:_LONGEST_TEXT],
        metadata=_metadata(front.fields.get("metadata")),
        warnings=tuple(map(visible, warnings)),
        problem=visible(front.problem) or ("" if description else "The description is missing."),
    )


def _of_name(raw: str, directory_name: str) -> list[str]:
    name = unicodedata.normalize("NFKC", raw)
    if not name:
        return ["The name is missing; the folder's name is used."]
    found: list[str] = []
    if len(name) > NAME_LENGTH:
        found.append(f"The name is longer than {NAME_LENGTH} characters.")
    if name != name.lower():
        found.append("The name has capital letters.")
    if name.startswith("-") or name.endswith("-"):
        found.append("The name begins or ends with a hyphen.")
    if "--" in name:
        found.append("The name has two hyphens in a row.")
    if not all(character.isalnum() or character == "-" for character in name):
        found.append("The name has characters other than letters, digits and hyphens.")
    if mixed := _mixed_scripts(name):
        found.append(
            f"The name mixes letters of {mixed}: it may be made to look like another name."
        )
    if name != unicodedata.normalize("NFKC", directory_name):
        found.append(f"The name differs from its folder's, {visible(directory_name)!r}.")
    return found


def _mixed_scripts(name: str) -> str:
    """Return the scripts of a name that are not written together, as words; empty for others.

    These are the combinations of Unicode's Technical Standard 39 ("highly restrictive").
    """
    if name.isascii():
        return ""
    letters = (unicodedata.name(letter, "") for letter in name if letter.isalpha())
    scripts = {words.partition(" ")[0] for words in letters if words}
    if len(scripts) < 2 or any(scripts <= together for together in _TOGETHER):
        return ""
    *most, last = sorted(script.capitalize() for script in scripts)
    return f"{', '.join(most)} and {last}"


def _of_others(front: FrontMatter, raw: dict[str, str]) -> list[str]:
    found: list[str] = []
    if len(raw["compatibility"]) > COMPATIBILITY_LENGTH:
        found.append(f"Its compatibility is longer than {COMPATIBILITY_LENGTH} characters.")
    if "compatibility" in front.fields and not isinstance(front.fields["compatibility"], str):
        found.append("Its compatibility is not a text.")
    extra = sorted(visible(key)[:40] for key in front.fields if key not in _KNOWN)
    if extra:
        found.append(f"It has fields the standard does not know: {listed(extra, 5)}.")
    return found


def _metadata(value: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict):
        return ()
    fields = cast(dict[str, object], value)
    pairs = [(visible(key), visible(as_text(entry))) for key, entry in fields.items()]
    return tuple((key[:_LONGEST_NAME], entry[:_LONGEST_TEXT]) for key, entry in pairs[:100])
