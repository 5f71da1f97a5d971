"""``scripts/bench code_metrics [TREE]``: the size of a source tree, and how many files a search and an add run through.

TREE is a checkout or a package folder; the default is this checkout's ``src/recollect``. A search or add runs through a
file if it calls a function of that file, in any thread. Calls are recorded with ``sys.setprofile`` and
``threading.setprofile`` during the second search or add, when caches are warm. The memory is a SQLite file with the
static embedder; the search is hybrid.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

__all__ = ["count_lines", "main", "package_folder"]

MAX_MODULE_LINES = 500
PROBE = '''
import json, sys, tempfile, threading
from pathlib import Path
import recollect

root = str(Path(recollect.__file__).parent) + "/"
files = set()

def profile(frame, event, argument):
    if event == "call" and frame.f_code.co_filename.startswith(root):
        files.add(frame.f_code.co_filename[len(root):])

def files_of(call):
    """Return the files that the second of two calls runs through, in all threads."""
    call()
    files.clear()
    if hasattr(threading, "setprofile_all_threads"):
        threading.setprofile_all_threads(profile)
    threading.setprofile(profile)
    sys.setprofile(profile)
    call()
    sys.setprofile(None)
    threading.setprofile(None)
    if hasattr(threading, "setprofile_all_threads"):
        threading.setprofile_all_threads(None)
    return sorted(files)

TEXTS = [
    "Prefers green tea from the market in the old town.",
    "The quarterly budget review moved to Thursday; see [[tea]].",
    "Alice repaired the bicycle shed with Bob in April 2026.",
    "Kubernetes deployment failed with ERR_4021 on the Berlin server.",
]
with tempfile.TemporaryDirectory() as folder, recollect.open(Path(folder) / "m.db", embedder="static") as memory:
    memory.add_many([{"content": text, "path": f"notes/{i}.md", "title": text[:12]} for i, text in enumerate(TEXTS)])
    number = iter(range(10))
    add = files_of(lambda: memory.add(f"Note {next(number)} about oolong tea and the Berlin office."))
    search = files_of(lambda: memory.search("what tea did Alice buy in Berlin?", mode="hybrid", top_k=5))
print(json.dumps({"add": add, "search": search}))
'''


def count_lines(path: Path) -> Counter[str]:
    """Count the lines of a Python file: all lines, docstrings, blank lines, comments, and code, which is the rest."""
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    docstrings: set[int] = set()  # line numbers
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            statement = node.body[0]
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                docstrings |= set(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
    other_lines = [line.strip() for number, line in enumerate(lines, start=1) if number not in docstrings]
    blanks, comments = other_lines.count(""), sum(line.startswith("#") for line in other_lines)
    return Counter(
        files=1,
        lines=len(lines),
        code=len(other_lines) - blanks - comments,
        docstrings=len(docstrings),
        blanks=blanks,
        comments=comments,
    )


def package_folder(tree: Path) -> Path:
    """Return the package of a checkout, or the folder itself."""
    package = tree / "src" / "recollect"
    return package if package.is_dir() else tree


def files_of_calls(package: Path) -> dict[str, list[str]]:
    """Return the files that one ``add`` and one hybrid ``search`` run through, measured with the package's own code."""
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    done = subprocess.run([sys.executable, "-c", PROBE], check=True, stdout=subprocess.PIPE, text=True, env=environment)
    result: dict[str, list[str]] = json.loads(done.stdout)
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the metrics; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="scripts/bench code_metrics", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tree", nargs="?", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("--longest", type=int, default=10, metavar="N", help="how many modules to list (default: 10)")
    parser.add_argument("--verbose", action="store_true", help="list the files that they run through")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    package = package_folder(options.tree.resolve())
    by_module = {path.relative_to(package): count_lines(path) for path in sorted(package.rglob("*.py"))}
    by_folder: dict[str, Counter[str]] = {}
    for path, counts in by_module.items():
        # stores/sql, stores/sqlite and stores/postgres are as large as packages elsewhere.
        depth = 2 if path.parts[0] == "stores" else 1
        folder = "/".join(path.parent.parts[:depth]) or "."
        by_folder[folder] = by_folder.get(folder, Counter()) + counts
    total = sum(by_module.values(), Counter())
    files_by_call = files_of_calls(package)
    if options.json:
        files = {f"files_of_{name}": paths for name, paths in files_by_call.items()}
        print(json.dumps({"total": total, "folders": by_folder, **files}))
        return 0
    columns = ["files", "lines", "code", "docstrings", "blanks", "comments"]
    print(f"{'':<20}" + "".join(f"{column:>12}" for column in columns))
    for folder, counts in [*sorted(by_folder.items()), ("total", total)]:
        print(f"{folder:<20}" + "".join(f"{counts[column]:>12,}" for column in columns))
    print("\nlongest modules:")
    for path, counts in sorted(by_module.items(), key=lambda item: -item[1]["lines"])[: options.longest]:
        print(f"{counts['lines']:>6} {path}{'  over 500' if counts['lines'] > MAX_MODULE_LINES else ''}")
    print()
    for name, paths in files_by_call.items():
        print(f"memory.{name}() runs through {len(paths)} files")
        if options.verbose:
            print("\n".join(f"    {path}" for path in paths))
    return 0


if __name__ == "__main__":
    sys.exit(main())
