"""The config.yml of a wrapper of ann-benchmarks.

    <float | bit | ...>:
      <any | euclidean | angular | ip | ...>:
      - name: <algorithm>
        docker_tag: ...
        module: ann_benchmarks.algorithms.<folder>
        constructor: <class>
        base_args: ['@metric']
        disabled: false
        run_groups:
          <label>: {args | arg_groups: ..., query_args | query_arg_groups: ...}

What stands under a metric replaces what stands under `any` for an algorithm of the same name. Only points of floats are
read: no data set here has others, nor a metric for them.
"""

from __future__ import annotations

from pathlib import Path

from ann_bench.entries.dialects.definitions import ANY, Definition, Dialect, Spelling, algorithm, read_config

SPELLING = Spelling("_", strings=False)
KEYS = ("name", "docker_tag", "module", "constructor", "base_args", "disabled", "run_groups")
POINTS = ("float", "bit", "int")
METRICS = (ANY, "euclidean", "angular", "ip")


def read(path: Path) -> list[Definition]:
    """The definitions for floats that are not disabled; UsageError, with the line, for what the grammar has not."""
    found = []
    config = read_config(path)
    points = config.mapping(f"kinds of points: {', '.join(POINTS)}")
    config.only(POINTS)
    for kind, metrics in points.items():
        for metric, algorithms in metrics.mapping("metrics, or any, each with a list of algorithms").items():
            if not isinstance(algorithms.value, list):
                raise algorithms.error("expected a list of algorithms, each with a name")
            for number in range(len(algorithms.value)):
                place = algorithms.below(number)
                place.mapping(f"the keys of an algorithm: {', '.join(KEYS)}")
                place.only(KEYS)
                place.text("docker_tag")
                definition = algorithm(place, place.text("name"), SPELLING, (ANY, metric))
                if kind == "float" and metric in METRICS:
                    found.append(definition)
    return [definition for definition in found if definition is not None]


def tracks(folder: Path, module: str) -> list[str]:
    """Those with dense vectors and no filters."""
    return ["dense", "ood"]


DIALECT = Dialect(
    "annbenchmarks", "config.yml", "ann_bench.adapters.annbenchmarks.AnnBenchmarks", read, tracks, named=False
)
