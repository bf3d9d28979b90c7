"""What a user pastes to get skills, read as the place that it names."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit
from urllib.request import url2pathname

import msgspec

from desktop_agent.core.skill_install import SkillLibraryError
from desktop_agent.engine.workspace.containment import with_home

_SHORT = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
# `git@host:team/name.git`. With a second colon it would be the name of a transport program.
_SCP = re.compile(r"(?:\w[\w.-]*@\w[\w.-]*|\w[\w-]*\.[\w.-]+):(?![:/]{2})[\w~/][^\s:]*")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
# Where forges put the branch and the folder: /tree/, /blob/, /raw/, /-/tree/, /src/branch/.
_GITLAB = re.compile(r"(?P<repository>/(?:(?!/-/).)+)/-/(?:tree|blob|raw)/(?P<rest>.+)")
_GITHUB = re.compile(r"(?P<repository>/[^/]+/[^/]+)/(?:tree|blob|raw)/(?P<rest>.+)")
_GITEA = re.compile(r"(?P<repository>/[^/]+/[^/]+)/(?:src|raw)/(?:branch|tag|commit)/(?P<rest>.+)")
_BITBUCKET = re.compile(r"(?P<repository>/[^/]+/[^/]+)/(?:src|raw)/(?P<rest>.+)")
_RAW_HOST = "raw.githubusercontent.com"
_ARCHIVE_ENDS = (".zip", ".skill")
_LONGEST = 2_000
_UNKNOWN = (
    "That is neither an address nor a folder or file here. Paste the address of a git "
    "repository or of a .zip, or the path of a folder."
)
_NO_LOGIN = "Leave the user name and the password out of the address: it is kept with the skill."


class Repository(msgspec.Struct, frozen=True):
    """A git repository. `tail` is what stands behind the branch word: `main/skills/pdf`."""

    url: str
    protocol: str  # https, http, ssh, file
    tail: str = ""
    host: str = ""


class Download(msgspec.Struct, frozen=True):
    """A file to get over https: a zip, or a SKILL.md."""

    url: str
    is_markdown: bool = False


class Local(msgspec.Struct, frozen=True):
    """A folder or file of this computer."""

    path: Path


Place = Repository | Download | Local


def read_address(text: str, *, allows_loopback_http: bool = False) -> Place:
    """Return the place; raises SkillLibraryError for what is none, or not a safe one."""
    address = text.strip().strip("\"'<>").strip()
    if not address or len(address) > _LONGEST or any(ord(letter) < 32 for letter in address):
        raise SkillLibraryError(_UNKNOWN)
    address = address.removeprefix("git+")
    scheme = address.partition("://")[0].lower() if "://" in address else ""
    if scheme == "file":
        return _local(Path(url2pathname(urlsplit(address).path)))
    if scheme in {"https", "http"}:
        return _web(address, scheme, allows_loopback_http)
    if scheme == "ssh":
        return _ssh(address)
    if scheme:
        raise SkillLibraryError(f"{scheme}:// is not supported. Use an https:// or ssh address.")
    return _without_scheme(address)


def _without_scheme(address: str) -> Place:
    path = with_home(address)
    is_path = address.startswith(("/", "~", ".", "\\")) or _DRIVE.match(address) is not None
    if is_path or _exists(path):
        return _local(path)
    if _SHORT.fullmatch(address):
        name = address.removesuffix(".git")
        return Repository(f"https://github.com/{name}", "https", host="github.com")
    if _SCP.fullmatch(address):
        host = address.partition(":")[0].rpartition("@")[2]
        return Repository(address, "ssh", host=host)
    first = address.partition("/")[0]
    if re.fullmatch(r"(?:[\w-]+\.)+[A-Za-z]{2,}", first):
        return _web(f"https://{address}", "https", allows_loopback_http=False)
    raise SkillLibraryError(_UNKNOWN)


def _local(path: Path) -> Place:
    if str(path).startswith(("\\\\", "//")):
        raise SkillLibraryError("Folders of the network can't be used. Copy it to this computer.")
    if not _exists(path):
        raise SkillLibraryError(f"{path} doesn't exist.")
    path = path.resolve()
    if path.is_dir() and is_repository(path):
        return Repository(path.as_uri(), "file")
    return Local(path)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name longer than the file system allows
        return False


def is_repository(path: Path) -> bool:
    """Whether a folder is a git repository: one that is worked in, or a bare one."""
    if (path / ".git").exists():
        return True
    return all((path / name).exists() for name in ("HEAD", "objects", "refs"))


def _ssh(address: str) -> Repository:
    parts = urlsplit(address)
    host = parts.hostname or ""
    if not re.fullmatch(r"[\w][\w.-]*", host) or (parts.username or "").startswith("-"):
        raise SkillLibraryError(f"{address} is not an address of a repository.")
    if parts.password is not None:
        raise SkillLibraryError(_NO_LOGIN)
    return Repository(address, "ssh", host=host)


def _web(address: str, scheme: str, allows_loopback_http: bool) -> Place:
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise SkillLibraryError(_UNKNOWN) from None
    if not host or not re.fullmatch(r"[\w.:-]+", host) or host.startswith("-"):
        raise SkillLibraryError(_UNKNOWN)
    if parts.username is not None or parts.password is not None:
        raise SkillLibraryError(_NO_LOGIN)
    if scheme == "http" and not (allows_loopback_http and is_loopback(host)):
        raise SkillLibraryError(
            "http:// can be read and changed on the way. Use the https:// address."
        )
    path = parts.path.rstrip("/")
    if path.lower().endswith(_ARCHIVE_ENDS):
        # A page that shows a zip, and the zip: forges tell them apart by one word.
        return Download(address.replace("/blob/", "/raw/", 1))
    if host == _RAW_HOST and path.count("/") >= 4:
        owner, name, rest = path[1:].split("/", 2)
        return _repository(f"https://github.com/{owner}/{name}", "https", "github.com", rest)
    root = urlunsplit((scheme, parts.netloc, "", "", ""))
    for form in (_GITLAB, _GITHUB, _GITEA, _BITBUCKET):
        if found := form.fullmatch(path):
            return _repository(root + found["repository"], scheme, host, unquote(found["rest"]))
    if path.lower().endswith(".md"):
        return Download(address, is_markdown=True)
    return Repository(root + path, scheme, host=host)


def _repository(url: str, scheme: str, host: str, tail: str) -> Repository:
    parts = [part for part in tail.split("/") if part]
    if parts and parts[-1].lower() == "skill.md":
        parts.pop()
    if any(part in {".", ".."} for part in parts):
        raise SkillLibraryError(_UNKNOWN)
    return Repository(url, scheme, "/".join(parts), host)


def is_loopback(host: str) -> bool:
    """Whether a host is this computer."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
