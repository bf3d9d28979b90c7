"""The host process itself: it dies, it is restarted, it never outlives the app, it is quiet."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from desktop_agent.adapters.models import host_process
from desktop_agent.adapters.models.hosted_model import HostedModel
from desktop_agent.core.faults import ModelError
from desktop_agent.core.ids import new_agent_id
from desktop_agent.core.messages import TextPart
from desktop_agent.core.models import DEMO_MODEL, ModelInfo
from desktop_agent.core.pipes.frames import FrameBuffer, frame
from desktop_agent.core.pipes.host_pipe import StreamStarted
from desktop_agent.core.requests import Answer, Limits, ModelRequest
from tests.helpers.patience import HANG_S
from tests.helpers.providers import Calls, Fail, LoopbackProvider, Pace, Say, Stall, Wait
from tests.model_host.conftest import KEY, Ask, hear, request_to, user

pytestmark = pytest.mark.asyncio(loop_scope="session")

needs_pidfd = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux")


def wait_for_exit(pid: int, timeout: float = HANG_S) -> None:
    """Wait for the end of a process that is not our child; raises TimeoutError."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        if not select.select([fd], [], [], timeout)[0]:
            raise TimeoutError(f"process {pid} still runs")
    finally:
        os.close(fd)


@pytest_asyncio.fixture(loop_scope="session")
async def own_host() -> AsyncIterator[HostedModel]:
    """A host that the test may kill."""
    died = threading.Event()
    hosted = HostedModel(key_for=lambda _name: KEY, on_died=died.set)
    hosted.died = died  # type: ignore[attr-defined]
    yield hosted
    await hosted.close()


async def test_a_killed_host_fails_its_streams_and_the_next_one_gets_a_fresh_host(
    own_host: HostedModel,
) -> None:
    gate = threading.Event()
    with LoopbackProvider("openai", [[Say("Half of ", chunks=1), Wait(gate)]]) as provider:
        stream = own_host.stream(request_to(provider))
        async for item in stream:
            if getattr(item, "kind", ""):
                break
        first_pid = own_host.pid
        assert first_pid is not None
        os.kill(first_pid, signal.SIGKILL)
        with pytest.raises(ModelError) as failed:
            await anext(stream)
    assert failed.value.fault.kind == "host_died"
    assert failed.value.fault.action == "retry"
    assert "signal 9" in failed.value.fault.details
    assert own_host.died.is_set()  # type: ignore[attr-defined]
    again = await hear(own_host, ModelRequest(new_agent_id(), DEMO_MODEL, "", (user("Hello"),)))
    assert isinstance(again.answer, Answer)
    assert own_host.pid != first_pid


async def test_a_host_that_forgot_an_agent_is_told_everything_again(model: HostedModel) -> None:
    agent_id = new_agent_id()
    with LoopbackProvider("openai") as provider:
        history = [user("first")]
        await hear(model, request_to(provider, history, agent_id=agent_id))
        others = [ModelRequest(new_agent_id(), "none/none", "", ()) for _ in range(260)]
        for other in others:  # more agents than a host remembers
            await hear(model, other)
        history = [*history, user("second")]
        heard = await hear(model, request_to(provider, history, agent_id=agent_id))
    assert heard.text == "Done."
    assert provider.requests[-1].user_texts == ("first", "second")


@needs_pidfd
async def test_closing_ends_the_host_process() -> None:
    hosted = HostedModel(key_for=lambda _name: None)
    await hosted.start()
    pid = hosted.pid
    assert pid is not None
    await hosted.close()
    wait_for_exit(pid)
    assert hosted.pid is None


@needs_pidfd
@pytest.mark.parametrize("is_used", [True, False])
async def test_a_host_that_was_started_early_is_the_one_in_use_and_is_ended(is_used) -> None:
    host = host_process.begin_host()
    assert host is not None
    hosted = HostedModel(key_for=lambda _name: None, host=host)
    if is_used:
        await hosted.start()
        assert hosted.pid == host.pid
    await hosted.close()
    with pytest.raises(ProcessLookupError):
        os.kill(host.pid, 0)


async def test_the_host_ends_when_the_app_is_killed(tmp_path: Path) -> None:
    program = tmp_path / "app.py"
    program.write_text(
        "import asyncio\n"
        "from desktop_agent.adapters.models.hosted_model import HostedModel\n"
        "async def main():\n"
        "    hosted = HostedModel(key_for=lambda name: None)\n"
        "    await hosted.start()\n"
        "    print(hosted.pid, flush=True)\n"
        "    await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, str(program)], stdout=subprocess.PIPE, env=environment
    ) as app:
        assert app.stdout is not None
        pid = int(await asyncio.to_thread(app.stdout.readline))
        app.kill()
    wait_for_exit(pid)


