"""Words about places: what kinds there are, and what a test of one found."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from desktop_agent import __version__
from desktop_agent.core.faults import Fault
from desktop_agent.core.network.places import Place, PlaceCheck, PlaceKind, can_install, end_of
from desktop_agent.gui.kit.check_line import CheckLine

_WORDS_SHOWN = 200


def kind_titles() -> dict[PlaceKind, str]:
    """Return what the kinds are called, in their order."""
    return {
        "ssh": _tr("Host behind SSH"),
        "container": _tr("Container (docker)"),
        "pod": _tr("Pod (kubectl)"),
        "command": _tr("Command"),
    }


def target_words(kind: PlaceKind) -> tuple[str, str]:
    """Return what a target of this kind is, and an example of it."""
    return {
        "ssh": (_tr("Host, as in ssh HOST"), _tr("box, or me@box.example")),
        "container": (_tr("Name of the container"), _tr("my-container")),
        "pod": (_tr("Name of the pod"), _tr("my-pod")),
        "command": (
            _tr("Command that starts desktop-agent there"),
            _tr("ssh -p 2222 box /opt/bin/desktop-agent"),
        ),
    }[kind]


def found_words(check: PlaceCheck) -> str:
    """Return what is there, on one line."""
    cpus = _tr("1 processor") if check.cpus == 1 else _tr("{n} processors").format(n=check.cpus)
    parts = (
        _tr("Desktop Agent {version}").format(version=check.version),
        check.system,
        check.cluster or (cpus if check.cpus else ""),
        _tr("commands are contained") if not check.no_sandbox else "",
    )
    return " · ".join(part for part in parts if part)


def missing_words(check: PlaceCheck) -> str:
    """Return what work there would lack; empty when nothing is."""
    words: list[str] = []
    if not check.git:
        words.append(_tr("Git is not installed there: without it no folder gets there."))
    if check.no_sandbox:
        said = _tr("Commands are not contained there: {reason}")
        words.append(said.format(reason=check.no_sandbox))
    return " ".join(words)


def problem_words(place: Place, check: PlaceCheck, version: str) -> str:
    """Return what is in the way, and what to do; `version` is this app's."""
    said = end_of(check.said, _WORDS_SHOWN)
    program = said or place.target
    words = {
        "no_program": _tr("“{program}” is not installed on this computer.").format(program=program),
        "unreachable": _tr("It can't be reached: {said}"),
        "unknown_key": _tr(
            "Its host key is not known here, or has changed. Connect once in a terminal with "
            "“ssh {target}”, and check the key."
        ).format(target=place.target),
        "refused": _tr(
            "It refused your key. Nobody is asked for a password here: a key that ssh uses by "
            "itself is needed. {said}"
        ),
        "absent": _tr("It is not there, or does not run: {said}"),
        "missing": _missing_app(place),
        "version": _tr(
            "It has another version of Desktop Agent{theirs}. Install this one there: {version}."
        ).format(theirs=f" ({check.version})" if check.version else "", version=version),
        "not_installed": _tr("It could not be installed there: {said}"),
        "no_cluster": _tr("Desktop Agent answers there, but not the cluster: {said}"),
        "silent": _tr("It did not answer."),
        "other": _tr("It does not answer as Desktop Agent: {said}"),
        "": "",
    }[check.problem]
    return words.replace("{version}", version).replace("{said}", said).strip()


def installing_words(place: Place, version: str) -> str:
    """Return what is said while this app, of this version, is installed there."""
    words = _tr("Installing Desktop Agent {version} on {name}. This can take some minutes…")
    return words.format(version=version, name=place.name)


def show_problem(
    line: CheckLine, place: Place, check: PlaceCheck, *, can_force: bool = False
) -> None:
    """Show what is in the way, with *Install* where that helps."""
    fault = Fault("refused", problem_words(place, check, __version__), details=check.said)
    mend = _tr("Install") if can_install(place, check) else ""
    line.show_fault(fault, can_force=can_force, mend=mend)


def _missing_app(place: Place) -> str:
    if place.kind == "command":
        return _tr(
            "It was reached, but desktop-agent was not found there. Install this version, "
            "{version}, so that “desktop-agent --version” works there, or give its full path. "
            "{said}"
        )
    return _tr(
        "It was reached, but has no Desktop Agent. “Install” puts this version, {version}, in a "
        "folder of its own there; Python 3.11 or newer has to be there."
    )


def _tr(text: str) -> str:
    return QCoreApplication.translate("PlaceText", text)
