"""The sandbox's programs with one thing missing, for what must find it."""

from __future__ import annotations

from pathlib import Path

from desktop_agent.adapters.sandbox.sandbox import Programs

REAL = Programs.find()

# Each is bubblewrap, or nsenter, with one thing missing: a script that changes the arguments.
_LOOP = """#!/bin/bash
out=()
while (($#)); do
    # Of what is mounted from a descriptor, by its path.
    case "$1" in --*bind-fd) set -- "${{1%-fd}}" "$3" "${{@:3}}" ;; esac
    case "$1 $2" in
{cases}
    *) out+=("$1"); shift ;;
    esac
done
exec {program} {more} "${{out[@]}}"
"""
_BROKEN_BWRAP = {
    "write": ('"--ro-bind "*) out+=(--bind); shift ;;', ""),
    "read": ('"--tmpfs "*) out+=(--bind "$2" "$2"); shift 2 ;;', ""),
    "path socket": ('"--ro-bind /dev/null") shift 3 ;;', ""),
    "signal": (
        '"--unshare-pid "*) shift ;;\n    "--proc "*) out+=(--ro-bind /proc /proc); shift 2 ;;',
        "",
    ),
    "user namespace": ('"--disable-userns "*) shift ;;\n    "--seccomp "*) shift 2 ;;', ""),
    "git": ('"--ro-bind "*/.git) shift 3 ;;', ""),
    "inside": ('"--bind "*/work) out+=(--ro-bind); shift ;;', ""),
    "localhost": ('"--new-session "*) out+=(--unshare-net); shift ;;', ""),
}
_NO_NETWORK = '#!/bin/bash\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n'


def script(path: Path, text: str) -> str:
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


# By the names of the probes that find it; "tcp" stands for all that the own network keeps away.
PARTS = (*_BROKEN_BWRAP, "tcp")


def broken(folder: Path, name: str) -> Programs:
    if name == "tcp":
        return Programs(REAL.bwrap, script(folder / "nsenter", _NO_NETWORK))
    cases, more = _BROKEN_BWRAP[name]
    text = _LOOP.format(cases=f"    {cases}", program=REAL.bwrap, more=more)
    return Programs(script(folder / "bwrap", text), REAL.nsenter)