async def test_the_host_prints_nothing_whatever_happens(monkeypatch) -> None:
    """Neither litellm's advertisements nor errors reach a terminal."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "desktop_agent.model_host", str(theirs.fileno())],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(theirs.fileno(),),
            env=host_process.host_environment(),
        )
    script = [Fail(401), Fail(400), Say("Hi"), Stall("x")]
    with LoopbackProvider("openai", script) as provider, ours:
        limits = Limits(2, 2, 0.2, 0, 0)
        requests = [request_to(provider, limits=limits) for _ in script]
        requests.append(ModelRequest(new_agent_id(), "no-such/model", "", (user("Hi"),)))
        requests.append(ModelRequest(new_agent_id(), "unknown", "", (user("Hi"),)))
        for number, request in enumerate(requests):
            await asyncio.to_thread(ours.sendall, frame(StreamStarted(number, request, key=KEY)))
            frames = FrameBuffer()
            ended = False
            while not ended:
                piece = await asyncio.to_thread(ours.recv, 65536)
                assert piece
                for body in frames.feed(piece):
                    assert KEY.encode() not in body
                    ended = b"StreamFailed" in body or b"Answer" in body
    out, err = await asyncio.to_thread(process.communicate, None, 10)
    assert (out, err, process.returncode) == (b"", b"", 0)


async def test_no_key_of_the_environment_reaches_the_host(monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("MY_SERVICE_TOKEN", KEY)
    monkeypatch.setenv("DATABASE_URL", f"postgres://ann:{KEY}@db.example/shop")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEY)
    monkeypatch.setenv("SENTRY_DSN", f"https://{KEY}@sentry.example/1")
    monkeypatch.setenv("JUST_A_NAME", KEY)
    monkeypatch.setenv("HTTPS_PROXY", "http://ann:word@proxy.example:3128")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/etc/own-ca.pem")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere.invalid")
    monkeypatch.setenv("NO_PROXY", "intranet.example")
    hosted = HostedModel(key_for=lambda _name: None)
    await hosted.start()
    try:
        await hosted.call("price_map")  # it answers: it is what it was started as
        environ = Path(f"/proc/{hosted.pid}/environ").read_bytes()
    finally:
        await hosted.close()
    assert KEY.encode() not in environ
    assert b"elsewhere.invalid" not in environ
    assert b"NO_PROXY=intranet.example,127.0.0.1,localhost,::1" in environ
    # Without these nothing is reached from within a company's network.
    assert b"HTTPS_PROXY=http://ann:word@proxy.example:3128" in environ
    assert b"REQUESTS_CA_BUNDLE=/etc/own-ca.pem" in environ


async def test_a_key_is_looked_up_by_address_when_there_is_one() -> None:
    asked: asyncio.Queue[str] = asyncio.Queue()

    def key_for(name: str) -> str | None:
        asked.put_nowait(name)
        return None

    hosted = HostedModel(key_for=key_for)
    try:
        address = "http://127.0.0.1:9/v1"
        request = ModelRequest(new_agent_id(), "openai/gpt-4o", "", (), (), address)
        job = asyncio.ensure_future(hear(hosted, request))
        assert await asked.get() == address
        job.cancel()
        heard = await hear(hosted, ModelRequest(new_agent_id(), "openai/gpt-4o", "", ()))
        assert await asked.get() == "openai/gpt-4o"
    finally:
        await hosted.close()
    assert heard.fault is not None
    assert heard.fault.message == "There is no key for openai yet."
    assert (heard.fault.kind, heard.fault.action) == ("auth", "edit_key")


async def test_the_demo_answers_though_litellm_is_never_imported(tmp_path, monkeypatch) -> None:
    (tmp_path / "litellm.py").write_text("import threading\nthreading.Event().wait()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    hosted = HostedModel(key_for=lambda _name: None)
    try:
        request = ModelRequest(new_agent_id(), DEMO_MODEL, "", (user("Hello"),))
        async with asyncio.timeout(HANG_S):
            heard = await hear(hosted, request)
    finally:
        await hosted.close()
    assert isinstance(heard.items[-1], Answer)
    assert heard.fault is None


async def test_a_broken_litellm_is_told_and_does_not_hang(tmp_path, monkeypatch) -> None:
    (tmp_path / "litellm.py").write_text("raise ImportError('no such thing')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    hosted = HostedModel(key_for=lambda _name: KEY)
    try:
        with LoopbackProvider("openai") as provider:
            heard = await hear(hosted, request_to(provider))
    finally:
        await hosted.close()
    assert heard.fault is not None
    assert heard.fault.kind == "internal"
    assert "no such thing" in heard.fault.details


async def test_a_folder_with_modules_of_our_names_is_not_imported(tmp_path, monkeypatch) -> None:
    """The app may be started in a folder that a stranger has filled."""
    (tmp_path / "msgspec.py").write_text("raise SystemExit('taken over')\n")
    monkeypatch.chdir(tmp_path)
    hosted = HostedModel(key_for=lambda _name: None)
    try:
        heard = await hear(hosted, ModelRequest(new_agent_id(), DEMO_MODEL, "", (user("Hello"),)))
    finally:
        await hosted.close()
    assert heard.fault is None


async def test_many_streams_run_side_by_side(ask: Ask) -> None:
    gate = threading.Event()
    with LoopbackProvider("openai", otherwise=[Wait(gate), Say("All at once.")]) as provider:
        jobs = [asyncio.ensure_future(ask(provider)) for _ in range(32)]
        await asyncio.to_thread(provider.wait_for, 32)
        gate.set()
        heard = await asyncio.gather(*jobs)
    assert [each.text for each in heard] == ["All at once."] * 32


async def test_deltas_are_joined_for_the_pipe_but_the_first_is_not_kept_back(ask: Ask) -> None:
    with LoopbackProvider("openai", [Pace(200, per_second=400)]) as provider:
        heard = await ask(provider)
    deltas = [item for item in heard.items if getattr(item, "kind", "") == "text"]
    assert heard.text == "token " * 200
    assert 3 <= len(deltas) <= 60
    assert deltas[0].text == "token "


async def test_a_query_that_does_not_exist_fails_alone(model: HostedModel) -> None:
    with pytest.raises(ModelError):
        await model.call("no_such_query")
    assert await model.call("price_map")


async def test_known_models_come_with_context_and_prices(model: HostedModel) -> None:
    models = await model.call("price_map")
    assert len(models) > 500
    known = models["openai/gpt-4o"]
    assert known.provider == "openai"
    assert known.context_limit == 128_000
    assert known.input_price == pytest.approx(2.5)
    assert known.has_tools
    assert await model.call("model_info", model="openai/gpt-4o") == known
    assert await model.call("model_info", model="openai/no-such-model") is None
    demo = await model.call("model_info", model=DEMO_MODEL)
    assert isinstance(demo, ModelInfo)
    assert demo.name == DEMO_MODEL


@pytest.mark.parametrize("dialect", ["openai", "responses", "anthropic", "gemini", "ollama"])
async def test_a_good_key_passes_the_check_with_one_small_request(dialect, model) -> None:
    with LoopbackProvider(dialect) as provider:
        fault = await model.call(
            "check_key", model=provider.model, api_base=provider.api_base, key=KEY
        )
        assert fault is None
        assert len(provider.requests) == 1
        assert provider.requests[0].size < 1000


@pytest.mark.parametrize("dialect", ["openai", "responses", "anthropic", "gemini"])
async def test_a_wrong_key_fails_the_check_in_the_providers_words(dialect, model) -> None:
    with LoopbackProvider(dialect, key="sk-another") as provider:
        fault = await model.call(
            "check_key", model=provider.model, api_base=provider.api_base, key=KEY
        )
    assert fault.kind == "auth"
    assert fault.action == "edit_key"
    assert "Incorrect API key provided." in fault.message
    assert KEY not in fault.message + fault.details


async def test_a_check_of_a_silent_address_ends(model: HostedModel) -> None:
    with LoopbackProvider("openai", [Stall(headers=False)]) as provider:
        fault = await model.call(
            "check_key", model=provider.model, api_base=provider.api_base, key="", limit_s=0.3
        )
    assert fault.kind == "timeout"


async def test_a_tool_that_the_model_made_up_stays_a_call(ask: Ask) -> None:
    with LoopbackProvider("openai", [Calls(("no_such_tool", {"a": 1}))]) as provider:
        heard = await ask(provider)
    assert [call.name for call in heard.calls] == ["no_such_tool"]
    assert not any(isinstance(part, TextPart) for part in heard.answer.parts)


async def test_a_check_without_a_key_says_that_there_is_none(model: HostedModel) -> None:
    fault = await model.call("check_key", model="anthropic/claude-x", api_base="", key="")
    assert fault.message == "There is no key for anthropic yet."
    assert fault.action == "edit_key"
