"""A result measured once more from what it says of itself."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ann_bench.cli import main
from ann_bench.results.model import Identity
from ann_bench.results.store import Store
from tests.support import Bench, bench, tiny_dataset, write_entry
from tests.tracks.test_streams import EXACT as STREAM
from tests.tracks.test_streams import RUNBOOK


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANN_BENCH_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("ANN_BENCH_SANDBOX", "process")
        place = bench(tmp_path_factory.mktemp("place"))
        assert place.run(write_entry(place.folder / "mine"), "--runs", "3", "--cpus", "1") == 0
    return place


def replay(place: Bench, into: Path, *options: str, key: str | None = None) -> int:
    entry = ["--entry", str(place.folder / "mine")] if "--entry" not in options else []
    words = ["replay", key or place.bundle().identity.key[:8], "--results", str(place.results), "--into", str(into)]
    return main([*words, "--within", "95%", *entry, *options])


def changed(place: Bench, folder: Path, provenance=None, **fields) -> tuple[Bench, str]:
    """The result as if it had been measured under other conditions."""
    bundle = place.bundle()
    other = replace(
        bundle,
        identity=Identity({**bundle.identity.fields, **fields}),
        provenance={**bundle.provenance, **(provenance or {})},
    )
    Store(folder).write(other)
    return place, str(Store(folder).path(other.identity))


def test_it_agrees(measured: Bench, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # the speed of a machine that does other things too is no matter of this test: --within 95 %
    code = replay(measured, tmp_path / "again", "--json")
    said = json.loads(capsys.readouterr().out)
    assert said["then"]["recall"] == said["now"]["recall"] == 1
    assert said["same_answers"] and said["same_machine"] and said["ratio"]["value"] > 0
    assert code == (1 if said["problems"] else 0)
    (again,), _ = Store(tmp_path / "again").load()
    then = measured.bundle()
    assert again.identity == then.identity
    assert again.provenance["seed"] == then.provenance["seed"]
    assert main(["verify", "--results", str(tmp_path / "again")]) == 0


def test_other_answers_are_named(measured: Bench, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The entry looks at more than its files: they are the same, and its recall is another."""
    body = f"""
    def query(self, queries, k, tags=None):
        import os
        found = self.exact(queries, k, tags)
        if not os.path.exists({str(tmp_path / "mark")!r}):
            found[:, 2:] = -1
        return found
    """
    place = bench(tmp_path / "p")
    assert place.run(write_entry(place.folder / "mine", body), "--runs", "2") == 0
    (tmp_path / "mark").touch()
    capsys.readouterr()
    assert replay(place, tmp_path / "again") == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("it does not agree: the recall was 0.") and "and is 1.0000" in last


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"entry_hash": "0" * 64}, "`entry_hash` differs"),
        ({"packages": {"numpy": "0.1"}}, "`packages.numpy` differs: '0.1'"),
        ({"image": "sha256:1"}, "`image` differs: 'sha256:1' and nothing"),
        ({"metric": "another"}, "`metric` differs: 'another' and 'euclidean'"),
        ({"limits": {"cpus": 4096, "memory_bytes": 2**32}}, "`limits.cpus` differs: 4096"),
        ({"data_hash": {"base": "0", "queries": "1"}}, "`data_hash.base` differs"),
    ],
)
def test_what_is_not_as_it_was_is_named(
    measured: Bench, tmp_path: Path, fields: dict, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    place, file = changed(measured, tmp_path / "other", **fields)
    assert replay(place, tmp_path / "again", key=file) == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith("error: not replayed: ") and said in line
    assert not list((tmp_path / "again").rglob("*.h5"))


def test_another_machine_compares_no_speed(measured: Bench, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place, file = changed(measured, tmp_path / "other", machine="Another CPU")
    assert replay(place, tmp_path / "again", key=file) == 0
    shown = capsys.readouterr()
    assert "the speeds are not compared" in shown.err and shown.out.endswith("it agrees\n")


def test_what_is_not_there(measured: Bench, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def line() -> str:
        return capsys.readouterr().err.splitlines()[-1]

    into = tmp_path / "again"
    assert replay(measured, into, key="zzz") == 2
    assert "no result in" in line()
    assert (
        main(["replay", measured.bundle().identity.key, "--results", str(measured.results), "--into", str(into)]) == 2
    )
    assert "the entry 'mine' is not here" in line()
    assert replay(measured, into, "--entry", str(write_entry(tmp_path / "yours", start="# others"))) == 2
    assert "holds no entry called 'mine'" in line()
    place, file = changed(measured, tmp_path / "other", {"manifest": str(tmp_path / "gone.yaml")})
    assert replay(place, into, key=file) == 2
    assert "gone.yaml" in line()
    assert replay(measured, measured.results) == 2
    assert "--into" in line()


def test_changed_data_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = bench(tmp_path)
    assert place.run(write_entry(tmp_path / "mine"), "--runs", "1") == 0
    tiny_dataset(tmp_path / "data", seed=2)
    assert replay(place, tmp_path / "again") == 2
    assert "`data_hash.base` differs" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["none.h5", "folder/none", "/none"])
def test_a_file_that_is_not_there(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", name]) == 2
    assert capsys.readouterr().err == f"error: {name}: there is no such file\n"


def test_a_mode_and_a_challenge_are_measured_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = bench(tmp_path)
    entry = write_entry(tmp_path / "mine")
    how = ["--mode", "latency", "--challenge", "secret", "--challenge-by", "rows", "--runs", "2", "--cpus", "1"]
    assert place.run(entry, *how) == 0
    capsys.readouterr()
    for words, said in [((), "in disguise; name the seed"), (("--challenge", "no"), "`challenge.seed_digest` differs")]:
        assert replay(place, tmp_path / "again", *words) == 2
        assert said in capsys.readouterr().err.splitlines()[-1]
    assert replay(place, tmp_path / "again", "--challenge", "secret", "--json") in (0, 1)
    said = json.loads(capsys.readouterr().out)
    assert list(said["ratios"]) == ["p50"] and said["ratio"]["value"] > 0 and said["same_answers"]
    assert said["then"]["p50"] > 0 and said["now"]["p50"] > 0
    (again,), _ = Store(tmp_path / "again").load()
    assert again.identity == place.bundle().identity and again.asks is not None


def test_a_seed_for_data_that_were_not_in_disguise(
    measured: Bench, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert replay(measured, tmp_path / "again", "--challenge", "secret") == 2
    assert "as they are; leave --challenge out" in capsys.readouterr().err


def test_a_stream_is_measured_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = Bench(
        tmp_path, tiny_dataset(tmp_path / "data", tracks=["streaming"], runbook={"file": "r.yaml"}), "streaming"
    )
    (tmp_path / "data" / "r.yaml").write_text(RUNBOOK, encoding="utf-8")
    assert place.run(write_entry(tmp_path / "mine", STREAM, tracks=["streaming"]), "--builds", "2") == 0
    capsys.readouterr()
    assert replay(place, tmp_path / "again", "--json") in (0, 1)
    said = json.loads(capsys.readouterr().out)
    assert list(said["ratios"]) == ["qps", "total_seconds"] and said["same_answers"]
    assert said["then"]["recall"] == said["now"]["recall"] and said["then"]["total_seconds"] > 0


def test_a_version_that_compare_gave_another_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = bench(tmp_path)
    entry = write_entry(tmp_path / "mine")
    assert place.run(entry, "--runs", "1") == 0
    _, file = changed(place, tmp_path / "a", algorithm="mine-a")
    assert replay(place, tmp_path / "again", key=file) in (0, 1)
    assert Store(tmp_path / "again").load()[0][0].identity["algorithm"] == "mine-a"
