"""A server of the older protocol that asks the user in the middle of a call, written by hand."""

import json
import sys
from typing import Any

FORM = {
    "mode": "form",
    "message": "What shall be planted?",
    "requestedSchema": {"type": "object", "properties": {"plant": {"type": "string"}}},
}
URL = {
    "mode": "url",
    "message": "Sign in first.",
    "url": "https://garden.example/sign-in?a=1",
    "elicitationId": "e1",
}
ODD = {**URL, "url": "file:///etc/passwd"}
# Only its schema is written otherwise: it is nested deeper than JSON may be.
DEEP = {**FORM, "requestedSchema": "DEEP"}
NESTED = '{"type":"object","properties":{"x":' * 1_000 + "{}" + "}}" * 1_000
TOOLS = {"deep": DEEP, "plant": FORM, "sign_in": URL, "odd_address": ODD, "insist": FORM}


def say(value: object) -> None:
    text = json.dumps({"jsonrpc": "2.0", **value})  # type: ignore[dict-item]
    sys.stdout.write(text.replace('"DEEP"', NESTED) + "\n")
    sys.stdout.flush()


def ask(number: int, params: dict[str, Any]) -> dict[str, Any]:
    """Ask, and return the answer; what comes meanwhile is passed over."""
    say({"id": f"ask-{number}", "method": "elicitation/create", "params": params})
    for line in sys.stdin:
        heard = json.loads(line)
        if heard.get("id") == f"ask-{number}":
            return heard
    sys.exit(0)


def call(name: str) -> str:
    heard = ask(0, TOOLS[name])
    number = 1
    while name == "insist" and heard["result"]["action"] != "cancel":
        heard = ask(number, FORM)
        number += 1
    if name == "insist":
        return f"asked {number} times"
    return json.dumps(heard.get("result", heard.get("error")))


def answer(asked: dict[str, Any]) -> dict[str, Any] | None:
    match asked.get("method"):
        case "initialize":
            about = {"name": "asking", "version": "1"}
            version = "2025-11-25"
            return {"protocolVersion": version, "serverInfo": about, "capabilities": {"tools": {}}}
        case "tools/list":
            return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
        case "tools/call":
            text = call(asked["params"]["name"])
            return {"content": [{"type": "text", "text": text}]}
        case _:
            return None


if __name__ == "__main__":
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked and "method" in asked:
            result = answer(asked)
            error = {"code": -32601, "message": "unknown"}
            end = {"result": result} if result is not None else {"error": error}
            say({"id": asked["id"], **end})
