"""What the page of an entry and of its results shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ann_bench.results.figures import Figures
from ann_bench.results.newest import date, newest
from ann_bench.site.axes import axes_of
from ann_bench.site.boards import Page
from ann_bench.site.details import detail
from ann_bench.site.embed import file_name


def entry_file(algorithm: str) -> str:
    """The name of an entry's data, and what stands in its address."""
    return "entry-" + file_name(algorithm)


def by_algorithm(figures: Iterable[Figures]) -> dict[str, list[Figures]]:
    """The results of each algorithm, by name."""
    groups: dict[str, list[Figures]] = {}
    for one in sorted(
        figures, key=lambda one: (one.algorithm, one.track, one.dataset, one.build, one.recall, one.query, date(one))
    ):
        groups.setdefault(one.algorithm, []).append(one)
    return groups


def entry_data(
    name: str, results: Sequence[Figures], found: Sequence[Page], raw: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """An entry as JSON: its places on the boards, and every result with all that is known of it.

    `raw` has what `raw_details` found, by the key of the result.
    """
    board_of = {one.identity.key: page.file for page in found for one in page.results}
    last = max(results, key=date)
    environment = last.provenance.get("environment", {})
    current = {id(one) for one in newest(results)}
    return {
        "name": name,
        "open": environment.get("open_source"),
        "axes": axes_of(results),
        "packages": last.identity.fields.get("packages", {}),
        "places": [
            [page.file, page.title, place.rank or None, place.tier or None, place.why]
            for page in found
            if page.board
            for place in page.board.places
            if place.algorithm == name
        ],
        "results": [
            {
                **detail(one, raw.get(one.identity.key, {}), board_of.get(one.identity.key)),
                "older": id(one) not in current,
            }
            for one in results
        ],
    }
