"""Which models are offered, and what is said about keys that don't work."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from desktop_agent.adapters.config.secrets import Secrets
from desktop_agent.adapters.models.catalog import ModelCatalog
from desktop_agent.adapters.models.hosted_model import HostedModel
from desktop_agent.adapters.models.local_servers import Address
from desktop_agent.core.faults import Fault, ModelError
from desktop_agent.core.models import ModelInfo
from desktop_agent.core.providers import PROVIDERS, Provider
from desktop_agent.core.requests import Answer
from desktop_agent.core.settings import CustomServer, Settings
from tests.adapters import loopback
from tests.helpers.provider_script import Calls, Fail
from tests.helpers.providers import LoopbackProvider
from tests.helpers.scripted import Breaks, ScriptedModel, calls, says

KEY = "sk-test-" + "k" * 30


def catalog(
    directory: Path,
    *known: Provider,
    addresses: Sequence[Address] = (),
    model: Any = None,
    **environment: str,
) -> ModelCatalog:
    secrets = Secrets(directory, environment=environment)
    return ModelCatalog(secrets, model, addresses=addresses, known_providers=known)


def by_name(models: Sequence[ModelInfo]) -> dict[str, ModelInfo]:
    return {model.name: model for model in models}


OPENAI_LIST = {
    "object": "list",
    "data": [
        {"id": "gpt-6", "object": "model", "created": 1, "owned_by": "system"},
        {"id": "text-embedding-3-small", "object": "model", "created": 1, "owned_by": "system"},
        {"id": "gpt-image-2", "object": "model", "created": 1, "owned_by": "system"},
        {"id": "whisper-1", "object": "model", "created": 1, "owned_by": "openai-internal"},
    ],
}
ANTHROPIC_LIST = {
    "data": [
        {
            "type": "model",
            "id": "claude-opus-5",
            "display_name": "Claude Opus 5",
            "created_at": "2026-01-01T00:00:00Z",
        }
    ],
    "has_more": False,
    "first_id": "claude-opus-5",
    "last_id": "claude-opus-5",
}
GEMINI_LIST = {
    "models": [
        {
            "name": "models/gemini-3-pro",
            "displayName": "Gemini 3 Pro",
            "inputTokenLimit": 1048576,
            "outputTokenLimit": 65536,
            "supportedGenerationMethods": ["generateContent", "countTokens"],
        },
        {
            "name": "models/gemini-embedding-001",
            "displayName": "Gemini Embedding",
            "inputTokenLimit": 2048,
            "supportedGenerationMethods": ["embedContent"],
        },
    ]
}
OPENROUTER_LIST = {
    "data": [
        {
            "id": "anthropic/claude-opus-5",
            "name": "Anthropic: Claude Opus 5",
            "context_length": 200000,
            "architecture": {
                "input_modalities": ["text", "image"],
                "output_modalities": ["text"],
            },
            "pricing": {"prompt": "0.000015", "completion": "0.000075"},
            "supported_parameters": ["max_tokens", "tools"],
        },
        {
            "id": "openrouter/auto",
            "name": "Auto",
            "architecture": {"input_modalities": ["text"], "output_modalities": ["text"]},
            "pricing": {"prompt": "-1", "completion": "-1"},
            "supported_parameters": [],
        },
        {
            "id": "some/painter",
            "name": "Painter",
            "architecture": {"input_modalities": ["text"], "output_modalities": ["image"]},
        },
    ]
}
TOGETHER_LIST = [
    {
        "id": "Qwen/Qwen3-Coder",
        "type": "chat",
        "display_name": "Qwen3 Coder",
        "context_length": 262144,
        "pricing": {"input": 2, "output": 2.5, "hourly": 0},
    },
    {"id": "some/flux", "type": "image", "display_name": "Flux"},
]
GROQ_LIST = {
    "object": "list",
    "data": [
        {"id": "llama-4", "object": "model", "active": True, "context_window": 131072},
        {"id": "old", "object": "model", "active": False, "context_window": 8192},
        {"id": "whisper-large-v3", "object": "model", "active": True, "context_window": 448},
    ],
}
MISTRAL_LIST = {
    "object": "list",
    "data": [
        {
            "id": "devstral-latest",
            "object": "model",
            "name": "Devstral",
            "max_context_length": 131072,
            "capabilities": {"completion_chat": True, "function_calling": True, "vision": False},
        },
        {
            "id": "mistral-embed",
            "object": "model",
            "capabilities": {"completion_chat": False},
        },
    ],
}


async def listed(directory: Path, provider: str, answer: Any) -> dict[str, ModelInfo]:
    known = next(each for each in PROVIDERS if each.name == provider)
    async with loopback.serve({}, otherwise=answer) as running:
        one = Provider(
            known.name,
            known.title,
            ("THE_KEY",),
            f"{running.url}/models",
            dialect=known.dialect,
            aliases=known.aliases,
        )
        secrets = Secrets(directory, environment={})
        secrets.set_key(provider, KEY, "session")
        models = await ModelCatalog(secrets, addresses=(), known_providers=[one]).models(Settings())
        headers = running.seen[0][2]
    assert KEY in f"{headers.get('Authorization')}{headers.get('x-api-key')}" + str(
        headers.get("x-goog-api-key")
    )
    found = by_name(models)
    assert found.pop("demo").title == "Demo"
    return found


async def test_openai_models_are_offered_without_those_that_cannot_talk(tmp_path: Path) -> None:
    assert list(await listed(tmp_path, "openai", OPENAI_LIST)) == ["openai/gpt-6"]


async def test_anthropic_models_have_their_titles(tmp_path: Path) -> None:
    found = await listed(tmp_path, "anthropic", ANTHROPIC_LIST)
    assert found["anthropic/claude-opus-5"].title == "Claude Opus 5"


async def test_gemini_models_have_their_context(tmp_path: Path) -> None:
    found = await listed(tmp_path, "gemini", GEMINI_LIST)
    assert list(found) == ["gemini/gemini-3-pro"]
    assert found["gemini/gemini-3-pro"].context_limit == 1048576


async def test_openrouter_models_have_prices_tools_and_images(tmp_path: Path) -> None:
    found = await listed(tmp_path, "openrouter", OPENROUTER_LIST)
    assert "openrouter/some/painter" not in found
    opus = found["openrouter/anthropic/claude-opus-5"]
    assert (opus.input_price, opus.output_price) == (pytest.approx(15), pytest.approx(75))
    assert (opus.has_tools, opus.has_images, opus.context_limit) == (True, True, 200000)
    auto = found["openrouter/openrouter/auto"]
    assert (auto.input_price, auto.has_tools) == (None, False)


async def test_lists_in_other_shapes_are_read(tmp_path: Path) -> None:
    together = await listed(tmp_path, "together_ai", TOGETHER_LIST)
    assert list(together) == ["together_ai/Qwen/Qwen3-Coder"]
    coder = together["together_ai/Qwen/Qwen3-Coder"]
    assert (coder.input_price, coder.output_price, coder.context_limit) == (2, 2.5, 262144)
    groq = await listed(tmp_path / "g", "groq", GROQ_LIST)
    assert {name: model.context_limit for name, model in groq.items()} == {"groq/llama-4": 131072}
    mistral = await listed(tmp_path / "m", "mistral", MISTRAL_LIST)
    assert {name: model.has_tools for name, model in mistral.items()} == {
        "mistral/devstral-latest": True
    }


async def test_a_provider_is_asked_once_in_ten_minutes_for_each_key(tmp_path: Path) -> None:
    async with loopback.serve({}, otherwise=OPENAI_LIST) as running:
        one = Provider("openai", "OpenAI", ("OPENAI_API_KEY",), f"{running.url}/v1/models")
        secrets = Secrets(tmp_path, environment={"OPENAI_API_KEY": KEY})
        asked = ModelCatalog(secrets, addresses=(), known_providers=[one])
        for _ in range(3):
            assert "openai/gpt-6" in by_name(await asked.models(Settings()))
        assert len(running.seen) == 1
        secrets.set_key("openai", KEY + "2", "session")
        await asked.models(Settings())
        assert len(running.seen) == 2
    assert KEY not in repr(vars(asked))


async def test_one_provider_that_fails_does_not_hide_the_others(tmp_path: Path) -> None:
    async def fails(request: web.Request) -> web.StreamResponse:
        return await loopback.status(500, {"error": {"message": "oops"}})

    routes = {"/groq": GROQ_LIST, "/openai": fails, "/xai": [1, 2], "/mistral": "nonsense"}
    async with loopback.serve(routes) as running, loopback.serve(loopback.VLLM) as local:
        known = [
            Provider(name, name, (f"{name}_KEY",), f"{running.url}/{name}")
            for name in ("openai", "xai", "mistral", "groq")
        ]
        keys = {f"{provider.name}_KEY": KEY for provider in known}
        secrets = Secrets(tmp_path, environment={})
        for provider in known:
            secrets.set_key(provider.name, keys[f"{provider.name}_KEY"], "session")
        offered = ModelCatalog(secrets, addresses=[Address(local.url)], known_providers=known)
        models = await offered.models(Settings())
    assert [model.name for model in models] == ["demo", "openai/Qwen/Qwen3-8B", "groq/llama-4"]


# Typed servers


@pytest.mark.parametrize("typed", ["", "/", "/v1", "/v1/"])
async def test_a_typed_address_works_with_and_without_its_v1(tmp_path: Path, typed: str) -> None:
    async with loopback.serve(loopback.VLLM) as running:
        settings = Settings(servers=(CustomServer("Lab", running.url + typed),))
        found = by_name(await catalog(tmp_path).models(settings))
    model = found["openai/Qwen/Qwen3-8B"]
    assert model.api_base == f"{running.url}/v1"
    assert (model.provider, model.context_limit) == ("Lab", 24576)


@pytest.mark.parametrize(
    ("name", "title"),
    [("/models/Qwen3-4B-Q4_K_M.gguf", "Qwen3-4B-Q4_K_M"), ("Qwen/Qwen3-8B", "Qwen/Qwen3-8B")],
)
async def test_a_model_that_is_a_file_is_called_by_its_name_alone(
    tmp_path: Path, name: str, title: str
) -> None:
    routes = {"/v1/models": {"object": "list", "data": [{"id": name, "object": "model"}]}}
    async with loopback.serve(routes) as running:
        settings = Settings(servers=(CustomServer("Lab", running.url),))
        models = await catalog(tmp_path).models(settings)
    assert [(one.name, one.title) for one in models if one.provider == "Lab"] == [
        (f"openai/{name}", title)
    ]


async def test_a_typed_server_gets_its_own_key_and_no_other(tmp_path: Path) -> None:
    async with loopback.serve(loopback.VLLM) as running:
        secrets = Secrets(tmp_path, environment={"OPENAI_API_KEY": "sk-not-for-you"})
        asked = ModelCatalog(secrets, addresses=(), known_providers=())
        settings = Settings(servers=(CustomServer("Lab", f"{running.url}/v1"),))
        await asked.models(settings)
        assert "Authorization" not in running.seen[0][2]
        secrets.set_key(running.url, KEY, "session")
        await asked.models(settings)
        assert running.seen[1][2]["Authorization"] == f"Bearer {KEY}"


async def test_a_typed_server_that_is_off_is_left_out(tmp_path: Path) -> None:
    settings = Settings(servers=(CustomServer("Lab", "http://127.0.0.1:9/v1"),))
    assert [model.name for model in await catalog(tmp_path).models(settings)] == ["demo"]


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ALL_PROXY", "socks://127.0.0.1:9/"),
        ("ALL_PROXY", "socks5://127.0.0.1:9"),
        ("HTTPS_PROXY", "http://proxy:80x"),
        ("SSL_CERT_FILE", "/nothing/there.pem"),
        ("REQUESTS_CA_BUNDLE", __file__),
    ],
)
async def test_a_proxy_of_an_unknown_kind_leaves_this_computers_models_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, value)
    async with loopback.serve(loopback.VLLM) as running:
        settings = Settings(servers=(CustomServer("Lab", running.url),))
        assert "openai/Qwen/Qwen3-8B" in by_name(await catalog(tmp_path).models(settings))
        assert await catalog(tmp_path).check("openai/x", running.url, "") is None
    fault = await catalog(tmp_path, *PROVIDERS).check("openai", "", KEY)
    assert fault is not None
    assert fault.message == "OpenAI can't be reached at api.openai.com."
    assert "What the environment names as a proxy or as certificates" in fault.details


async def test_the_chosen_model_is_always_in_the_list(tmp_path: Path) -> None:
    settings = Settings(model="openai/mine", api_base="http://127.0.0.1:9/v1")
    model = (await catalog(tmp_path).models(settings))[-1]
    assert (model.name, model.api_base) == (settings.model, settings.api_base)
    assert not model.is_ready
    assert model.note


# Checking a key


def provider_at(url: str, **other: Any) -> Provider:
    return Provider("openai", "OpenAI", ("OPENAI_API_KEY",), f"{url}/v1/models", **other)


async def test_a_good_key_is_found_good_without_a_paid_request(tmp_path: Path) -> None:
    async with loopback.serve({"/v1/models": OPENAI_LIST}) as running:
        fault = await catalog(tmp_path, provider_at(running.url)).check("openai", "", KEY)
        assert fault is None
        assert [(method, path) for method, path, _, _ in running.seen] == [("GET", "/v1/models")]


@pytest.mark.parametrize(
    ("status", "body", "kind", "action", "words"),
    [
        (
            401,
            {"error": {"message": f"Incorrect API key provided: {KEY}.", "code": "invalid"}},
            "auth",
            "edit_key",
            "OpenAI says: Incorrect API key provided: [hidden].",
        ),
        (403, {"message": "No access\n here"}, "auth", "edit_key", "OpenAI says: No access here"),
        (402, {"error": "Out of credits"}, "billing", "settings", "OpenAI says: Out of credits"),
        (
            400,
            [{"error": {"message": "API key not valid. Please pass a valid API key."}}],
            "auth",
            "edit_key",
            "OpenAI says: API key not valid. Please pass a valid API key.",
        ),
        (429, {}, "rate_limit", "retry", "OpenAI answered with status 429."),
        (503, None, "overloaded", "retry", "OpenAI answered with status 503."),
        (302, {}, "bad_request", "retry", "OpenAI answered with status 302."),
    ],
)
async def test_a_wrong_key_gets_the_providers_own_words(
    tmp_path: Path, status: int, body: Any, kind: str, action: str, words: str
) -> None:
    async def refuses(request: web.Request) -> web.StreamResponse:
        return await loopback.status(status, body, Location="https://example.com/")

    async with loopback.serve({}, otherwise=refuses) as running:
        fault = await catalog(tmp_path, provider_at(running.url)).check("openai/gpt-6", "", KEY)
    assert fault is not None
    assert (fault.kind, fault.action, fault.status, fault.message) == (kind, action, status, words)
    assert KEY not in fault.message + fault.details


async def test_a_list_that_is_open_to_all_does_not_prove_a_key(tmp_path: Path) -> None:
    async def refuses(request: web.Request) -> web.StreamResponse:
        return await loopback.status(401, {"error": {"message": "No cookie auth"}})

    async with loopback.serve({"/v1/models": OPENAI_LIST, "/key": refuses}) as running:
        known = provider_at(running.url, check_url=f"{running.url}/key")
        fault = await catalog(tmp_path, known).check("openai", "", KEY)
    assert fault is not None
    assert fault.kind == "auth"


async def test_a_server_that_is_off_is_told_apart_from_a_wrong_key(tmp_path: Path) -> None:
    fault = await catalog(tmp_path).check("openai/x", "http://127.0.0.1:9/v1", "")
    assert fault is not None
    assert fault.kind == "refused"
    assert fault.message == "Nothing answers at 127.0.0.1:9."


async def test_an_address_that_is_none_is_told(tmp_path: Path) -> None:
    for address in ("http://", "nonsense", "http://[::1", "http://a b/", "http://127.0.0.1:99999"):
        fault = await catalog(tmp_path).check("openai/x", address, "")
        assert fault is not None
        assert fault.kind in {"refused", "protocol"}
        settings = Settings(servers=(CustomServer("Lab", address),))
        assert len(await catalog(tmp_path).models(settings)) == 1


async def test_a_running_server_needs_no_key(tmp_path: Path) -> None:
    async with loopback.serve(loopback.LLAMA_CPP) as running:
        assert await catalog(tmp_path).check("openai/x", f"{running.url}/v1", "") is None


# Probing for tools


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (calls(("ping", {})), True),
        (says("I would call ping now."), False),
        (Answer((), finish="length"), None),
        (Breaks(Fault("bad_request", "m does not support tools", status=400)), False),
        (Breaks(Fault("not_found", "No endpoints found that support tool use.")), False),
    ],
)
async def test_a_probe_tells_whether_a_model_calls_tools(
    tmp_path: Path, answer: Any, result: bool | None
) -> None:
    model = ScriptedModel(answer)
    asked = catalog(tmp_path, model=model)
    assert await asked.probe("openai/m", "http://127.0.0.1:9/v1") is result
    (request,) = model.requests
    assert [tool.name for tool in request.tools] == ["ping"]
    assert request.api_base == "http://127.0.0.1:9/v1"


async def test_a_probe_that_fails_for_another_reason_says_why(tmp_path: Path) -> None:
    asked = catalog(tmp_path, model=ScriptedModel(Breaks(Fault("auth", "Wrong key."))))
    with pytest.raises(ModelError, match="Wrong key"):
        await asked.probe("openai/m", "")


async def test_offline_knowledge_fills_the_gaps(tmp_path: Path, forked_hosts: None) -> None:
    answer = {"object": "list", "data": [{"id": "gpt-4o", "object": "model"}]}
    async with loopback.serve({}, otherwise=answer) as lists:
        secrets = Secrets(tmp_path, environment={"OPENAI_API_KEY": KEY})
        host = HostedModel(key_for=secrets.key_for)
        try:
            known = [provider_at(lists.url), Provider("anthropic", "Anthropic", ())]
            asked = ModelCatalog(secrets, host, addresses=(), known_providers=known)
            found = by_name(await asked.models(Settings()))
            assert not any(name.startswith("anthropic/") for name in found)
            # A provider that can't be asked: what is known offline is offered.
            secrets.set_key("anthropic", KEY, "session")
            others = by_name(await asked.models(Settings()))
        finally:
            await host.close()
    model = found["openai/gpt-4o"]
    assert model.context_limit == 128000
    assert (model.has_tools, model.has_images) == (True, True)
    assert model.input_price is not None
    assert len([name for name in others if name.startswith("anthropic/")]) > 5


async def test_a_real_request_tells_whether_a_model_calls_tools(
    tmp_path: Path, forked_hosts: None
) -> None:
    script = [Calls(("ping", {})), Fail(400, message="m does not support tools")]
    with LoopbackProvider("openai", script) as provider:
        secrets = Secrets(tmp_path, environment={})
        host = HostedModel(key_for=secrets.key_for)
        try:
            asked = ModelCatalog(secrets, host, addresses=(), known_providers=())
            assert await asked.probe(provider.model, provider.api_base) is True
            assert await asked.probe(provider.model, provider.api_base) is False
            # What was found out is said in the list.
            server = CustomServer("Lab", provider.api_base)
            (_, model) = await asked.models(Settings(servers=(server,)))
            assert model.has_tools is False
        finally:
            await host.close()
