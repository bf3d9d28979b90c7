"""A key that comes back from somewhere is hidden, in whatever form, and nothing else is."""

from __future__ import annotations

import base64
import html
import json
import random
import re
from pathlib import Path
from urllib.parse import quote, unquote

import pytest

from desktop_agent.core.keys.known_keys import HIDDEN, KnownKeys

KEY = "sk-proj-Zq7+Wd/Tn20vXe4RbLmK9sHc_Y"
BASIC = base64.b64encode(f"user:{KEY}".encode()).decode()


def forms() -> dict[str, str]:
    """Return the ways in which a provider was seen to repeat a key, and some worse ones."""
    every = "".join(f"%{ord(c):02X}" for c in KEY)
    return {
        "as it is": KEY,
        "capitals": KEY.upper(),
        "small letters": KEY.lower(),
        "base64": base64.b64encode(KEY.encode()).decode(),
        "base64, after one character": base64.b64encode(f":{KEY}".encode()).decode(),
        "base64, after a name": BASIC,
        "base64 for URLs": base64.urlsafe_b64encode(KEY.encode()).decode().rstrip("="),
        "base64 for URLs, escaped": quote(BASIC, safe=""),
        "hexadecimal": KEY.encode().hex(),
        "for a URL": quote(KEY, safe=""),
        "for a URL, every character": every,
        "for a URL, twice": every.replace("%", "%25"),
        "JSON": json.dumps(KEY).replace("/", "\\/"),
        "JSON, every character": "".join(f"\\u{ord(c):04x}" for c in KEY),
        "JSON in JSON": json.dumps("".join(f"\\u{ord(c):04x}" for c in KEY)),
        "Python": "".join(f"\\x{ord(c):02x}" for c in KEY),
        "HTML": "".join(f"&#{ord(c)};" for c in KEY),
        "HTML, hexadecimal": "".join(f"&#x{ord(c):x};" for c in KEY),
        "HTML, what must be": html.escape(KEY),
        "its beginning": KEY[:20],
        "its middle": KEY[9:19],
        "its end": KEY[-8:],
        "base64 of its end": base64.b64encode(KEY[11:].encode()).decode(),
        "masked in the middle": f"{KEY[:17]}********{KEY[-9:]}",
    }


def wanted() -> re.Pattern[str]:
    """Return what finds a run of eight characters of the key, or of what they are encoded as."""
    runs = {KEY[at : at + 8] for at in range(1, len(KEY) - 7)}
    for before in range(3):
        coded = base64.b64encode(b"x" * before + KEY.encode()).decode()
        runs |= {coded[at : at + 11] for at in range(3, len(coded) - 14)}
    runs |= {run.replace("+", "-").replace("/", "_") for run in runs}
    runs |= {KEY.encode().hex()[at : at + 16] for at in range(0, len(KEY) * 2 - 15)}
    return re.compile("|".join(map(re.escape, runs)), re.IGNORECASE)


WANTED = wanted()


def leaks(text: str) -> str:
    """Return what a thief would find of the key in a text."""
    plain = text.replace("\\/", "/").replace("\\\\", "\\")
    escaped = re.sub(r"\\(?:u00|x)(..)", lambda found: chr(int(found[1], 16)), plain)
    read = (text, plain, escaped, unquote(unquote(text)), html.unescape(text))
    found = WANTED.search("\n".join(read))
    return found[0] if found else ""


@pytest.fixture
def keys() -> KnownKeys:
    known = KnownKeys()
    known.remember(KEY)
    return known


@pytest.mark.parametrize("form", forms())
def test_a_key_is_hidden_in_every_form(keys: KnownKeys, form: str) -> None:
    for text in (forms()[form], f"Your key “{forms()[form]}” is wrong.\n", f"İ{forms()[form]}\\"):
        assert leaks(text), "the trial itself holds nothing"
        shown = keys.hide(text)
        assert HIDDEN in shown
        assert leaks(shown) == ""
    assert keys.hide(f"Before. {forms()[form]} After.").startswith("Before. ")
    assert keys.hide(f"Before. {forms()[form]} After.").endswith(" After.")


