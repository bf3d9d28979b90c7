"""Ids and names of tool calls as each provider takes them: a history's may be another one's."""

from __future__ import annotations

import base64
import re
from hashlib import sha256

# OpenAI refuses a history with longer ones; vLLM gives out 46 characters.
_LONGEST = 40
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_MISTRALS = re.compile(r"[A-Za-z0-9]{9}")


def short_id(id_: str) -> str:
    """Return the id, or what stands for it where it is too long for some provider."""
    return id_ if len(id_) <= _LONGEST else f"call_{sha256(_bytes(id_)).hexdigest()[:32]}"


def mistral_id(id_: str) -> str:
    """Return the id, or what stands for it: Mistral refuses a history with any other form."""
    if _MISTRALS.fullmatch(id_):
        return id_
    return base64.b32encode(sha256(_bytes(id_)).digest()).decode("ascii")[:9]


def plain_name(name: str) -> str:
    """Return the name, or what stands for it where a model made one up that no tool could have.

    One server gives it out, and others refuse each request whose history holds it.
    """
    if _NAME.fullmatch(name):
        return name
    return re.sub(r"[^A-Za-z0-9_-]|^(?![A-Za-z_])", "_", name)[:64]


def _bytes(id_: str) -> bytes:
    return id_.encode("utf-8", "surrogatepass")
