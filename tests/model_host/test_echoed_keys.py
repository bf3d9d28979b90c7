"""A provider that repeats the key it was sent: nobody keeps it, logs it or shows it."""

from __future__ import annotations

import base64
import json
import logging
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from desktop_agent.adapters.files.log_file import start_logging
from desktop_agent.adapters.models.host_environment import provider_environment
from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.compose import SESSIONS_FILE
from desktop_agent.core.events import MessageAdded, PartDelta, TurnEnded
from desktop_agent.core.ids import new_agent_id, new_message_id, new_session_id
from desktop_agent.core.keys.known_keys import HIDDEN, KEYS
from desktop_agent.core.messages import Message
from desktop_agent.core.requests import Delta
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.workspace import Workspace
from tests.helpers.providers import (
    DIALECTS,
    Calls,
    ErrorEvent,
    Fail,
    LoopbackProvider,
    Pace,
    Say,
    Think,
)
from tests.model_host.conftest import KEY, Ask, Heard

pytestmark = pytest.mark.asyncio(loop_scope="session")

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)

SECRET = KEY[10:]
FORMS = {
    "as it is": KEY,
    "cut": KEY[8:18],
    "base64": base64.b64encode(KEY.encode()).decode(),
    "with a name, in base64": base64.b64encode(f"me:{KEY}".encode()).decode(),
    "for a URL": "".join(f"%{ord(c):02x}" for c in KEY),
    "JSON": "".join(f"\\u{ord(c):04x}" for c in KEY),
}


def leaks(said: str) -> list[str]:
    """Return which parts of the key, or of a form of it, a text holds."""
    parts = [form[at : at + 32] for form in FORMS.values() for at in range(0, len(form) - 31)]
    parts += [SECRET[at : at + 8] for at in range(len(SECRET) - 7)]
    return [part for part in parts if part in said or json.dumps(part)[1:-1] in said]


def whole(heard: Heard) -> str:
    """Return all that a stream gave, as the store and `--output jsonl` would write it."""
    items = [msgspec.json.encode(item).decode() for item in heard.items]
    fault = msgspec.json.encode(heard.fault).decode() if heard.fault is not None else ""
    return "\n".join([*items, heard.shown, heard.thought, fault])


@every_dialect
@pytest.mark.parametrize("form", FORMS)
async def test_a_key_in_the_words_of_an_answer_is_hidden(dialect, form, ask: Ask) -> None:
    text = f"I was given {FORMS[form]} and no more."
    script = [[Think(f"Mine is {FORMS[form]}."), Say(text, chunks=len(text))]]
    with LoopbackProvider(dialect, script) as provider:
        heard = await ask(provider)
    assert leaks(whole(heard)) == []
    assert HIDDEN in heard.text
    assert HIDDEN in heard.shown
    assert heard.shown.startswith("I was given ")
    assert heard.text.endswith(" and no more.")


@every_dialect
async def test_a_key_in_the_arguments_of_a_call_is_hidden(dialect, ask: Ask) -> None:
    arguments = {"path": f"notes/{KEY}.txt", "extra": [{KEY: FORMS["base64"]}]}
    with LoopbackProvider(dialect, [Calls(("read", arguments))]) as provider:
        heard = await ask(provider)
    assert leaks(whole(heard)) == []
    assert heard.calls[0].name == "read"
    assert heard.calls[0].arguments["path"].endswith(f"{HIDDEN}.txt")


@every_dialect
@pytest.mark.parametrize("form", FORMS)
async def test_a_key_in_an_error_is_hidden(dialect, form, ask: Ask) -> None:
    script = [Fail(400, message=f"Not valid: {FORMS[form]} (wrong)")]
    with LoopbackProvider(dialect, script) as provider:
        heard = await ask(provider)
    assert heard.fault is not None
    assert leaks(whole(heard)) == []


async def test_a_key_in_an_error_amid_an_answer_is_hidden(ask: Ask) -> None:
    script = [[Say(f"So far {KEY[:16]}", chunks=1), ErrorEvent(message=f"Bad key {KEY}")]]
    with LoopbackProvider("openai", script) as provider:
        heard = await ask(provider)
    assert heard.fault is not None
    assert leaks(whole(heard)) == []
    assert heard.shown.startswith("So far ")


