"""The config.yaml of a wrapper of big-ann-benchmarks.

    <data set | any>:
      <algorithm>:
        docker-tag: ...
        module: neurips23.<track>.<folder>.<file>
        constructor: <class>
        base-args: ["@metric"]
        disabled: false
        run-groups:
          <label>: {args | arg-groups: ..., query-args | query-arg-groups: ...}

What stands under a data set replaces what stands under `any` for an algorithm of the same name.
"""

from __future__ import annotations

from pathlib import Path

from ann_bench.entries.dialects.definitions import ANY, Definition, Dialect, Spelling, algorithm, read_config

SPELLING = Spelling("-", strings=True)
KEYS = ("docker-tag", "module", "constructor", "base-args", "docker-volumes", "disabled", "run-groups")

#: Their tracks, and those here that such a wrapper can serve; the first is the one it was made for.
_TRACKS = {
    "filter": ["filtered", "dense"],
    "ood": ["ood", "dense"],
    "sparse": ["sparse"],
    "streaming": ["streaming"],
}


def read(path: Path) -> list[Definition]:
    """The definitions of a config that are not disabled; UsageError, with the line, for what the grammar has not."""
    found = []
    for dataset, algorithms in read_config(path).mapping("data sets, or any, each with its algorithms").items():
        for name, place in algorithms.mapping("algorithms by their names").items():
            place.mapping(f"the keys of an algorithm: {', '.join(KEYS)}")
            place.only(KEYS)
            place.text("docker-tag")
            found.append(algorithm(place, name, SPELLING, (dataset, ANY)))
    return [definition for definition in found if definition is not None]


def tracks(folder: Path, module: str) -> list[str]:
    """The tracks of a wrapper, by the name of its module, or of the folder above it; dense where neither says."""
    for name in (module.split(".")[1:2] or [""])[0], folder.parent.name:
        if name in _TRACKS:
            return _TRACKS[name]
    return ["dense", "ood"]


DIALECT = Dialect("bigann", "config.yaml", "ann_bench.adapters.bigann.BigAnn", read, tracks, named=True)
