"""Which models there are: on this computer, at providers with a key, at typed addresses."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol

import msgspec

from desktop_agent.adapters.http_client import new_client
from desktop_agent.adapters.models import local_servers
from desktop_agent.adapters.models.local_servers import Address
from desktop_agent.adapters.models.provider_models import check_provider, list_models, list_server
from desktop_agent.core import providers
from desktop_agent.core.faults import Fault, ModelError
from desktop_agent.core.ids import new_agent_id, new_message_id
from desktop_agent.core.messages import Message, TextPart, ToolCall
from desktop_agent.core.models import (
    DEMO_MODEL,
    KeyInfo,
    ModelCheckup,
    ModelInfo,
    ServerInfo,
)
from desktop_agent.core.network.imports import import_httpx
from desktop_agent.core.providers import Provider
from desktop_agent.core.requests import Answer, Delta, Limits, ModelRequest, StreamItem, ToolSpec
from desktop_agent.core.settings import CustomServer, Settings

_log = logging.getLogger(__name__)

_CONNECT_S = 5.0
_ANSWER_S = 15.0
_KEPT_S = 600.0
# How long a list of models may be held up by one server: the user waits for it.
_LISTED_S = 6.0
_PROBE_TOKENS = 256
_TALKS_FROM = 400  # characters
_CHARACTERS_A_TOKEN = 3
_LEAST_MEASURED = 20
_LEAST_PIECES = 4
_PROBE_LIMITS = Limits(first_byte_s=60, idle_s=60, retry_total_s=20, max_retries=1)

_PING = ToolSpec(
    "ping",
    "Answers with pong. Call it once.",
    {"type": "object", "properties": {}, "additionalProperties": False},
)


class Keys(Protocol):
    """Where the catalog finds keys; `adapters.secrets.Secrets` is one."""

    async def load(self) -> None:
        """Get the keys ready."""
        ...

    def keys(self) -> tuple[KeyInfo, ...]:
        """Return whose keys are known."""
        ...

    def key_for(self, model_or_provider: str) -> str | None:
        """Return one key."""
        ...


class Host(Protocol):
    """The model host, as far as the catalog needs it; it may not have been started yet."""

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamItem]:
        """Make a request."""
        ...

    async def call(self, method: str, **arguments: Any) -> Any:
        """Ask a small question."""
        ...


class ModelCatalog:
    """Asks for models and keeps the answers of providers for ten minutes.

    Without a host nothing is known beyond what servers and providers tell of themselves.
    """

    def __init__(
        self,
        secrets: Keys,
        hosted_model: Host | None = None,
        *,
        addresses: Sequence[Address] | None = None,
        known_providers: Sequence[Provider] = providers.PROVIDERS,
    ) -> None:
        self._secrets = secrets
        self._host = hosted_model
        self._addresses = (
            local_servers.usual_addresses(os.environ) if addresses is None else tuple(addresses)
        )
        self._providers = {provider.name: provider for provider in known_providers}
        self._kept: dict[tuple[str, str], tuple[float, tuple[ModelInfo, ...]]] = {}
        self._offline: Mapping[str, ModelInfo] | None = None
        self._probed: dict[tuple[str, str], bool] = {}

    async def find_servers(self) -> tuple[ServerInfo, ...]:
        """Return the model servers that run on this computer, LM Studio first."""
        return await local_servers.find_servers(self._addresses)

    async def models(self, settings: Settings) -> tuple[ModelInfo, ...]:
        """Return all models there are: the demo, this computer's, typed servers', providers'.

        What does not answer is left out, but the chosen model never is.
        """
        await self._secrets.load()
        servers, typed, hosted = await asyncio.gather(
            self.find_servers(), self._typed(settings.servers), self._hosted()
        )
        found = [_demo(), *(model for server in servers for model in server.models)]
        found += typed
        found += hosted
        unique = {(model.name, model.api_base): model for model in found}
        chosen = (settings.model, settings.api_base)
        if settings.model and chosen not in unique:
            unique[chosen] = await self._missing(*chosen)
        return tuple(self._with_probe(model) for model in unique.values())

    async def check(self, model: str, api_base: str, key: str) -> Fault | None:
        """Try a key the cheapest way there is; None when it works.

        `model` may be just a provider's name. The fault has the provider's own words.
        """
        provider = self._providers.get(providers.key_owner(model))
        if api_base:
            title = providers.host_of(api_base) or api_base
            fault = await _check_server(CustomServer(title, api_base), key)
            if fault is None or fault.kind not in {"not_found", "protocol"}:
                return fault
        elif provider is not None and provider.models_url:
            async with _client() as client:
                return await check_provider(provider, key, client)
        else:
            fault = Fault("internal", "There is no way to test this key.", "settings")
        if self._host is None or "/" not in model:
            return fault  # nothing to make a real request with
        return await self._host.call("check_key", model=model, api_base=api_base, key=key)

    async def probe(self, model: str, api_base: str) -> bool | None:
        """Return whether the model calls tools, by one real request; None if unknown.

        Raises ModelError when the request failed for another reason.
        """
        if self._host is None:
            return None
        request = ModelRequest(
            new_agent_id(),
            model,
            "You are being tested. Call the tool ping now.",
            (Message(new_message_id(), "user", (TextPart("Call the tool ping."),)),),
            tools=(_PING,),
            api_base=api_base,
            max_output_tokens=_PROBE_TOKENS,
            limits=_PROBE_LIMITS,
        )
        answer = await self._answer(request)
        if answer is None:
            result: bool | None = False
        elif any(isinstance(part, ToolCall) for part in answer.parts):
            result = True
        else:
            # Cut off while it was still thinking proves nothing; a text without any call does.
            written = sum(len(part.text) for part in answer.parts if isinstance(part, TextPart))
            is_open = answer.finish == "length" and written < _TALKS_FROM
            result = None if is_open else False
        if result is not None:
            self._probed[model, api_base] = result
        return result

    async def examine(self, model: str, api_base: str) -> ModelCheckup:
        """Return how a model does: two small requests to it, then what its server says of it.

        In this order: a server that loads a model when it is first asked knows only then with
        how much context.
        """
        has_tools, speed, fault = None, None, None
        try:
            has_tools = await self.probe(model, api_base)
            speed = await self._speed(model, api_base)
        except ModelError as error:
            fault = error.fault
        kind, info = await local_servers.look_up(model, api_base)
        context = info.context_limit if info is not None else None
        return ModelCheckup(kind, context, has_tools, speed, fault)

    async def _speed(self, model: str, api_base: str) -> float | None:
        """Return how many tokens a second come, once they come; None if that can't be told."""
        if self._host is None:
            return None
        request = ModelRequest(
            new_agent_id(),
            model,
            "You are being tested.",
            (Message(new_message_id(), "user", (TextPart("Write the numbers from 1 to 50."),)),),
            api_base=api_base,
            max_output_tokens=_PROBE_TOKENS,
            limits=_PROBE_LIMITS,
        )
        came: list[float] = []
        tokens, written = 0, 0
        async for item in self._host.stream(request):
            if isinstance(item, Delta):
                came.append(time.monotonic())
                written += len(item.text)
            elif isinstance(item, Answer):
                # Some servers count nothing.
                tokens = item.usage.output_tokens or written // _CHARACTERS_A_TOKEN
        # The host joins what comes fast: a few tokens, or many in a piece or two, tell nothing.
        if tokens < _LEAST_MEASURED or len(came) < _LEAST_PIECES:
            return None
        return tokens / max(came[-1] - came[0], 0.001)

    # Inside

    async def _answer(self, request: ModelRequest) -> Answer | None:
        """Return the answer, or None when the server said that the model has no tools."""
        assert self._host is not None
        answer: Answer | None = None
        try:
            async for item in self._host.stream(request):
                if isinstance(item, Answer):
                    answer = item
        except ModelError as error:
            if _denies_tools(error.fault):
                return None
            raise
        if answer is None:
            raise ModelError(Fault("protocol", "The answer had no end.", "retry"))
        return answer

    async def _typed(self, servers: Iterable[CustomServer]) -> list[ModelInfo]:
        async with _client() as client:

            async def ask(server: CustomServer) -> tuple[ModelInfo, ...]:
                # A keyring may wait for the user's password.
                key = await asyncio.to_thread(self._secrets.key_for, server.api_base)
                async with _in_time(server.title):
                    return await list_server(server.title, server.api_base, key, client)

            return await _answered([ask(server) for server in servers])

    async def _hosted(self) -> list[ModelInfo]:
        infos = await asyncio.to_thread(self._secrets.keys)
        with_key = [self._providers[i.provider] for i in infos if i.provider in self._providers]
        if not with_key:
            return []
        async with _client() as client:
            listed = await asyncio.gather(*(self._of(each, client) for each in with_key))
        offline = await self._known_offline()
        return [_completed(model, offline) for models in listed for model in models]

    async def _of(self, provider: Provider, client: Any) -> tuple[ModelInfo, ...]:
        key = await asyncio.to_thread(self._secrets.key_for, provider.name)
        if key is None:
            return ()
        import hashlib  # brings OpenSSL: not before someone has keys

        # The key itself is not to lie about in one more place.
        kept_as = (provider.name, hashlib.sha256(key.encode()).hexdigest())
        at, models = self._kept.get(kept_as, (0.0, ()))
        if models and time.monotonic() - at < _KEPT_S:
            return models
        try:
            if provider.models_url:
                async with _in_time(provider.title):
                    models = await list_models(provider, key, client)
        except ModelError as error:
            _log.info("models of %s: %s", provider.name, error.fault.message)
        if models:
            self._kept[kept_as] = (time.monotonic(), models)
            return models
        offline = await self._known_offline()
        return tuple(model for model in offline.values() if model.provider == provider.name)

    async def _known_offline(self) -> Mapping[str, ModelInfo]:
        if self._offline is None:
            self._offline = {} if self._host is None else await _price_map(self._host)
        return self._offline

    async def _missing(self, model: str, api_base: str) -> ModelInfo:
        known = (await self._known_offline()).get(model) if not api_base else None
        title = model.partition("/")[2] or model
        info = known or ModelInfo(model, title=title, api_base=api_base)
        return msgspec.structs.replace(info, is_ready=not api_base, note="Not found just now")

    def _with_probe(self, model: ModelInfo) -> ModelInfo:
        probed = self._probed.get((model.name, model.api_base))
        return model if probed is None else msgspec.structs.replace(model, has_tools=probed)


