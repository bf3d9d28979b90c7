"""Imports litellm, quiet and offline, with our transport under it."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
import threading
import warnings
from importlib import import_module
from typing import Any

from desktop_agent.model_host.litellm_client import patches
from desktop_agent.model_host.litellm_client.patches import RESPONSES

_ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_MODE": "PRODUCTION",
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false",
    # litellm's own HTTP code costs a third less per chunk than the openai package, and does
    # not rewrite the whole history for each request.
    "EXPERIMENTAL_OPENAI_BASE_LLM_HTTP_HANDLER": "True",
}

_LAZY = (
    "anyio._backends._asyncio",
    "litellm._service_logger",
    "litellm.litellm_core_utils.logging_callback_manager",
    "litellm.llms.anthropic.completion.transformation",
    "litellm.llms.edenai.chat.transformation",
    "litellm.llms.fal_ai.chat.transformation",
    "litellm.llms.gemini.chat.transformation",
    "litellm.llms.litellm_proxy.chat.transformation",
    "litellm.llms.ollama.chat.transformation",
    "litellm.llms.openai.chat.gpt_audio_transformation",
    "litellm.llms.openai_like.dynamic_config",
    "litellm.llms.vertex_ai.context_caching.vertex_ai_context_caching",
    "litellm.llms.vertex_ai.vertex_ai_partner_models.anthropic.transformation",
)
# Its data types that pydantic builds when the first of a kind is made: 25 ms.
_BUILT_LATE = (
    "litellm.types.router:GenericLiteLLMParams",
    "litellm.types.router:LiteLLM_Params",
    "litellm.types.utils:Choices",
    "litellm.types.utils:Delta",
    "litellm.types.utils:Message",
    "litellm.types.utils:ModelResponse",
    "litellm.types.utils:ModelResponseStream",
    "litellm.types.utils:PromptTokensDetailsWrapper",
    "litellm.types.utils:StreamingChoices",
    "litellm.types.utils:Usage",
)
# The same of OpenAI's Responses: 70 ms and 5 MB.
_BUILT_FOR_RESPONSES = (
    "litellm.types.llms.openai:ResponseCreatedEvent",
    "litellm.types.llms.openai:ResponsesAPIResponse",
)
_BUILDING = threading.Lock()

# litellm's own MCP client is not used, and costs half a second and 15 MB.
NO_MCP: dict[str, Any] = {"_skip_mcp_handler": True}


def prepare() -> None:
    """Set what litellm reads while it is imported, and keep everything quiet."""
    os.environ.update(_ENVIRONMENT)
    # Nobody sees this process's output, and texts of litellm may hold keys.
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")


def load() -> Any:
    """Import litellm and return it; takes seconds."""
    import litellm

    litellm.suppress_debug_info = True
    litellm.disable_hf_tokenizer_download = True
    litellm.num_retries = 0
    litellm.drop_params = True
    litellm.modify_params = True
    litellm.callbacks = []
    litellm.success_callback = []
    litellm.failure_callback = []
    litellm.disable_streaming_logging = True
    litellm.turn_off_message_logging = True
    litellm.in_memory_llm_clients_cache.max_size_in_memory = 200
    # A table or a line of dashes is a hundred equal chunks too; length is limited by us.
    setattr(litellm, "REPEATED_STREAMING_CHUNK_LIMIT", 10**9)  # noqa: B010  (not declared)
    # It would put all chunks together again at the end, and count tokens on its own when the
    # provider did not: milliseconds for each answer, and a download for some models.
    setattr(litellm, "stream_chunk_builder", _no_summary)  # noqa: B010  (its type is another)
    # It counts the tokens of an answer that has not come yet.
    setattr(litellm, "response_cost_calculator", _no_cost)  # noqa: B010  (as above)
    # Only for counts that we don't want; the real one takes 45 MB.
    setattr(import_module("litellm.main"), "encoding", _NoEncoding())  # noqa: B010  (as above)
    anthropic = import_module("litellm.llms.anthropic.chat.transformation")
    setattr(anthropic, "token_counter", _estimate)  # noqa: B010  (as above)
    patches.install()
    _install_transport()
    warm_up()
    return litellm


def warm_up() -> None:
    """Do what litellm would do in its first requests, which would stop all streams then."""
    for name in _LAZY:
        with contextlib.suppress(ImportError):  # the first request then pays for it
            import_module(name)
    _build(_BUILT_LATE)


async def make_ready(model: str) -> None:
    """Do the same for what only some models need, away from the loop."""
    if RESPONSES in model:
        await asyncio.to_thread(_build, _BUILT_FOR_RESPONSES)


def _build(places: tuple[str, ...]) -> None:
    with _BUILDING:
        for place in places:
            module, _, name = place.partition(":")
            # A litellm in which they are called otherwise builds them itself, at the first request.
            data_type = getattr(import_module(module), name, None)
            if data_type is not None:
                data_type.model_rebuild()


def _estimate(*_: Any, text: str = "", **__: Any) -> int:
    return len(text) // 4


class _NoEncoding:
    def encode(self, text: str, **_: Any) -> list[int]:
        """Say about how many tokens a text has."""
        return [0] * (len(text) // 4)


def _no_summary(*_: Any, **__: Any) -> None:
    return None


def _no_cost(*_: Any, **__: Any) -> None:
    return None


def _install_transport() -> None:
    from litellm.llms.custom_httpx.http_handler import (
        AsyncHTTPHandler,
    )

    from desktop_agent.model_host.litellm_client.transport import WatchingTransport

    original = AsyncHTTPHandler.create_async_transport

    @functools.wraps(original)
    def create(*args: Any, **kwargs: Any) -> Any:
        inner = original(*args, **kwargs)
        return inner if inner is None else WatchingTransport(inner)

    AsyncHTTPHandler.create_async_transport = staticmethod(create)
    AsyncHTTPHandler._create_async_transport = staticmethod(create)
