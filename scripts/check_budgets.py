"""Names every file, function and folder over its budget: a bigger thing is two things."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 40
MAX_FOLDER_FILES = 25
FOLDERS = ("desktop_agent", "scripts", "skills")


def over_budget(path: Path) -> Iterator[str]:
    source = path.read_text(encoding="utf-8")
    lines = source.count("\n")
    if lines > MAX_FILE_LINES:
        yield f"{path}: {lines} lines; the budget is {MAX_FILE_LINES}"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > MAX_FUNCTION_LINES:
                where = f"{path}:{node.lineno} {node.name}"
                yield f"{where}: {length} lines; the budget is {MAX_FUNCTION_LINES}"


def crowded(folder: Path) -> Iterator[str]:
    for place in sorted({path.parent for path in folder.rglob("*.py")}):
        count = sum(1 for _ in place.glob("*.py"))
        if count > MAX_FOLDER_FILES:
            yield f"{place}: {count} files; the budget is {MAX_FOLDER_FILES}"


def main() -> int:
    root = Path(__file__).parent.parent
    found = [
        line
        for folder in FOLDERS
        for path in sorted((root / folder).rglob("*.py"))
        for line in over_budget(path)
    ]
    found += [line for folder in (*FOLDERS, "tests") for line in crowded(root / folder)]
    sys.stdout.writelines(f"{line}\n" for line in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
