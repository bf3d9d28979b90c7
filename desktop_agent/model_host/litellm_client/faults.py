"""Turns whatever went wrong with a request into one sentence and one action for a user."""

from __future__ import annotations

import email.utils
import json
import re
import ssl
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import httpx
import msgspec

from desktop_agent.core.faults import Fault, FaultAction, FaultKind
from desktop_agent.model_host.litellm_client.exchange import Exchange
from desktop_agent.model_host.litellm_client.transport import RedirectRefused

_WORDS_LIMIT = 300
_DETAILS_LIMIT = 6000

RETRIED_STATUSES = frozenset({408, 409, 425, 429})


class Ending(NamedTuple):
    """A fault, and whether the same request may succeed when it is sent again."""

    fault: Fault
    is_retryable: bool


class _Kind(NamedTuple):
    sentence: str
    action: FaultAction
    is_retryable: bool


_KINDS: dict[FaultKind, _Kind] = {
    "auth": _Kind("The provider refused the key", "edit_key", False),
    "billing": _Kind("The account has no credit left", "settings", False),
    "not_found": _Kind("The provider has no such model or address", "switch_model", False),
    "too_large": _Kind("The request is too large for this model", "switch_model", False),
    "rate_limit": _Kind("The provider's rate limit was reached", "retry", True),
    "overloaded": _Kind("The provider is overloaded", "retry", True),
    "server": _Kind("The provider had an error", "retry", True),
    "refused": _Kind("Nothing answers at the model's address", "settings", True),
    "reset": _Kind("The connection to the provider broke", "retry", True),
    "timeout": _Kind("The provider did not answer in time", "retry", True),
    "protocol": _Kind("The provider's answer could not be understood", "retry", False),
    "filtered": _Kind("The provider's content filter withheld the answer", "switch_model", False),
    "bad_request": _Kind("The request was not accepted", "switch_model", False),
    "internal": _Kind("The app could not make the request", "retry", False),
}

_BY_STATUS: dict[int, FaultKind] = {
    401: "auth",
    402: "billing",
    403: "auth",
    404: "not_found",
    408: "timeout",
    413: "too_large",
    429: "rate_limit",
    503: "overloaded",
    529: "overloaded",
}

# Words that say more than the status, most telling first; providers swap 400, 403 and 404.
_TELLING_WORDS: tuple[tuple[str, FaultKind], ...] = (
    (r"insufficient[_ ]quota|credit balance|billing|payment required", "billing"),
    (r"out of credits|exceeded your current quota", "billing"),
    (r"context[_ ](length|window)|maximum context|prompt is too long", "too_large"),
    (r"too many (input )?tokens|request_too_large|input is too long", "too_large"),
    (r"exceeds? the (maximum|available) (number of tokens|context)", "too_large"),
    # xAI, Anthropic with the room for its answer, Moonshot, Z.ai, Alibaba, Cerebras, Copilot, TGI.
    (r"maximum prompt length|context limit|exceeded model token limit", "too_large"),
    (r"prompt exceeds max length|range of input length", "too_large"),
    (r"reduce the length of the (messages|prompt|input)", "too_large"),
    (r"prompt token count .{0,40}exceeds|tokens .{0,3}\+ .{0,3}max_new_tokens", "too_large"),
    (r"(invalid|incorrect|wrong|missing) api[ _]?key|api key not valid", "auth"),
    (r"authentication_error|unauthenticated|invalid x-api-key", "auth"),
    (r"model_not_found|no such model|model .{0,80}(not found|does not exist)", "not_found"),
    (r"content[_ ](filter|policy|management)|responsible ?ai", "filtered"),
    (r"overloaded", "overloaded"),
    (r"rate[_ ]limit", "rate_limit"),
)
_BY_WORDS: list[tuple[re.Pattern[str], FaultKind]] = [
    (re.compile(pattern, re.IGNORECASE), kind) for pattern, kind in _TELLING_WORDS
]
# Google's RetryInfo, also inside the text that a router quotes.
_RETRY_INFO = re.compile(rb'retryDelay\\*"\s*:\s*\\*"(\d{1,6}(?:\.\d{1,9})?)s')
_WORDS_DECIDE = frozenset({None, 200, 400, 403, 404, 422, 429, 500})


