"""Puts right, in a provider's events, what litellm stumbles over or loses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Event = dict[str, Any]

# By number, where both of Google's interfaces agree; from 6 on they are all kinds of filters.
_GEMINI_FINISHES = ("", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER")
_GEMINI_ENDS = frozenset({"", "STOP", "MAX_TOKENS", "FINISH_REASON_UNSPECIFIED"})


def end_of(event: Event) -> tuple[str, str]:
    """Return the provider's own reason for the end of its answer, and its words about it."""
    feedback = event.get("promptFeedback")
    if isinstance(feedback, dict) and feedback.get("blockReason"):
        words = feedback.get("blockReasonMessage") or ""
        return "prompt_blocked", f"the prompt was blocked ({feedback['blockReason']}). {words}"
    for choice in _dicts(event.get("choices")):
        if choice.get("finish_reason"):
            return str(choice["finish_reason"]), ""
    for candidate in _dicts(event.get("candidates")):
        reason = candidate.get("finishReason")
        if reason:
            about = candidate.get("finishMessage") or ""
            is_usual = reason in _GEMINI_ENDS
            return str(reason), "" if is_usual else f"{reason}. {about}"
    if event.get("done") is True:
        return str(event.get("done_reason") or "stop"), ""
    return _end_by_type(event), ""


def _end_by_type(event: Event) -> str:
    kind, delta, response = (event.get(name) for name in ("type", "delta", "response"))
    if kind == "message_delta" and isinstance(delta, dict):
        return str(delta.get("stop_reason") or "")
    if kind == "response.incomplete" and isinstance(response, dict):
        why = response.get("incomplete_details")
        return str(why.get("reason") or "length") if isinstance(why, dict) else "length"
    return "stop" if kind == "response.completed" else ""


def mend(event: Event) -> bool:
    """Put an event right, in place; True when it changed."""
    if "choices" not in event:
        is_changed = _any_changed(_drop_null_counts, [event, *_dicts([event.get("message")])])
        is_changed = _mend_response(event) or is_changed
        return _any_changed(_mend_candidate, _dicts(event.get("candidates"))) or is_changed
    # What is empty is null to some gateways.
    is_changed = event["choices"] is None
    if is_changed:
        event["choices"] = []
    choices = event["choices"]
    if not isinstance(choices, list):
        return False
    is_changed = _move_usage(event) or is_changed
    if not choices:
        return is_changed
    first = [c for c in _dicts(choices) if c.get("index", 0) in (0, None)]
    event["choices"] = first
    is_changed = is_changed or len(first) != len(choices)
    return _any_changed(_mend_choice, first) or is_changed


def _any_changed(change: Callable[[Event], bool], events: list[Event]) -> bool:
    """Change all of them, not only the first that needs it."""
    return True in [change(event) for event in events]


def _dicts(values: Any) -> list[Event]:
    return [each for each in values if isinstance(each, dict)] if isinstance(values, list) else []


def _drop_null_counts(event: Event) -> bool:
    nulls = [name for name in ("usage", "usageMetadata") if event.get(name, 0) is None]
    for name in nulls:
        del event[name]
    return bool(nulls)


def _mend_response(event: Event) -> bool:
    if event.get("type") == "response.refusal.delta":
        # litellm drops the refusal, and the answer would be empty.
        event |= {"type": "response.output_text.delta", "logprobs": []}
        return True
    response = event.get("response")
    if isinstance(response, dict) and response.get("output", 0) is None:
        response["output"] = []
        return True
    return False


def _mend_candidate(candidate: Event) -> bool:
    is_changed = _name_finish(candidate)
    content = candidate.get("content")
    if not isinstance(content, dict):
        return is_changed
    if content.get("parts", 0) is None:
        content["parts"] = []
        is_changed = True
    for part in _dicts(content.get("parts")):
        call = part.get("functionCall")
        if isinstance(call, dict) and "args" not in call:
            call["args"] = {}  # of a tool that takes none
            is_changed = True
    return is_changed


def _name_finish(candidate: Event) -> bool:
    number = candidate.get("finishReason")
    if not isinstance(number, int):
        return False
    is_known = 0 <= number < len(_GEMINI_FINISHES)
    candidate["finishReason"] = _GEMINI_FINISHES[number] if is_known else f"SAFETY_{number}"
    return True


def _move_usage(event: Event) -> bool:
    """Groq counts in a field of its own, unless it is asked otherwise."""
    own = event.get("x_groq")
    usage = own.get("usage") if isinstance(own, dict) else None
    if not isinstance(usage, dict) or event.get("usage"):
        return False
    event["usage"] = usage
    return True


def _mend_choice(choice: Event) -> bool:
    is_changed = False
    if choice.get("finish_reason") == "":
        choice["finish_reason"] = None
        is_changed = True
    if not isinstance(choice.get("delta"), dict) and isinstance(choice.get("message"), dict):
        choice["delta"] = choice.pop("message")
        is_changed = True
    elif choice.get("delta", {}) is None:
        choice["delta"] = {}
        is_changed = True
    delta = choice.get("delta")
    if not isinstance(delta, dict):
        return is_changed
    refusal = delta.get("refusal")
    if isinstance(refusal, str) and refusal and not delta.get("content"):
        # litellm drops the refusal, and the answer would be empty.
        delta["content"] = delta.pop("refusal")
        is_changed = True
    for call in _dicts(delta.get("tool_calls")):
        # A call is of one kind: beside a function litellm makes another of an empty `custom`.
        if "custom" in call and (isinstance(call.get("function"), dict) or not call["custom"]):
            del call["custom"]
            is_changed = True
    return is_changed
