"""Rules about hosts: `network(HOST:PORT)`, for commands in the sandbox and for pages alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from desktop_agent.core.approvals import Rule
from desktop_agent.core.network.hosts import LOCALHOST, local_port, reachable, split_place

NETWORK = "network"
_FETCH = "web_fetch"
USUAL_PORTS = frozenset({80, 443})


def host_rule(host: str, port: int) -> Rule:
    """Return the rule that allows one port of a host; its scope is the session's."""
    return Rule(NETWORK, f"{host}:{port}")


def given_rule(text: str) -> Rule:
    """Return the rule for `HOST` (its usual ports) or `HOST:PORT`. Raises HostError.

    `localhost:PORT` is a port of this computer's own.
    """
    host, port = reachable(split_place(text))
    return Rule(NETWORK, f"{host}:{port}" if port else host, "everywhere")


def covers_host(pattern: str, host: str, port: int) -> bool:
    """Whether a rule's pattern speaks of this port; without one it means the web's usual."""
    if not pattern or pattern == f"{host}:{port}":
        return True
    return pattern == host and port in USUAL_PORTS


def refusing(rules: Iterable[Rule], root: str, host: str, port: int) -> Rule | None:
    """Return a rule that keeps commands from a host; one that refuses its pages does too."""
    return next(
        (
            rule
            for rule in rules
            if rule.is_deny
            and _holds(rule, root)
            and (
                (rule.tool == NETWORK and covers_host(rule.pattern, host, port))
                or (rule.tool == _FETCH and rule.pattern == host)
            )
        ),
        None,
    )


def allowing(rules: Sequence[Rule], root: str, host: str, port: int) -> Rule | None:
    """Return a rule that lets commands reach a host.

    One for its pages does not: pages are only read, and a command could send what it reads.
    """
    return next(
        (
            rule
            for rule in rules
            if rule.tool == NETWORK
            and not rule.is_deny
            and _holds(rule, root)
            and covers_host(rule.pattern, host, port)
        ),
        None,
    )


def deciding(rules: Sequence[Rule], root: str, host: str, port: int) -> Rule | None:
    """Return the rule that decides about a host; deny takes precedence over allow."""
    return refusing(rules, root, host, port) or allowing(rules, root, host, port)


def local_ports(rules: Sequence[Rule], root: str) -> tuple[int, ...]:
    """Return the ports of this computer that rules open to commands in a folder, each by name."""
    allowed = (
        rule for rule in rules if rule.tool == NETWORK and not rule.is_deny and _holds(rule, root)
    )
    ports = sorted({local_port(rule.pattern) for rule in allowed} - {0})
    return tuple(port for port in ports if refusing(rules, root, LOCALHOST, port) is None)


def _holds(rule: Rule, root: str) -> bool:
    return rule.scope != "folder" or rule.where == root