def explain(error: BaseException, exchange: Exchange | None) -> Ending:
    """Tell what went wrong: from the wire where it shows it, else from the exception."""
    status, words, kind = _from_wire(exchange)
    if kind is None:
        status, words, kind = _from_exception(error, status, words)
    return _ending(kind, words, _details(error, exchange, status), status, exchange)


def broken_off(exchange: Exchange) -> Ending:
    """Return the ending of a stream that stopped before its end."""
    sentence = "The answer broke off before its end."
    return _ending("reset", "", sentence, exchange.status, exchange, sentence)


def not_understood(exchange: Exchange, why: str) -> Ending:
    """Return the ending of an answer that has nothing in it, or is not in its form."""
    return _ending("protocol", why, why, exchange.status, exchange)


def withheld(exchange: Exchange) -> Ending:
    """Return the ending of an answer of which the provider's filter left nothing."""
    words = exchange.end_words
    return _ending("filtered", words, words or exchange.finish, exchange.status, exchange)


def too_slow(exchange: Exchange, limits_hit: str) -> Ending:
    """Return the ending of an attempt that ran into one of the time limits."""
    return _ending("timeout", "", limits_hit, exchange.status, exchange, limits_hit)


def no_key(model: str) -> Fault:
    """Return the fault for a provider that needs a key when there is none."""
    provider = model.partition("/")[0]
    return Fault("auth", f"There is no key for {provider} yet.", "edit_key")


def _ending(
    kind: FaultKind,
    words: str,
    details: str,
    status: int | None,
    exchange: Exchange | None,
    sentence: str = "",
) -> Ending:
    wait = retry_after(exchange) if exchange is not None else None
    if kind == "billing" and wait is not None:
        kind = "rate_limit"  # what a wait helps against is not an empty account
    known = _KINDS[kind]
    words = short(words)
    message = sentence or (f"{known.sentence}: {words}" if words else f"{known.sentence}.")
    action = known.action
    is_retryable = known.is_retryable
    if status is not None and kind in {"bad_request", "server"} and status in RETRIED_STATUSES:
        is_retryable, action = True, "retry"
    details = details[:_DETAILS_LIMIT]
    return Ending(Fault(kind, message, action, details, status, wait), is_retryable)


def _from_wire(exchange: Exchange | None) -> tuple[int | None, str, FaultKind | None]:
    if exchange is None:
        return None, "", None
    if exchange.redirected_to:
        place = exchange.redirected_to
        words = f"it redirects to {place}. Set that address if you trust it."
        return exchange.status, words, "refused"
    if exchange.status is not None and exchange.status >= 400:
        words = provider_text(exchange.error_body)
        return (
            exchange.status,
            words,
            _kind_of(exchange.status, exchange.error_body.decode("utf-8", "replace")),
        )
    if exchange.stream_error is not None:
        text = json.dumps(exchange.stream_error)
        status = _status_in(exchange.stream_error)
        kind = _kind_of(status, text)
        words = _words_of(exchange.stream_error)
        return exchange.status, words, "server" if kind == "bad_request" else kind
    if exchange.broken is not None:
        kind, words = _connection_kind(exchange.broken)
        return exchange.status, words, kind
    if exchange.is_damaged:
        return exchange.status, "it is not valid JSON", "protocol"
    return exchange.status, "", None


