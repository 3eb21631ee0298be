"""Tables that others have published."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from ann_bench.errors import UsageError
from ann_bench.results.published import best_published, read_published

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "published"

HEAD = "algorithm,parameters,dataset,count,qps,distcomps,build,indexsize,mean_ssd_ios,mean_latency,track,recall/ap\n"


def test_a_table(tmp_path: Path) -> None:
    path = tmp_path / "filter.csv"
    path.write_text(
        HEAD
        + 'a,"X((1, {2}))",set-10M,10,7000.5,0,-1.0,0,0,0,filter,0.89\n'
        + "a,slow,set-10M,10,100,0,60.0,0,0,0,filter,0.95\n"
        + "b,p,s(final.yaml),10,5,0,60.0,0,0,0,streaming,0.99\n"
    )
    rows = read_published(path, "a machine")
    assert [row.track for row in rows] == ["filtered", "filtered", "streaming"]
    assert [row.dataset for row in rows] == ["set-10M", "set-10M", "s"]
    assert math.isnan(rows[0].build_seconds)
    assert {row.machine for row in rows} == {"a machine"}
    best = best_published(rows[:2], "qps", 0.9)
    assert [(row.name, row.parameters) for row in best] == [("published:a", "slow")]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "holds no rows"),
        ("algorithm,qps\na,1\n", "lacks the columns parameters, dataset, track, recall/ap"),
        (HEAD + "a,p,d,10,fast,0,0,0,0,0,ood,0.9\n", "line 2: could not convert"),
    ],
)
def test_what_is_no_table(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "some.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=says):
        read_published(path, "m")


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_published(tmp_path / "none.csv", "m")


@pytest.mark.skipif(not SHARED.is_dir(), reason="the published tables are not beside the project")
def test_the_real_ones() -> None:
    counts = {path.stem: len(read_published(path, "m")) for path in sorted(SHARED.glob("*.csv"))}
    assert counts == {"filter": 127, "ood": 142, "sparse": 73, "streaming": 25}
    best = best_published(read_published(SHARED / "streaming.csv", "m"), "recall", None)
    assert best[0].recall == max(row.recall for row in read_published(SHARED / "streaming.csv", "m"))
