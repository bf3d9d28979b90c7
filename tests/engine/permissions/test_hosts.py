"""Hosts of commands: on the one list of requests, remembered as rules, and refused when alone."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from desktop_agent.core.approvals import (
    AllowAlways,
    AllowOnce,
    ApprovalRequest,
    Deny,
    Mode,
    Rule,
)
from desktop_agent.core.events import (
    AgentsChanged,
    ApprovalRequested,
    ApprovalResolved,
    ToolStarted,
    TurnEnded,
)
from desktop_agent.core.messages import UrlDisplay
from desktop_agent.core.network.hosts import HostError
from desktop_agent.core.network.questions import HostQuestion, HostVerdict
from desktop_agent.core.tool import Access, Preview, Tool, ToolOutput
from desktop_agent.core.workspace import Workspace
from desktop_agent.engine.permissions import policy
from desktop_agent.engine.permissions.host_rules import NETWORK, given_rule, local_ports
from desktop_agent.headless.arguments import UsageError, parse
from tests.engine.rig import Rig, tool
from tests.helpers.engines import agent_of
from tests.helpers.scripted import calls, says

ALLOWED = HostVerdict(True)
HOST, PORT = "packages.example", 443
PATTERN = f"{HOST}:{PORT}"


class Running(Rig):
    """A session whose main agent runs the command `npm install` until the gate opens."""

    def __init__(
        self,
        folder: Path,
        mode: Mode = "ask",
        rules: tuple[Rule, ...] = (),
        registries: tuple[str, ...] = (),
    ) -> None:
        async def find() -> tuple[str, ...]:
            return registries

        script = (calls(("run", {})), says("done"))
        super().__init__(folder, *script, mode=mode, registries=find)
        self.engine._approvals._given = rules
        self.asked: list[asyncio.Task[HostVerdict]] = []

    def _tools(self) -> list[Tool]:
        async def run(args: object, _: object) -> ToolOutput:
            self.gates.reached.set()
            await self.gates.open.wait()
            return ToolOutput("installed")

        effect = Preview("Run?", command="npm install", is_read_only=True)
        return [tool("run", run, access=Access.EXECUTE, preview=lambda _: effect)]

    async def begin(self) -> str:
        """Start the command; return its call's id."""
        self.send("go")
        await self.gates.reached.wait()
        return self.of(ToolStarted)[-1].call.id

    def ask(
        self, host: str = HOST, port: int = PORT, call_id: str = ""
    ) -> asyncio.Task[HostVerdict]:
        question = HostQuestion(self.session_id, host, port, call_id)
        self.asked.append(asyncio.ensure_future(self.engine.ask_host(question)))
        return self.asked[-1]

    async def request(self, count: int = 1) -> ApprovalRequest:
        return (await self.until(ApprovalRequested, count)).request

    async def end(self) -> None:
        self.gates.open.set()
        await self.until(TurnEnded)
        await asyncio.gather(*self.asked, return_exceptions=True)


async def test_the_person_is_asked_with_the_command_and_what_it_could_do(tmp_path: Path) -> None:
    rig = Running(tmp_path)
    call_id = await rig.begin()
    answer = rig.ask(call_id=call_id)
    request = await rig.request()
    assert request.agent_id == rig.agent_id
    assert request.title == "Allow packages.example?"
    assert request.reason == (
        "`npm install` wants to reach it (port 443). What it reads could be sent there."
    )
    assert request.rules == (Rule(NETWORK, PATTERN),)
    assert request.refusals == (Rule(NETWORK, PATTERN, is_deny=True),)
    assert request.call.arguments == {"host": HOST, "port": PORT, "wanted_by": "npm install"}
    # The command's own card goes on running.
    assert request.call.id != call_id
    assert rig.of(AgentsChanged)[-1].agents[0].status == "waiting_approval"
    rig.engine.decide(request.id, AllowOnce())
    assert await answer == ALLOWED
    assert rig.of(AgentsChanged)[-1].agents[0].status == "running"
    await rig.end()


async def test_once_is_asked_again_and_a_session_is_not(tmp_path: Path) -> None:
    rig = Running(tmp_path)
    await rig.begin()
    for count, decision in enumerate(
        (AllowOnce(), AllowAlways(Rule(NETWORK, PATTERN, "session", rig.session_id))), 1
    ):
        answer = rig.ask()
        rig.engine.decide((await rig.request(count)).id, decision)
        assert await answer == ALLOWED
    assert await rig.ask() == ALLOWED
    assert len(rig.of(ApprovalRequested)) == 2
    assert rig.engine._approvals.rules[0].uses == 2
    await rig.end()


