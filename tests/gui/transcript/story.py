"""Short words for the events of a session."""

from desktop_agent.core.approvals import ApprovalRequest, Rule
from desktop_agent.core.events import (
    ApprovalRequested,
    MessageAdded,
    MessageStarted,
    NoteDelivered,
    PartDelta,
    QuestionAsked,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from desktop_agent.core.messages import (
    CommandDisplay,
    DiffDisplay,
    FilesDisplay,
    Message,
    TextPart,
    ToolCall,
    ToolResult,
)
from desktop_agent.core.questions import Question
from tests.helpers import events as made

AGENT = "ag_1"
PATCH = """--- a/a.py
+++ b/a.py
@@ -1,3 +1,3 @@
 one
-two
+2
 three
"""


def opened(*events, status="idle", first_seq=1, agents=None):
    return made.opened(
        folder="/folder", status=status, events=events, agents=agents or (), first_seq=first_seq
    )


def begins(at=1.0):
    return TurnStarted(AGENT, at)


def ends(reason="finished", at=2.0, **more):
    return TurnEnded(AGENT, reason, at=at, **more)


def asks(number, text="Please look", *, delivered=True):
    note = f"no_{number}"
    message = Message(f"me_u{number}", "user", (TextPart(text),), note_ids=(note,))
    said = [MessageAdded(AGENT, message)]
    return [*said, NoteDelivered(AGENT, note, 1, 5.0)] if delivered else said


def says(number, text, *calls):
    parts = (TextPart(text), *calls) if text else calls
    return MessageAdded(AGENT, Message(f"me_a{number}", "assistant", parts))


def starts_to_say(number):
    return MessageStarted(AGENT, f"me_a{number}")


def delta(number, text, kind="text"):
    return PartDelta(AGENT, f"me_a{number}", kind, text)


def call(number, name="shell", **arguments):
    return ToolCall(f"call_{number}", name, arguments or {"command": f"echo {number}"})


def runs(tool_call, at=1.0):
    return ToolStarted(AGENT, tool_call, "running", at)


def gives(tool_call, text="ok", outcome="ok", display=None, seconds=0.5):
    result = ToolResult(tool_call.id, text, outcome != "ok", display)
    return ToolEnded(AGENT, result, outcome, seconds)


def reads(number, path="a.py"):
    one = call(number, "read", path=path)
    shown = FilesDisplay((path,), "9 lines")
    return [says(f"r{number}", "", one), runs(one), gives(one, display=shown)]


def edits(number, path="a.py", patch=PATCH):
    one = call(number, "edit", path=path)
    shown = DiffDisplay(path, patch, 1, 1)
    return [says(f"e{number}", "", one), runs(one), gives(one, display=shown)]


def request(tool_call, number=1, command="pytest -q", **more):
    values = {
        "title": "Run a command?",
        "display": CommandDisplay(command, "/folder"),
        "reason": "It is not proven to be read-only.",
        "rules": (Rule("shell", "pytest"),),
        "created_at": 900.0,
    }
    return ApprovalRequest(f"rq_{number}", AGENT, tool_call, **(values | more))


def needs(tool_call, number=1, **more):
    return ApprovalRequested(AGENT, request(tool_call, number, **more))


def wonders(tool_call, *options, number=1):
    question = Question(f"qu_{number}", AGENT, tool_call.id, "Which one?", options)
    return QuestionAsked(AGENT, question)


def long_session(count):
    """Return events of many messages, the newest last."""
    events = []
    for number in range(count):
        events += [begins(number), *asks(number, f"question {number}")]
        events += [says(number, f"answer **{number}**\n\nsecond paragraph of {number}")]
        events += [ends(at=float(number) + 0.5)]
    return events
