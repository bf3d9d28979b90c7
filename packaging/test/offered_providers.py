"""Talks to every provider that the app offers through the model host of a frozen app.

    python packaging/test/offered_providers.py dist/desktop-agent/desktop-agent

Each one answers from a loopback server, with a tool call in it; one line each. It ends with 1
when one failed: what the frozen app leaves out is only found missing by running it.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from msgspec.structs import replace

from desktop_agent.adapters.models.hosted_model import HostedModel
from desktop_agent.core.providers import PROVIDERS, Provider
from tests.helpers.providers import Calls, LoopbackProvider, Say
from tests.model_host.conftest import KEY, hear, request_to


async def answers(model: HostedModel, offered: Provider) -> str:
    """Return what went wrong with one provider; nothing when it answered."""
    script = [[Say("I look."), Calls(("read", {"path": "a.txt"}))]]
    with LoopbackProvider(offered.dialect, script) as provider:
        request = replace(request_to(provider), model=f"{offered.name}/some-model")
        heard = await hear(model, request)
    if heard.fault is not None:
        return heard.fault.message
    is_whole = [call.arguments for call in heard.calls] == [{"path": "a.txt"}]
    return "" if is_whole and heard.shown == "I look." else f"it answered {heard.answer}"


async def main() -> int:
    """Ask all; return how many failed."""
    model = HostedModel(key_for=lambda _: KEY)
    failed = 0
    for offered in PROVIDERS:
        wrong = await answers(model, offered)
        failed += bool(wrong)
        print(f"{offered.title}: {wrong or 'answered'}")
    await model.close()
    return failed


if __name__ == "__main__":
    # The host is started as the frozen app starts it.
    sys.executable, sys.frozen = str(Path(sys.argv[1]).resolve()), True  # type: ignore[attr-defined]
    sys.exit(min(1, asyncio.run(main())))
