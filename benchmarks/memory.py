"""Ten million rows in a container of fixed size: the table of an entry, and what it took of its memory."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

from ann_bench.datasets.home import home
from ann_bench.entries.discovery import choose
from ann_bench.entries.entry import plan_configs
from ann_bench.results.store import Store

GIB = 2**30


def main(arguments: list[str]) -> int:
    """Run an entry through the real command, and print what the control group counted."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks memory", description=__doc__)
    parser.add_argument("--dataset", default="yfcc-like-10M")
    parser.add_argument("--algorithm", default="faiss-ivf")
    parser.add_argument("--memory", default="16g")
    parser.add_argument("--runs", default="1", help="repeats of each batch")
    parser.add_argument("--config", type=int, help="only this of the entry's query configs, from 0")
    parser.add_argument("--sandbox", default="docker")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "run.py", "--track", "filtered", "--dataset", chosen.dataset, "--json"]
        entry = _entry(chosen, Path(folder))
        command += ["--entry", str(entry), "--memory", chosen.memory, "--sandbox", chosen.sandbox]
        command += ["--results", f"{folder}/results", "--plots", folder, "--runs", chosen.runs]
        done = subprocess.run(command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True, check=False)
        if not done.stdout:
            return done.returncode
        rows: list[dict[str, Any]] = json.loads(done.stdout)["results"]
        bundles, _ = Store(Path(folder) / "results").load(answers=False)
    print(f"{chosen.algorithm} on {chosen.dataset}, sandbox {chosen.sandbox}, at most {chosen.memory}")
    for row in rows:
        query = " ".join(f"{key}={value}" for key, value in json.loads(row["query"]).items())
        figures = f"{row['status']}: {row['detail']}"
        if row["status"] == "ok":
            built = row["build_seconds"]
            figures = f"recall {row['recall']:.4f}   {row['qps']:>9,.0f} QPS   built in {built:.0f} s"
        print(f"  {query:<28} {figures}")
    usages = [bundle.usage for bundle in bundles]
    limit = int(bundles[0].identity["memory_limit_bytes"])
    print(f"  limit {limit / GIB:.2f} GiB; peak of the group {max(u.peak_memory_bytes for u in usages) / GIB:.2f} GiB,")
    print(
        f"  of it, at their own peaks: private and shared {max(u.peak_anonymous_bytes for u in usages) / GIB:.2f} GiB,"
    )
    print(f"  files that the kernel may drop {max(u.peak_file_bytes for u in usages) / GIB:.2f} GiB")
    return done.returncode


def _entry(chosen: argparse.Namespace, folder: Path) -> Path:
    """The folder of the entry; a copy with one query config where only one is wanted."""
    entry = choose("filtered", home(), [chosen.algorithm])[0]
    if chosen.config is None:
        return entry.folder
    copy = folder / f"{entry.name}-{chosen.config}"
    shutil.copytree(entry.folder, copy, ignore=shutil.ignore_patterns("__pycache__"))
    config = yaml.safe_load((copy / "config.yaml").read_text(encoding="utf-8"))
    config["query"] = {"default": [plan_configs(entry, chosen.dataset)[1][chosen.config]]}
    (copy / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    return copy
