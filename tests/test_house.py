"""The house as docs/architecture.md draws it: imports point one way, and the core names nobody."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "ann_bench"

#: Each room, and the rooms that it may import. Files at the top of the package are open to all.
ROOMS = {
    "cli": {
        "audit",
        "check",
        "compare",
        "doctor",
        "tune",
        "report",
        "site",
        "judge",
        "tracks",
        "sandbox",
        "truth",
        "results",
        "datasets",
        "entries",
        "engine",
        "environments",
    },
    "audit": {"judge", "tracks", "sandbox", "truth", "results", "datasets", "entries"},
    "doctor": {"judge", "sandbox", "datasets", "entries"},
    "tune": {"judge", "tracks", "sandbox", "results", "datasets", "entries"},
    "compare": {"report", "judge", "sandbox", "results", "datasets", "entries", "tracks"},
    "check": {"judge", "tracks", "sandbox", "truth", "results", "datasets", "entries"},
    "report": {"results", "tracks", "truth"},
    "site": {"report", "results", "tracks", "truth"},
    "judge": {"tracks", "sandbox", "truth", "results", "datasets", "entries"},
    "tracks": {"datasets"},
    "truth": {"datasets"},
    "sandbox": {"engine", "entries", "environments", "keeper"},
    "keeper": set(),
    "results": set(),
    "datasets": set(),
    "entries": set(),
    "engine": {"entries", "environments"},
    "environments": {"datasets", "entries"},
    "worker": set(),
    "adapters": set(),
    "stats": set(),
}

#: Rooms that import none and are open to all, as files at the top are.
OPEN = {"stats"}

MODULES = sorted(PACKAGE.rglob("*.py"))


def imports(path: Path) -> set[str]:
    """The modules of the project that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{name.name}" for name in node.names} | {node.module}
    return {name for name in found if name.startswith("ann_bench.")}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    room = path.relative_to(PACKAGE).parts[0]
    reached = {name.split(".")[1] for name in imports(path)} & (ROOMS.keys() - OPEN)
    if room in ROOMS:
        assert reached <= ROOMS[room] | {room}
    elif path.name not in ("__main__.py",):
        assert not reached, "a file at the top of the package is open to all and imports no room"


def test_every_room_is_in_the_picture() -> None:
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    assert rooms == ROOMS.keys()


def test_the_worker_needs_numpy_and_scipy_only() -> None:
    for path in (PACKAGE / "worker").glob("*.py"):
        assert imports(path) <= {
            name for name in imports(path) if name.split(".")[1] in ("algorithm", "arrays", "wire", "worker")
        }
    for path in (PACKAGE / "adapters").rglob("*.py"):
        reached = {name.split(".")[1] for name in imports(path)}
        assert reached <= {"adapters", "algorithm", "arrays", "tags", "wire", "workload"}


def names_to_avoid() -> set[str]:
    """Tracks, data sets and algorithms, by the names that users type."""
    tracks = {path.stem for path in (PACKAGE / "tracks").glob("*.py")} - {"__init__", "base"}
    datasets = {path.stem for path in (ROOT / "datasets").glob("*.yaml")}
    makers = {path.stem for path in (PACKAGE / "datasets" / "makers").glob("*.py")} - {"__init__"}
    algorithms = {path.parent.name for path in (ROOT / "algorithms").glob("*/*/config.yaml")}
    return datasets | {maker.replace("_", "-") for maker in makers} | algorithms - {"exact"} | tracks


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_file_of_the_core_names_anybody(path: Path) -> None:
    """Names may stand in help texts, docstrings and comments, but no code compares or branches on one."""
    parts = path.relative_to(PACKAGE).parts
    if (parts[0] == "tracks" and path.stem not in ("__init__", "base")) or "makers" in parts:
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare | ast.match_case):
            texts = {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
            assert not texts & names_to_avoid(), f"line {getattr(node, 'lineno', '?')} asks for a name"


def test_no_print_in_the_library() -> None:
    for path in MODULES:
        if "cli" not in path.parts:
            assert not re.search(r"^\s*print\(", path.read_text(encoding="utf-8"), re.MULTILINE), path
