"""Which packages a wrapper folder needs, as far as its files tell.

A wrapper says what it needs in a Dockerfile for an image of its own project, where many libraries are built from
source. What can be known from outside is what its Python files import. For each import that is neither of the standard
library nor of the folder nor provided by the adapter, a package is looked for: among those that the Dockerfile installs
with pip and the lines of requirements*.txt, then among packages that such wrappers use and PyPI has. The rest is named.
"""

from __future__ import annotations

import ast
import re
import shlex
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

#: What is there in any worker.
_ALWAYS = {"numpy", "scipy"}

#: Packages that bring an import of another name.
_IMPORTS = {
    "faiss-cpu": "faiss",
    "faiss-gpu": "faiss",
    "ngt": "ngtpy",
    "opensearch-py": "opensearchpy",
    "protobuf": "google",
    "pyyaml": "yaml",
    "scikit-learn": "sklearn",
    "vald-client-python": "vald",
}

#: Packages that wrappers import and no line names: of the images that all of them start from over there, and libraries
#: that those build from source or take from elsewhere, which PyPI has too. Of diskannpy pip would choose a release from
#: before the interface that wrappers call, for the sake of a newer numpy.
_KNOWN = (
    *("h5py", "matplotlib", "pandas", "psutil", "pyyaml", "requests", "scikit-learn", "tqdm"),
    *("annoy", "diskannpy>=0.5", "elasticsearch", "faiss-cpu", "hnswlib", "more-itertools", "ngt", "nmslib"),
    *("protobuf", "qdrant-client"),
)

_PIP = re.compile(r"\bpip3?(?:\.\d+)?\s+install\s+(?P<rest>.*)")
_WHEEL = re.compile(r"(?:.*/)?(?P<name>[A-Za-z0-9_.]+)-(?P<version>\d[^-]*)-[^/]*\.whl")
_WITH_VALUE = {"-r", "--requirement", "-c", "--constraint", "-i", "--index-url", "--extra-index-url", "-f", "-e"}


@dataclass(frozen=True)
class Needs:
    """Requirements as pip takes them, and the imports for which no package is known."""

    requires: tuple[str, ...]
    unknown: tuple[str, ...]


def needs(folder: Path, provided: Iterable[str]) -> Needs:
    """What the folder's files import, as packages; `provided` are the first names of what the adapter brings."""
    imported = sorted(_imports(folder) - set(sys.stdlib_module_names) - set(provided) - _own(folder))
    named = list(_named(folder))
    found: dict[str, str] = {}
    unknown = []
    for name in imported:
        said = [need for need in named if _brings(need.name, name)]
        if said:
            found[name] = str(max(said, key=lambda need: len(str(need.specifier))))
        elif known := [need for need in _KNOWN if _brings(Requirement(need).name, name)]:
            found[name] = known[0]
        elif name not in _ALWAYS:
            unknown.append(name)
    requires = {need for name, need in found.items() if name not in _ALWAYS or Requirement(need).specifier}
    return Needs(tuple(sorted(requires)), tuple(unknown))


def _imports(folder: Path) -> set[str]:
    """The first names of all imports, also of those inside functions; a file that is no Python has none."""
    found: set[str] = set()
    for path in folder.rglob("*.py"):
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, SyntaxError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return found


def _own(folder: Path) -> set[str]:
    """Imports that the folder answers itself, where they are not also the wrapped library's: packages in it."""
    return {path.parent.name for path in folder.glob("*/__init__.py")}


def _brings(package: str, name: str) -> bool:
    plain = re.sub(r"[-_.]+", "-", package).lower()
    return _IMPORTS.get(plain, plain.replace("-", "_")) == name or name.lower().replace("_", "-") == plain


def _named(folder: Path) -> Iterator[Requirement]:
    """The requirements in lines of the Dockerfile and of requirements files; what is none is passed over."""
    for path in sorted(folder.glob("*[Rr]equirements*.txt")):
        for line in _lines(path):
            yield from _requirement(line.partition(" #")[0].strip())
    dockerfile = folder / "Dockerfile"
    for line in _lines(dockerfile) if dockerfile.is_file() else ():
        for command in re.split(r"&&|;|\|\|", line):
            if line.lstrip().startswith("#") or not (match := _PIP.search(command)):
                continue
            for word in _words(match["rest"]):
                yield from _requirement(word)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    except (OSError, ValueError):
        return []


def _words(rest: str) -> Iterator[str]:
    """What pip is to install: no options, and no files but wheels of packages that PyPI has too, in that version.

    A wheel of any other name was built there, and a package of that name on PyPI may be somebody else's.
    """
    try:
        words = shlex.split(rest)
    except ValueError:
        return
    skip = False
    for word in words:
        wheel = _WHEEL.fullmatch(word)
        if wheel and any(_brings(Requirement(need).name, wheel["name"]) for need in _KNOWN):
            yield f"{wheel['name']}=={wheel['version']}"
        elif not skip and not word.startswith("-") and "/" not in word and not word.endswith(".whl"):
            yield word
        skip = word in _WITH_VALUE


def _requirement(text: str) -> Iterator[Requirement]:
    try:
        need = Requirement(text)
    except InvalidRequirement:
        return
    if need.url is None and "$" not in text:
        yield need
