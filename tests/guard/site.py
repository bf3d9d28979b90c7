"""A site with a certificate of its own that has what everyday clients fetch."""

from __future__ import annotations

import datetime
import hashlib
import io
import json
import ssl
import subprocess
import tarfile
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.adapters.loopback import listening

HOST = "site.test"


@dataclass
class Site:
    """Its ports, and the paths that were asked for; `authority` is the certificate to trust."""

    authority: Path
    tls: int = 0
    plain: int = 0
    asked: list[str] = field(default_factory=list)


@asynccontextmanager
async def site(folder: Path) -> AsyncIterator[Site]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    made = Site(make_certificates(folder))
    context.load_cert_chain(folder / "site.pem")
    git_repository(folder / "thing.git")

    async def answer(request: web.Request) -> web.StreamResponse:
        made.asked.append(request.path)
        if request.path.startswith("/thing.git/"):
            file = folder / request.path.removeprefix("/")
            return web.FileResponse(file) if file.is_file() else web.Response(status=404)
        content = contents(made.tls).get(request.path)
        if content is None:
            return web.Response(status=404)
        kind = "text/html" if request.path.startswith("/simple/") else "application/json"
        return web.Response(body=content, content_type=kind)

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    try:
        async with listening(runner, context) as made.tls, listening(runner) as made.plain:
            yield made
    finally:
        await runner.cleanup()


def contents(port: int) -> dict[str, bytes]:
    """What stands under each path: a package for Python, one for Node, one for Rust."""
    base = f"https://{HOST}:{port}"
    wheel, tarball, crate = a_wheel(), a_tarball(), a_crate()
    npm = {
        "name": "thing",
        "dist-tags": {"latest": "1.0.0"},
        "versions": {
            "1.0.0": {
                "name": "thing",
                "version": "1.0.0",
                "dist": {
                    "tarball": f"{base}/thing/-/thing-1.0.0.tgz",
                    "shasum": hashlib.sha1(tarball).hexdigest(),
                },
            }
        },
    }
    cargo = {
        "name": "thing",
        "vers": "1.0.0",
        "deps": [],
        "cksum": hashlib.sha256(crate).hexdigest(),
        "features": {},
        "yanked": False,
    }
    name = "thing-1.0-py3-none-any.whl"
    return {
        "/": b"hello",
        "/simple/thing/": f'<a href="/files/{name}">{name}</a>'.encode(),
        f"/files/{name}": wheel,
        "/thing": json.dumps(npm).encode(),
        "/thing/-/thing-1.0.0.tgz": tarball,
        "/index/config.json": json.dumps({"dl": f"{base}/crates"}).encode(),
        "/index/th/in/thing": json.dumps(cargo).encode(),
        "/crates/thing/1.0.0/download": crate,
    }


def a_wheel() -> bytes:
    info = "thing-1.0.dist-info"
    files = {
        "thing.py": "",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD"))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name), text)
    return packed.getvalue()


def a_tarball() -> bytes:
    return _packed({"package/package.json": json.dumps({"name": "thing", "version": "1.0.0"})})


def a_crate() -> bytes:
    manifest = '[package]\nname = "thing"\nversion = "1.0.0"\n'
    return _packed({"thing-1.0.0/Cargo.toml": manifest, "thing-1.0.0/src/lib.rs": ""})


def _packed(files: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    # The time of packing, which would be another at each request.
    content = bytearray(packed.getvalue())
    content[4:8] = bytes(4)
    return bytes(content)


def git_repository(folder: Path) -> None:
    """A repository that a server gives away as plain files."""
    author = ["-c", "user.name=a", "-c", "user.email=a@example"]
    work = folder.with_suffix(".work")
    for command in (
        ["init", "-q", str(work)],
        ["-C", str(work), *author, "commit", "-q", "--allow-empty", "-m", "one"],
        ["clone", "-q", "--bare", str(work), str(folder)],
        ["-C", str(folder), "update-server-info"],
    ):
        subprocess.run(["git", *command], check=True, capture_output=True)


def make_certificates(folder: Path, *, says_what_its_key_is_for: bool = True) -> Path:
    """Make an authority, and the site's key and certificate beside it; return the authority.

    Python 3.13 and later check that an authority says what its key is for (RFC 5280).
    """
    now = datetime.datetime.now(datetime.UTC)
    key, site_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "tests")])

    def signed(subject: x509.Name, public: ec.EllipticCurvePublicKey, *more: x509.ExtensionType):
        builder = (
            x509.CertificateBuilder(name, subject, public, x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
        )
        for one in more:
            is_critical = isinstance(one, x509.BasicConstraints | x509.KeyUsage)
            builder = builder.add_extension(one, critical=is_critical)
        made = builder.sign(key, hashes.SHA256())
        return made.public_bytes(serialization.Encoding.PEM)

    own = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, HOST)])
    authority = folder / "authority.pem"
    ids = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    is_authority = x509.BasicConstraints(ca=True, path_length=None)
    signs = x509.KeyUsage(
        digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False,
        key_encipherment=False, data_encipherment=False, key_agreement=False,
        encipher_only=False, decipher_only=False,
    )  # fmt: skip
    told = [is_authority, signs, ids] if says_what_its_key_is_for else [is_authority, ids]
    authority.write_bytes(signed(name, key.public_key(), *told))
    secret = site_key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())
    names = x509.SubjectAlternativeName([x509.DNSName(HOST)])
    basic = x509.BasicConstraints(ca=False, path_length=None)
    served = signed(own, site_key.public_key(), basic, names, issuer)
    (folder / "site.pem").write_bytes(secret + served)
    return authority