async def test_a_rule_of_the_folder_holds_there_alone_and_for_that_port(tmp_path: Path) -> None:
    rig = Running(tmp_path)
    await rig.begin()
    rig.engine.add_rule(Rule(NETWORK, PATTERN, "folder", rig.workspace.root))
    rig.engine.add_rule(Rule(NETWORK, "other.example:443", "folder", "/somewhere/else"))
    assert await rig.ask() == ALLOWED
    for place in ((HOST, 22), ("other.example", 443), ("sub.packages.example", 443)):
        rig.ask(*place)
    await rig.until(ApprovalRequested, 3)
    await rig.end()
    assert [one.result().is_allowed for one in rig.asked] == [True, False, False, False]


async def test_the_hosts_that_packages_come_from_are_allowed_at_once(tmp_path: Path) -> None:
    places = ("files.example:443", PATTERN, "tools.example:443")
    rig = Running(tmp_path, registries=places)
    await rig.begin()
    answer, waiting = rig.ask(), rig.ask("tools.example")
    request = await rig.request()
    await rig.until(ApprovalRequested, 2)
    assert [rule.pattern for rule in request.together] == [PATTERN, places[0], places[2]]
    first, *others = (Rule(NETWORK, one, "session", rig.session_id) for one in places)
    assert rig.ask("elsewhere.example") is not None
    assert (await rig.request(3)).together == ()
    rig.engine.decide(request.id, AllowAlways(Rule(NETWORK, PATTERN, "session", rig.session_id)))
    assert await answer == ALLOWED
    rig.engine.decide(rig.of(ApprovalRequested)[1].request.id, AllowAlways(first, tuple(others)))
    # Its own host is among them, and that no one asked for yet as well.
    assert await waiting == ALLOWED
    assert await rig.ask("files.example") == ALLOWED
    assert len(rig.of(ApprovalRequested)) == 3
    await rig.end()


async def test_a_rule_that_is_deleted_holds_no_more(tmp_path: Path) -> None:
    rig = Running(tmp_path)
    await rig.begin()
    rig.engine.add_rule(Rule(NETWORK, PATTERN, "everywhere"))
    assert await rig.ask() == ALLOWED
    rig.engine.delete_rule(rig.engine._approvals.rules[0])
    rig.ask()
    await rig.request()
    await rig.end()


async def test_refused_says_who_and_is_not_asked_again_at_once(tmp_path: Path) -> None:
    rig = Running(tmp_path)
    await rig.begin()
    answer = rig.ask()
    rig.engine.decide((await rig.request()).id, Deny())
    assert await answer == HostVerdict(False, "The user refused packages.example.")
    # pip tries five times.
    assert (await rig.ask()).reason == "packages.example was refused a moment ago."
    assert len(rig.of(ApprovalRequested)) == 1
    # But who thinks better of it and makes a rule is heard.
    rig.engine.add_rule(Rule(NETWORK, PATTERN, "everywhere"))
    assert await rig.ask() == ALLOWED
    await rig.end()


async def test_a_while_after_a_refusal_the_person_is_asked_again(tmp_path: Path) -> None:
    rig = Running(tmp_path)
    now = [0.0]
    rig.engine._dispatch.hosts._clock = lambda: now[0]
    await rig.begin()
    answer = rig.ask()
    rig.engine.decide((await rig.request()).id, Deny())
    assert not (await answer).is_allowed
    now[0] = 61.0
    rig.ask()
    await rig.request(2)
    await rig.end()


async def test_the_time_that_the_person_takes_is_not_the_commands(tmp_path: Path) -> None:
    rig = Running(tmp_path)
    now = [0.0]
    hosts = rig.engine._dispatch.hosts
    hosts._clock = lambda: now[0]
    call_id = await rig.begin()
    first, second = rig.ask(), rig.ask("other.example")
    request, other = await rig.request(), await rig.request(2)
    now[0] = 40.0
    assert hosts.waited_s(rig.session_id, call_id) == 40.0
    rig.engine.decide(request.id, AllowOnce())
    await first
    now[0] = 50.0
    rig.engine.decide(other.id, AllowOnce())
    await second
    now[0] = 90.0
    # Two questions at the same time are no longer than one.
    assert hosts.waited_s(rig.session_id, call_id) == 50.0
    assert hosts.waited_s(rig.session_id, "call_other") == 0.0
    await rig.end()
    assert hosts.waited_s(rig.session_id, call_id) == 0.0


async def test_a_rule_made_elsewhere_answers_what_waits(tmp_path: Path) -> None:
    rig = Running(tmp_path)
    await rig.begin()
    first, second = rig.ask(), rig.ask("other.example")
    await rig.until(ApprovalRequested, 2)
    rig.engine.add_rule(Rule(NETWORK, PATTERN, "everywhere"))
    rig.engine.add_rule(Rule(NETWORK, "other.example:443", "everywhere", is_deny=True))
    assert await first == ALLOWED
    assert not (await second).is_allowed
    await rig.end()