@pytest.mark.parametrize("form", forms())
def test_a_key_is_hidden_wherever_a_stream_is_cut(keys: KnownKeys, form: str) -> None:
    text = f"It was {forms()[form]}, said the provider."
    cuts = [[at] for at in range(8, len(text) - 16)]
    chance = random.Random(form)
    cuts += [sorted(chance.sample(range(1, len(text)), 5)) for _ in range(10)]
    cuts += [list(range(step, len(text), step)) for step in (1, 2, 3, 5, 7)]
    for places in cuts:
        stream = keys.stream()
        pieces = [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]
        shown = "".join([*(stream.feed(piece) for piece in pieces), stream.finish()])
        assert leaks(shown) == "", places
        assert shown.startswith("It was ")
        assert shown.endswith(", said the provider.")


def test_text_without_a_key_comes_through_a_stream_unchanged_and_soon(keys: KnownKeys) -> None:
    text = 'C:\\new\\table %20 &amp; "sk-proj-" sk-pro Zq7+Wd 100 % of İstanbul \\u0041\\ 𝕏 ' * 3
    for step in range(1, 12):
        stream, shown = keys.stream(), ""
        for at in range(0, len(text), step):
            shown += stream.feed(text[at : at + step])
            assert at + step - len(shown) < 40
        assert shown + stream.finish() == text


def test_what_all_keys_of_a_provider_begin_with_is_no_secret() -> None:
    known = KnownKeys()
    known.remember("sk-ant-api03-" + "Q7x" * 20)
    text = "Keys begin with sk-ant-api03-, those of a project with sk-proj-."
    assert known.hide(text) == text


def test_what_stands_for_no_key_is_no_secret() -> None:
    known = KnownKeys()
    for placeholder in ("", "none", "EMPTY", "lm-studio", "ollama", "not-needed", None):
        known.remember(placeholder)
    text = "ollama and lm-studio need none; EMPTY is not-needed"
    assert known.hide(text) == text


def test_a_key_of_words_hides_itself_and_not_its_words() -> None:
    known = KnownKeys()
    known.remember("correct-horse-battery")
    assert known.hide("key correct-horse-battery!") == f"key {HIDDEN}!"
    assert known.hide("the battery of a correct horse") == "the battery of a correct horse"
    known.remember("sk-1234")
    assert known.hide("key=sk-1234") == f"key={HIDDEN}"


def test_arguments_of_a_call_are_looked_through(keys: KnownKeys) -> None:
    value = {"a": [KEY, 1, None, {"b": f"x{KEY}"}], KEY: True}
    assert keys.hide_all(value) == {"a": [HIDDEN, 1, None, {"b": f"x{HIDDEN}"}], HIDDEN: True}


@pytest.mark.parametrize(
    ("kept", "text"),
    [
        ("/home/me/work/creds.json", "/home/me/work/src/main.py"),
        (str(Path(__file__).parent), f"{__file__} is read"),
        ("~/.config/gcloud", "in ~/.config/other"),
        ("http://localhost:8080/realms", "curl http://localhost:8080/health"),
        ("postgres://me:hush-hush7@localhost:5432/db", "postgres://localhost:5432/db2"),
        ("100000", "a limit of 100000"),
    ],
)
def test_a_place_or_number_that_goes_by_the_name_of_a_secret_hides_no_other(
    kept: str, text: str
) -> None:
    keys = KnownKeys()
    keys.remember(kept)
    assert keys.hide(text) == text


@pytest.mark.parametrize(
    ("kept", "secret"),
    [
        ("postgres://me:hush-hush7@localhost:5432/db", "hush-hush7"),
        ("https://4bc-my-own-token@git.example/x", "4bc-my-own-token"),
        ("https://hooks.example/services/T00/X7a9b8c7d6e5f4g", "X7a9b8c7d6e5f4g"),
        ("https://mcp.example?key=X7a9b8c7d6e5f4g", "X7a9b8c7d6e5f4g"),
        ("/wJalrXUtnFEMI/K7MDENG+bPxRfiCY", "/wJalrXUtnFEMI/K7MDENG+bPxRfiCY"),
        ('{"key": "X7a9b8c7d6e5f4g", "uri": "https://a.example"}', "X7a9b8c7d6e5f4g"),
    ],
)
def test_what_is_secret_in_an_address_is_hidden_and_so_is_a_key_that_looks_like_a_path(
    kept: str, secret: str
) -> None:
    keys = KnownKeys()
    keys.remember(kept)
    assert keys.hide(f"It was {secret}.") == f"It was {HIDDEN}."
