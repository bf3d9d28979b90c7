"""Model servers on this computer: found by asking at their usual addresses, loopback only.

A server counts only if its answer has the right shape: other programs listen at the same
ports. Nothing of the user's is sent.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from desktop_agent.adapters.models.json_fields import (
    Json,
    count,
    names,
    record,
    records,
    text,
    truth,
)
from desktop_agent.core.models import ModelInfo, ServerInfo, ServerKind
from desktop_agent.core.network.imports import import_httpx

# Long for loopback, where what is closed refuses at once: a model that computes slows down all.
_ANSWER_S = 2.0
_MAX_BYTES = 4_000_000
_OLLAMA_PORT = 11434
_MODELS_ASKED = 40
_LOOPBACK = {"", "localhost", "0.0.0.0", "::", "::1"}


class Address(msgspec.Struct, frozen=True):
    """Where to ask; `is_native`: a server there may have an interface of its own."""

    url: str
    is_native: bool = False


def usual_addresses(environment: Mapping[str, str]) -> tuple[Address, ...]:
    """Return where servers are looked for, best first. 127.0.0.1: `localhost` may be slow."""
    return (
        Address("http://127.0.0.1:1234", is_native=True),  # LM Studio
        Address(_ollama_address(environment.get("OLLAMA_HOST", "")), is_native=True),
        Address("http://127.0.0.1:8080"),  # llama.cpp
        Address("http://127.0.0.1:8000"),  # vLLM
        Address("http://127.0.0.1:30000"),  # SGLang
    )


def _ollama_address(host: str) -> str:
    """Read OLLAMA_HOST as Ollama does; another computer's address is not for looking around."""
    usual = f"http://127.0.0.1:{_OLLAMA_PORT}"
    try:
        parts = urlsplit(host if "://" in host else f"//{host.strip()}")
        name, port = parts.hostname or "", parts.port
    except ValueError:
        return usual
    if name not in _LOOPBACK and not re.fullmatch(r"127(\.\d+){3}", name):
        return usual
    return f"http://127.0.0.1:{port or _OLLAMA_PORT}"


async def find_servers(addresses: Sequence[Address]) -> tuple[ServerInfo, ...]:
    """Ask everywhere at once and return the servers that answered, in the order given."""
    import_httpx()  # not before someone asks
    import httpx

    asked = {address.url: address for address in addresses}
    # What checks certificates takes 50 ms to make. trust_env would send these through a proxy.
    verify = any(url.startswith("https:") for url in asked)
    async with httpx.AsyncClient(timeout=_ANSWER_S, trust_env=False, verify=verify) as client:
        found = await asyncio.gather(*(_ask(client, address) for address in asked.values()))
    return tuple(server for server in found if server is not None)


async def look_up(model: str, api_base: str) -> tuple[ServerKind | Literal[""], ModelInfo | None]:
    """Return what the server at an address is, and what it says of a model now.

    Nothing of addresses that are not of this computer: their servers are not asked unasked.
    """
    if not _is_here(api_base):
        return "", None
    url = api_base.rstrip("/").removesuffix("/v1")
    servers = await find_servers([Address(url, is_native=True)])
    for server in servers:
        named = (one for one in server.models if one.name == model)
        return server.kind, next(named, None)
    return "", None


async def served_window(model: str, api_base: str) -> int | None:
    """Return how much context a server of this computer says that it gives a model now."""
    _, info = await look_up(model, api_base)
    return info.context_limit if info is not None else None


def _is_here(api_base: str) -> bool:
    try:
        name = urlsplit(api_base).hostname or ""
    except ValueError:
        return False
    is_named = name in _LOOPBACK and bool(name)
    return is_named or re.fullmatch(r"127(\.\d{1,3}){3}", name) is not None


async def _ask(client: Any, address: Address) -> ServerInfo | None:
    server = _Server(client, address.url)
    try:
        async with asyncio.timeout(2 * _ANSWER_S):
            # LM Studio answers 200 to Ollama's questions, with an error inside: it goes first.
            steps: list[Callable[[_Server], Awaitable[ServerInfo | None]]] = (
                [_lm_studio, _ollama, _compatible] if address.is_native else [_compatible]
            )
            for step in steps:
                info = await step(server)
                if info is not None:
                    return info
                if not server.has_answered:
                    return None
    except TimeoutError:
        pass
    return None