def _from_exception(
    error: BaseException, status: int | None, words: str
) -> tuple[int | None, str, FaultKind]:
    chain = list(_chain(error))
    for link in chain:
        if isinstance(link, httpx.TransportError | ssl.SSLError | OSError):
            kind, words = _connection_kind(link)
            return status, words, kind
    if any(isinstance(link, json.JSONDecodeError | msgspec.DecodeError) for link in chain):
        return status, "it is not valid JSON", "protocol"
    text = _own_text(error)
    if "provider not provided" in text.lower():
        name = re.search(r"model=(\S+)", text)
        return None, f"no provider is known for {name[1] if name else 'this model'}", "bad_request"
    found = _number(getattr(error, "status_code", None))
    if status is not None and 200 <= status < 300:
        # The provider said yes: litellm could not read what it sent.
        if "before any terminal event" in text:
            return status, "the answer broke off", "reset"
        if "json" in text.lower():
            return status, "it is not valid JSON", "protocol"
        return status, text, _kind_by_text(text) or "protocol"
    if found is not None and found >= 400 and status is None:
        # litellm gives made-up errors of its own a status too; 500 means no more than that.
        kind = _kind_of(found, text)
        return found, text, "internal" if kind == "server" else kind
    return status, text, _kind_by_text(text) or "internal"


def _kind_of(status: int | None, text: str) -> FaultKind:
    if status in _WORDS_DECIDE:
        kind = _kind_by_text(text)
        if kind is not None:
            return kind
    if status is None:
        return "server"
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return "server" if status >= 500 else "bad_request"


def _kind_by_text(text: str) -> FaultKind | None:
    return next((kind for pattern, kind in _BY_WORDS if pattern.search(text)), None)


def _connection_kind(error: BaseException) -> tuple[FaultKind, str]:
    links = list(_chain(error))
    text = " ".join(map(str, links))
    if "certificate" in text.lower() or _first(links, ssl.SSLCertVerificationError):
        return "bad_request", "its certificate is not trusted"
    if isinstance(error, RedirectRefused):
        return "refused", "it redirects to another address"
    if isinstance(error, httpx.ConnectTimeout):
        return "timeout", "no connection could be made"
    if isinstance(error, httpx.TimeoutException):
        return "timeout", ""
    if words := _words_of_way(error, links):
        return "refused", words
    if isinstance(error, httpx.ConnectError | httpx.UnsupportedProtocol | httpx.ProxyError):
        if re.search(r"reset|broken pipe", text, re.IGNORECASE):
            return "reset", ""
        is_unknown = re.search(r"name or service|nodename|getaddrinfo|name resolution", text, re.I)
        return "refused", "its name is unknown" if is_unknown else ""
    return "reset", ""


def _words_of_way(error: BaseException, links: list[BaseException]) -> str:
    """Tell what stands in the way to the provider: a proxy, or that no TLS is spoken there."""
    said = next((link for link in links if type(link).__name__ == "ClientHttpProxyError"), None)
    if said is not None:
        told = f"{getattr(said, 'status', '')} {getattr(said, 'message', '')}"
        return f"the proxy said {told.strip()}"
    proxy = _first(links, httpx.ProxyError)
    if proxy is not None and re.match(r"\d{3} ", str(proxy)):
        return f"the proxy said {proxy}"
    # Those of a connection that ended have classes of their own.
    is_tls = any(type(link) is ssl.SSLError for link in links)
    is_begun = isinstance(error, httpx.ReadError | httpx.WriteError)
    return "no secure connection could be made" if is_tls and not is_begun else ""


def _first(links: list[BaseException], kind: type[BaseException]) -> BaseException | None:
    return next((link for link in links if isinstance(link, kind)), None)


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__


def _status_in(error: Mapping[str, Any]) -> int | None:
    return _number(error.get("status_code")) or _number(error.get("code"))


def _number(value: Any) -> int | None:
    try:
        number = int(value)
    except (TypeError, ValueError):
        return None
    return number if 100 <= number < 600 else None


