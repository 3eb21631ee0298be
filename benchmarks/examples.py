"""`python -m benchmarks examples`: measure the shipped data for real and draw the pictures of plots/example anew.

All tracks of debian-20k with entries that this Python holds, single queries, a few rates, and three sizes of the dense
set. What is in the results folder already is not measured again; `--draw` measures nothing. The figures are this
machine's: quiet or not, they are what was seen. The same results make the site in plots/example-site.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
DATA = "debian-20k"

#: The entries of each track that are measured: those that install into one Python.
ENTRIES = {
    "dense": ("exact", "faiss-hnsw", "faiss-ivf", "hnswlib", "usearch"),
    "filtered": ("exact", "faiss-hnsw", "faiss-ivf", "hnswlib"),
    "ood": ("exact", "faiss-hnsw", "faiss-ivf", "hnswlib"),
    "sparse": ("linscan", "scipy-exact"),
    "streaming": ("exact", "faiss-ivf", "hnswlib"),
}

#: Those that search within a radius.
RANGED = ("exact", "faiss-hnsw", "faiss-ivf")

#: Those whose queries are put one by one, and how: exact search would take minutes for what it shows.
GRAPHS = ("faiss-hnsw", "faiss-ivf", "hnswlib", "usearch")
SINGLE = ("--runs", "1", "--seconds", "1", "--cpus", "1")

#: Queries a second that come in one by one.
RATES = (250, 500, 1000, 2000)

#: Prefixes of the dense set, for the picture over sizes.
SIZES = (2500, 5000, 10000)

BATCHES = ("--mode", "batch")

#: What is drawn: the arguments of `ann-bench plot`.
PICTURES: tuple[tuple[str, ...], ...] = (
    *(("--kind", "front", "--track", track, "--dataset", DATA, *BATCHES) for track in ENTRIES),
    ("--kind", "front", "--track", "dense", "--dataset", f"{DATA}-range"),
    ("--kind", "front", "--track", "filtered", "--dataset", DATA, "--format", "svg"),
    ("--kind", "front", "--track", "dense", "--dataset", DATA, *BATCHES, "--style", "dark"),
    ("--kind", "front", "--track", "dense", "--dataset", DATA, *BATCHES, "--width", "column"),
    ("--kind", "build", "--track", "dense", "--dataset", DATA, *BATCHES),
    ("--kind", "memory", "--track", "dense", "--dataset", DATA, *BATCHES),
    ("--kind", "size", "--track", "dense", "--dataset", DATA, *BATCHES),
    ("--kind", "scaling", "--track", "dense", *BATCHES),
    ("--kind", "selectivity", "--track", "filtered"),
    ("--kind", "difficulty", "--track", "dense", "--dataset", DATA, *BATCHES),
    ("--kind", "latency", "--track", "dense", "--dataset", DATA, "--mode", "latency"),
    ("--kind", "load", "--track", "dense", "--dataset", DATA),
)


def main(argv: list[str]) -> int:
    """Measure, then draw; the exit code is 1 where a result is not ok or a picture could not be drawn."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks examples", description=__doc__)
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "example", help="where results are kept")
    parser.add_argument("--plots", type=Path, default=ROOT / "plots" / "example", help="where pictures are drawn")
    parser.add_argument("--site", type=Path, default=ROOT / "plots" / "example-site", help="where the site is written")
    parser.add_argument("--sandbox", default="process", help="as of `ann-bench run`")
    parser.add_argument("--draw", action="store_true", help="draw what has been measured, measure nothing")
    asked = parser.parse_args(argv)
    worst = 0
    if not asked.draw:
        with tempfile.TemporaryDirectory() as folder:
            for run in runs(Path(folder)):
                plots = str(Path(folder) / "plots")  # all pictures are drawn at the end
                places = ["--results", str(asked.results), "--plots", plots, "--sandbox", asked.sandbox]
                worst = max(worst, ann_bench("run", *run, *places))
    for picture in PICTURES:
        places = ["--results", str(asked.results), "--output", str(asked.plots), "--format", "png"]
        worst = max(worst, ann_bench("plot", *places, *picture))
    worst = max(worst, ann_bench("site", str(asked.site), "--results", str(asked.results)))
    return min(worst, 1)


def runs(folder: Path) -> Iterator[list[str]]:
    """The arguments of every run; manifests of the smaller sets are written into a folder."""
    for track in ENTRIES:
        yield [*of(track, DATA), "--runs", "3"]
    yield [*of("dense", f"{DATA}-range", RANGED), "--runs", "3"]
    yield [*of("dense", DATA, GRAPHS), "--mode", "latency", *SINGLE]
    for rate in RATES:
        yield [*of("dense", DATA, GRAPHS[:3]), "--mode", "load", "--rate", str(rate), *SINGLE]
    for rows in SIZES:
        yield [*of("dense", str(smaller(rows, folder))), "--runs", "3"]


def of(track: str, dataset: str, entries: Sequence[str] = ()) -> list[str]:
    """The arguments that name a track, a data set and entries (default: those of the track)."""
    named = [word for entry in entries or ENTRIES[track] for word in ("--algorithm", entry)]
    return ["--track", track, "--dataset", dataset, *named]


def smaller(rows: int, folder: Path) -> Path:
    """A manifest of the first rows of the dense set; the exact answers are computed."""
    manifest = yaml.safe_load((ROOT / "datasets" / f"{DATA}.dense.yaml").read_text(encoding="utf-8"))
    short = f"{rows / 1000:g}k"
    manifest["name"] = f"debian-{short}"
    manifest["description"] = f"the first {rows:,} rows of {DATA}"
    del manifest["queries"]["public"]["truth"]
    manifest["base"]["vectors"]["rows"] = rows
    for part in (manifest["base"]["vectors"], manifest["queries"]["public"]["vectors"]):
        part["file"] = str(ROOT / "datasets" / part["file"])
    path = folder / f"debian-{short}.yaml"
    path.write_text(yaml.safe_dump(manifest, sort_keys=False), encoding="utf-8")
    return path


def ann_bench(*arguments: str) -> int:
    """Run the command as a user does."""
    print("ann-bench", *arguments, flush=True)
    return subprocess.run([sys.executable, "-m", "ann_bench", *arguments], check=False, cwd=ROOT).returncode
