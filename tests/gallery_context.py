"""Pictures of the context: its meter, what fills it, and the row of a compaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from desktop_agent.core.commands import JobOutput
from desktop_agent.core.events import ContextCompacted, SessionsChanged
from desktop_agent.core.ids import CompactionId, MessageId
from desktop_agent.core.messages import Message, TextPart
from desktop_agent.core.models import ModelCheckup, ModelInfo
from desktop_agent.core.parts.origins import ContextSummary
from desktop_agent.core.usage import ContextUse
from desktop_agent.gui.language_models.checkup_popover import CheckupPopover
from desktop_agent.gui.transcript.view.terminal import Terminal
from tests import gallery_story as story
from tests.helpers.windows import part

if TYPE_CHECKING:
    from tests.gallery import Gallery

USE = ContextUse(
    system=3_120,
    skills=1_480,
    tools=6_900,
    messages=41_300,
    files=24_000,
    window=200_000,
    source="known",
    input_tokens=76_100,
    cached_tokens=70_950,
    can_compact=True,
)
_SUMMARY = (
    "The retry test was flaky because it slept for real time. The clock is injected now, in "
    "`retry.py`, and **test_retry.py** uses a fake one.\n\nFiles changed: src/retry.py, "
    "tests/test_retry.py\nFiles read: src/client.py, README.md"
)


def compacted() -> ContextCompacted:
    """Forty-one messages became a summary."""
    said = TextPart(_SUMMARY, ContextSummary(("src/client.py",), ("src/retry.py",)))
    return ContextCompacted(
        story.MAIN,
        CompactionId("co_1"),
        summary=Message(MessageId("me_sum"), "user", (said,), "app"),
        kept=(MessageId("me_1"),),
        count=41,
        tokens_before=120_000,
        tokens_after=9_200,
        window=128_000,
        at=story.NOW,
    )


async def show_context(gallery: Gallery) -> None:
    opened = story.edited()
    info = replace(opened.info, context_tokens=76_100, context_limit=200_000)
    gallery.show(replace(opened, info=info))
    window = gallery.window
    meter = part(window, "contextMeter")
    meter.click()
    await gallery.take("85-context-counting")
    part(window, "contextPopover").show_use(USE)
    await gallery.take("86-context")
    full = replace(USE, messages=150_000, window=None, source="", cached_tokens=None)
    part(window, "contextPopover").show_use(replace(full, can_compact=False))
    await gallery.take("86b-context-unknown")
    part(window, "contextPopover").close()
    gallery.hear(SessionsChanged(story.SESSIONS), compacted())
    await gallery.take("87-compacted")
    part(window, "compactionHeader").click()
    await gallery.take("88-compacted-open")
    await _checkup(gallery)
    terminal = Terminal(gallery.theme, "job_1", window)
    terminal.show()
    printed = "\n".join(f"  VITE ready in {n} ms" for n in range(300, 330))
    terminal.show_output(JobOutput("npm run dev", printed, True, None, 92.0, (5173,)))
    await gallery.take("92-terminal", terminal)
    terminal.show_output(JobOutput("npm run dev", printed, True, 143, 97.0))
    await gallery.take("93-terminal-ended", terminal)
    terminal.close()


async def _checkup(gallery: Gallery) -> None:
    window = gallery.window
    info = ModelInfo("ollama_chat/qwen3:8b", "qwen3:8b", "ollama", "http://127.0.0.1:11434")
    popover = CheckupPopover(gallery.theme, info, window)
    popover.open_below(part(window, "modelButton"), above=True)
    await gallery.take("89-checkup-busy")
    popover.show_checkup(ModelCheckup("ollama", 4_096, False, 23.4))
    await gallery.take("90-checkup")
    popover.close()
