"""A made-up piece of work, as the events that tell of it: for pictures of every screen."""

from __future__ import annotations

import time
from collections.abc import Iterable

from desktop_agent.core.agents import AgentInfo, AgentStatus, Budget, Spent
from desktop_agent.core.approvals import ApprovalRequest, Rule
from desktop_agent.core.changes import ChangeSet
from desktop_agent.core.events import (
    AgentEvent,
    AgentOpened,
    AgentsChanged,
    ApprovalRequested,
    BudgetReached,
    FilesChanged,
    ListChanged,
    MessageAdded,
    NoteDelivered,
    NoteQueued,
    NoteTaken,
    QuestionAsked,
    SessionOpened,
    StepStarted,
    StopReport,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from desktop_agent.core.faults import Fault
from desktop_agent.core.ids import AgentId, MessageId, NoteId, QuestionId, RequestId, SessionId
from desktop_agent.core.messages import (
    CommandDisplay,
    DiffDisplay,
    FilesDisplay,
    Message,
    OutputDisplay,
    TextPart,
    ToolCall,
    ToolResult,
)
from desktop_agent.core.models import KeyInfo, ModelInfo, ServerInfo
from desktop_agent.core.notes import Note
from desktop_agent.core.parts.origins import ChildQuestion, Origin, Report, Spoken, ToldChild
from desktop_agent.core.questions import Question
from desktop_agent.core.sessions import SessionInfo, SessionStatus
from desktop_agent.core.tasks import Task
from desktop_agent.core.usage import Usage
from desktop_agent.core.workspace import Workspace

NOW = time.time()
WHERE = Workspace("/home/ada/code/payments-api")
MAIN, EXPLORER, TESTER, HELD = (
    AgentId("ag_main"),
    AgentId("sa_2"),
    AgentId("sa_1"),
    AgentId("sa_5"),
)
ODD = (AgentId("sa_odd1"), AgentId("sa_odd2"), AgentId("sa_odd3"))
_CLAUDE = "anthropic/claude-sonnet-4-5"


def _info(
    number: int,
    title: str,
    status: SessionStatus = "idle",
    age_s: float = 60,
    *,
    is_unread: bool = False,
) -> SessionInfo:
    main = AgentId(f"ag_{number}") if number else MAIN
    return SessionInfo(
        SessionId(f"se_{number}"),
        main,
        title,
        WHERE,
        _CLAUDE,
        status=status,
        is_unread=is_unread,
        created_at=NOW - age_s - 100,
        updated_at=NOW - age_s,
        context_tokens=76_000,
        context_limit=200_000,
    )


_WORK = _info(0, "Fix flaky retry test", "running", 2)
SESSIONS = (
    _WORK,
    _info(2, "Upgrade to SQLAlchemy 2", "needs_you", 240),
    _info(3, "Explain ledger rounding", age_s=1600, is_unread=True),
    _info(4, "Add OpenAPI examples", age_s=7300),
    _info(5, "Webhook signature rotation", age_s=90_000),
    _info(6, "Bench: batch settlement", "failed", 95_000),
    _info(7, "Docs: onboarding pass", "interrupted", 99_000),
)
MODELS = (
    ModelInfo("demo", "Demo", "demo"),
    ModelInfo(_CLAUDE, "Claude Sonnet 4.5", "anthropic", "", 200_000, True, True, 3, 15),
    ModelInfo("openai/gpt-5", "GPT-5", "openai", "", 400_000, True, True, 1.25, 10, False),
    ModelInfo("ollama_chat/qwen3:8b", "qwen3:8b", "ollama", "http://localhost:11434", 40_960),
)
SERVERS = (ServerInfo("ollama", "Ollama", "http://localhost:11434", MODELS[3:]),)
KEYS = (
    KeyInfo("anthropic", "keyring"),
    KeyInfo("openai", "environment", "OPENAI_API_KEY"),
)
RULES = (
    Rule("shell", "pytest", "folder", WHERE.root, uses=12, created_at=NOW - 86_400),
    Rule("edit", "src/**", "session", "se_0", uses=3, created_at=NOW - 300),
    Rule("shell", "rm", "everywhere", is_deny=True, created_at=NOW - 9_000),
)
PROBE = (
    "Running · 9 tool calls so far\nNow: reading src/webhooks/deliver.py\n"
    "- searching for “retry_with_backoff”\n- reading src/retry.py"
)
PATCH = """--- a/src/retry.py
+++ b/src/retry.py
@@ -12,7 +12,7 @@ def retry_with_backoff
     for n in range(attempts):
         try:
             return fn()
-            sleep(0.1 * 2 ** n * (1 + time.time() % 1))
+            sleep(0.1 * 2 ** n * (0.87 + 0.26 * rng()))
         except TransientError:
     raise GaveUp(attempts)
"""
ANSWER = """Found it. `retry_with_backoff` computes jitter from **wall-clock time**, so two \
retries inside one millisecond get the same delay.

| Attempt | Before (ms) | After (ms) |
|---|---:|---:|
| 1 | 100 | 87 – 113 |
| 2 | 200 | 174 – 226 |

The fix is to inject the random source:

```python
def retry_with_backoff(fn, *, attempts=5, rng=random.random):
    \"\"\"Call `fn` until it succeeds, with full jitter.\"\"\"
    for n in range(attempts):
        try:
            return fn()
        except TransientError:  # anything else propagates
            sleep(0.1 * 2 ** n * (0.87 + 0.26 * rng()))
```
"""


def _agent(agent_id: AgentId, name: str, status: str = "running", **changes: object) -> AgentInfo:
    values = {
        "parent_id": MAIN,
        "started_at": NOW - 91,
        "active_at": NOW,
        "usage": Usage(40_000, 2_700, cost=0.31),
        "model": _CLAUDE,
        "step": 14,
        "role": "explore",
        **changes,
    }
    return AgentInfo(agent_id, _WORK.id, name, status, **values)  # type: ignore[arg-type]


def _main(status: AgentStatus = "running") -> AgentInfo:
    return AgentInfo(
        MAIN,
        _WORK.id,
        "Main",
        status,
        step=9,
        started_at=NOW - 200,
        active_at=NOW,  # type: ignore[arg-type]
    )


def _says(number: int, text: str, *calls: ToolCall, agent: AgentId = MAIN) -> MessageAdded:
    parts = (TextPart(text), *calls) if text else calls
    return MessageAdded(agent, Message(MessageId(f"{agent}/a{number}"), "assistant", parts))


def _told(
    number: int,
    text: str,
    agent: AgentId = MAIN,
    sender: str = "",
    origin: Origin | None = None,
) -> tuple[AgentEvent, ...]:
    note = NoteId(f"{agent}/n{number}")
    message = Message(
        MessageId(f"{agent}/u{number}"),
        "user",
        (TextPart(text, origin),),
        sender,
        (note,),
        NOW - 80,
    )
    return MessageAdded(agent, message), NoteDelivered(agent, note, number, NOW - 80)


def _call(number: int, name: str, agent: AgentId = MAIN, **arguments: object) -> ToolCall:
    return ToolCall(f"{agent}/c{number}", name, dict(arguments))


def _ran(call: ToolCall, display: object, agent: AgentId = MAIN, outcome: str = "ok"):
    text = "1 failed: test_retry_gives_up" if outcome == "failed" else "ok"
    result = ToolResult(call.id, text, outcome != "ok", display)  # type: ignore[arg-type]
    return (
        _says(int(call.id.rpartition("c")[2]) + 1000, "", call, agent=agent),
        ToolStarted(agent, call, "running", NOW - 60),
        ToolEnded(agent, result, outcome, 0.2),  # type: ignore[arg-type]
    )


_ASKED = (
    TurnStarted(MAIN, NOW - 100),
    StepStarted(MAIN, 1),
    *_told(
        1,
        "The retry test fails about once in forty runs on CI. Find out why and fix it, please. "
        "Don't change the public signature.",
    ),
)
_READ = (
    *_ran(_call(1, "grep", pattern="retry_with_backoff"), FilesDisplay(("a",), "6 matches")),
    *_ran(_call(2, "read", path="src/retry.py"), FilesDisplay(("src/retry.py",), "84 lines")),
)
_EDIT = _ran(_call(3, "edit", path="src/retry.py"), DiffDisplay("src/retry.py", PATCH, 1, 1))
_FAIL = _ran(
    _call(4, "shell", command="pytest -q"),
    OutputDisplay("F.\n1 failed: test_retry_gives_up\n", 1, 2.0),
    outcome="failed",
)


def _opened(
    *events: AgentEvent, agents: tuple[AgentInfo, ...] = (), **changes: object
) -> SessionOpened:
    status: AgentStatus = "idle" if any(isinstance(e, TurnEnded) for e in events) else "running"
    return SessionOpened(_WORK, (_main(status), *agents), events, **changes)  # type: ignore[arg-type]


def empty() -> SessionOpened:
    """A session nobody has said anything in."""
    info = SessionInfo(SessionId("se_9"), AgentId("ag_9"), "", WHERE, "demo")
    return SessionOpened(info, (AgentInfo(info.main_agent, info.id, "Main"),))


def tasks() -> ListChanged:
    """The main agent's list."""
    made = (
        Task(1, "Reproduce the flake locally", status="completed"),
        Task(2, "Find where jitter is computed", status="completed"),
        Task(3, "Inject the random source", status="completed"),
        Task(4, "Run the test 50 times", active_form="Running the test", status="in_progress"),
        Task(5, "Check other callers of retry", status="in_progress", owner="explorer"),
        Task(6, "Update the changelog"),
        Task(7, "Open a pull request", blocked_by=(4,), open_blockers=(4,)),
    )
    return ListChanged(MAIN, 1, made, 8)


def _beginnings(command: str) -> tuple[str, str]:
    words = command.split()
    return " ".join(words[:2]), words[0]


def _request(number: int, agent: AgentId, command: str) -> ApprovalRequest:
    return ApprovalRequest(
        RequestId(f"rq_{number}"),
        agent,
        ToolCall(f"{agent}/c{number}", "shell", {"command": command}),
        "Run a command?",
        CommandDisplay(command, WHERE.root),
        "It is not known to only read.",
        ("runs a command",),
        (Rule("shell", command.split()[0]),),
        tuple(Rule("shell", words, is_deny=True) for words in _beginnings(command)),
        NOW - number * 6,
    )


def working() -> SessionOpened:
    """In the middle of a turn, waiting for an approval."""
    request = _request(8, MAIN, "pytest tests/test_retry.py -q --count=50")
    call = request.call
    return _opened(
        *_ASKED,
        *_READ,
        _says(2, ANSWER),
        *_EDIT,
        _says(3, "I'll run the test 50 times to confirm that it's stable.", call),
        ApprovalRequested(MAIN, request),
        lists=(tasks(),),
    )


def approving(request: ApprovalRequest) -> SessionOpened:
    """In the middle of a turn, waiting for this approval."""
    said = _says(2, "Next the random source.", request.call)
    return _opened(*_ASKED, *_READ, said, ApprovalRequested(MAIN, request))


def edited() -> SessionOpened:
    """Done, with a change to look at."""
    return _opened(
        *_ASKED,
        *_READ,
        *_EDIT,
        *_FAIL,
        _says(4, "The fix is in. One test still fails: **test_retry_gives_up**."),
        TurnEnded(MAIN, "finished", at=NOW - 20),
        lists=(tasks(),),
    )


def changed(sets: Iterable[ChangeSet]) -> SessionOpened:
    """Done, with changes of files; those of the first message are its end line."""
    return _opened(
        *_ASKED,
        *_READ,
        *_EDIT,
        _says(4, "The fix is in, and the clock can be injected."),
        *(FilesChanged(one.agent_id, one) for one in sets if one.agent_id == MAIN),
        TurnEnded(MAIN, "finished", at=NOW - 20),
    )


def failed() -> SessionOpened:
    """Ended by the provider."""
    fault = Fault("auth", "Anthropic does not accept the key.", "edit_key", "401", 401)
    return _opened(*_ASKED, *_READ, TurnEnded(MAIN, "error", fault=fault, at=NOW - 20))


def stopped() -> SessionOpened:
    """Ended by the person."""
    report = StopReport(("the answer",), ("pytest -q",), ("edit of b.py",), ("a partial answer",))
    return _opened(*_ASKED, *_READ, TurnEnded(MAIN, "cancelled", report=report, at=NOW - 20))


def asked() -> SessionOpened:
    """Waiting for an answer."""
    call = _call(9, "ask_user", question="Which currency?")
    options = ("Euros", "Dollars", "Whatever the config says")
    question = Question(
        QuestionId("qu_1"), MAIN, call.id, "Which currency should the report use?", options, NOW
    )
    return _opened(*_ASKED, _says(5, "One thing first.", call), QuestionAsked(MAIN, question))


def _team() -> tuple[AgentInfo, ...]:
    return (
        _agent(
            TESTER,
            "tester",
            "waiting_answer",
            doing="asks a question",
            started_at=NOW - 124,
            question="Which currency?",
            question_id="qu_tester",
        ),
        _agent(
            EXPLORER,
            "explorer",
            doing="reading deliver.py",
            budget=Budget(tokens=60_000),
            used=0.71,
        ),
        _agent(
            AgentId("sa_3"),
            "grep callers",
            "completed",
            parent_id=EXPLORER,
            ended_at=NOW - 30,
            started_at=NOW - 52,
            result="9 callers, all in src/webhooks and src/cli.",
        ),
        _agent(AgentId("sa_4"), "read webhooks", parent_id=EXPLORER, doing="reading sign.py"),
        _agent(HELD, "changelog-writer", "paused", budget=Budget(cost=0.3), used=1.0),
        _agent(AgentId("sa_6"), "flake hunter", active_at=NOW - 47, doing="thinking"),
        _agent(AgentId("sa_7"), "docs", "failed", ended_at=NOW - 9, result="The key is refused."),
    )


def team() -> SessionOpened:
    """Seven subagents in every state."""
    spawn = _call(20, "spawn", description="explorer", prompt="Find callers")
    asks_parent = ChildQuestion(AgentId("sa_1"), "tester", QuestionId("qu_tester"))
    has_ended = Report(AgentId("sa_3"), "grep callers", "completed")
    report = (
        "Nine callers, all in src/webhooks and "
        "src/cli.\n\nThe one in deliver.py catches the error itself."
    )
    return _opened(
        *_ASKED,
        *_ran(spawn, None),
        _says(6, "Three of them look at different parts. I wait for what they find."),
        *_told(7, "Which currency?", sender="sa_1", origin=asks_parent),
        *_told(8, report, sender="sa_3", origin=has_ended),
        *_told(9, "Skip the vendored copies.", origin=ToldChild(EXPLORER, "explorer")),
        BudgetReached(MAIN, MAIN, Spent(0.51), Budget(cost=0.5)),
        agents=_team(),
        lists=(tasks(),),
    )


def notes() -> tuple[AgentEvent, ...]:
    """What was said to the explorer, in each state."""
    call = _call(30, "shell", EXPLORER, command="pytest -q")
    first = Note(NoteId("no_1"), "Skip the vendored copies in third_party/.", "steer", "step")
    second = Note(NoteId("no_2"), "Also look at the CLI's retry loop.", "steer", "step")
    return (
        TurnStarted(EXPLORER, NOW - 90),
        StepStarted(EXPLORER, 12),
        NoteQueued(EXPLORER, first),
        NoteTaken(EXPLORER, first.id, MessageId("me_x")),
        NoteDelivered(EXPLORER, first.id, 12, NOW - 48),
        ToolStarted(EXPLORER, call, "pytest -q", NOW - 12),
        NoteQueued(EXPLORER, second),
    )


def asks() -> tuple[AgentEvent, ...]:
    """Four things that wait, and a budget that is gone."""
    question = Question(
        QuestionId("qu_tester"), TESTER, "c", "Which currency?", ("Euros", "Dollars"), NOW - 70
    )
    return (
        QuestionAsked(TESTER, question),
        ApprovalRequested(AgentId("sa_4"), _request(4, AgentId("sa_4"), "rm -r build")),
        ApprovalRequested(EXPLORER, _request(3, EXPLORER, "pytest -q tests/webhooks")),
        ApprovalRequested(AgentId("sa_6"), _request(2, AgentId("sa_6"), "pytest -q --count=50")),
        BudgetReached(HELD, HELD, Spent(0.31), Budget(cost=0.3)),
    )


def explorer() -> AgentOpened:
    """One subagent's transcript."""
    call = _call(31, "shell", EXPLORER, command="pytest -q")
    return AgentOpened(
        _team()[1],
        (
            TurnStarted(EXPLORER, NOW - 90),
            *_told(1, "Find every caller of retry_with_backoff.", EXPLORER, MAIN, Spoken("parent")),
            *_ran(
                _call(29, "grep", EXPLORER, pattern="retry_with_backoff"),
                FilesDisplay(("a",), "9 matches"),
                EXPLORER,
            ),
            *_told(12, "Skip the vendored copies in third_party/.", EXPLORER, "user", Spoken()),
            _says(3, "I leave `third_party/` out, and run the tests once.", call, agent=EXPLORER),
            ToolStarted(EXPLORER, call, "pytest -q", NOW - 12),
        ),
    )


def crowd() -> SessionOpened:
    """A thousand subagents."""
    states = ("running", "completed", "failed", "stopped", "paused", "queued")
    many = tuple(
        _agent(AgentId(f"sa_c{n}"), f"worker {n}", states[n % 6], result=f"result {n}")
        for n in range(1_000)
    )
    return _opened(*_ASKED, agents=many)


def odd() -> SessionOpened:
    """Names nobody expects."""
    names = (
        "A very long name " * 12,
        "\N{ROCKET}\N{FAMILY} déploiement \N{SMILING FACE WITH SUNGLASSES}" * 6,
        "בדיקת המחירים של כל הספקים \u202eevil",
    )
    odd_ones = tuple(_agent(i, name) for i, name in zip(ODD, names, strict=True))
    return _opened(*_ASKED, agents=odd_ones)


def odd_one() -> AgentOpened:
    """The transcript of the one with the long name."""
    return AgentOpened(odd().agents[1], (TurnStarted(ODD[0], NOW - 9),))


def later(*agents: AgentInfo) -> AgentsChanged:
    """The agents as they are a little later."""
    return AgentsChanged(_WORK.id, (_main(), *agents))
