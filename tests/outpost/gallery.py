"""Pictures of the settings page of places: empty, with what tests found, one that is changed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec
from PySide6.QtWidgets import QAbstractButton

from desktop_agent.core.events import NoteQueued, SessionOpened, TurnStarted
from desktop_agent.core.ids import AgentId, NoteId
from desktop_agent.core.network.places import Place, PlaceCheck
from desktop_agent.core.notes import Note, NoteArrived
from desktop_agent.core.settings import Settings
from desktop_agent.gui.agents.panel import AgentPanel
from desktop_agent.gui.settings.dialog import SettingsDialog
from tests.helpers.windows import part

if TYPE_CHECKING:
    from tests.gallery import Gallery

_HERE = "0.9.0"
CUT_AT = 1_795_400_000.0
PLACES = {
    Place("box", "ssh", "ada@box.example"): PlaceCheck(
        version=_HERE, system="Linux x86_64", cpus=32, git="2.43.0"
    ),
    Place("trainer", "pod", "trainer-0"): PlaceCheck(
        version=_HERE, system="Linux aarch64", cpus=8, no_sandbox="bubblewrap is not installed."
    ),
    Place("head", "ssh", "head.example", has_ray=True): PlaceCheck(
        version=_HERE, system="Linux x86_64", git="2.43.0", cluster="Ray 2.60.0, 12 nodes"
    ),
    Place("attic", "ssh", "attic"): PlaceCheck(
        "unreachable", "ssh: connect to host attic port 22: No route to host"
    ),
    Place("ci", "container", "ci-runner"): PlaceCheck(
        "missing", 'exec: "desktop-agent": executable file not found in $PATH'
    ),
}


def far_team(team: SessionOpened) -> SessionOpened:
    """Return a team of which three work at a place, one of them out of reach."""
    away = {"explorer": 0.0, "read webhooks": CUT_AT, "flake hunter": 0.0}
    agents = tuple(
        msgspec.structs.replace(one, place="box", away_since=away[one.name])
        if one.name in away
        else one
        for one in team.agents
    )
    return msgspec.structs.replace(team, agents=agents)


async def show_far_team(
    take: Callable[[str], Awaitable[None]],
    hear: Callable[..., None],
    panel: AgentPanel,
    explorer: AgentId,
) -> None:
    """Take pictures of a subagent there, its notes, and one that nothing is heard of."""
    panel.select(explorer)
    there = Note(NoteId("no_3"), "Skip the vendored copies.", "steer", "step")
    sent = Note(NoteId("no_4"), "Also look at the CLI.", "steer", "step")
    hear(TurnStarted(explorer), NoteQueued(explorer, there), NoteArrived(explorer, there.id))
    hear(NoteQueued(explorer, sent))
    await take("60-far-agent")
    away = next(row for row in panel.tree.rows if row.is_away)
    panel.select(away.key)
    await take("61-far-agent-away")


async def show_places(gallery: Gallery, dialog: SettingsDialog) -> None:
    """Take the pictures."""
    given = gallery.given
    plain = Settings(theme=given.theme, text_scale=given.text, model="demo")
    dialog.open_page("places")
    await gallery.take("21-settings-no-places", dialog)
    for button in dialog.findChildren(QAbstractButton, "testPlaceForm"):
        part(dialog, "placeName").setText("box")
        button.click()
    await gallery.take("21b-settings-place-unfinished", dialog)
    shown = Settings(theme=plain.theme, text_scale=plain.text_scale, places=tuple(PLACES))
    dialog.set_settings(shown)
    for button in dialog.findChildren(QAbstractButton, "testPlace"):
        button.click()
    for place, check in list(PLACES.items())[:3]:
        dialog.places.set_result(place, check)
    await gallery.take("21c-settings-places", dialog)
    for place, check in PLACES.items():
        dialog.places.set_result(place, check)
    dialog.findChildren(QAbstractButton, "editPlace")[0].click()
    await gallery.take("21d-settings-place-changed", dialog)
