"""Takes keys out of anything that a person, a log or the other process may see."""

from __future__ import annotations

import re

_KEY_SHAPES = re.compile(
    r"""(?ix)
    \b(?:sk|pk|rk|gsk|xai|r8|hf|pplx|nvapi|fw|tgp)[-_][\w.\-]{8,}   # prefixed keys
    | \bAIza[\w\-]{16,}                                            # Google
    | \bAKIA[0-9A-Z]{12,}                                          # AWS
    | \beyJ[\w\-]{10,}\.[\w\-]{6,}\.[\w\-]*                        # JSON web tokens
    """
)
_NAMED = re.compile(
    r"""(?ix)
    (?P<name>\b(?:authorization|x-api-key|x-goog-api-key|api[-_]?key|access[-_]?token|key)
      ["']?\s*[:=]\s*["']?(?:bearer\s+|basic\s+)?)
    (?P<secret>[^\s"',;&}]{6,})
    | (?P<scheme>\bbearer\s+)(?P<token>[\w.\-~+/=]{6,})
    """
)
_HIDDEN = "[key]"


def redact(text: str, key: str = "") -> str:
    """Replace the key itself, and anything in the shape of one, by `[key]`."""
    if len(key) >= 4:
        text = text.replace(key, _HIDDEN)
    text = _NAMED.sub(_hide_named, text)
    return _KEY_SHAPES.sub(_HIDDEN, text)


def _hide_named(match: re.Match[str]) -> str:
    return f"{match['name'] or match['scheme'] or ''}{_HIDDEN}"
