"""The task tools: how a model keeps its list. Input is read kindly, results end with the list."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from desktop_agent.core.parts.facts import ListShown
from desktop_agent.core.tasks import Task, TaskChanges, ids, one_line, render, within_block
from desktop_agent.core.tool import Access, Tool, ToolContext, ToolError, ToolOutput
from desktop_agent.engine.tasks.task_list import TaskList

_ID = {"type": ["integer", "string"], "description": "A task's id, such as 3."}
_IDS = {"type": "array", "items": {"type": "integer"}}
_METADATA = {
    "type": "object",
    "description": "Any facts to keep with the task. Merged key by key; null removes a key.",
}
_TEXT = {"type": "string"}

_CREATE = {
    "type": "object",
    "properties": {
        "subject": {**_TEXT, "description": "What is to be done, in a few words."},
        "description": {**_TEXT, "description": "What done means, if the subject leaves it open."},
        "activeForm": {**_TEXT, "description": "Shown while it is worked on: “Running the tests”."},
        "metadata": _METADATA,
        "addBlockedBy": {**_IDS, "description": "Tasks that have to be completed first."},
        "addBlocks": {**_IDS, "description": "Tasks that wait for this one."},
    },
    "required": ["subject"],
}

_UPDATE = {
    "type": "object",
    "properties": {
        "taskId": _ID,
        "status": {
            "type": "string",
            "enum": ["pending", "in_progress", "completed", "deleted"],
            "description": "Its new status; “deleted” removes it and goes with nothing else.",
        },
        "subject": {**_TEXT, "description": "Another subject."},
        "description": {**_TEXT, "description": "What done means."},
        "activeForm": {**_TEXT, "description": "Shown while it is worked on."},
        "owner": {**_TEXT, "description": "Who works on it; set by itself when it starts."},
        "metadata": _METADATA,
        "addBlocks": {**_IDS, "description": "Tasks that have to wait for this one from now on."},
        "addBlockedBy": {**_IDS, "description": "Tasks it has to wait for from now on."},
        "removeBlocks": {**_IDS, "description": "Tasks that need not wait for it any more."},
        "removeBlockedBy": {**_IDS, "description": "Tasks it need not wait for any more."},
    },
    "required": ["taskId"],
}

_GET = {"type": "object", "properties": {"taskId": _ID}, "required": ["taskId"]}
_LIST = {"type": "object", "properties": {}}


async def _create(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    tasks = _list(ctx)
    task = tasks.create(
        _text(args, "subject") or "",
        description=_text(args, "description") or "",
        active_form=_text(args, "activeForm") or "",
        metadata=_metadata(args),
        blocked_by=_ids(args, "addBlockedBy"),
        blocks=_ids(args, "addBlocks"),
        call_id=ctx.call_id,
    )
    return _answer(f"Task #{task.id} created: {one_line(task.subject)}", tasks, task.id)


async def _update(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    tasks = _list(ctx)
    task_id = _task_id(args)
    changes = TaskChanges(
        status=_text(args, "status"),
        subject=_text(args, "subject"),
        description=_text(args, "description"),
        active_form=_text(args, "activeForm"),
        owner=_text(args, "owner"),
        metadata=_metadata(args),
        add_blocks=_ids(args, "addBlocks"),
        add_blocked_by=_ids(args, "addBlockedBy"),
        remove_blocks=_ids(args, "removeBlocks"),
        remove_blocked_by=_ids(args, "removeBlockedBy"),
    )
    warning = tasks.update(task_id, changes, owner=ctx.agent_name, call_id=ctx.call_id)
    is_deleted = changes.status == "deleted"
    said = f"Task #{task_id} deleted" if is_deleted else f"Updated task #{task_id}"
    return _answer(f"{said}\n{warning}" if warning else said, tasks, task_id)


async def _get(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    task = _list(ctx).get(_task_id(args))
    return _answer(_detail(task), _list(ctx), task.id)


async def _show(_: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    return _answer("", _list(ctx))


def task_tools() -> tuple[Tool, ...]:
    """Return TaskCreate, TaskUpdate, TaskGet and TaskList."""
    return (
        _tool("TaskCreate", "Add a task to your list, which the person sees.", _CREATE, _create),
        _tool(
            "TaskUpdate",
            "Change or delete one task, or set its status.",
            _UPDATE,
            _update,
        ),
        _tool("TaskGet", "Show all that is known of one task.", _GET, _get),
        _tool("TaskList", "Show your task list as it is now.", _LIST, _show),
    )


def _tool(name: str, description: str, schema: dict[str, Any], run: Any) -> Tool:
    return Tool(
        name=name,
        description=description,
        schema=schema,
        access=Access.INTERNAL,
        parse=dict,
        run=run,
        describe=lambda args: _activity(name, args),
    )


def _activity(name: str, args: Mapping[str, Any]) -> str:
    if name == "TaskCreate":
        return f"adding a task: {one_line(str(args.get('subject', '')))[:60]}"
    if name == "TaskUpdate":
        return f"updating task {args.get('taskId', '')}"
    return "looking at its tasks"


def _list(ctx: ToolContext) -> TaskList:
    if not isinstance(ctx.tasks, TaskList):
        raise ToolError("this agent has no task list")
    return ctx.tasks


def _answer(text: str, tasks: TaskList, task_id: int = 0) -> ToolOutput:
    states = tuple((task.id, task.status) for task in tasks.tasks)
    shown = f"{text}\n\n{render(tasks.tasks)}".lstrip("\n")
    return ToolOutput(shown, facts=ListShown(task_id, states))


def _detail(task: Task) -> str:
    lines = [
        ("", f"Task #{task.id}: {one_line(task.subject)}"),
        ("Status: ", task.status),
        ("Description: ", within_block(task.description)),
        ("Active form: ", one_line(task.active_form)),
        ("Owner: ", one_line(task.owner)),
        ("Blocks: ", ids(task.blocks)),
        ("Blocked by: ", ids(task.open_blockers)),
    ]
    return "\n".join(f"{label}{value}" for label, value in lines if value)


# -- reading what models send -------------------------------------------------------------


def _given(args: Mapping[str, Any], name: str) -> Any:
    value = args.get(name)
    return None if isinstance(value, str) and not value.strip() else value


def _text(args: Mapping[str, Any], name: str) -> str | None:
    value = _given(args, name)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, dict | list | bool):
        raise ToolError(f"invalid tool input: {name} is not text")
    return str(value)


def _metadata(args: Mapping[str, Any]) -> dict[str, Any] | None:
    value = _given(args, "metadata")
    if isinstance(value, str):
        value = _parsed(value, "metadata")
    if value is None or value == {}:
        return None
    if not isinstance(value, dict):
        raise ToolError("invalid tool input: metadata is not an object")
    return value


def _task_id(args: Mapping[str, Any]) -> int:
    value = _given(args, "taskId")
    if value is None:
        raise ToolError("taskId is required")
    return _number(value, "taskId")


def _ids(args: Mapping[str, Any], name: str) -> tuple[int, ...]:
    """Read an array, a JSON array in a string, or one bare id."""
    value = _given(args, name)
    if isinstance(value, str) and value.strip().startswith("["):
        value = _parsed(value, name)
    if value is None:
        return ()
    if not isinstance(value, list):
        value = [value]
    return tuple(dict.fromkeys(_number(item, name) for item in value))


def _number(value: Any, name: str) -> int:
    if isinstance(value, bool):
        raise ToolError(f"invalid tool input: {name} is not a task id: {value}")
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int):
        return value
    if isinstance(value, str) and re.fullmatch(r"#?\d{1,18}", value.strip()):
        return int(value.strip().removeprefix("#"))
    raise ToolError(f"invalid tool input: {name} is not a task id: {value!r}")


def _parsed(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        raise ToolError(f"invalid tool input: {name} is not JSON: {text[:80]}") from None
