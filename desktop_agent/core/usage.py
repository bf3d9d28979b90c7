"""Tokens and money. What a provider did not say stays unknown (`None`), never 0."""

from __future__ import annotations

from desktop_agent.core.messages import Value


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


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)


def is_unpriced(usage: Usage) -> bool:
    """Whether it is not known what a request cost."""
    return usage.cost is None


def is_uncounted(usage: Usage) -> bool:
    """Whether it is not known how many tokens a request took; one that is free took none."""
    return usage.cost is None and None in (usage.input_tokens, usage.output_tokens)
