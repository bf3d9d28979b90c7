"""Model servers on this computer, and the things that look like one."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from desktop_agent.adapters.models import local_servers
from desktop_agent.adapters.models.local_servers import Address, find_servers, usual_addresses
from desktop_agent.core.models import ModelInfo, ServerInfo
from tests.adapters import loopback


async def found(url: str, *, is_native: bool = False) -> ServerInfo | None:
    servers = await find_servers([Address(url, is_native)])
    return servers[0] if servers else None


def by_title(server: ServerInfo | None) -> dict[str, ModelInfo]:
    assert server is not None
    return {model.title: model for model in server.models}


async def test_lm_studio_is_found_with_the_context_as_loaded() -> None:
    async with loopback.serve(loopback.LM_STUDIO, otherwise=loopback.LM_STUDIO_UNKNOWN) as running:
        server = await found(running.url, is_native=True)
    assert server is not None
    assert (server.kind, server.title) == ("lmstudio", "LM Studio")
    assert server.api_base == f"{running.url}/v1"
    models = by_title(server)
    assert set(models) == {"Qwen3 Coder 30B", "Gemma 3 4B"}
    coder = models["Qwen3 Coder 30B"]
    assert coder.name == "openai/qwen/qwen3-coder-30b"
    assert coder.api_base == f"{running.url}/v1"
    assert coder.context_limit == 32768
    assert (coder.has_tools, coder.has_images) == (True, False)
    gemma = models["Gemma 3 4B"]
    assert gemma.context_limit is None
    assert gemma.note == "Not loaded yet; up to 131,072 tokens"
    assert (gemma.has_tools, gemma.has_images) == (False, True)


async def test_an_older_lm_studio_is_found_too() -> None:
    async with loopback.serve(
        loopback.OLDER_LM_STUDIO, otherwise=loopback.LM_STUDIO_UNKNOWN
    ) as running:
        models = by_title(await found(running.url, is_native=True))
    assert set(models) == {"qwen2.5-7b-instruct", "qwen2-vl-7b"}
    assert models["qwen2.5-7b-instruct"].context_limit == 8192
    assert models["qwen2.5-7b-instruct"].has_tools is True
    assert models["qwen2-vl-7b"].context_limit is None
    assert models["qwen2-vl-7b"].has_images is True


async def test_lm_studio_is_not_mistaken_for_ollama() -> None:
    routes = {"/v1/models": loopback.LM_STUDIO["/v1/models"]}
    async with loopback.serve(routes, otherwise=loopback.LM_STUDIO_UNKNOWN) as running:
        server = await found(running.url, is_native=True)
    assert server is not None
    assert server.kind == "lmstudio"


async def test_ollama_is_found_with_the_context_it_really_runs_with() -> None:
    async with loopback.serve(loopback.ollama()) as running:
        server = await found(running.url, is_native=True)
    assert server is not None
    assert (server.kind, server.api_base) == ("ollama", running.url)
    models = by_title(server)
    assert "nomic-embed-text:latest" not in models
    set_to = models["qwen3:8b"]
    assert set_to.name == "ollama_chat/qwen3:8b"
    assert (set_to.context_limit, set_to.has_tools) == (16384, True)
    unknown = models["llama3.2-vision:latest"]
    assert unknown.context_limit is None
    assert unknown.note == "Up to 131,072 tokens, if Ollama is set to it"
    assert (unknown.has_tools, unknown.has_images) == (False, True)
    assert models["gpt-oss:20b"].context_limit == 65536
    assert models["gpt-oss:120b-cloud"].note == "Runs in Ollama's cloud"


async def test_an_ollama_without_models_is_still_a_server() -> None:
    async with loopback.serve({"/api/tags": {"models": []}}) as running:
        server = await found(running.url, is_native=True)
    assert server is not None
    assert (server.kind, server.models) == ("ollama", ())


@pytest.mark.parametrize(
    ("routes", "kind", "title", "model", "context"),
    [
        (loopback.LLAMA_CPP, "llamacpp", "llama.cpp", "Qwen3-4B-Q4_K_M", 12288),
        (loopback.VLLM, "vllm", "vLLM", "Qwen3-8B", 24576),
        (loopback.SGLANG, "openai", "SGLang", "llama", 8192),
    ],
)
async def test_other_servers_tell_their_context(
    routes: dict[str, object], kind: str, title: str, model: str, context: int
) -> None:
    async with loopback.serve(routes) as running:
        server = await found(running.url)
    assert server is not None
    assert (server.kind, server.title) == (kind, title)
    assert by_title(server)[model].context_limit == context
    assert by_title(server)[model].name.startswith("openai/")


@pytest.mark.parametrize(
    ("described", "kind", "title"),
    [
        (loopback.LLAMA_CPP_PYTHON["/openapi.json"], "llamacpp_python", "llama-cpp-python"),
        ({"info": {"title": "Mine"}}, "openai", "Server at port {port}"),
        ({"info": "odd"}, "openai", "Server at port {port}"),
    ],
)
async def test_the_server_of_the_python_package_is_known_by_its_description(
    described: dict[str, object], kind: str, title: str
) -> None:
    routes = {**loopback.LLAMA_CPP_PYTHON, "/openapi.json": described}
    async with loopback.serve(routes) as running:
        server = await found(running.url)
        port = running.url.rpartition(":")[2]
    assert server is not None
    assert (server.kind, server.title) == (kind, title.format(port=port))
    assert by_title(server)["SmolLM2-135M-Instruct.Q4_1"].context_limit is None


async def test_a_llama_cpp_that_routes_has_no_context_to_tell() -> None:
    routes = {**loopback.LLAMA_CPP, "/props": {"role": "router"}}
    async with loopback.serve(routes) as running:
        (model,) = by_title(await found(running.url)).values()
    assert model.context_limit is None


async def _page(request: web.Request) -> web.StreamResponse:
    return web.Response(text="<html>my web shop</html>", content_type="text/html")


async def _endless(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    while True:
        await response.write(b"x" * 65536)


async def _redirect(request: web.Request) -> web.StreamResponse:
    raise web.HTTPFound("https://example.com/v1/models")


OTHERS = {
    "a web page": _page,
    "an endless answer": _endless,
    "a redirect": _redirect,
    "another API": {"data": [{"id": 7, "price": 3}], "object": "list"},
    "an array": [1, 2, 3],
    "a string": "ok",
    "null": None,
    "products": {"object": "list", "data": [{"id": "sku-1", "object": "product"}]},
    "wrong types": {"models": "many", "object": "list", "data": {"id": "x"}},
}


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("is_native", [True, False])
async def test_other_programs_at_these_ports_are_not_taken_for_models(
    kind: str, is_native: bool
) -> None:
    async with loopback.serve({}, otherwise=OTHERS[kind] or _page) as running:
        assert await found(running.url, is_native=is_native) is None
        assert {method for method, *_ in running.seen} == {"GET"}


async def test_who_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_servers, "_ANSWER_S", 0.05)
    async with loopback.mute() as quiet:
        assert await find_servers([Address(quiet, True)]) == ()


async def test_where_nobody_listens_the_others_are_found_all_the_same() -> None:
    async with loopback.serve(loopback.VLLM) as running:
        nobody = Address(await _free_port(), True)
        servers = await find_servers([nobody, Address(running.url)])
    assert [server.kind for server in servers] == ["vllm"]


async def test_servers_come_in_the_order_of_their_addresses() -> None:
    async with (
        loopback.serve(loopback.ollama()) as second,
        loopback.serve(loopback.LM_STUDIO, otherwise=loopback.LM_STUDIO_UNKNOWN) as first,
        loopback.serve(loopback.LLAMA_CPP) as third,
    ):
        servers = await find_servers(
            [Address(first.url, True), Address(second.url, True), Address(third.url)],
        )
    assert [server.kind for server in servers] == ["lmstudio", "ollama", "llamacpp"]


async def test_a_proxy_is_not_told_what_runs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    async with loopback.serve({}) as proxy, loopback.serve(loopback.VLLM) as running:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("ALL_PROXY", proxy.url)
        assert await found(running.url) is not None
        assert proxy.seen == []


@pytest.mark.parametrize(
    ("value", "address"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:9999", "http://127.0.0.1:9999"),
        (":8888", "http://127.0.0.1:8888"),
        ("localhost:7777", "http://127.0.0.1:7777"),
        ("http://127.0.0.1:6666/", "http://127.0.0.1:6666"),
        ("[::1]:5555", "http://127.0.0.1:5555"),
        ("192.168.1.20:11434", "http://127.0.0.1:11434"),
        ("https://ollama.example.com", "http://127.0.0.1:11434"),
        ("127.evil.example.com:80", "http://127.0.0.1:11434"),
        ("localhost:notaport", "http://127.0.0.1:11434"),
    ],
)
def test_ollama_host_is_read_but_never_leaves_this_computer(value: str, address: str) -> None:
    addresses = [each.url for each in usual_addresses({"OLLAMA_HOST": value})]
    assert addresses[0] == "http://127.0.0.1:1234"
    assert addresses[1] == address
    assert all(url.startswith("http://127.0.0.1:") for url in addresses)


async def _free_port() -> str:
    server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    return f"http://127.0.0.1:{port}"
