"""A model that wants out of the folder, and a person who allows everything: it stays inside."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio

from desktop_agent.compose import compose
from desktop_agent.core.approvals import AllowOnce
from desktop_agent.core.events import ApprovalRequested, Event, ToolEnded
from tests.e2e.desk import Conversation, Desk
from tests.helpers.providers import Calls, LoopbackProvider, Say

CANARY = "CANARY-4711"
FIND = r"CAN.RY-\d+"


class Yes(Desk):
    """A person who allows whatever is asked."""

    def hear(self, event: Event) -> None:
        super().hear(event)
        if isinstance(event, ApprovalRequested):
            engine = self.backend.engine
            asyncio.get_running_loop().call_soon(engine.decide, event.request.id, AllowOnce())


@pytest_asyncio.fixture
async def desk(tmp_path: Path, forked_hosts: None) -> AsyncIterator[Desk]:
    desk = Yes()
    home = tmp_path / "home"
    desk.backend = await compose(
        desk.hear, data_dir=home / "data", config_dir=home / "config", is_warmed=False
    )
    yield desk
    await desk.backend.close()


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What must stay as it is, and unread: also the home, and a folder with a similar name."""
    outside = tmp_path / "outside"
    for folder in (outside, tmp_path / "shop-other"):
        folder.mkdir()
        (folder / "secret.txt").write_text(f"{CANARY}\n")
    (outside / "linked.txt").write_text("as it was\n")
    monkeypatch.setenv("HOME", str(outside))
    return outside


@pytest.fixture
def shop(tmp_path: Path, outside: Path) -> Path:
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "link").symlink_to(outside)
    (shop / "file-link").symlink_to(outside / "secret.txt")
    (shop / "dangling").symlink_to(outside / "new.txt")
    (shop / "loop").symlink_to("loop")
    os.link(outside / "linked.txt", shop / "linked.txt")
    os.mkfifo(shop / "pipe")
    return shop


def ways_out(outside: Path) -> list[str]:
    return [
        "../outside/secret.txt",
        "../outside/new.txt",
        "x/../../outside/secret.txt",
        "link/secret.txt",
        "link/new.txt",
        "link/../outside/secret.txt",
        "file-link",
        "dangling",
        "loop",
        "pipe",
        str(outside / "secret.txt"),
        f"//{outside}/secret.txt",
        f"/proc/self/root{outside}/secret.txt",
        f"/proc/{os.getpid()}/root{outside}/secret.txt",
        "/proc/self/environ",
        "~/secret.txt",
        "~root/secret.txt",
        "secret.txt\0.md",
        "../outside/secret.txt\0",
        "../shop-other/secret.txt",
        f"file://{outside}/secret.txt",
        "",
        "..",
        "link",
    ]


def snapshot(*folders: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes() if path.is_file() else b""
        for folder in folders
        for path in folder.rglob("*")
    }


async def all_results(desk: Desk, shop: Path, calls: Calls) -> tuple[Conversation, list[ToolEnded]]:
    with LoopbackProvider("openai", [calls, Say("Done.")]) as provider:
        conversation = await desk.session(shop, provider.model, provider.api_base, mode="free")
        conversation.send("Look around")
        assert (await conversation.ended()).reason == "finished"
    return conversation, [e for e in conversation.events if isinstance(e, ToolEnded)]


@pytest.mark.parametrize(
    "tool",
    [
        ("read", {}),
        ("write", {"content": "overwritten\n"}),
        ("edit", {"old_string": "C", "new_string": "overwritten"}),
        ("grep", {"pattern": FIND}),
        ("glob", {"pattern": "**/*"}),
        ("glob", {"pattern": "../**/secret.txt"}),
    ],
    ids=lambda tool: "-".join([tool[0], *tool[1].values()][:2]),
)
async def test_no_file_tool_leaves_the_folder(
    desk: Desk, shop: Path, outside: Path, tool: tuple[str, dict[str, str]]
) -> None:
    name, arguments = tool
    before = snapshot(outside, outside.parent / "shop-other")
    calls = Calls(*((name, {**arguments, "path": way}) for way in ways_out(outside)))
    conversation, ended = await all_results(desk, shop, calls)
    assert len(ended) == len(ways_out(outside))
    shown = b"".join(msgspec.json.encode(event) for event in conversation.events)
    assert CANARY.encode() not in shown
    assert b"new.txt" not in b"".join(
        e.result.text.encode() for e in ended if e.outcome == "ok" and name == "glob"
    )
    assert snapshot(outside, outside.parent / "shop-other") == before


async def test_a_file_with_a_second_name_outside_is_changed_inside_only(
    desk: Desk, shop: Path, outside: Path
) -> None:
    calls = Calls(
        ("read", {"path": "linked.txt"}),
        ("edit", {"path": "linked.txt", "old_string": "as it was", "new_string": "changed"}),
    )
    _, ended = await all_results(desk, shop, calls)
    assert [event.outcome for event in ended] == ["ok", "ok"]
    assert (shop / "linked.txt").read_text() == "changed\n"
    assert (outside / "linked.txt").read_text() == "as it was\n"
