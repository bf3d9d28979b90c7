"""Tokens and money. What a provider did not say stays unknown (`None`), never 0."""

from __future__ import annotations

from typing import Literal

from desktop_agent.core.messages import Value

# Where the size of a context window is known from: the list of models, a provider that refused
# a request, or the settings.
WindowSource = Literal["", "known", "learned", "set"]


def _sum(first: float | None, second: float | None) -> float | None:
    return None if first is None and second is None else (first or 0) + (second or 0)


class Usage(Value, frozen=True):
    """Tokens and cost of one step, or a sum of several. Cost is in US dollars."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cost: float | None = None

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            _whole(_sum(self.input_tokens, other.input_tokens)),
            _whole(_sum(self.output_tokens, other.output_tokens)),
            _whole(_sum(self.cached_tokens, other.cached_tokens)),
            _sum(self.cost, other.cost),
        )


class UsageLine(Value, frozen=True):
    """What some requests used together: of a day, a model or a session.

    `key` is a day such as `2026-11-23` or a month such as `2026-11`, the name of a model (empty
    where it is not known) or the id of a session (empty for those that were erased). Of
    `unpriced` requests the cost is not known, of `uncounted` ones the tokens: they are not in the
    sums. `stands_for` is above 1 where lines that used the least were put together, without a key.
    """

    key: str = ""
    title: str = ""
    requests: int = 0
    uncounted: int = 0
    unpriced: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float = 0.0
    stands_for: int = 1

    @property
    def tokens(self) -> int:
        """All that is known of."""
        return self.input_tokens + self.output_tokens


class UsageReport(Value, frozen=True):
    """What was used from the day `since` on (empty: ever), by the calendar of this computer.

    `days` are in order, months if all is asked for; those without a request are left out. `models`
    and `sessions` begin with what cost the most.
    """

    since: str = ""
    total: UsageLine = UsageLine()
    days: tuple[UsageLine, ...] = ()
    models: tuple[UsageLine, ...] = ()
    sessions: tuple[UsageLine, ...] = ()


class Calibration(Value, frozen=True):
    """What the counts of a model's provider taught about estimates of its tokens.

    `factor` is what it counts for an estimated token, `lowest` what it counts for one at least: a
    refusal has shown that it takes more than it tells. Without a model nothing is known yet.
    """

    model: str = ""
    api_base: str = ""
    factor: float = 1.0
    lowest: float = 0.0


class ContextUse(Value, frozen=True):
    """What the next request of an agent would take of its model's window, in estimated tokens.

    `system` includes the folder's instructions; `skills` are the list of them and the texts that
    were loaded, `files` those that were attached or read. `input_tokens` is what the provider
    counted in the last request, `cached_tokens` what of it came from its cache; both are None
    where it did not say, and before the first request since the app was started.
    """

    system: int = 0
    skills: int = 0
    tools: int = 0
    messages: int = 0
    files: int = 0
    window: int | None = None
    source: WindowSource = ""
    input_tokens: int | None = None
    cached_tokens: int | None = None
    can_compact: bool = False

    @property
    def total(self) -> int:
        """All of them."""
        return self.system + self.skills + self.tools + self.messages + self.files


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)


def is_unpriced(usage: Usage) -> bool:
    """Whether it is not known what a request cost."""
    return usage.cost is None


def is_uncounted(usage: Usage) -> bool:
    """Whether it is not known how many tokens a request took; one that is free took none."""
    return usage.cost is None and None in (usage.input_tokens, usage.output_tokens)
