"""Pictures of where the sandbox shows: settings, the message box, requests, a failed command."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QMenu, QPushButton, QScrollArea

from desktop_agent.core.approvals import ApprovalRequest, Rule
from desktop_agent.core.events import (
    ApprovalRequested,
    Event,
    MachineSandboxChanged,
    MessageAdded,
    SandboxChanged,
    ToolEnded,
    ToolStarted,
)
from desktop_agent.core.ids import AgentId, MessageId, RequestId
from desktop_agent.core.messages import (
    CommandDisplay,
    Message,
    OutputDisplay,
    ToolCall,
    ToolResult,
)
from desktop_agent.core.parts.containment import Containment
from desktop_agent.core.parts.facts import FailedInside
from desktop_agent.core.sandbox import PrivateCache, Probe, SandboxContents, SandboxState
from desktop_agent.gui.composer.sandbox_fix import SandboxFixPopover
from desktop_agent.gui.transcript.cards.approval_card import ApprovalCard
from desktop_agent.gui.transcript.cards.tool_card import ToolCard
from tests import gallery_story as story
from tests.helpers.windows import part

if TYPE_CHECKING:
    from tests.gallery import Gallery

_PROBES = (
    "commands can't write outside the folder",
    "commands can't read what is hidden",
    "commands can't reach this computer's servers by TCP",
    "commands can't reach this computer's servers by UDP",
    "commands can't reach this computer's servers by their socket files",
    "commands can't reach this computer's servers by abstract sockets",
    "commands can't send signals to other programs",
    "commands can't make user namespaces",
    "commands can't move a repository's own files",
    "commands can write in the folder",
    "a command can reach a server that another one started",
)
HOLDS = SandboxState(
    holds=True, reason="", probes=tuple(Probe(words, True, words) for words in _PROBES)
)
MISSING = SandboxState(
    reason="bubblewrap is not installed.",
    fix="install",
    remedy="Run: sudo apt install bubblewrap",
    command=(
        "/usr/bin/pkexec",
        "--disable-internal-agent",
        "/usr/bin/apt-get",
        "install",
        "-y",
        "bubblewrap",
    ),
)
HOSTS = (
    Rule(
        "network",
        "packages.example:443",
        "folder",
        story.WHERE.root,
        uses=12,
        created_at=story.NOW - 30,
    ),
    Rule("network", "registry.example", "session", "se_1", uses=1, created_at=story.NOW - 30),
    Rule("network", "telemetry.example", "everywhere", is_deny=True, created_at=story.NOW - 30),
)


def _contents() -> SandboxContents:
    home = Path.home()
    names = (".local/bin", ".nvm", ".pyenv", ".rustup")
    return SandboxContents(
        tuple(str(home / name) for name in names),
        (
            PrivateCache("1", story.WHERE.root, 1_240_000_000),
            PrivateCache("2", str(home / "notes"), 36_000),
        ),
    )


def _asks(call_id: str, number: int, command: str, kept: Containment) -> Event:
    words = "Run a command outside the sandbox?" if not kept.is_contained else "Run a command?"
    rules = (Rule("shell", "pytest"),) if kept.is_contained else ()
    why = "It may change files in the folder."
    request = ApprovalRequest(
        RequestId(f"rq_{number}"),
        story.MAIN,
        ToolCall(call_id, "shell", {"command": command}),
        words,
        CommandDisplay(command, story.WHERE.root, (command,), kept),
        reason=why if kept.is_contained else "It would run outside the sandbox.",
        stakes=("at most 120 s",),
        rules=rules,
        created_at=story.NOW - 30,
    )
    return ApprovalRequested(story.MAIN, request)


def asks_for_host(agent_id: str, number: int) -> Event:
    host = "registry.example"
    wanted = {"host": host, "port": 443, "wanted_by": "npm install"}
    return ApprovalRequested(
        AgentId(agent_id),
        ApprovalRequest(
            RequestId(f"rq_{number}"),
            AgentId(agent_id),
            ToolCall(f"rq_{number}", "network", wanted),
            f"Allow {host}?",
            None,
            reason="`npm install` wants to reach it (port 443). What it reads could be sent there.",
            stakes=("reaches the network",),
            rules=(Rule("network", f"{host}:443"),),
            together=tuple(Rule("network", f"{one}:443") for one in (host, "files.example")),
            created_at=story.NOW - 30,
        ),
    )


async def show_sandbox(gallery: Gallery) -> None:
    await _settings(gallery)
    await _bar(gallery)
    gallery.show(story.team())
    gallery.hear(asks_for_host(story.EXPLORER, 75))
    await gallery.take("76-host-in-panel")
    await _cards(gallery)
    await _failed(gallery)
    await _machine(gallery)


async def _settings(gallery: Gallery) -> None:
    gallery.show(story.edited())
    window = gallery.window
    gallery.hear(SandboxChanged(HOLDS))
    window.settings_window.open()
    dialog = part(window, "settingsDialog")
    dialog.open_page("sandbox")
    dialog.sandbox.set_rules(HOSTS)
    dialog.sandbox.set_contents(_contents())
    await gallery.take("70-settings-sandbox", dialog)
    area = dialog.sandbox.findChild(QScrollArea)
    for number, share in enumerate((0.5, 1.0)):
        bar = area.verticalScrollBar()
        bar.setValue(round(bar.maximum() * share))
        await gallery.take(f"70{'bc'[number]}-settings-sandbox", dialog)
    dialog.sandbox.set_sandbox(MISSING)
    area.verticalScrollBar().setValue(0)
    await gallery.take("71-settings-no-sandbox", dialog)
    dialog.close()


async def _bar(gallery: Gallery) -> None:
    for name, state in (("holds", HOLDS), ("missing", MISSING)):
        gallery.hear(SandboxChanged(state))
        button = part(gallery.window, "sandboxButton")
        button.click()
        await gallery.take(f"72-bar-{name}")
        part(gallery.window, "sandboxPopover").close()
    await _fix(gallery)
    gallery.hear(SandboxChanged(HOLDS))


async def _fix(gallery: Gallery) -> None:
    asked = SandboxFixPopover(gallery.theme, MISSING.command, gallery.window)
    asked.open_at(part(gallery.window, "sandboxButton"))
    await gallery.take("72b-bar-fix")
    part(asked, "installSandbox").click()
    await gallery.take("72c-bar-fix-busy")
    asked.show_result("Nothing was installed: the password was not given.")
    await gallery.take("72d-bar-fix-failed")
    asked.close()


async def _machine(gallery: Gallery) -> None:
    gallery.show(story.edited())
    gallery.hear(SandboxChanged(HOLDS), MachineSandboxChanged((story.edited().info.id,)))
    await gallery.take("79-bar-machine")
    gallery.window.popups.open_picker()
    await gallery.take("79b-machine-in-picker")
    part(gallery.window, "workspacePicker").close()


async def _cards(gallery: Gallery) -> None:
    gallery.show(story.edited())
    inside, outside = Containment(), Containment(False, reason="The tests need Docker.")
    gallery.hear(_asks("call_in", 71, "pytest tests/test_retry.py -q --count=50", inside))
    gallery.hear(_asks("call_out", 72, "docker compose up -d postgres", outside))
    gallery.hear(asks_for_host(story.MAIN, 73))
    await gallery.take("73-cards")
    long = "for n in 1 2 3; do\n  pytest -q --count=$n\ndone && " + "echo very long " * 30
    gallery.hear(_asks("call_long", 74, long, inside))
    await gallery.take("74-cards-long")
    cards = gallery.window.findChildren(ApprovalCard)
    menu = next(card for card in cards if "registry.example" in card.accessibleName()).rule_menu()
    button = next(b for c in cards for b in c.findChildren(QPushButton, "allowAlways"))
    menu.popup(button.mapToGlobal(button.rect().bottomLeft()))
    await gallery.take("75-host-menu", menu)
    group = menu.findChild(QMenu, "allowTogether")
    group.popup(menu.mapToGlobal(menu.rect().bottomLeft()))
    await gallery.take("75b-registries-menu", group)
    menu.close()


async def _failed(gallery: Gallery) -> None:
    gallery.show(story.edited())
    call = ToolCall("call_failed", "shell", {"command": "docker compose up -d postgres"})
    printed = "Cannot connect to the Docker daemon at /var/run/docker.sock" + os.linesep
    display = OutputDisplay(printed + "[Exit code 1, 0.4 s]", 1, 0.4)
    facts = FailedInside("docker compose up -d postgres", "f")
    result = ToolResult("call_failed", printed, display=display, facts=facts)
    says = MessageAdded(story.MAIN, Message(MessageId("me_failed"), "assistant", (call,)))
    ended = ToolEnded(story.MAIN, result, "failed", 0.4)
    gallery.hear(says, ToolStarted(story.MAIN, call, "docker", story.NOW), ended)
    page = gallery.window.pages.page(story.MAIN)
    assert page is not None
    card = page.cards.cards["call_failed"]
    assert isinstance(card, ToolCard)
    card.header.click()
    await gallery.take("77-failed-inside")
    button = card.findChild(QPushButton, "runOutside")
    assert button is not None
    button.click()
    await gallery.take("78-run-outside")
    part(gallery.window, "outsidePopover").close()
