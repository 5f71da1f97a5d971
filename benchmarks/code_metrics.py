"""``scripts/bench code_metrics [TREE]``: the size of a source tree, and how many of its files a search and an add pass.

TREE is a checkout or a package folder; the default is this checkout's ``src/recollect``. Files passed are counted with
``sys.setprofile`` and ``threading.setprofile``: a file counts if a function of it is entered during the second call
(so caches are warm), in any thread. The memory is a SQLite file with the static embedder; the search is hybrid.
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

def passed(call):
    """Return the files that a call passes, in all threads that run meanwhile."""
    call()
    files.clear()
    threading.setprofile_all_threads(profile) if hasattr(threading, "setprofile_all_threads") else None
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
    add = passed(lambda: memory.add(f"Note {next(number)} about oolong tea and the Berlin office."))
    search = passed(lambda: memory.search("what tea did Alice buy in Berlin?", mode="hybrid", top_k=5))
print(json.dumps({"add": add, "search": search}))
'''


def count_lines(path: Path) -> Counter[str]:
    """Count the lines of a Python file: all, docstrings, blanks, comments, and code, which is the rest."""
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                docstrings |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    rest = [line.strip() for number, line in enumerate(lines, start=1) if number not in docstrings]
    blanks, comments = rest.count(""), sum(line.startswith("#") for line in rest)
    return Counter(
        files=1,
        lines=len(lines),
        code=len(rest) - blanks - comments,
        docstrings=len(docstrings),
        blanks=blanks,
        comments=comments,
    )


def package_folder(tree: Path) -> Path:
    """Return the package of a checkout, or the folder itself."""
    package = tree / "src" / "recollect"
    return package if package.is_dir() else tree


def files_passed(package: Path) -> dict[str, list[str]]:
    """Return the files that one add and one hybrid search pass, by running both on the package's own code."""
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
    parser.add_argument("--verbose", action="store_true", help="list the files passed")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    package = package_folder(options.tree.resolve())
    by_module = {path.relative_to(package): count_lines(path) for path in sorted(package.rglob("*.py"))}
    by_folder: dict[str, Counter[str]] = {}
    for path, counts in by_module.items():
        # stores/sql, stores/sqlite and stores/postgres are as large as packages elsewhere.
        folder = "/".join(path.parts[: 2 if path.parts[0] == "stores" else 1][: len(path.parts) - 1]) or "."
        by_folder[folder] = by_folder.get(folder, Counter()) + counts
    total = sum(by_module.values(), Counter())
    passed = files_passed(package)
    if options.json:
        print(json.dumps({"total": total, "folders": by_folder, **{f"files_of_{k}": v for k, v in passed.items()}}))
        return 0
    columns = ["files", "lines", "code", "docstrings", "blanks", "comments"]
    print(f"{'':<20}" + "".join(f"{column:>12}" for column in columns))
    for folder, counts in [*sorted(by_folder.items()), ("total", total)]:
        print(f"{folder:<20}" + "".join(f"{counts[column]:>12,}" for column in columns))
    print("\nlongest modules:")
    for path, counts in sorted(by_module.items(), key=lambda item: -item[1]["lines"])[: options.longest]:
        print(f"{counts['lines']:>6} {path}{'  over 500' if counts['lines'] > MAX_MODULE_LINES else ''}")
    print()
    for name, files in passed.items():
        print(f"memory.{name}() passes {len(files)} files")
        if options.verbose:
            print("\n".join(f"    {file}" for file in files))
    return 0


if __name__ == "__main__":
    sys.exit(main())
