"""What is known of models: how large their windows are (known, learned or set), what they cost."""

from __future__ import annotations

import ipaddress
import logging
import re
import time
from collections.abc import Awaitable, Callable
from typing import Protocol
from urllib.parse import urlsplit

import msgspec

from desktop_agent.core.faults import Fault
from desktop_agent.core.models import DEMO_MODEL, ModelInfo
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.settings import Settings
from desktop_agent.core.usage import Calibration, WindowSource

_log = logging.getLogger(__name__)

_SMALLEST = 1_000
# What a request is likely to be too long for where nothing is known: of a server of one's own, and
# of a provider.
_PROBABLE_OWN, _PROBABLE = 4_096, 32_000
_READ = 8_000
# What providers say: "200251 tokens > 199999 maximum", "maximum context length is 8192 tokens",
# "the maximum number of tokens allowed (1048576)", "available context size (4096 tokens)".
_NUMBER = r"(\d[\d,]{2,11})"
_SAID = (
    re.compile(rf">\s{{0,3}}{_NUMBER}\s{{0,3}}maximum", re.IGNORECASE),
    re.compile(rf"\b(?:maximum|context|n_ctx)[^\d\n]{{0,60}}{_NUMBER}", re.IGNORECASE),
)
# And what they counted: "request (5000 tokens) exceeds", "your messages resulted in 9000 tokens",
# "200251 tokens > 199999 maximum".
_COUNTED = (
    re.compile(rf"\brequest \({_NUMBER} tokens\)"),
    re.compile(rf"\bresulted in {_NUMBER}"),
    re.compile(rf"\b{_NUMBER} tokens\s{{0,3}}>"),
)


# What a server said holds for so long: it may be started anew with another window.
_KEPT_S = 300.0
# One that loads a model when it is first used says nothing before.
_MOST_UNANSWERED = 2

DescribeModel = Callable[[str], Awaitable[ModelInfo | None]]
AskServer = Callable[[str, str], Awaitable[int | None]]


class Window(msgspec.Struct, frozen=True):
    """How many tokens a request to a model may take, and where that is known from."""

    tokens: int
    source: WindowSource


class Sources(Protocol):
    """Who is asked."""

    @property
    def describe_model(self) -> DescribeModel | None:
        """What knows a model by its name."""
        ...

    @property
    def served_window(self) -> AskServer | None:
        """What asks the server at an address how much context it gives a model."""
        ...


class _Served(msgspec.Struct):
    """What a server said; it is asked again from `until` on."""

    tokens: int | None = None
    until: float = 0.0
    unanswered: int = 0


