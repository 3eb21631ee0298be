"""What lies where in a bundle's file: the text of docs/reference/bundle.md, which tests hold against real files."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """One array of the HDF5 file, by its name within its group; numpy's names for the element types."""

    name: str
    dtypes: tuple[str, ...]
    shape: tuple[str, ...]
    what: str

    @property
    def kind(self) -> str:
        """Type and shape in a few words."""
        sides = ", ".join(self.shape) + ("," if len(self.shape) == 1 else "")
        return f"{' or '.join(self.dtypes)} ({sides})"


_RUNS = ("builds", "runs", "searches")

#: Answers and what they scored; the control batches have the same, of their sample.
SCORED = (
    Place("answer_shapes", ("int64",), ("answers", "2"), "queries and k of each distinct answer; -1 in the place of k "
          "where it was searched within a radius"),
    Place("answer_counts", ("int32",), ("n",), "how many ids each query got, of answers whose k is -1, one answer "
          "after the other; missing where there are none"),
    Place("answers", ("int32",), ("n",), "the ids of all distinct answers, one after the other, row by row; queries in "
          "the order of the query set, nearest first; -1: no answer, -2: no number that an id can be"),
    Place("score_sizes", ("int64",), ("answers",), "queries of each score"),
    Place("hits", ("uint16", "uint32"), ("n",), "right answers of each query, answer by answer, a tie counts as right; "
          "uint32 where a search has a radius"),
    Place("hits_strict", ("uint16", "uint32"), ("n",), "right answers whose id is in the truth"),
    Place("hits_bigann", ("uint16", "uint32"), ("n",), "right answers as big-ann-benchmarks counts them"),
    Place("possible", ("uint16", "uint32"), ("n",), "how many right answers there are: min(k, matches)"),
    Place("returned", ("uint32",), ("n",), "within a radius: the ids that each query got, answer by answer"),
    Place("curve", ("int64",), ("answers", "2", "100"), "within a radius: answers and right answers below each of 100 "
          "thresholds of the distance; -1 for other searches"),
    Place("invalid", ("int64",), ("answers", "4"), "ids out of range, given twice, not live, failing the filter"),
)  # fmt: skip

TOP = (
    Place("manifest", ("uint8",), ("n",), "JSON, see below"),
    Place("seconds", ("float64",), _RUNS, "how long a batch took (one by one: a round); NaN: it never ended"),
    Place("answer_of", ("int32",), _RUNS, "which of the distinct answers the batch gave (one by one: its first round); "
          "-1: none"),
    *SCORED,
)  # fmt: skip

STEPS = (
    Place("kind", ("int32",), ("n",), "place in the manifest's `step_kinds`: `create` (import and constructor), `set` "
          "(set_query_arguments), `setup`, `build`, `insert`, `delete`, `replace`, `search`, `control`, `warmup`"),
    Place("build", ("int32",), ("n",), "which build it belongs to"),
    Place("run", ("int32",), ("n",), "which run; -1: shared by the runs"),
    Place("operation", ("int32",), ("n",), "its place in the identity's `workload`; -1: `create`, `set`, "
          "`setup`, `warmup`"),
    Place("began", ("float64",), ("n",), "when it began, in seconds from `create` by the judge's clock"),
    Place("seconds", ("float64",), ("n",), "how long it took"),
    Place("cpu_seconds", ("float64",), ("n",), "CPU time of the whole sandbox meanwhile"),
    Place("memory_bytes", ("int64",), ("n",), "what the sandbox held after it"),
    Place("points", ("int64",), ("n",), "how many points or queries it carried; a large insert is several calls"),
)  # fmt: skip

CONTROL = (
    Place("recipe", ("int64",), ("3",), "seed, query configs of the run, and which of them this is, from 0: the noise "
          "follows from these and the data"),
    Place("sizes", ("int64",), ("searches",), "how many queries of each search are scored"),
    Place("numbers", ("int64",), ("n",), "which queries these are, search by search, ascending"),
    Place("seconds", ("float64",), ("builds", "searches"), "how long the whole batch took; NaN: it never ended"),
    Place("cpu_seconds", ("float64",), ("builds", "searches"), "its CPU time"),
    Place("published_cpu_seconds", ("float64",), _RUNS, "CPU time of the batches of the runs, to compare with"),
    Place("answer_of", ("int32",), ("builds", "searches"), "which of the answers below the batch gave; -1: none"),
    *SCORED,
)  # fmt: skip

ASKS = (
    Place("due", ("float64",), ("builds", "runs", "asks"), "when a query was scheduled, in seconds from the "
          "beginning of its pass (where clients wait: when it was sent); queries of all searches, one search after "
          "the other, in the order of the query set, and so on for every further round; NaN: never"),
    Place("sent", ("float64",), ("builds", "runs", "asks"), "when the client sent it"),
    Place("answered", ("float64",), ("builds", "runs", "asks"), "when its answer had been copied"),
    Place("null", ("float64",), ("builds", "runs", "searches", "calls"), "seconds of calls on the same way in which "
          "the entry has no part"),
    Place("busy", ("float64",), _RUNS, "the share of the time in which the client itself was at work"),
    Place("rate", ("float64",), _RUNS, "queries a second asked for; NaN: clients that wait"),
    Place("answer_of", ("int32",), ("builds", "runs", "rounds", "searches"), "which of the distinct answers a round "
          "gave; -1: the run had no such round; missing in files of version 3: one round"),
)  # fmt: skip

#: Groups of the file, "" for its root.
GROUPS = {"": TOP, "steps": STEPS, "control": CONTROL, "asks": ASKS}

#: The keys of the JSON in `manifest`.
MANIFEST = {
    "format": "`ann-bench bundle`",
    "version": "of the format; also an attribute of the file",
    "key": "the hash over `identity`",
    "identity": "everything that makes this measurement this one; its hash names the file",
    "status": "`ok`, or how it failed",
    "detail": "why, in one line",
    "log": "the last lines of the entry's own",
    "counts": "queries of each search",
    "truths": "keys of the exact answers, one for each search",
    "step_kinds": "what the numbers in `steps/kind` mean",
    "invalid_kinds": "the columns of `invalid`",
    "usage": "peak memory, of it private and of files, CPU seconds inside and outside the timed calls, most processes",
    "provenance": "date, machine, packages, commit, seed, data; `turns`: which entries were measured in turn, and "
    "when each build and run began; `canary`: seconds of its rounds before and after; `limits_in_force` as they "
    "were read back; "
    "`environment`: in a container the image's id, every package in it, and the engine",
    "stats": "the entry's own counters, never used for a figure",
}