def _demo() -> ModelInfo:
    return ModelInfo(
        DEMO_MODEL,
        title="Demo",
        provider=DEMO_MODEL,
        has_tools=True,
        has_images=False,
        input_price=0.0,
        output_price=0.0,
        note="Built in, works offline. It is a script, not a language model.",
    )


def _client() -> Any:
    import_httpx()  # not before someone asks
    import httpx

    return new_client(timeout=httpx.Timeout(_ANSWER_S, connect=_CONNECT_S))


async def _check_server(server: CustomServer, key: str) -> Fault | None:
    try:
        async with _client() as client:
            await list_server(server.title, server.api_base, key or None, client)
    except ModelError as error:
        return error.fault
    return None


def _denies_tools(fault: Fault) -> bool:
    words = f"{fault.message} {fault.details}".lower()
    is_about_tools = "support" in words and ("tool" in words or "function" in words)
    return is_about_tools and fault.kind in {"bad_request", "not_found"}


@asynccontextmanager
async def _in_time(title: str) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(_LISTED_S):
            yield
    except TimeoutError:
        raise ModelError(Fault("timeout", f"{title} did not answer in time.")) from None


async def _answered(questions: Iterable[Any]) -> list[ModelInfo]:
    found: list[ModelInfo] = []
    for outcome in await asyncio.gather(*questions, return_exceptions=True):
        if isinstance(outcome, ModelError):
            _log.info("a server's models: %s", outcome.fault.message)
        elif isinstance(outcome, BaseException):
            raise outcome
        else:
            found += outcome
    return found


async def _price_map(host: Host) -> Mapping[str, ModelInfo]:
    try:
        return await host.call("price_map")
    except ModelError as error:
        _log.warning("the models known offline can't be had: %s", error.fault.message)
        return {}


def _completed(model: ModelInfo, offline: Mapping[str, ModelInfo]) -> ModelInfo:
    """Fill in what the provider did not say; what it said is newer than any table."""
    known = offline.get(model.name)
    if known is None:
        # Some models of OpenAI are reached over its other interface only.
        known = offline.get(f"openai/responses/{model.name.removeprefix('openai/')}")
        if known is None or model.provider != "openai":
            return model
        model = msgspec.structs.replace(model, name=known.name)
    gaps = {
        name: getattr(known, name)
        for name in ("context_limit", "has_tools", "has_images", "input_price", "output_price")
        if getattr(model, name) is None
    }
    return msgspec.structs.replace(model, **gaps)