async def test_deny_takes_precedence_over_allow_and_a_refused_page_is_a_refused_host(
    tmp_path: Path,
) -> None:
    rig = Running(tmp_path)
    await rig.begin()
    for refusing in (
        Rule(NETWORK, PATTERN, "everywhere", is_deny=True),
        Rule("web_fetch", HOST, "everywhere", is_deny=True),
    ):
        rig.engine.add_rule(refusing)
        rig.engine.add_rule(Rule(NETWORK, PATTERN, "everywhere"))
        assert await rig.ask() == HostVerdict(False, "A rule refuses packages.example.")
        rig.engine.delete_rule(refusing)
    await rig.end()


async def test_pages_that_may_be_read_are_no_place_to_send_to(tmp_path: Path) -> None:
    rig = Running(tmp_path)
    await rig.begin()
    rig.engine.add_rule(Rule("web_fetch", HOST, "everywhere"))
    answer = rig.ask()
    rig.engine.decide((await rig.request()).id, Deny())
    assert await answer == HostVerdict(False, f"The user refused {HOST}.")
    await rig.end()


async def test_look_only_reaches_nothing_whatever_the_rules_say(tmp_path: Path) -> None:
    rig = Running(tmp_path, "look", (Rule(NETWORK, PATTERN, "everywhere"),))
    await rig.begin()
    assert not (await rig.ask()).is_allowed
    assert rig.of(ApprovalRequested) == []
    await rig.end()


@pytest.mark.parametrize("mode", ["ask", "free"])
async def test_a_rule_of_another_host_does_not_answer_the_card(tmp_path: Path, mode: Mode) -> None:
    rig = Running(tmp_path, mode)
    await rig.begin()
    answer = rig.ask()
    request = await rig.request()
    rig.engine.decide(request.id, AllowAlways(Rule(NETWORK, "evil.example:443", "everywhere")))
    assert not (await answer).is_allowed
    await rig.end()


async def test_the_end_of_the_command_withdraws_what_it_asked(tmp_path: Path) -> None:
    rig = Running(tmp_path)
    await rig.begin()
    answer = rig.ask()
    await rig.request()
    await rig.end()
    assert await answer == HostVerdict(False, "The command that wanted it has ended.")
    assert rig.of(ApprovalResolved)[-1].decision == Deny(
        "The request was withdrawn.", by="withdrawn"
    )
    assert rig.engine._approvals.waiting_of(rig.agent_id) == ()


async def test_while_another_command_runs_the_question_is_asked_for_that_one(
    tmp_path: Path,
) -> None:
    rig = Running(tmp_path)
    await rig.begin()
    agent = agent_of(rig.engine, rig.agent_id)
    with rig.engine._dispatch.hosts.command("call_make", "make fetch", agent):
        answer = rig.ask(call_id="call_forged")
        assert "`make fetch`" in (await rig.request()).reason
    request = await rig.request(2)
    assert "`npm install`" in request.reason
    rig.engine.decide(request.id, AllowOnce())
    assert await answer == ALLOWED
    await rig.end()


async def test_what_names_no_command_is_not_said_to_be_the_one_that_runs(tmp_path: Path) -> None:
    """git and clients of SOCKS name none; it may as well be a server in the background."""
    rig = Running(tmp_path)
    await rig.begin()
    for count, call_id in enumerate(("", "call_forged"), 1):
        rig.ask(call_id=call_id, host=f"{count}.example")
        request = await rig.request(count)
        assert request.reason.startswith(
            "A program that doesn't say whose it is, while `npm install` runs, wants to reach it"
        )
        assert request.call.arguments["wanted_by"] == ""
        # Nobody's time runs out for it: the command that runs is taken to wait.
        assert rig.of(AgentsChanged)[-1].agents[0].status == "waiting_approval"
    await rig.end()


async def test_nobody_waits_any_more_and_the_card_goes(tmp_path: Path) -> None:
    rig = Running(tmp_path)
    await rig.begin()
    answer = rig.ask()
    await rig.request()
    answer.cancel()
    await rig.until(ApprovalResolved)
    assert rig.engine._approvals.waiting_of(rig.agent_id) == ()
    # It was no refusal: whoever tries again asks again.
    rig.ask()
    await rig.request(2)
    await rig.end()


async def test_a_command_left_in_the_background_is_asked_for_too(tmp_path: Path) -> None:
    rig = Running(tmp_path)
    await rig.begin()
    await rig.end()
    answer = rig.ask()
    request = await rig.request()
    assert request.reason.startswith("A command in the background wants to reach it")
    rig.engine.decide(request.id, AllowOnce())
    assert await answer == ALLOWED


