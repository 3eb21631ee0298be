"""Each probe catches the entries that were written for it, and lets an honest one pass."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ann_bench.audit.probes import PROBES
from ann_bench.audit.probes.builds import reseeded
from ann_bench.audit.probes.conduct import claimed, told_one
from ann_bench.audit.registry import Finding, Verdict
from ann_bench.audit.weigh import Bounds, ratio_of, slower, worse
from ann_bench.cli import main
from ann_bench.datasets.formats import write_spmat, write_xbin
from ann_bench.datasets.prepare import prepare
from ann_bench.datasets.registry import find_manifest
from ann_bench.judge.run import ask_all
from ann_bench.tracks import find_track
from tests.audit.cheats import CHEATS
from tests.audit.test_streams import STREAM_CHEATS
from tests.judge.ranges import range_dataset, range_entry
from tests.support import DIM, EXACT, TAGS, json_of, tiny_dataset, write_entry

HOSTILE = Path(__file__).parents[1] / "hostile"
BOUNDS = Bounds(suspicious=1.5, fail=3.0)


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    return tiny_dataset(tmp_path / "data")


def audit(entry: Path, manifest: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, dict[str, Any]]:
    """Exit code, and what each probe said."""
    capsys.readouterr()
    code = main(["audit", str(entry), "--dataset", str(manifest), "--json", *options])
    (report,) = json_of(capsys.readouterr().out)
    return code, {one["probe"]: (Verdict(one["verdict"]), one["text"]) for one in report["probes"]}


def test_an_honest_entry_passes(tmp_path: Path, manifest: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = audit(write_entry(tmp_path / "mine"), manifest, capsys)
    assert code == 0
    assert list(said) == [probe.name for probe in PROBES]
    odd = {name: text for name, (verdict, text) in said.items() if verdict is not Verdict.PASS}
    streams = ("on the way", "deleted", "other runbook")
    assert odd == dict.fromkeys(streams, "the index does not change between searches")


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_is_caught(name: str, tmp_path: Path, manifest: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cheat = CHEATS[name]
    first = prepare(find_manifest(str(manifest), "filtered"), "public").base.open()[:3].tolist()
    entry = write_entry(tmp_path / name, cheat.body, start=f"FIRST = {first}", **cheat.config)
    code, said = audit(entry, manifest, capsys, "--only", cheat.probe)
    verdict, text = said[cheat.probe]
    assert verdict in cheat.worst, said
    assert cheat.text in text
    assert code == (1 if verdict is Verdict.FAIL else 0)


def test_counters_that_fail_claim_nothing(tmp_path: Path, manifest: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entry = write_entry(tmp_path / "mine", "def stats(self):\n    raise ValueError('none')")
    code, said = audit(entry, manifest, capsys, "--only", "threads")
    assert (code, said["threads"][0]) == (0, Verdict.PASS)
    assert "claims no threads" in said["threads"][1]


def test_every_probe_has_a_cheat() -> None:
    of_streams = {probe for _, probe, _ in STREAM_CHEATS}
    assert {cheat.probe for cheat in CHEATS.values()} | of_streams == {probe.name for probe in PROBES}


@pytest.mark.parametrize(
    ("name", "config", "probe"),
    [
        ("caches-answers", 1, "fresh"),
        ("knows-the-data", 1, "perturbed"),
        ("knows-the-data", 2, "perturbed"),
        pytest.param("works-in-background", 1, "idle", marks=pytest.mark.slow),
    ],
)
def test_hostile_entries_that_no_sandbox_names(
    name: str, config: int, probe: str, tmp_path: Path, manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those of tests/hostile whose result is `ok`, although they cheat."""
    entry = tmp_path / name
    shutil.copytree(HOSTILE / name, entry, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(HOSTILE / "kit.py", entry)
    (entry / "exact.py").write_text(EXACT, encoding="utf-8")
    table(manifest, entry / "table.npz")
    _, said = audit(entry, manifest, capsys, "--only", probe, "--config", str(config))
    assert said["runs"][0] is Verdict.PASS
    assert said[probe][0] in (Verdict.FAIL, Verdict.SUSPICIOUS), said


def table(manifest: Path, path: Path) -> None:
    """The published queries with their answers."""
    import hashlib

    data = prepare(find_manifest(str(manifest), "filtered"), "public")
    (truth,) = ask_all(data, find_track("filtered").workload(data, 10)).truths
    np.savez(
        path,
        queries=data.queries.vectors.open(),
        tags=data.queries.tags.open().toarray() > 0,
        answers=truth.ids,
        rows=np.frombuffer(hashlib.sha256(data.base.open()[:10].tobytes()).digest(), dtype=np.uint8),
    )


#: Two threads at once, for a while.
GREEDY = """
    def query(self, queries, k, tags=None):
        import hashlib, threading, time
        stop = time.monotonic() + 0.1
        def work():
            while time.monotonic() < stop:
                hashlib.sha256(bytes(1 << 20)).digest()
        threads = [threading.Thread(target=work) for _ in range(2)]
        [one.start() for one in threads]
        [one.join() for one in threads]
        return self.exact(queries, k, tags)
    """


def test_more_threads_than_given(tmp_path: Path, manifest: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Seen whether the machine has a second CPU to give or not."""
    _, said = audit(write_entry(tmp_path / "greedy", GREEDY), manifest, capsys, "--only", "threads")
    assert said["threads"][0] is Verdict.FAIL, said
    assert "threads that wanted one" in said["threads"][1]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU: an entry is given one thread")
@pytest.mark.parametrize("works", [True, False])
def test_a_claim_of_threads(works: bool, tmp_path: Path, manifest: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As many as it was given: at work, or one at a time."""
    body = GREEDY if works else GREEDY.replace("range(2)", "range(1)")
    # told to use one thread it does: the claim alone is looked at
    body = (
        body.replace("range(2)", "range(self.threads)")
        + "\n    def stats(self):\n        return {'threads': self.threads}\n"
    )
    _, said = audit(write_entry(tmp_path / "claims", body), manifest, capsys, "--only", "threads")
    assert said["threads"][0] is (Verdict.PASS if works else Verdict.SUSPICIOUS), said
    assert "nearly so many are at work" in said["threads"][1] or works


def test_threads_by_their_figures() -> None:
    assert told_one(1.1, 1.05).verdict is Verdict.PASS
    assert told_one(1.6, None).verdict is Verdict.FAIL
    assert told_one(0.4, 1.8).verdict is Verdict.FAIL
    assert claimed(2, 0.02).verdict is Verdict.SUSPICIOUS
    assert claimed(2, 0.3).verdict is Verdict.PASS
    assert claimed(2, None).verdict is Verdict.PASS


def test_within_a_radius(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = range_dataset(tmp_path / "data")
    options = ("--only", "answers", "--only", "same answers", "--only", "other k", "--only", "perturbed")
    code, said = audit(range_entry(tmp_path / "mine"), manifest, capsys, *options)
    verdicts = {name: verdict.value for name, (verdict, _) in said.items()}
    assert code == 0
    assert verdicts.pop("other k") == "not applicable"
    assert set(verdicts.values()) == {"pass"}, said


@pytest.mark.parametrize("noise", [0.02, 0.3, 1.0])
def test_noise_convicts_nobody(noise: float) -> None:
    """Honest entries on a machine that makes any call 3 times slower or faster: no failure, hardly a suspicion."""
    rng = np.random.default_rng(5)
    verdicts = [slower("x", *np.exp(rng.normal(0, noise, (2, 8))), BOUNDS).verdict for _ in range(300)]
    assert Verdict.FAIL not in verdicts
    assert verdicts.count(Verdict.SUSPICIOUS) <= 1
    tenfold = [slower("x", *(np.exp(rng.normal(0, noise, (2, 15))) * [[20], [1]]), BOUNDS).verdict for _ in range(100)]
    assert tenfold.count(Verdict.FAIL) >= (90 if noise < 0.5 else 60)


def test_a_moment_in_which_the_machine_stood_still_hides_nobody() -> None:
    slow, usual = np.full(15, 0.5), np.full(15, 0.001)
    usual[3] = 2.0
    assert slower("x", slow, usual, BOUNDS).verdict is Verdict.FAIL
    assert ratio_of(slow, usual).low > 100
    assert slower("x", usual, slow, BOUNDS).verdict is Verdict.PASS
    assert slower("x", usual, usual[::-1], BOUNDS).verdict is Verdict.PASS


def test_recall_that_is_worse_by_chance() -> None:
    rng = np.random.default_rng(6)
    bounds = Bounds(suspicious=0.02, fail=0.1)
    for _ in range(200):
        before, after = np.round(rng.normal(0.8, 0.2, (2, 60)).clip(0, 1), 1)
        assert worse("x", before, after, bounds).verdict is Verdict.PASS
    assert worse("x", np.full(60, 0.9), np.full(60, 0.7), bounds).verdict is Verdict.FAIL
    assert worse("x", np.full(60, 0.9), np.full(60, 0.85), bounds).verdict is Verdict.SUSPICIOUS
    assert worse("x", np.full(3, np.nan), np.ones(3), bounds).verdict is Verdict.PASS


def test_the_gravest_finding_is_shown() -> None:
    found = Finding.worst(
        Finding(Verdict.PASS, "a"), Finding(Verdict.SUSPICIOUS, "b"), Finding(Verdict.SUSPICIOUS, "c")
    )
    assert found == Finding(Verdict.SUSPICIOUS, "b; c")


def test_seeds_are_changed() -> None:
    assert reseeded({"M": 8, "start": 4}, "start") == ({"M": 8, "start": 5}, " (start=5)")
    assert reseeded({"M": 8}, "start")[0]["start"] != 0
    assert reseeded({"seed": 3, "M": 8, "random_state": 0, "use_seed": "no"}) == (
        {"seed": 4, "M": 8, "random_state": 1, "use_seed": "no"},
        " (seed=4, random_state=1)",
    )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--only", "idel"), "idle"),
        (("--config", "7"), "has 1 query configs for tiny, there is no 7"),
        (("--track", "streaming"), "streaming"),
    ],
)
def test_bad_input(
    tmp_path: Path, manifest: Path, options: tuple[str, ...], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = write_entry(tmp_path / "mine")
    assert main(["audit", str(entry), "--dataset", str(manifest), *options]) == 2
    shown = capsys.readouterr().err
    assert text in shown
    assert len(shown.strip().splitlines()) == 1


def test_the_table(tmp_path: Path, manifest: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entry = write_entry(tmp_path / "mine", CHEATS["crashes"].body)
    assert main(["audit", str(entry), "--dataset", str(manifest), "--only", "idle"]) == 1
    shown = capsys.readouterr().out
    assert "crashed" in shown
    assert "needs `runs`" in shown
    assert "mine: fail" in shown


def test_long_batches_are_shortened(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first hundred queries of an entry that takes 10 ms for each; recall is still that of an exact one."""
    rng = np.random.default_rng(1)
    manifest = tiny_dataset(tmp_path / "data")
    write_xbin(manifest.parent / "queries.u8bin", rng.integers(0, 255, (300, DIM), dtype=np.uint8))
    wanted = csr_matrix(np.eye(TAGS, dtype=np.float32)[np.arange(300) % TAGS])
    write_spmat(manifest.parent / "queries.tags.spmat", wanted)
    body = """
    def query(self, queries, k, tags=None):
        import time
        time.sleep(0.01 * len(queries))
        return self.exact(queries, k, tags)
    """
    options = ("--only", "answers", "--only", "fresh")
    code, said = audit(write_entry(tmp_path / "mine", body), manifest, capsys, *options)
    assert code == 0
    assert "ask the first 100 queries" in said["runs"][1]
    assert {verdict for verdict, _ in said.values()} == {Verdict.PASS}, said
