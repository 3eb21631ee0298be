"""Builds that differ in their seeds and in the order of their rows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ann_bench.judge.variety import build_seed
from ann_bench.judge.verify_steps import verify_steps
from ann_bench.results.figures import figures
from tests.support import Bench, bench, write_entry

NOTES = """
def fit(self, base, tags=None, learn=None):
    import json
    self.base, self.tags = np.asarray(base, dtype=np.int64), tags.tocsc()
    with open({path!r}, "a") as file:
        print(json.dumps([self.build.get("seed"), self.base[:, 0].tolist()]), file=file)
"""


@pytest.fixture
def place(tmp_path: Path) -> Bench:
    return bench(tmp_path)


def fitted(place: Bench, *options: str, **config: object) -> list[tuple[int | None, list[int]]]:
    """Run an entry; the seed and the first coordinate of all rows of each of its builds."""
    notes = place.folder / "notes"
    notes.unlink(missing_ok=True)
    entry = write_entry(place.folder / "mine", NOTES.format(path=str(notes)), **config)
    assert place.run(entry, "--runs", "1", "--force", *options) == 0
    return [tuple(json.loads(line)) for line in notes.read_text().splitlines()]


def test_every_build_has_a_seed_and_an_order_of_its_own(place: Bench) -> None:
    builds = fitted(place, "--builds", "3", seed="seed", any_order=True)
    assert len(builds) == 3
    assert len({seed for seed, _ in builds}) == 3
    assert len({tuple(rows) for _, rows in builds}) == 3
    assert len({tuple(sorted(rows)) for _, rows in builds}) == 1
    bundle = place.bundle()
    assert bundle.provenance["build_seeds"] == [seed for seed, _ in builds]
    assert bundle.provenance["build_seeds"] == [build_seed(bundle.provenance["seed"], build) for build in range(3)]
    assert (bundle.identity["seed_argument"], bundle.identity["any_order"]) == ("seed", True)
    row = figures(bundle)
    assert row.recall == row.recall_strict == 1.0  # ids are those of the original rows again
    assert len(bundle.answers) <= 3
    verify_steps(bundle)
    assert not list(Path(place.folder).rglob("disguise*"))


def test_who_asks_for_nothing_gets_nothing(place: Bench) -> None:
    builds = fitted(place, "--builds", "2")
    assert [seed for seed, _ in builds] == [None, None]
    assert builds[0][1] == builds[1][1]
    assert "build_seeds" not in place.bundle().provenance
    assert not {"seed_argument", "any_order"} & place.bundle().identity.fields.keys()


def test_one_build_keeps_the_order_of_its_rows(place: Bench) -> None:
    once, again = (fitted(place, seed="seed", any_order=True)[0] for _ in range(2))
    assert once[0] != again[0]  # another run, another seed
    assert once[1] == again[1]


def test_a_seed_that_is_no_argument_is_refused(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    assert place.run(write_entry(place.folder / "mine", seed="threads")) == 2
    assert "choose another name" in " ".join(capsys.readouterr().err.split())


def test_seeds_fit_every_library() -> None:
    seeds = np.array([build_seed(seed, build) for seed in range(1, 200) for build in range(5)])
    assert seeds.min() >= 1
    assert seeds.max() < 2**31
    assert len(np.unique(seeds)) == len(seeds)
