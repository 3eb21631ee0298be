"""Imports of a wrapper: modules of other benchmarks as far as we provide them, and the wrapper's own files."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

#: Of every module that is provided, by its name: what it holds.
Contents = Mapping[str, Mapping[str, object]]

_HERE = str(Path(__file__).parent)


class NotProvided(ImportError):
    """A wrapper imports what no adapter provides; the message names what, where, and what is provided."""


class _Provided(ModuleType):
    """A module of another benchmark, with what we provide of it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        names = sorted(key for key in vars(self) if not key.startswith("_"))
        raise NotProvided(f"{_place()}: {self.__name__}.{name} is not provided; {_listed(self.__name__, names)}")


class _Refuse(MetaPathFinder):
    """The last to be asked for a module: one of the other benchmark that nobody had."""

    def __init__(self, roots: Sequence[str], names: Sequence[str]) -> None:
        self._roots, self._names = roots, names

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """None for what is not theirs; NotProvided else."""
        if name.partition(".")[0] in self._roots:
            raise NotProvided(f"{_place()}: the module {name} is not provided; {_listed('this adapter', self._names)}")
        return None


def _listed(who: str, names: Sequence[str]) -> str:
    return f"{who} provides {', '.join(names) or 'nothing'}"


def _place() -> str:
    """File and line of the code outside this package, and outside Python's own importing, that asks now."""
    frame = sys._getframe()
    while frame.f_back is not None and _is_machinery(frame.f_code.co_filename):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def _is_machinery(name: str) -> bool:
    return name.startswith((_HERE, "<frozen importlib")) or "/importlib/" in name


def provide(contents: Contents) -> None:
    """Put these modules where imports find them; every other below the same first names is refused by name.

    What was imported of them before, the files of a wrapper too, is forgotten: a worker may make one index after
    another, each with a data set of its own.
    """
    roots = sorted({name.partition(".")[0] for name in contents})
    for name in [name for name in sys.modules if name.partition(".")[0] in roots]:
        del sys.modules[name]
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Refuse)]
    packages = {parent for name in contents for parent in _parents(name)}
    for name in sorted(packages | set(contents)):
        module = _Provided(name)
        vars(module).update(contents.get(name, {}))
        if name in packages:
            module.__path__ = []
        _place_module(name, module)
    sys.meta_path.append(_Refuse(roots, sorted(contents)))


def _place_module(name: str, module: ModuleType) -> None:
    sys.modules[name] = module
    parent, _, last = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], last, module)


def _parents(name: str) -> Iterator[str]:
    parts = name.split(".")
    return (".".join(parts[:count]) for count in range(1, len(parts)))


def load(name: str, constructor: str, folder: Path) -> Any:
    """What is called `constructor` in the wrapper's module `name`, whose file lies in `folder`.

    The front of the name stands for the folder: of `a.b.c.d` it is `a.b.c` where the folder holds `d.py`.
    Raises ImportError where there is no such file or no such class.
    """
    package = package_of(name, folder)
    for parent in [*_parents(package)]:
        if parent not in sys.modules:
            made = _Provided(parent)
            made.__path__ = []
            _place_module(parent, made)
    _wrapper_package(package, folder)
    module = importlib.import_module(name)
    if not hasattr(module, constructor):
        classes = sorted(key for key, value in vars(module).items() if isinstance(value, type))
        raise ImportError(f"{name} has no {constructor}; it has {', '.join(classes) or 'no class'}")
    return getattr(module, constructor)


def package_of(name: str, folder: Path) -> str:
    """The front of a module's name that stands for the folder; ImportError where no file of it fits the rest."""
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        place = folder.joinpath(*parts[cut:])
        if place.with_name(place.name + ".py").is_file() or (place / "__init__.py").is_file():
            return ".".join(parts[:cut])
    raise ImportError(f"module {name}: there is no {parts[-1]}.py in the wrapper's folder")


def _wrapper_package(name: str, folder: Path) -> None:
    """The package that is the wrapper's folder; its `__init__.py` is run where it has one."""
    init = folder / "__init__.py"
    if not init.is_file():
        module = ModuleType(name)
        module.__path__ = [str(folder)]
        _place_module(name, module)
        return
    spec = importlib.util.spec_from_file_location(name, init, submodule_search_locations=[str(folder)])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    _place_module(name, module)
    spec.loader.exec_module(module)
