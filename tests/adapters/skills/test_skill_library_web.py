"""Skills over http: zips and repositories from real servers, with everything that goes wrong."""

from __future__ import annotations

import asyncio
import datetime
import gzip
import ipaddress
import os
import ssl
import sys
from pathlib import Path

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from desktop_agent.adapters.skills.fetch.intake import Limits
from desktop_agent.core.skill_install import SkillLibraryError
from tests.adapters.loopback import mute, serve, status
from tests.adapters.skills.skill_sources import (
    Home,
    git_over_http,
    make_repository,
    skill_text,
    zipped,
)
from tests.helpers.patience import HANG_S

TWO = {
    "two-main/skills/alpha/SKILL.md": skill_text("alpha"),
    "two-main/skills/beta/SKILL.md": skill_text("beta"),
    "two-main/LICENSE": "MIT",
}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def _zip(content: bytes):
    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=content, content_type="application/zip")

    return answer


def _to(target: str):
    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": target})

    return answer


async def test_a_zip_on_the_web_is_installed_and_updated(home: Home) -> None:
    library = home.library()
    routes = {"/two.zip": _zip(zipped(TWO)), "/latest.zip": _to("/two.zip")}
    async with serve(routes) as server:
        fetched = await library.fetch(f"{server.url}/latest.zip")
        assert [skill.name for skill in fetched.skills] == ["alpha", "beta"]
        folder = fetched.skills[0].folder
        assert await library.install(fetched.id, [folder], target="mine") == ("alpha",)
        assert await library.check_update(str(home.mine / "alpha")) is None
        newer = {**TWO, "two-main/skills/alpha/SKILL.md": skill_text("alpha", "Newer.")}
        routes["/two.zip"] = _zip(zipped(newer))
        update = await library.check_update(str(home.mine / "alpha"))
        assert update is not None
        assert "+Newer." in update.diff
    await library.close()


