"""Two entries on one track and data set, looked up, prepared and measured in turn."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ann_bench.compare.pair import measure_pair
from ann_bench.compare.places import apart, entries_of
from ann_bench.compare.verdict import Side
from ann_bench.datasets.home import home
from ann_bench.datasets.prepare import prepare
from ann_bench.datasets.registry import find_manifest
from ann_bench.entries.entry import Entry
from ann_bench.errors import UsageError
from ann_bench.judge.plan import Job, Options, Plan, Setting, plan, setting
from ann_bench.judge.run import ask_all, measuring, with_controls
from ann_bench.progress import Progress
from ann_bench.results.model import Bundle
from ann_bench.results.store import Store
from ann_bench.sandbox import choose_sandbox
from ann_bench.tracks import find_track

log = logging.getLogger(__name__)

#: What draws progress while a block lasts.
Bars = Callable[[], AbstractContextManager[Progress]]


@dataclass(frozen=True)
class Terms:
    """What was typed of two entries; None: what fits. `results` is where the folders `a` and `b` are made."""

    places: tuple[str, str]
    track: str | None
    dataset: str | None
    queries: str
    sandbox: str
    results: Path


@dataclass(frozen=True)
class Match:
    """Two entries that can be measured now."""

    terms: Terms
    setting: Setting
    jobs: tuple[Job, Job]

    def measure(self, bars: Bars) -> tuple[Side, Side]:
        """Measure both in turn, keep the results, and read them."""
        stores = [Store(self.terms.results / side) for side in ("a", "b")]
        kept: tuple[list[Bundle], list[Bundle]] = ([], [])
        for store in stores:
            store.check_writable()
        with bars() as progress:
            questions = ask_all(self.setting.dataset, self.setting.workload, progress)
            variants = max(len(job.configs) for job in self.jobs)
            questions = with_controls(self.setting, questions, variants, progress)

        def keep(side: int, bundle: Bundle) -> None:
            stores[side].write(bundle)
            kept[side].append(stores[side].get(bundle.identity, answers=False))

        with measuring(self.terms.results), Plan(self.setting, self.jobs).shown() as shown:
            measure_pair(shown.setting, self.jobs, questions, keep)
        a, b = (
            Side(word, job.entry.name, bundles)
            for word, job, bundles in zip(self.terms.places, self.jobs, kept, strict=True)
        )
        return a, b


@contextmanager
def match(terms: Terms, options: Options, bars: Bars) -> Iterator[Match]:
    """Look up and prepare two entries and their data; what is read from a git revision lasts as long as the block."""
    with ExitStack() as stack:
        entries = _entries(terms, stack)
        common = _setting(terms, options, entries, bars)
        one, other = (plan(common, [entry]).jobs[0] for entry in entries)
        yield Match(terms, common, (one, other))


def _entries(terms: Terms, stack: ExitStack) -> tuple[Entry, Entry]:
    """A and B for one track."""
    found = [entries_of(word, home(), terms.track, stack) for word in terms.places]
    for word, entries in zip(terms.places, found, strict=True):
        if len({entry.name for entry in entries}) > 1:
            names = ", ".join(dict.fromkeys(entry.place for entry in entries))
            raise UsageError(f"{word} holds several entries; name one of {names}")
    tracks = [entry.track for entry in found[0] if any(entry.track == other.track for other in found[1])]
    if len(tracks) != 1:
        both = f"both serve {', '.join(tracks)}; name one with --track" if tracks else "they serve no track together"
        raise UsageError(f"{terms.places[0]} and {terms.places[1]}: {both}")
    a, b = (next(entry for entry in entries if entry.track == tracks[0]) for entries in found)
    return apart(a, b)


def _setting(terms: Terms, options: Options, entries: tuple[Entry, Entry], bars: Bars) -> Setting:
    track = find_track(entries[0].track)
    name = terms.dataset or track.default_dataset
    manifest = find_manifest(name, track.name)
    place = choose_sandbox(terms.sandbox, entries)
    if place.line:
        log.info(place.line)
    with bars() as progress:
        place.sandbox.prepare(entries, terms.results / "logs", progress)
        dataset = prepare(manifest, terms.queries, progress)
    source = str(manifest.origin) if name.endswith((".yaml", ".yml")) else name
    return setting(track, dataset, place.sandbox, options, source)