class Windows:
    """All that is known of windows, for the whole engine."""

    def __init__(self, sources: Sources, settings: Callable[[], Settings]) -> None:
        self._describe = sources.describe_model
        self._ask_server = sources.served_window
        self._served: dict[tuple[str, str], _Served] = {}
        self._settings = settings
        self._known: dict[str, ModelInfo | None] = {}
        self._learned: dict[tuple[str, str], int] = {}
        # What other sessions still know of these was learned before the user chose them again.
        self._chosen_again: set[tuple[str, str]] = set()
        self._calibrations: dict[tuple[str, str], Calibration] = {}

    async def of(self, model: str, api_base: str) -> Window | None:
        """Return a model's window; the smallest that is known of counts."""
        learned, known = self.learned(model, api_base), await self._asked(model, api_base)
        if known is None:
            known = await self._listed(model)
        found: list[Window] = []
        if learned is not None:
            found.append(Window(learned, "learned"))
        if known is not None:
            found.append(Window(known, "known"))
        if wanted := self._settings().context_window:
            found.append(Window(max(_SMALLEST, wanted), "set"))
        return min(found, key=lambda window: window.tokens, default=None)

    def learned(self, model: str, api_base: str) -> int | None:
        """Return what refusals said of a model's window."""
        return self._learned.get((model, api_base))

    def learn(self, model: str, api_base: str, tokens: int | None) -> None:
        """A provider has refused a longer request; None forgets what was learned."""
        if tokens is None:
            self._learned.pop((model, api_base), None)
        else:
            self._learned[model, api_base] = tokens

    def forget(self, model: str, api_base: str) -> None:
        """The user chose a model again: its server may have been started with a larger window."""
        self._learned.pop((model, api_base), None)
        self._chosen_again.add((model, api_base))

    def calibration(self, model: str, api_base: str) -> Calibration:
        """Return what is known of estimates for a model."""
        known = self._calibrations.get((model, api_base))
        return known if known is not None else Calibration(model, api_base)

    def calibrate(self, calibration: Calibration) -> None:
        """Keep what was learned about estimates, for the next agent with this model as well."""
        self._calibrations[calibration.model, calibration.api_base] = calibration

    def remember(self, info: SessionInfo) -> None:
        """Take what an earlier run of the app has learned."""
        kept = info.calibration
        if kept.model:
            self._calibrations.setdefault((kept.model, kept.api_base), kept)
        chosen = (info.model, info.api_base)
        is_current = chosen not in self._chosen_again
        if is_current and info.context_source == "learned" and info.context_limit:
            self._learned.setdefault(chosen, info.context_limit)

    def cost(self, model: str, api_base: str, tokens: int, written: int) -> float | None:
        """Estimate what a request of `tokens` costs, and `written` ones of its answer, in dollars.

        None where the price is not known; a list says nothing of another address.
        """
        if model == DEMO_MODEL:
            return 0.0
        info = self._known.get(model)
        if api_base or info is None or info.input_price is None or info.output_price is None:
            return None
        return (tokens * info.input_price + written * info.output_price) / 1_000_000

    async def _asked(self, model: str, api_base: str) -> int | None:
        """Return what the model's server says: what its list does not know, and what is true."""
        if self._ask_server is None or not api_base or model == DEMO_MODEL:
            return None
        served = self._served.setdefault((model, api_base), _Served())
        if time.monotonic() >= served.until:
            try:
                served.tokens = await self._ask_server(model, api_base)
            except Exception as error:  # noqa: BLE001 - a request can do without
                _log.warning("the server of %s could not be asked: %s", model, error)
                served.tokens = None
            served.unanswered = served.unanswered + 1 if served.tokens is None else 0
            if served.tokens is not None or served.unanswered >= _MOST_UNANSWERED:
                served.until = time.monotonic() + _KEPT_S
        return served.tokens

    async def _listed(self, model: str) -> int | None:
        if self._describe is None or model == DEMO_MODEL:
            return None
        if model not in self._known:
            try:
                info = await self._describe(model)
            except Exception as error:  # noqa: BLE001 - a request can do without
                _log.warning("the window of %s could not be looked up: %s", model, error)
                return None
            self._known[model] = info
        known = self._known[model]
        return known.context_limit if known is not None else None


def probable_window(api_base: str) -> int:
    """Return what a model's window is likely to be at least, when nobody says."""
    try:
        host = urlsplit(api_base).hostname or ""
        is_own = host == "localhost" or not ipaddress.ip_address(host).is_global
    except ValueError:
        is_own = False
    return _PROBABLE_OWN if is_own else _PROBABLE


def refused_window(fault: Fault, tokens: int) -> int:
    """Return what a refusal says of the window, for a request of about so many tokens."""
    for text in (fault.details[:_READ], fault.message[:_READ]):
        for pattern in _SAID:
            for said in pattern.findall(text):
                window = int(said.replace(",", ""))
                # A number far above what was sent is of something else.
                if _SMALLEST <= window <= 4 * tokens:
                    return window
    return max(_SMALLEST, tokens * 9 // 10)


def refused_size(fault: Fault) -> int | None:
    """Return how many tokens a refusal says that the request took, if it does."""
    for text in (fault.details[:_READ], fault.message[:_READ]):
        for pattern in _COUNTED:
            if said := pattern.search(text):
                return int(said[1].replace(",", ""))
    return None
