"""HTTP servers on loopback that answer as the real model servers do."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Answer = Any | Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Server:
    """One that runs; `seen` are the requests as (method, path with query, headers, body)."""

    url: str
    seen: list[tuple[str, str, Mapping[str, str], str]] = field(default_factory=list)

    @property
    def paths(self) -> list[str]:
        return [path for _, path, _, _ in self.seen]


@asynccontextmanager
async def listening(
    runner: web.BaseRunner[web.Request], tls: ssl.SSLContext | None = None
) -> AsyncIterator[int]:
    """Let in who connects while the block runs; gives the port.

    asyncio closes nothing of who was let in when its server is closed a moment later
    (`Server._attach` fails), so nobody is let in from a moment before.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    site = web.SockSite(runner, listener, ssl_context=tls)
    await site.start()
    try:
        yield listener.getsockname()[1]
    finally:
        asyncio.get_running_loop().remove_reader(listener)
        for _ in range(3):
            await asyncio.sleep(0)  # whom the loop has let in has a connection by then
        await site.stop()


@asynccontextmanager
async def serve(
    routes: Mapping[str, Answer],
    *,
    otherwise: Answer | None = None,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[Server]:
    """Serve JSON values, or what a coroutine makes of the request, at a free port."""

    async def answer(request: web.Request) -> web.StreamResponse:
        body = await request.text()
        server.seen.append((request.method, request.path_qs, request.headers, body))
        route = routes.get(request.path, otherwise)
        if route is None:
            return web.json_response({"detail": "Not Found"}, status=404)
        if callable(route):
            return await route(request)
        return web.json_response(route)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        async with listening(runner, tls) as port:
            server = Server(f"{'https' if tls else 'http'}://127.0.0.1:{port}")
            yield server
    finally:
        await runner.cleanup()


@asynccontextmanager
async def mute() -> AsyncIterator[str]:
    """A port where something listens and never says a word."""
    quiet = asyncio.Event()

    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await quiet.wait()
        writer.close()

    server = await asyncio.start_server(wait, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        quiet.set()
        server.close()
        await server.wait_closed()


async def status(code: int, body: Any, **headers: str) -> web.StreamResponse:
    return web.json_response(body, status=code, headers=headers)


# LM Studio answers 200 to every path it does not know.
LM_STUDIO_UNKNOWN = {"error": "Unexpected endpoint or method. (GET /api/tags)"}

LM_STUDIO = {
    "/api/v1/models": {
        "models": [
            {
                "type": "llm",
                "publisher": "qwen",
                "key": "qwen/qwen3-coder-30b",
                "display_name": "Qwen3 Coder 30B",
                "architecture": "qwen3moe",
                "quantization": {"name": "Q4_K_M", "bits_per_weight": 4},
                "size_bytes": 18632012345,
                "params_string": "30B",
                "loaded_instances": [
                    {
                        "id": "qwen/qwen3-coder-30b",
                        "config": {"context_length": 32768, "flash_attention": True},
                    }
                ],
                "max_context_length": 262144,
                "format": "gguf",
                "capabilities": {"vision": False, "trained_for_tool_use": True},
                "description": None,
            },
            {
                "type": "llm",
                "publisher": "google",
                "key": "google/gemma-3-4b",
                "display_name": "Gemma 3 4B",
                "loaded_instances": [],
                "max_context_length": 131072,
                "capabilities": {"vision": True, "trained_for_tool_use": False},
            },
            {
                "type": "embedding",
                "key": "text-embedding-nomic-embed-text-v1.5",
                "loaded_instances": [],
                "max_context_length": 2048,
            },
        ]
    },
    "/v1/models": {
        "object": "list",
        "data": [
            {"id": "qwen/qwen3-coder-30b", "object": "model", "owned_by": "organization_owner"}
        ],
    },
}

OLDER_LM_STUDIO = {
    "/api/v0/models": {
        "object": "list",
        "data": [
            {
                "id": "qwen2.5-7b-instruct",
                "object": "model",
                "type": "llm",
                "publisher": "qwen",
                "arch": "qwen2",
                "compatibility_type": "gguf",
                "quantization": "Q4_K_M",
                "state": "loaded",
                "max_context_length": 32768,
                "loaded_context_length": 8192,
                "capabilities": ["tool_use"],
            },
            {
                "id": "qwen2-vl-7b",
                "object": "model",
                "type": "vlm",
                "state": "not-loaded",
                "max_context_length": 32768,
            },
            {"id": "nomic-embed", "object": "model", "type": "embeddings", "state": "not-loaded"},
        ],
    },
}


def ollama() -> dict[str, Answer]:
    shown = {
        "qwen3:8b": {
            "parameters": 'num_ctx                        16384\nstop    "<|im_end|>"',
            "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40960},
            "capabilities": ["completion", "tools", "thinking"],
        },
        "llama3.2-vision:latest": {
            "model_info": {"mllama.context_length": 131072},
            "capabilities": ["completion", "vision"],
        },
        "nomic-embed-text:latest": {
            "model_info": {"nomic-bert.context_length": 2048},
            "capabilities": ["embedding"],
        },
        "gpt-oss:20b": {
            "model_info": {"gptoss.context_length": 131072},
            "capabilities": ["completion", "tools"],
        },
        "gpt-oss:120b-cloud": {
            "model_info": {"gptoss.context_length": 131072},
            "capabilities": ["completion", "tools"],
            "remote_host": "https://ollama.com:443",
        },
    }

    async def show(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        return web.json_response(shown[body["model"]])

    return {
        "/api/tags": {
            "models": [
                {"name": name, "model": name, "size": 1, "digest": "abc", "details": {}}
                for name in shown
            ]
        },
        "/api/ps": {"models": [{"name": "gpt-oss:20b", "context_length": 65536}]},
        "/api/show": show,
        "/api/version": {"version": "0.12.3"},
        "/v1/models": {
            "object": "list",
            "data": [{"id": "qwen3:8b", "object": "model", "owned_by": "library"}],
        },
    }


LLAMA_CPP = {
    "/v1/models": {
        "models": [{"name": "/models/Qwen3-4B-Q4_K_M.gguf", "model": "x", "type": "model"}],
        "object": "list",
        "data": [
            {
                "id": "/models/Qwen3-4B-Q4_K_M.gguf",
                "object": "model",
                "created": 1,
                "owned_by": "llamacpp",
                "meta": {"n_ctx_train": 40960, "n_params": 4022468096},
            }
        ],
    },
    "/props": {
        "default_generation_settings": {"id": 0, "n_ctx": 12288, "params": {}},
        "total_slots": 1,
        "modalities": {"vision": False, "audio": False},
        "chat_template_caps": {"supports_tools": True},
    },
}

LLAMA_CPP_PYTHON = {
    "/v1/models": {
        "object": "list",
        "data": [
            {
                "id": "/models/SmolLM2-135M-Instruct.Q4_1.gguf",
                "object": "model",
                "owned_by": "me",
                "permissions": [],
            }
        ],
    },
    "/openapi.json": {
        "openapi": "3.1.0",
        "info": {"title": "🦙 llama.cpp Python API", "version": "0.3.36"},
    },
}

VLLM = {
    "/v1/models": {
        "object": "list",
        "data": [
            {
                "id": "Qwen/Qwen3-8B",
                "object": "model",
                "created": 1,
                "owned_by": "vllm",
                "root": "Qwen/Qwen3-8B",
                "parent": None,
                "max_model_len": 24576,
                "permission": [],
            }
        ],
    }
}

SGLANG = {
    "/v1/models": {
        "object": "list",
        "data": [
            {
                "id": "meta/llama",
                "object": "model",
                "created": 1,
                "owned_by": "sglang",
                "root": "meta/llama",
                "max_model_len": 8192,
            }
        ],
    }
}
