"""What a notification of the desktop says of a request for approval."""

from __future__ import annotations

from desktop_agent.core.approvals import ApprovalRequest
from desktop_agent.core.messages import CommandDisplay
from desktop_agent.gui.kit.text import plain
from desktop_agent.gui.state.session_state import SessionState
from desktop_agent.gui.window.desktop_notices import DesktopNotice

_LONGEST_TITLE = 60
_LONGEST_LINE = 200
# What is longer is not read in a notification, and so not allowed there.
_LONGEST_COMMAND, _MOST_LINES = 160, 3


def approval_notice(request: ApprovalRequest, known: SessionState) -> DesktopNotice:
    """Name session, agent and command. What is not shown whole is not to be allowed from there."""
    session_id = known.session_of(request.agent_id)
    info = known.sessions.get(session_id) if session_id is not None else None
    agent = known.agent(request.agent_id)
    display = request.display
    command = display.command if isinstance(display, CommandDisplay) else ""
    is_whole = _is_shown_whole(command)
    about = [request.reason] if command else [request.title, request.reason]
    if isinstance(display, CommandDisplay) and info is not None:
        is_elsewhere = display.directory != info.workspace.root
        about += [display.directory] if is_elsewhere else []
    said = [plain(agent.name if agent is not None else "")[:_LONGEST_TITLE]]
    # Before all else that is long: servers leave out the end of a text.
    said.append(command if is_whole else plain(command)[:_LONGEST_COMMAND])
    said += [plain(line)[:_LONGEST_LINE] for line in about]
    return DesktopNotice(
        request=request.id,
        session=session_id or "",
        title=plain(info.title)[:_LONGEST_TITLE] if info is not None else "Desktop Agent",
        text="\n".join(filter(None, said)),
        short=request.title,
        can_allow=is_whole and not request.lost,
    )


def _is_shown_whole(command: str) -> bool:
    lines = command.split("\n")
    is_short = 0 < len(command) <= _LONGEST_COMMAND and len(lines) <= _MOST_LINES
    return is_short and all(line.isprintable() for line in lines)
