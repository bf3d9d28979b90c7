"""The shortcuts under litellm must give what litellm gives, or a request is silently another."""

from __future__ import annotations

import hashlib
import json
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.adapters.models.host_process import host_environment
from desktop_agent.model_host.litellm_client.patches import (
    FastJson,
    only_when_signed,
    with_folder_of_certificates,
)
from tests.guard.site import HOST, make_certificates
from tests.helpers.providers import DIALECTS

_MARK = "__thought__"
_texts = st.text(max_size=8)
_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_texts, inner, max_size=4),
    max_leaves=12,
)


@given(_values)
def test_a_body_says_the_same_to_the_provider(value: Any) -> None:
    usual = json.loads(json.dumps(value))
    assert json.loads(FastJson.dumps(value)) == usual


@pytest.mark.parametrize("value", [{"text": "\ud800"}, {1: "a number as key"}, {"wide": 2**80}])
def test_what_is_odd_is_encoded_all_the_same(value: Any) -> None:
    assert json.loads(FastJson.dumps(value)) == json.loads(json.dumps(value))


@pytest.mark.parametrize(
    "message",
    [
        {"role": "tool", "tool_call_id": f"a{_MARK}b"},
        {"role": "assistant", "tool_calls": [{"id": "c"}, {"id": f"d{_MARK}e"}]},
        object(),
    ],
)
def test_a_signature_still_leaves_the_ids(message: Any) -> None:
    told: list[Any] = []

    def strip(messages: list[Any], separator: str) -> list[Any]:
        told.append(separator)
        return messages

    only_when_signed(strip)([{"role": "user", "content": _MARK}, message], _MARK)
    assert told == [_MARK]


_PROGRAM = """
import asyncio, sys
from desktop_agent.model_host.litellm_client import setup
setup.prepare()
litellm = setup.load()

# A new litellm may rename what the shortcuts replace; nobody would see why steps are slower.
import litellm.utils, litellm.llms.custom_httpx.llm_http_handler as handler
strip = litellm.utils._remove_thought_signatures_from_messages
signed = [{'role': 'tool', 'tool_call_id': 'a__thought__b'}]
assert strip.__name__ == 'strip_if_signed'
assert strip(signed, '__thought__')[0]['tool_call_id'] == 'a'
assert handler.json.__name__ == 'FastJson'

from desktop_agent.model_host.litellm_client.messages import Conversation
from desktop_agent.model_host.litellm_client.model import answer, asked
from pydantic._internal import _model_construction as pydantic_
from tests.helpers.providers import DIALECTS, LoopbackProvider, Say, Think
from tests.model_host.conftest import request_to

build, built = pydantic_.complete_model_class, []
def noted(cls, *args, **options):
    built.append(cls)
    return build(cls, *args, **options)

async def main():
    for dialect in DIALECTS:
        with LoopbackProvider(dialect, [[Think('Hm.'), Say('Hi.')]]) as provider:
            request = request_to(provider)
            conversation = Conversation(request.model)
            conversation.advance(request, 0)
            items = []
            await setup.make_ready(request.model)
            before = set(sys.modules)
            pydantic_.complete_model_class = noted
            await answer(litellm, asked(request, conversation, 'k'), items.append)
            pydantic_.complete_model_class = build
            assert items[-1].usage.output_tokens == 20
            late = sorted(set(sys.modules) - before)
            print(dialect, *(name for name in late if name.startswith(('litellm', 'mcp'))))
asyncio.run(main())
heavy = [cls.__name__ for cls in built if len(cls.model_fields) > 20 or cls.__name__ == 'Message']
unwanted = {'litellm.litellm_core_utils.default_encoding', 'mcp', 'boto3', 'tokenizers'}
print(heavy, sorted(unwanted & set(sys.modules)))
"""


def test_litellm_imports_and_builds_nothing_for_a_request() -> None:
    """All streams stand still meanwhile: 0.5 s and 30 MB with OpenAI's Responses, else 0.1 s."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, env=host_environment()
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [*DIALECTS, "[] []"]


def test_certificates_of_a_folder_that_the_environment_names_are_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = make_certificates(tmp_path)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(tmp_path / "site.pem")
    create = with_folder_of_certificates(lambda: ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    with pytest.raises(ssl.SSLCertVerificationError):
        greet(server, create())
    # OpenSSL finds a certificate by its name.
    name = x509.load_pem_x509_certificate(authority.read_bytes()).subject.public_bytes()[2:]
    number = int.from_bytes(hashlib.sha1(name, usedforsecurity=False).digest()[:4], "little")
    authority.rename(tmp_path / f"{number:08x}.0")
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    greet(server, create())


def test_an_authority_that_newer_pythons_find_fault_with_is_taken_where_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python 3.13 asks of all what RFC 5280 does: who came to it reached no provider any more."""
    authority = make_certificates(tmp_path, says_what_its_key_is_for=False)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(tmp_path / "site.pem")

    def made() -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=authority)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        return context

    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    create = with_folder_of_certificates(made)
    with pytest.raises(ssl.SSLCertVerificationError):
        greet(server, create())
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    greet(server, create())


def greet(server: ssl.SSLContext, client: ssl.SSLContext) -> None:
    """Let both agree on a connection. Raises SSLError."""
    sent, answered = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = (
        client.wrap_bio(answered, sent, server_hostname=HOST),
        server.wrap_bio(sent, answered, server_side=True),
    )
    for end in (*ends, *ends):
        try:
            end.do_handshake()
        except ssl.SSLWantReadError:
            continue


@pytest.mark.parametrize("name", ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"])
def test_certificates_that_are_named_for_other_programs_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    file = tmp_path / "own.pem"
    file.touch()
    for of_here in ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(of_here, raising=False)
    for place, variable in ((file, "SSL_CERT_FILE"), (tmp_path, "SSL_CERT_DIR")):
        monkeypatch.setenv(name, str(place))
        assert host_environment()[variable] == str(place)
    monkeypatch.setenv(name, str(tmp_path / "gone.pem"))
    assert "SSL_CERT_FILE" not in host_environment()
    monkeypatch.setenv(name, str(file))
    monkeypatch.setenv("SSL_CERT_FILE", "/own.pem")
    assert (host_environment()["SSL_CERT_FILE"], "SSL_CERT_DIR" in host_environment()) == (
        "/own.pem",
        False,
    )
