"""The page of usage, for the gallery."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from desktop_agent.core.usage import UsageLine, UsageReport
from tests.helpers.windows import part

_MODELS = (
    UsageLine("anthropic/claude-sonnet-4-5", "", 412, 0, 0, 8_412_000, 214_300, 6_120_000, 21.42),
    UsageLine("openai/gpt-5-mini", "", 1_204, 0, 12, 5_204_111, 402_100, 1_204_000, 4.18),
    UsageLine("ollama_chat/qwen3:14b", "", 96, 4, 96, 804_000, 51_200),
    UsageLine("", "", 31, 31, 31),
)
_SESSIONS = (
    UsageLine("se_1", "Survey of the price list", 690, 0, 0, 7_100_000, 300_000, 5_000_000, 16.02),
    UsageLine(
        "se_2", "Retry when the server is busy", 622, 4, 108, 5_000_000, 240_000, 90_000, 8.4
    ),
    UsageLine("", "", 400, 0, 0, 2_300_111, 121_000, 2_234_000, 1.18),
    UsageLine("se_4", "=HYPERLINK(a) \u202eevil", 31, 31, 31),
)


def report(days: int = 30) -> UsageReport:
    """Return one with a bar of each kind."""
    today = date.today()
    lines = tuple(
        UsageLine(
            (today - timedelta(back)).isoformat(),
            "",
            10 + back,
            unpriced=5 if back % 9 == 4 else 0,
            input_tokens=40_000 * (back * 7 % 11),
            output_tokens=2_000 * (back * 5 % 7),
            cost=0.21 * (back * 7 % 11),
        )
        for back in reversed(range(days))
        if back % 6 != 5
    )
    total = UsageLine("", "", 1743, 35, 139, 14_420_111, 667_600, 7_324_000, 25.6)
    return UsageReport((today - timedelta(days - 1)).isoformat(), total, lines, _MODELS, _SESSIONS)


async def show_usage(gallery: Any, opened: Any) -> None:
    """Take the page by model, by session and by day, and empty."""
    gallery.show(opened)
    gallery.window.usage.open()
    page = part(gallery.window, "usagePage")
    page.show_report(report())
    await gallery.take("85-usage")
    part(page, "usageBy_session").click()
    part(page, "usageMeasure_tokens").click()
    await gallery.take("86-usage-sessions")
    part(page, "usageBy_day").click()
    part(page, "usageMeasure_cost").click()
    await gallery.take("87-usage-days")
    page.show_report(UsageReport(page.since))
    await gallery.take("88-no-usage")
    page.left.emit()
