"""The clients that people's commands are: each allowed, refused, and answered late."""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from desktop_agent.core.network.command_proxy import PORT, proxy_environment
from tests.guard.rig import NO, YES, Person, Proxy, origin, proxy
from tests.guard.site import HOST, make_certificates, site
from tests.helpers.patience import tries

_PYTHON = {
    "urllib": "import sys, urllib.request as u; u.urlopen(sys.argv[1]).read()",
    "requests": "import sys, requests; requests.get(sys.argv[1]).raise_for_status()",
    "httpx": "import sys, httpx; httpx.get(sys.argv[1]).raise_for_status()",
    "aiohttp": (
        "import sys, asyncio, aiohttp\n"
        "async def main():\n"
        "    async with aiohttp.ClientSession(trust_env=True) as s:\n"
        "        async with s.get(sys.argv[1]) as r: r.raise_for_status()\n"
        "asyncio.run(main())"
    ),
}
_CARGO = """[package]
name = "mine"
version = "0.1.0"
[lib]
path = "lib.rs"
[dependencies]
thing = "1"
"""
_CARGO_SOURCE = """[source.crates-io]
replace-with = "own"
[source.own]
registry = "sparse+https://{place}/index/"
"""
CLIENTS = (
    "curl", "curl http", "curl socks", "wget", "git", "pip", "uv", "npm", "cargo", *_PYTHON,
)  # fmt: skip


def command(client: str, tls: int, plain: int, proxy_port: int) -> list[str]:
    base = f"https://{HOST}:{tls}"
    if client in _PYTHON:
        return [sys.executable, "-c", _PYTHON[client], f"{base}/"]
    pip = ["--no-deps", "--only-binary", ":all:", "--index-url", f"{base}/simple"]
    return {
        "curl": ["curl", "-sSf", f"{base}/"],
        "curl http": ["curl", "-sSf", f"http://{HOST}:{plain}/"],
        "curl socks": ["curl", "-sSf", "-x", f"socks5h://127.0.0.1:{proxy_port}", f"{base}/"],
        "wget": ["wget", "-nv", "--tries=1", "-O", "page", f"{base}/"],
        "git": ["git", "clone", "-q", f"{base}/thing.git", "clone"],
        "pip": [sys.executable, "-m", "pip", "download", "--no-cache-dir", *pip, "thing"],
        "uv": [str(Path(sys.executable).with_name("uv")), "pip", "install", "--no-cache",
               "--python", sys.executable, "--target", "target", *pip, "thing"],
        "npm": ["npm", "install", "--no-audit", "--no-fund", "--registry", base, "thing"],
        "cargo": ["cargo", "fetch"],
    }[client]  # fmt: skip


# Those that try again by themselves take long to fail.
_ONCE = {
    **dict.fromkeys(("npm_config_fetch_retries", "CARGO_NET_RETRY", "UV_HTTP_RETRIES"), "0"),
    "PIP_RETRIES": "1",  # it says why only when it tries again
}
# What gives up by itself, and is started again by whoever sees that.
_IMPATIENT = {"httpx"}


def environment(authority: Path, folder: Path, way: Proxy) -> dict[str, str]:
    real_home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    proxied = {
        name: value.replace(f":{PORT}", f":{way.port}")
        for name, value in proxy_environment("call_1").items()
    }
    certificate = (
        "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT",
        "NODE_EXTRA_CA_CERTS", "npm_config_cafile", "CARGO_HTTP_CAINFO",
    )  # fmt: skip
    return {
        "PATH": f"{real_home}/.cargo/bin:{os.environ['PATH']}",
        "HOME": str(folder),
        "PYTHONWARNINGS": "ignore",
        "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", f"{real_home}/.rustup"),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "npm_config_update_notifier": "false",
        "WGETRC": str(folder / "wgetrc"),
        **dict.fromkeys(certificate, str(authority)),
        **proxied,
    }


