"""What looks like a key, or is named one: the one list for logs, faults and environments."""

from __future__ import annotations

import re

from desktop_agent.core.keys.known_keys import HIDDEN, KEYS

_SECRET_NAME = re.compile(
    r"KEY|TOKEN|SECRET|PASS|PWD\Z|CREDENTIAL|AUTH\b|COOKIE|DATABASE_URL|CONNECTION_STRING|\bDSN\b",
    re.IGNORECASE,
)
_NAMES = (
    r"api[-_]?key|access[-_]?key|access[-_]?token|auth[-_]?token|secret|password|passwd|"
    r"authorization|x-goog-api-key"
)
# Each pattern's first group, if any, stays; what follows it is the secret.
_SHAPES = tuple(
    re.compile(pattern)
    for pattern in (
        r"\b(?:sk|pk|rk|gsk|xai|hf|r8|pplx|csk|nvapi|fw|tgp|vck|ghp|gho|ghu|ghs|glpat|xox[a-z])"
        r"[-_][A-Za-z0-9_.\-]{12,}",
        r"\bAIza[A-Za-z0-9_\-]{16,}",
        r"\bA[KS]IA[A-Z0-9]{12,}",
        r"\bgithub_pat_[A-Za-z0-9_]{20,}",
        r"\bnpm_[A-Za-z0-9]{20,}",
        r"\bpypi-[A-Za-z0-9_\-]{20,}",
        r"\bdo[opr]_v1_[a-f0-9]{40,}",
        r"\bSG\.[A-Za-z0-9_\-]{16,}(?:\.[A-Za-z0-9_\-]*)?",
        # To its end, or what is there of it where the text was cut, be the lines numbered.
        r"(-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----)"
        r"(?:[^-]*+(?:-(?!----)[^-]*+)*(?=-----END)|"
        r"(?:(?:\\+[nrt]|[^A-Za-z\\-]){0,24}[A-Za-z0-9+/=]{24,}+)+)",
        # Begins where no other run of these characters does: each is gone through once.
        r"(?<![A-Za-z0-9_\-])eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{6,}(?:\.[A-Za-z0-9_\-]*)?",
        r"((?i:\bbearer\s{1,8}))[A-Za-z0-9._~+/=\-]{6,}",
        r"((?i:\bbasic\s{1,8}))(?=[A-Za-z+/]{0,80}[0-9=])[A-Za-z0-9+/=]{8,}",
        rf"((?i:(?:{_NAMES})[\"']?\s{{0,8}}[:=]\s{{0,8}}[\"']?))[^\s\"'&,;}}]{{4,}}",
        r"(://[^/\s:@]+:)[^/\s@]+(?=@)",
        r"([?&](?i:key|token|api_key|access_token)=)[^&\s\"']+",
    )
)


def is_secret_name(name: str) -> bool:
    """Whether an environment variable of this name holds a secret, judging by the name."""
    return _SECRET_NAME.search(name) is not None


def redact(text: str) -> str:
    """Return the text without known keys, and without what looks like one or is named one."""
    text = KEYS.hide(text)
    for pattern in _SHAPES:
        text = pattern.sub(lambda found: (found.group(1) if found.re.groups else "") + HIDDEN, text)
    return text
