"""What providers insist on: each tool call answered right behind it, once, and roles in turn."""

from __future__ import annotations

from typing import Any


def problem(dialect: str, body: dict[str, Any]) -> str:
    """Return what a strict provider would refuse in a request's history, or nothing."""
    match dialect:
        case "openai" | "ollama":
            return _chat(body["messages"])
        case "responses":
            return _responses(body["input"])
        case "anthropic":
            return _anthropic(body["messages"])
        case _:
            return _gemini(body["contents"])


def _chat(messages: list[dict[str, Any]]) -> str:
    waiting = 0
    ids: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if not waiting:
                return f"a result without a call: {message}"
            waiting -= 1
            if ids and message.get("tool_call_id") not in ids:
                return f"a result of an unknown call: {message}"
            continue
        if waiting:
            return f"{waiting} calls without a result before {message['role']}"
        calls = message.get("tool_calls") or []
        waiting = len(calls)
        ids = [call["id"] for call in calls if call.get("id")]
        if not calls and not message.get("content"):
            return f"an empty message of {message['role']}"
    return f"{waiting} calls without a result at the end" if waiting else ""


def _responses(items: list[dict[str, Any]]) -> str:
    calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
    results = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
    return "" if calls == results else f"calls {calls}, results {results}"


def _anthropic(messages: list[dict[str, Any]]) -> str:
    waiting: list[str] = []
    for number, message in enumerate(messages):
        if message["role"] != ("user", "assistant")[number % 2]:
            return f"roles are not in turn: {[m['role'] for m in messages]}"
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not parts or any(part.get("type") == "text" and not part["text"] for part in parts):
            return f"an empty part: {message}"
        results = [part["tool_use_id"] for part in parts if part["type"] == "tool_result"]
        if results != waiting:
            return f"calls {waiting}, results {results}"
        waiting = [part["id"] for part in parts if part["type"] == "tool_use"]
    return f"calls without a result: {waiting}" if waiting else ""


def _gemini(contents: list[dict[str, Any]]) -> str:
    waiting = 0
    for number, content in enumerate(contents):
        if content.get("role") != ("user", "model")[number % 2]:
            return f"roles are not in turn: {[c.get('role') for c in contents]}"
        parts = content["parts"]
        results = sum("functionResponse" in p or "function_response" in p for p in parts)
        if results != waiting:
            return f"{waiting} calls, {results} results"
        waiting = sum("functionCall" in p or "function_call" in p for p in parts)
    return f"{waiting} calls without a result" if waiting else ""