async def test_at_most_eight_hosts_are_asked_about_at_once(tmp_path: Path) -> None:
    rig = Running(tmp_path)
    await rig.begin()
    for number in range(12):
        rig.ask(f"n{number}.example")
    await rig.until(ApprovalRequested, 8)
    done, waiting = await asyncio.wait(rig.asked, return_when=asyncio.FIRST_COMPLETED)
    assert {one.result().reason for one in done} == {"Too many hosts wait for an answer already."}
    await asyncio.gather(*done)
    assert len(rig.of(ApprovalRequested)) == 8
    await rig.end()
    await asyncio.gather(*waiting)
    # And they may be asked about again when those are done.
    rig.ask("n9.example")
    await rig.request(9)


async def test_without_a_person_it_is_refused_and_says_how_to_allow_it(tmp_path: Path) -> None:
    rig = Running(tmp_path)
    await rig.begin()
    answer = rig.ask()
    rig.engine.decide((await rig.request()).id, Deny("Go on without.", by="unattended"))
    assert await answer == HostVerdict(
        False,
        "Nobody is here to allow packages.example; "
        "a run allows it with --allow-host packages.example:443.",
    )
    await rig.end()


async def test_hosts_of_the_command_line_are_reached_unasked(tmp_path: Path) -> None:
    given = parse(
        ["go", "--workspace", str(tmp_path), "--allow-host", "Packages.example",
         "--allow-host", "git.example:9418"]
    ).hosts  # fmt: skip
    rig = Running(tmp_path, "free", given)
    await rig.begin()
    for place in ((HOST, 443), (HOST, 80), ("git.example", 9418)):
        assert await rig.ask(*place) == ALLOWED
    rig.ask(HOST, 8443)
    await rig.request()
    # They are for this run, and stand in no list.
    assert rig.engine._approvals.rules == ()
    await rig.end()


@pytest.mark.parametrize(
    "text",
    ["", "http://a.example", "a.example:0", "a b", "localhost", "*.example", "0x7f.1",
     "127.0.0.1:8000", "192.168.1.5", "[::1]:80", "[fd00::1]"],
)  # fmt: skip
def test_a_host_that_could_not_be_one_is_a_mistake_of_the_command_line(
    tmp_path: Path, text: str
) -> None:
    with pytest.raises(UsageError, match="is no host to allow"):
        parse(["go", "--workspace", str(tmp_path), "--allow-host", text])
    with pytest.raises(HostError):
        given_rule(text)


def test_a_port_of_this_computer_is_open_where_a_rule_allows_exactly_it(tmp_path: Path) -> None:
    given = parse(
        ["go", "--workspace", str(tmp_path), "--allow-host", "localhost:5432"]
    ).hosts  # fmt: skip
    folder = Rule(NETWORK, "localhost:6379", "folder", "/work")
    refused = Rule(NETWORK, "localhost:6379", "everywhere", is_deny=True)
    web = [Rule(NETWORK, "localhost", "everywhere"), Rule(NETWORK, "a.example:80", "everywhere")]
    # Whatever is allowed to reach all hosts has no port of this computer's.
    every = Rule(NETWORK, "", "everywhere")
    assert local_ports([*given, folder, *web, every], "/work") == (5432, 6379)
    assert local_ports([*given, folder, *web, every], "/other") == (5432,)
    assert local_ports([*given, folder, refused], "/work") == (5432,)
    # Where the session's own way out is.
    with pytest.raises(HostError):
        given_rule("localhost:3128")


def test_pages_follow_the_rules_about_hosts() -> None:
    async def run(args: object, _: object) -> ToolOutput:
        raise AssertionError

    fetch = tool("web_fetch", run, access=Access.NETWORK)

    def verdict(preview: Preview, *rules: Rule) -> policy.Verdict:
        situation = policy.Situation("free", rules, Workspace("/folder"))
        return policy.verdict(fetch, preview, situation)

    page = Preview("?", display=UrlDisplay("https://x"), host=HOST, port=443)
    other_port = Preview("?", host=HOST, port=8080)
    allowing = Rule(NETWORK, PATTERN, "everywhere")
    assert verdict(page, allowing) == policy.Allowed((allowing,))
    assert isinstance(verdict(other_port, allowing), policy.Asked)
    assert isinstance(verdict(page, Rule(NETWORK, PATTERN, "folder", "/other")), policy.Asked)
    denying = Rule(NETWORK, HOST, "everywhere", is_deny=True)
    assert isinstance(verdict(page, allowing, denying), policy.Refused)