async def test_words_that_were_held_back_are_shown_when_the_answer_breaks_off(ask: Ask) -> None:
    # The last letters could have been the beginning of the key.
    script = [[Say("This is canary-", chunks=1), ErrorEvent(message="Sorry.")]]
    with LoopbackProvider("openai", script) as provider:
        heard = await ask(provider)
    assert heard.shown == "This is canary-"


async def test_neither_database_nor_log_nor_output_hold_the_key(ask: Ask, tmp_path: Path) -> None:
    """What a session keeps of an answer and of a fault is what `stream` gave of them."""
    script = [[Say(f"It is {form}. ", chunks=9) for form in FORMS.values()], Fail(401, message=KEY)]
    with LoopbackProvider("openai", script) as provider:
        told, refused = await ask(provider), await ask(provider)
    assert refused.fault is not None
    log = start_logging(tmp_path)
    logging.getLogger("trial").error("it said %s: %s", refused.fault, FORMS)
    agent, session = new_agent_id(), new_session_id()
    with closing(SqliteStore(tmp_path / SESSIONS_FILE)) as store:
        store.save_session(SessionInfo(session, agent, "Trial", Workspace(str(tmp_path)), "m"))
        message = Message(new_message_id(), "assistant", told.answer.parts)
        for item in told.items:
            if isinstance(item, Delta):
                store.record(session, PartDelta(agent, message.id, item.kind, item.text))
        store.flush_pending()
        store.record(session, MessageAdded(agent, message))
        store.record(session, TurnEnded(agent, "error", fault=refused.fault))
    for path in tmp_path.rglob("*"):
        assert leaks(path.read_bytes().decode("utf-8", "replace")) == [], path
    assert HIDDEN in log.read_text()


async def test_what_a_provider_says_against_a_key_on_trial_is_hidden(model) -> None:
    tried = "trial-Kq83Lm20Zx77"
    with LoopbackProvider("openai", [Fail(401, message=f"No: {tried[3:16]}")]) as provider:
        fault = await model.call(
            "check_key", model=provider.model, api_base=provider.api_base, key=tried
        )
    assert "Kq83" not in fault.message + fault.details
    assert "Kq83" not in KEYS.hide(f"and later {tried}")


async def test_an_answer_with_no_key_in_it_comes_as_it_was_sent(ask: Ask) -> None:
    text = 'The file `a\\b.txt` is "sk-proj"; 50 % of 0x41 &amp; \\u00e9 — ok.'
    with LoopbackProvider("openai", [[Say(text, chunks=20)], Pace(50, per_second=500)]) as provider:
        first, second = await ask(provider), await ask(provider)
    assert first.shown == first.text == text
    assert second.shown == second.text == "token " * 50


async def test_only_the_chosen_provider_gets_the_variables_it_is_known_by() -> None:
    own = {
        "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI9K7MDENGbPxRfiCY",
        "AWS_REGION": "eu-west-1",
        "GOOGLE_APPLICATION_CREDENTIALS": "/home/ann/key.json",
        "OPENAI_BASE_URL": "http://elsewhere.invalid",
        "WATSONX_URL": "https://watsonx.example",
        "DATABASE_URL": "postgres://ann:pw@db/shop",
    }
    assert set(provider_environment("bedrock/us.amazon.nova", own)) == {
        "AWS_SECRET_ACCESS_KEY",
        "AWS_REGION",
    }
    assert set(provider_environment("vertex_ai/gemini-2.5-pro", own)) == {
        "GOOGLE_APPLICATION_CREDENTIALS"
    }
    assert set(provider_environment("watsonx/granite", own)) == {"WATSONX_URL"}
    for model in ("openai/gpt-4o", "gpt-4o", "demo", "ollama_chat/x", "anthropic/claude-x"):
        assert provider_environment(model, own) == {}
    assert "MDENG" not in KEYS.hide("it was wJalrXUtnFEMI9K7MDENGbPxRfiCY")
    # A place where keys are is no secret: paths would lose their names.
    assert KEYS.hide("see /home/ann/key.json") == "see /home/ann/key.json"
