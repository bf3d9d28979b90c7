"""Imports litellm, quiet and offline, with our transport under it."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import warnings
from typing import Any

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
    _install_transport()
    _warm_up(litellm)
    return litellm


def _warm_up(litellm: Any) -> None:
    """Import what litellm imports at its first request: it would stop all streams for a second."""
    tool = {"type": "function", "function": {"name": "none", "parameters": {}}}
    with contextlib.suppress(Exception):  # the first request then pays for it
        answer = litellm.completion(
            model="openai/none",
            api_key="none",
            messages=[{"role": "user", "content": "none"}],
            tools=[tool],
            mock_response="none",
            stream=True,
        )
        for _ in answer:
            pass


def _no_summary(*_: Any, **__: Any) -> None:
    return None


def _install_transport() -> None:
    from litellm.llms.custom_httpx.http_handler import (
        AsyncHTTPHandler,
    )

    from desktop_agent.model_host.transport import WatchingTransport

    original = AsyncHTTPHandler.create_async_transport

    @functools.wraps(original)
    def create(*args: Any, **kwargs: Any) -> Any:
        inner = original(*args, **kwargs)
        return inner if inner is None else WatchingTransport(inner)

    AsyncHTTPHandler.create_async_transport = staticmethod(create)
    AsyncHTTPHandler._create_async_transport = staticmethod(create)