def provider_text(body: bytes) -> str:
    """Return what the provider said itself, out of an error body of any shape."""
    text = body.decode("utf-8", "replace").strip()
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return _plain(text)
    if isinstance(parsed, list) and parsed:
        parsed = parsed[0]
    return _words_of(parsed) if isinstance(parsed, dict) else _plain(text)


def _words_of(parsed: Mapping[str, Any]) -> str:
    quoted = _quoted(parsed.get("metadata"))
    if quoted:
        return quoted
    for name in ("error", "message", "detail", "errors", "msg"):
        found = parsed.get(name)
        if isinstance(found, str) and found.strip():
            return found
        if isinstance(found, list) and found:
            found = found[0]
        if isinstance(found, Mapping):
            return _words_of(found)
    return ""


def _quoted(metadata: Any) -> str:
    """Return the words of the provider behind a router, which has none of its own."""
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    if isinstance(raw, Mapping):
        return _words_of(raw)
    return provider_text(raw.encode("utf-8", "replace")) if isinstance(raw, str) else ""


def _plain(text: str) -> str:
    title = re.search(r"<title>([^<]*)</title>", text, re.IGNORECASE)
    if title:
        return title[1]
    return re.sub(r"<[^<>]*>", " ", text)


def short(words: str) -> str:
    """Return one line of plain words that ends like a sentence."""
    words = " ".join("".join(c if c.isprintable() else " " for c in words).split())
    if len(words) > _WORDS_LIMIT:
        words = words[:_WORDS_LIMIT].rsplit(" ", 1)[0] + "…"
    return words if not words or words[-1] in ".!?…" else f"{words}."


def _own_text(error: BaseException) -> str:
    """litellm's text without its class names, tracebacks and addresses."""
    text = str(getattr(error, "message", "") or error) or type(error).__name__
    text = text.split("Traceback (most recent call last)")[0].split("\n")[0]
    text = re.sub(r"\b(litellm|openai|httpx)\.[\w.]+:?\s*", "", text)
    text = re.sub(r"\b\w+(Error|Exception):?\s*-?\s*", "", text)
    text = re.sub(r"\bException\s*-\s*", "", text)
    text = re.sub(r"https?://\S*", _address_of_others, text)
    return text.strip(" -:")


def _address_of_others(found: re.Match[str]) -> str:
    """Leave out where litellm's own code and help stand."""
    return "" if "litellm" in found[0] or "github" in found[0] else found[0]


def _details(error: BaseException, exchange: Exchange | None, status: int | None) -> str:
    lines = [f"status: {status}"] if status is not None else []
    names = " <- ".join(type(link).__name__ for link in _chain(error))
    lines.append(f"error: {names}")
    if exchange is not None and exchange.error_body:
        lines.append(exchange.error_body.decode("utf-8", "replace")[:4000])
    elif exchange is not None and exchange.stream_error is not None:
        lines.append(json.dumps(exchange.stream_error)[:4000])
    else:
        lines.append(_own_text(error)[:2000])
    return "\n".join(lines)


def retry_after(exchange: Exchange) -> float | None:
    """Return how long the provider asks to wait, in seconds, when it says so."""
    milliseconds = _seconds(exchange.headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    header = exchange.headers.get("retry-after")
    seconds = _seconds(header)
    if seconds is None and header:
        try:
            moment = email.utils.parsedate_to_datetime(header).timestamp()
        except (ValueError, OverflowError, OSError):
            return None  # of no day there is, such as one of a zone thousands of hours away
        return max(0.0, moment - time.time())
    if seconds is None:
        told = exchange.error_body or json.dumps(exchange.stream_error or {}).encode()
        delay = _RETRY_INFO.search(told)
        return float(delay[1]) if delay else None
    return seconds


def _seconds(text: str | None) -> float | None:
    try:
        seconds = float(text or "")
    except ValueError:
        return None
    return seconds if 0 <= seconds < 1e7 else None
