"""A tuned entry: a copy of the entry whose config.yaml has what was chosen, and says so."""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path
from typing import Any

import yaml

import ann_bench
from ann_bench.entries.config import EntryConfig
from ann_bench.entries.discovery import entry_at
from ann_bench.entries.entry import CONFIG, Entry, files
from ann_bench.entries.space import Tuned
from ann_bench.errors import StorageError, UsageError
from ann_bench.tune.model import Tuning, Wish

_HEAD = """\
# Written by `ann-bench tune`. It has arguments for one data set, the one that they were found on.
"""


def folder_of(entry: Entry, out: Path) -> Path:
    """Where the tuned copy of an entry goes; UsageError where something is there already."""
    folder = out / f"{entry.name}-tuned"
    if folder.exists():
        raise UsageError(f"{folder}: is there already; remove it, or choose another place with --out")
    return folder


def is_tuned(entry: Entry, wish: Wish, out: Path) -> bool:
    """Whether a copy is there that was made with the same budget and seed by this version."""
    folder = out / f"{entry.name}-tuned"
    if not folder.exists():
        return False
    mark = entry_at(folder, entry.track).config.tuned
    mine = wish.budget_seconds, wish.seed, ann_bench.__version__
    return mark is not None and (mark.budget_seconds, mark.seed, mark.version) == mine


def write_entry(entry: Entry, tuning: Tuning, wish: Wish, out: Path) -> Path:
    """Write the copy, whole or not at all; returns its folder. StorageError where it cannot be written."""
    folder = folder_of(entry, out)
    config = _config(entry, tuning, wish)
    EntryConfig.model_validate(config)
    temporary = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
    try:
        temporary.mkdir(parents=True)
        for name, path in files(entry):
            target = temporary / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
        text = yaml.safe_dump(config, sort_keys=False, default_flow_style=None, width=120, allow_unicode=True)
        (temporary / CONFIG).write_text(_HEAD + text, encoding="utf-8")
        (temporary / "README.md").write_text(_readme(entry, tuning), encoding="utf-8")
        temporary.rename(folder)
    except OSError as error:
        raise StorageError(f"{folder}: cannot be written ({error.strerror})") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return folder


def _config(entry: Entry, tuning: Tuning, wish: Wish) -> dict[str, Any]:
    """The entry's config.yaml with the arguments that were chosen."""
    tuned = Tuned(
        dataset=tuning.dataset,
        queries=tuning.queries,
        budget_seconds=wish.budget_seconds,
        seed=wish.seed,
        version=ann_bench.__version__,
    )
    own = entry.config.model_dump(
        mode="json", by_alias=True, exclude_defaults=True, exclude={"build", "query", "tuned"}
    )
    return {
        **own,
        "tracks": [tuning.track],
        "build": {tuning.dataset: dict(tuning.choice.build)},
        "query": {tuning.dataset: tuning.choice.queries},
        "tuned": tuned.model_dump(mode="json"),
    }


def _readme(entry: Entry, tuning: Tuning) -> str:
    spent = f"{tuning.spent.seconds:.0f} s and {tuning.spent.builds} builds"
    return (
        f"# {entry.name}, tuned\n\nThe entry {entry.name} with arguments that `ann-bench tune` has found on "
        f"{tuning.dataset} ({tuning.track}), with {tuning.queries}, in {spent}. Its source, licence and parameters are "
        "described where it comes from.\n"
    )