async def start(
    client: str,
    folder: Path,
    authority: Path,
    way: Proxy,
    tls: int,
    plain: int,
    more: Mapping[str, str] = MappingProxyType({}),
) -> asyncio.subprocess.Process:
    words = command(client, tls, plain, way.port)
    env = environment(authority, folder, way) | dict(more)
    program = shutil.which(words[0], path=env["PATH"])
    if program is None:
        pytest.skip(f"{words[0]} is not installed")
    folder.mkdir(exist_ok=True)
    (folder / "wgetrc").write_text(f"ca_certificate = {authority}\n")
    (folder / "Cargo.toml").write_text(_CARGO)
    (folder / "lib.rs").write_text("")
    (folder / ".cargo").mkdir(exist_ok=True)
    source = _CARGO_SOURCE.format(place=f"{HOST}:{tls}")
    (folder / ".cargo" / "config.toml").write_text(source)
    return await asyncio.create_subprocess_exec(
        program, *words[1:],
        cwd=folder,
        env=env,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip


@pytest.mark.parametrize("client", CLIENTS)
async def test_it_works_when_the_host_is_allowed(client: str, tmp_path: Path) -> None:
    async with site(tmp_path) as server, proxy() as way:
        process = await start(
            client, tmp_path / "work", server.authority, way, server.tls, server.plain
        )
        printed, _ = await process.communicate()
        assert process.returncode == 0, printed.decode()
        assert server.asked
        assert {one.host for one in way.person.seen} == {HOST}
        # Those that speak through libcurl's "any" way of logging in wait to be asked for one.
        if client not in {"curl socks", "git"}:
            assert {one.call_id for one in way.person.seen} == {"call_1"}


@pytest.mark.parametrize("client", CLIENTS)
async def test_refused_it_fails_and_not_a_byte_went_out(client: str, tmp_path: Path) -> None:
    authority = make_certificates(tmp_path)
    async with origin() as server, proxy(Person(NO)) as way:
        process = await start(
            client, tmp_path / "work", authority, way, server.port, server.port, _ONCE
        )
        printed, _ = await process.communicate()
        assert process.returncode != 0, printed.decode()
        assert server.came == []
        if client in {"curl", "curl http", "wget", "git", "pip", "npm", "cargo", "requests"}:
            assert b"403" in printed or b"The person refused it." in printed, printed.decode()


@pytest.mark.parametrize("client", CLIENTS)
async def test_it_waits_while_the_person_thinks(client: str, tmp_path: Path) -> None:
    async with site(tmp_path) as server, proxy(Person(None)) as way:
        given = (client, tmp_path / "work", server.authority, way, server.tls, server.plain)
        process = await start(*given)
        question = await way.person.asked.get()
        # Others come and go meanwhile.
        _, answered = await _refused_elsewhere(way)
        assert answered.startswith(b"HTTP/1.1 403")
        await way.person.takes(tries(0, 40))
        assert process.returncode is None or client in _IMPATIENT
        assert server.asked == []
        # Whatever the client tried again meanwhile, it waits for the same answer.
        assert [one.host for one in way.person.seen] == [HOST, "elsewhere.test"]
        way.person.verdict = YES
        way.person.say(question, YES)
        printed, _ = await process.communicate()
        if process.returncode and client in _IMPATIENT:
            process = await start(*given)
            printed, _ = await process.communicate()
            assert [one.host for one in way.person.seen].count(HOST) == 1
        assert process.returncode == 0, printed.decode()
        assert server.asked


async def _refused_elsewhere(way: Proxy) -> tuple[object, bytes]:
    going = asyncio.create_task(way.connect("elsewhere.test", 443))
    way.person.say(await way.person.asked.get(), NO)
    return await going


def test_the_environment_names_the_guard_in_both_cases_and_the_call_only_if_it_is_plain() -> None:
    named: Mapping[str, str] = proxy_environment("call_1")
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        assert named[name] == named[name.lower()] == "http://call_1:command@127.0.0.1:3128"
    assert named["NO_PROXY"] == named["no_proxy"] == "localhost,127.0.0.1,::1"
    assert named["NODE_USE_ENV_PROXY"] == "1"
    for odd in ("", "a:b", "a@b", "functions.shell:0/", "ü"):
        assert proxy_environment(odd)["HTTP_PROXY"] == "http://127.0.0.1:3128"