async def test_what_has_come_of_a_download_is_told_until_it_is_over(home: Home) -> None:
    """Who waits for a large one sees that it goes on."""
    content, rest = zipped({**TWO, "two-main/big.bin": os.urandom(400_000)}), asyncio.Event()
    half = asyncio.Event()

    async def slowly(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(content[:200_000])
        half.set()
        await rest.wait()
        await response.write(content[200_000:])
        return response

    library = home.library()
    async with serve({"/two.zip": slowly}) as server:
        address = f"{server.url}/two.zip"
        fetching = asyncio.ensure_future(library.fetch(address))
        await half.wait()
        async with asyncio.timeout(HANG_S):
            while not (come := await library.fetch_progress(address)):
                pass
        assert 0 < come <= 200_000
        rest.set()
        assert len((await fetching).skills) == 2
        assert await library.fetch_progress(address) == 0
    await library.close()


async def test_a_repository_is_fetched_over_http_with_the_commit_pinned(
    tmp_path: Path, home: Home
) -> None:
    files = {name.removeprefix("two-main/"): text for name, text in TWO.items()}
    repo = make_repository(tmp_path / "served/team/two", files)
    library = home.library()
    answer = git_over_http(tmp_path / "served")
    async with serve({}, otherwise=answer) as server:
        whole = await library.fetch(f"{server.url}/team/two")
        one = await library.fetch(f"{server.url}/team/two/tree/main/skills/beta?tab=readme#top")
        linked = await library.fetch(f"{server.url}/team/two/-/blob/main/skills/beta/SKILL.md")
        for address, words in {
            "team/none": "no git repository at that address",
            "team/two/tree/nothing/skills": "no branch or tag nothing",
            "team/two/tree/main/nowhere": "no folder nowhere",
            f"team/two/tree/{'0' * 40}": "no such commit",
        }.items():
            with pytest.raises(SkillLibraryError, match=words):
                await library.fetch(f"{server.url}/{address}")
    assert [skill.name for skill in whole.skills] == ["alpha", "beta"]
    assert [skill.folder for skill in one.skills] == ["skills/beta"]
    assert [skill.folder for skill in linked.skills] == ["skills/beta"]
    assert whole.commit == one.commit == repo.head
    await library.close()


async def test_a_git_server_that_asks_sends_elsewhere_or_breaks_is_told_in_words(
    tmp_path: Path, home: Home
) -> None:
    make_repository(tmp_path / "secret", {"alpha/SKILL.md": skill_text("alpha")})

    async def sign_in(_: web.Request) -> web.Response:
        return web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="x"'})

    async def page(_: web.Request) -> web.Response:
        return web.Response(text="<html>Hello</html>", content_type="text/html")

    routes = {
        "/private/info/refs": sign_in,
        "/ftp/info/refs": _to("ftp://127.0.0.1/team/info/refs"),
        "/file/info/refs": _to(f"file://{tmp_path}/secret/info/refs"),
        "/broken/info/refs": lambda _: status(500, {}),
        "/page/info/refs": page,
        "/empty/info/refs": lambda _: status(200, {}),
    }
    library = home.library()
    async with serve(routes) as server:
        for name, words in {
            "private": "asks for a sign-in",
            "ftp": "Nothing was fetched",
            "file": "Nothing was fetched",
            "broken": "answered with an error",
            "page": "there is none at that address",
            "empty": "is empty",
        }.items():
            with pytest.raises(SkillLibraryError, match=words):
                await library.fetch(f"{server.url}/{name}")
    await library.close()


@pytest.mark.skipif(sys.platform == "win32", reason="a script is no program on Windows")
@pytest.mark.parametrize(
    ("address", "said", "told"),
    [
        ("https://example.org/x.git",
         "fatal: unable to access 'https://example.org/x.git/': "
         'Protocol "http" disabled (in redirect)',
         "example.org sends on to an address that is not encrypted. Nothing was fetched."),
        ("https://example.org/x.git",
         "fatal: unable to access 'https://example.org/x.git/': "
         'Protocol "http" is disabled (in redirect)',
         "example.org sends on to an address that is not encrypted. Nothing was fetched."),
        ("ssh://git@example.org/x.git",
         "ssh: connect to host example.org port 22: Connection refused\r\n"
         "fatal: Could not read from remote repository.",
         "example.org can't be reached. Check the address and your connection."),
    ],
    ids=["redirect of curl 8.14", "redirect of curl 8.20", "ssh"],
)  # fmt: skip
async def test_what_newer_parts_of_git_say_is_told_in_words(
    tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch, address: str, said: str, told: str
) -> None:
    git = tmp_path / "bin" / "git"
    git.parent.mkdir()
    git.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{said}\nEND\nexit 128\n")
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{git.parent}:/usr/bin:/bin")
    library = home.library()
    with pytest.raises(SkillLibraryError) as caught:
        await library.fetch(address)
    assert str(caught.value) == told
    await library.close()


async def test_a_skill_md_on_the_web_is_a_skill(home: Home) -> None:
    async def text(_: web.Request) -> web.Response:
        return web.Response(text=skill_text("alpha"))

    library = home.library()
    async with serve({"/notes/alpha.md": text}) as server:
        fetched = await library.fetch(f"{server.url}/notes/alpha.md")
        assert await library.install(fetched.id, [""], target="mine") == ("alpha",)
    await library.close()


async def test_what_a_server_can_answer_wrongly_is_said_in_words(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def large(_: web.Request) -> web.StreamResponse:
        return web.Response(body=b"PK\x03\x04" + b"\0" * 300_000)

    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        for _ in range(100):
            await response.write(b"\0" * 10_000)
        return response

    async def packed(_: web.Request) -> web.StreamResponse:
        body = gzip.compress(zipped(TWO))
        return web.Response(body=body, headers={"Content-Encoding": "gzip"})

    routes = {
        "/login.zip": lambda _: status(403, {}),
        "/gone.zip": lambda _: status(404, {}),
        "/broken.zip": lambda _: status(500, {}),
        "/page.zip": lambda _: status(200, {"not": "a zip"}),
        "/large.zip": large,
        "/endless.zip": endless,
        "/packed.zip": packed,
        "/circle.zip": _to("/circle.zip"),
        "/ftp.zip": _to("ftp://127.0.0.1/x.zip"),
        "/plain.zip": _to("http://example.org/x.zip"),
        "/named.zip": _to("https://me:secret@example.org/x.zip"),
    }
    library = home.library(Limits(size=200_000))
    async with serve(routes) as server:
        for name, words in {
            "login": "asks for a sign-in",
            "gone": "nothing at that address",
            "broken": r"answered with an error \(500\)",
            "page": "That is not a skill",
            "large": "larger than 0 MB",
            "endless": "larger than 0 MB",
            "packed": "packs its answer",
            "circle": "without an end",
            "ftp": "not encrypted",
            "plain": "not encrypted",
            "named": "asks for a sign-in",
        }.items():
            with pytest.raises(SkillLibraryError, match=words):
                await library.fetch(f"{server.url}/{name}.zip")
    with pytest.raises(SkillLibraryError, match="can't be reached"):
        await library.fetch(f"{server.url}/off.zip")
    monkeypatch.setattr("desktop_agent.adapters.skills.fetch.download._SILENCE_S", 0.2)
    async with mute() as url:
        with pytest.raises(SkillLibraryError, match="did not answer in time"):
            await library.fetch(f"{url}/silent.zip")
    await library.close()


def _certificate(folder: Path) -> Path:
    """Make a certificate for this computer, signed by nobody but itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "loopback")])
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    kind = serialization.PrivateFormat.PKCS8
    secret = key.private_bytes(serialization.Encoding.PEM, kind, serialization.NoEncryption())
    path = folder / "loopback.pem"
    path.write_bytes(secret + made.public_bytes(serialization.Encoding.PEM))
    return path


async def test_https_is_checked_and_never_left_for_http(
    tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = _certificate(tmp_path)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate)
    body = _zip(zipped(TWO))
    library = home.library(allows_loopback_http=False)
    async with serve({"/two.zip": body}) as plain:
        routes = {"/two.zip": body, "/down.zip": _to(f"{plain.url}/two.zip")}
        async with serve(routes, tls=tls) as server:
            with pytest.raises(SkillLibraryError, match="can't prove that it is"):
                await library.fetch(f"{server.url}/two.zip")
            with pytest.raises(SkillLibraryError, match="can't prove that it is"):
                await library.fetch(f"{server.url}/team/two")
            monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
            assert len((await library.fetch(f"{server.url}/two.zip")).skills) == 2
            with pytest.raises(SkillLibraryError, match="not encrypted"):
                await library.fetch(f"{server.url}/down.zip")
        assert plain.seen == []
    await library.close()


async def test_a_page_on_the_web_can_not_send_the_app_into_a_private_network(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first host counts as public here: no test may depend on the internet."""
    from desktop_agent.adapters.skills.fetch import download

    asked: list[str] = []
    real = download.is_private

    async def first_is_public(host: str) -> bool:
        asked.append(host)
        return host != "127.0.0.1" and await real(host)

    monkeypatch.setattr(download, "is_private", first_is_public)
    library = home.library()
    async with serve({"/a.zip": _to("https://10.0.0.1/a.zip")}) as server:
        with pytest.raises(SkillLibraryError, match="in a private network"):
            await library.fetch(f"{server.url}/a.zip")
    assert asked == ["10.0.0.1", "127.0.0.1"]
    await library.close()


async def test_a_fetch_that_is_given_up_ends_git_and_leaves_nothing(
    tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    asked, over = asyncio.Event(), asyncio.Event()

    async def wait(_: web.Request) -> web.StreamResponse:
        asked.set()
        await over.wait()
        return web.Response()

    library = home.library()
    async with serve({}, otherwise=wait) as server:
        job = asyncio.create_task(library.fetch(f"{server.url}/team/slow"))
        await asyncio.wait_for(asked.wait(), HANG_S)
        assert _processes_of(str(place)) != []
        job.cancel()
        with pytest.raises(asyncio.CancelledError):
            await job
        assert list(place.iterdir()) == []
        async with asyncio.timeout(HANG_S):
            # What was killed takes a moment to be gone.
            while _processes_of(str(place)):  # noqa: ASYNC110 - of other processes
                await asyncio.sleep(0)
        over.set()
    await library.close()


async def test_without_git_the_forges_zip_of_a_repository_is_taken(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    body = zipped({**TWO, "two-main/other/gamma/SKILL.md": skill_text("gamma")}, b"c" * 40)
    routes = {
        "/team/two/archive/HEAD.zip": _zip(body),
        "/team/two/archive/main.zip": _zip(body),
        "/group/two/-/archive/main/archive.zip": _zip(body),
    }
    library = home.library()
    async with serve(routes) as server:
        whole = await library.fetch(f"{server.url}/team/two.git")
        part = await library.fetch(f"{server.url}/group/two/-/tree/main/skills")
        one = await library.fetch(f"{server.url}/team/two/blob/main/skills/beta/SKILL.md")
        with pytest.raises(SkillLibraryError, match="Git is not installed"):
            await library.fetch(f"{server.url}/team/none")
        assert [s.folder for s in whole.skills] == ["other/gamma", "skills/alpha", "skills/beta"]
        assert [s.folder for s in part.skills] == ["skills/alpha", "skills/beta"]
        assert [s.folder for s in one.skills] == ["skills/beta"]
        assert whole.commit == "c" * 40
        await library.install(part.id, ["skills/alpha"], target="mine")
        assert await library.check_update(str(home.mine / "alpha")) is None
    await library.close()


async def test_an_address_that_gives_a_zip_without_saying_so_is_taken_too(home: Home) -> None:
    library = home.library()
    async with serve({"/download": _zip(zipped(TWO))}) as server:
        fetched = await library.fetch(f"{server.url}/download")
        assert len(fetched.skills) == 2
        with pytest.raises(SkillLibraryError, match="no git repository at that address"):
            await library.fetch(f"{server.url}/nothing")
    await library.close()


def _processes_of(word: str) -> list[str]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if word.encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found