class _Server:
    """One address and how to ask it; what is not JSON of a sane size counts as no answer."""

    def __init__(self, client: Any, url: str) -> None:
        self._client = client
        self.url = url
        self.has_answered = False

    async def get(self, path: str) -> Json:
        """Return the object answered to GET, or an empty one."""
        return await self._send("GET", path)

    async def post(self, path: str, body: dict[str, str]) -> Json:
        """Return the object answered to POST, or an empty one."""
        return await self._send("POST", path, json=body)

    async def _send(self, method: str, path: str, **arguments: Any) -> Json:
        import httpx  # imported by find_servers already

        try:
            async with self._client.stream(method, self.url + path, **arguments) as response:
                self.has_answered = True
                if response.status_code != httpx.codes.OK:
                    return {}
                body = bytearray()
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > _MAX_BYTES:
                        return {}
            return record(msgspec.json.decode(bytes(body)))
        except (httpx.HTTPError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return {}


async def _lm_studio(server: _Server) -> ServerInfo | None:
    listed = records((await server.get("/api/v1/models")).get("models"))
    models = [_lm_studio_model(raw, server.url) for raw in listed if "key" in raw]
    if not listed:
        older = await server.get("/api/v0/models")
        listed = [raw for raw in records(older.get("data")) if "state" in raw]
        models = [_older_lm_studio_model(raw, server.url) for raw in listed]
    if not models:
        return None
    known = tuple(model for model in models if model is not None)
    return ServerInfo("lmstudio", "LM Studio", f"{server.url}/v1", known)


def _lm_studio_model(raw: Json, url: str) -> ModelInfo | None:
    if raw.get("type") != "llm":
        return None
    capabilities = record(raw.get("capabilities"))
    loaded = records(raw.get("loaded_instances"))
    context = count(record(loaded[0].get("config")), "context_length") if loaded else None
    return _openai_model(
        text(raw, "key"),
        url,
        "lmstudio",
        title=text(raw, "display_name"),
        context=context,
        has_tools=truth(capabilities, "trained_for_tool_use"),
        has_images=truth(capabilities, "vision"),
        note="" if loaded else _unloaded(count(raw, "max_context_length")),
    )


def _older_lm_studio_model(raw: Json, url: str) -> ModelInfo | None:
    kind = raw.get("type")
    if kind not in {"llm", "vlm"}:
        return None
    is_loaded = raw.get("state") == "loaded"
    capabilities = names(raw, "capabilities")
    return _openai_model(
        text(raw, "id"),
        url,
        "lmstudio",
        context=count(raw, "loaded_context_length") if is_loaded else None,
        has_tools=None if capabilities is None else "tool_use" in capabilities,
        has_images=kind == "vlm",
        note="" if is_loaded else _unloaded(count(raw, "max_context_length")),
    )


def _unloaded(most: int | None) -> str:
    return "Not loaded yet" + (f"; up to {most:,} tokens" if most else "")


async def _ollama(server: _Server) -> ServerInfo | None:
    answer = await server.get("/api/tags")
    listed = answer.get("models")
    if not isinstance(listed, list) or any("name" not in raw for raw in records(listed)):
        return None
    running = {
        text(raw, "name", "model"): count(raw, "context_length")
        for raw in records((await server.get("/api/ps")).get("models"))
    }
    asked = records(listed)[:_MODELS_ASKED]
    details = await asyncio.gather(
        *(server.post("/api/show", {"model": text(raw, "name")}) for raw in asked)
    )
    models = (
        _ollama_model(raw, shown, running.get(text(raw, "name")), server.url)
        for raw, shown in zip(asked, details, strict=True)
    )
    known = tuple(model for model in models if model is not None)
    return ServerInfo("ollama", "Ollama", server.url, known)


def _ollama_model(raw: Json, shown: Json, running: int | None, url: str) -> ModelInfo | None:
    capabilities = names(shown, "capabilities")
    if capabilities is not None and "completion" not in capabilities:
        return None  # makes embeddings only
    most = next(
        (
            value
            for key, value in record(shown.get("model_info")).items()
            if key.endswith(".context_length") and isinstance(value, int)
        ),
        None,
    )
    set_to = re.search(r"^num_ctx\s+(\d{1,9})\b", text(shown, "parameters"), re.MULTILINE)
    name = text(raw, "name")
    if text(raw, "remote_host") or text(shown, "remote_host"):
        note, context = "Runs in Ollama's cloud", most
    else:
        context = running or (int(set_to[1]) if set_to else None)
        note = "" if context or most is None else f"Up to {most:,} tokens, if Ollama is set to it"
    return ModelInfo(
        f"ollama_chat/{name}",
        title=name,
        provider="ollama",
        api_base=url,
        context_limit=context,
        has_tools=None if capabilities is None else "tools" in capabilities,
        has_images=None if capabilities is None else "vision" in capabilities,
        note=note,
    )


_TITLES: dict[str, tuple[ServerKind, str]] = {
    "llamacpp": ("llamacpp", "llama.cpp"),
    "vllm": ("vllm", "vLLM"),
    "sglang": ("openai", "SGLang"),
    "library": ("ollama", "Ollama"),
    "organization_owner": ("lmstudio", "LM Studio"),
}


async def _compatible(server: _Server) -> ServerInfo | None:
    answer = await server.get("/v1/models")
    listed = [raw for raw in records(answer.get("data")) if raw.get("object") == "model"]
    listed = [raw for raw in listed if text(raw, "id")]
    if answer.get("object") != "list" or not listed:
        return None
    port = urlsplit(server.url).port
    owner = text(listed[0], "owned_by")
    kind, title = _TITLES.get(owner, ("openai", f"Server at port {port}"))
    if owner == "me" and await _is_llama_cpp_python(server):
        kind, title = "llamacpp_python", "llama-cpp-python"
    props: Json = await server.get("/props") if kind == "llamacpp" else {}
    context = count(record(props.get("default_generation_settings")), "n_ctx")
    models = tuple(
        _openai_model(
            text(raw, "id"),
            server.url,
            kind,
            title=text(raw, "id").rpartition("/")[2].removesuffix(".gguf"),
            context=count(raw, "max_model_len") or context,
            has_tools=truth(record(props.get("chat_template_caps")), "supports_tools"),
            has_images=truth(record(props.get("modalities")), "vision"),
        )
        for raw in listed
    )
    return ServerInfo(kind, title, f"{server.url}/v1", models)


async def _is_llama_cpp_python(server: _Server) -> bool:
    """Whether it is the server of the Python package, which says so in its description alone.

    How much context it gives a model it does not tell anywhere.
    """
    described = record((await server.get("/openapi.json")).get("info"))
    return "llama.cpp" in text(described, "title")


def _openai_model(
    name: str,
    url: str,
    provider: str,
    *,
    title: str = "",
    context: int | None = None,
    has_tools: bool | None = None,
    has_images: bool | None = None,
    note: str = "",
) -> ModelInfo:
    return ModelInfo(
        f"openai/{name}",
        title=title or name,
        provider=provider,
        api_base=f"{url}/v1",
        context_limit=context,
        has_tools=has_tools,
        has_images=has_images,
        note=note,
    )
