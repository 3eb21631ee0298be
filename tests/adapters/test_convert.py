"""`convert` writes native entries that do what `--entry bigann:PATH` does, and says what is left to do."""

from __future__ import annotations

import json

import pytest
import yaml

from ann_bench.cli import main
from ann_bench.entries.discovery import Data, choose, entries_at, entry_at
from ann_bench.entries.entry import plan_configs
from ann_bench.errors import UsageError
from ann_bench.results.figures import figures
from tests.adapters.support import ann_config, annbenchmarks, bigann, bigann_config, dense
from tests.support import bench


def names(entries):
    return [entry.name for entry in entries]


def test_what_is_written_runs_and_is_what_would_run_without(tmp_path, capsys):
    place = bench(tmp_path)
    wrapper = bigann(tmp_path)
    (wrapper / "Dockerfile").write_text("FROM neurips23\nRUN pip install numpy\n", encoding="utf-8")
    (wrapper / "README.md").write_text("about it", encoding="utf-8")
    assert main(["convert", f"bigann:{wrapper}", "--out", str(tmp_path / "out")]) == 0
    folder = tmp_path / "out" / "bigann-exact"
    assert f"ann-bench run --track filtered --entry {folder}" in capsys.readouterr().out
    written, read = entry_at(folder, "filtered"), entries_at(f"bigann:{wrapper}", "filtered")[0]
    assert written.config == read.config
    assert {path.name for path in folder.iterdir()} == {
        *("config.yaml", "exact.py", "search.py", "Dockerfile.theirs", "README.md"),
    }
    assert place.run(folder, "--runs", "1", "--cpus", "1") == 0
    assert [figures(one).recall for one in place.bundles()] == [1.0, 1.0]
    assert main(["convert", f"bigann:{wrapper}", "--out", str(tmp_path / "out")]) == 2
    assert "is there already" in capsys.readouterr().err


def test_as_json(tmp_path, capsys):
    wrapper = annbenchmarks(tmp_path, ann_config(run_groups={"g": {"args": [[1, 2]]}}))
    assert main(["convert", f"annbenchmarks:{wrapper}", "--out", str(tmp_path), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == ["annbenchmarks-exact-1", "annbenchmarks-exact-2"]
    assert rows[0]["tracks"] == ["dense", "ood"]
    assert main(["convert", str(wrapper)]) == 2


def test_every_data_set_has_its_own_build_and_name(tmp_path):
    config = bigann_config()
    config["yfcc-10M"] = bigann_config(
        **{"run-groups": {"base": {"args": '[{"lists": 9}]', "query-args": [[{"a": 1}], 7]}}}
    )["any"]
    wrapper = bigann(tmp_path, config)
    (entry,) = entries_at(f"bigann:{wrapper}", "filtered")
    build, queries = plan_configs(entry, "yfcc-10M")
    assert (build["arguments"], build["dataset"]) == (["@metric", {"lists": 9}], "yfcc-10M")
    assert queries == [{"arguments": [{"a": 1}, 7]}]
    assert "dataset" not in plan_configs(entry, "tiny")[0]
    (entry,) = entries_at(f"bigann:{wrapper}@yfcc-10M", "filtered")
    assert plan_configs(entry, "tiny")[0] == build
    with pytest.raises(UsageError, match="there is no section 'yfcc' in it, only yfcc-10M"):
        entries_at(f"bigann:{wrapper}@yfcc", "filtered")


def test_a_data_set_that_the_config_does_not_name(tmp_path):
    wrapper = bigann(tmp_path, {"yfcc-10M": bigann_config()["any"]})
    with pytest.raises(UsageError, match=r"nothing for the data set 'tiny', only for yfcc-10M; .*exact@yfcc-10M"):
        choose("filtered", tmp_path, paths=[f"bigann:{wrapper}"], data=Data("tiny", "euclidean"))
    found = choose("filtered", tmp_path, paths=[f"bigann:{wrapper}@yfcc-10M"], data=Data("tiny", "euclidean"))
    assert names(found) == ["bigann-exact"]


def test_every_build_is_an_entry_and_some_can_be_chosen(tmp_path):
    groups = {"small": {"args": '[{"a": 1}, {"a": 2}]'}, "large one": {"args": [{"a": [3]}]}}
    config = bigann_config(**{"run-groups": groups})
    config["any"]["other(x)"] = bigann_config()["any"]["exact"]
    wrapper = bigann(tmp_path, config)
    full = ["bigann-exact-large-one", "bigann-exact-small-1", "bigann-exact-small-2", "bigann-other-x"]
    assert names(entries_at(f"bigann:{wrapper}", "filtered")) == full
    assert names(entries_at(f"bigann:{wrapper}#exact-s*", "dense")) == full[1:3]
    assert names(entries_at(f"bigann:{wrapper}@any#other-x", "dense")) == full[3:]
    assert names(entries_at(f"bigann:{wrapper}#other-x")) == ["bigann-other-x"] * 2
    with pytest.raises(UsageError, match="nothing in it is called 'none'; there is exact-large-one"):
        entries_at(f"bigann:{wrapper}#none", "filtered")


def test_a_metric_that_no_definition_is_for(tmp_path):
    wrapper = annbenchmarks(tmp_path, ann_config("angular"))
    with pytest.raises(UsageError, match="nothing in it is for the metric 'euclidean', only for angular"):
        choose("dense", tmp_path, paths=[f"annbenchmarks:{wrapper}"], data=Data("tiny", "euclidean"))
    (entry,) = choose("dense", tmp_path, paths=[f"annbenchmarks:{wrapper}"], data=Data("tiny", "angular"))
    assert (entry.name, entry.metric) == ("annbenchmarks-exact-angular", "angular")


def test_numbers_that_json_has_not_reach_the_wrapper(tmp_path):
    place = dense(tmp_path)
    text = yaml.safe_dump(ann_config(run_groups={"g": {"args": [[float("nan")], [float("-inf")], ["@dimension"]]}}))
    assert ".nan" in text
    body = """
    def done(self):
        pass
    def get_additional(self):
        return {"got": repr(self.arguments)}
    """
    wrapper = annbenchmarks(tmp_path, text, body=body)
    assert place.run(f"annbenchmarks:{wrapper}", "--runs", "1") == 0
    assert place.bundle().stats["got"] == "(nan, -inf, 8)"


def test_how_many_answers_are_asked_for(tmp_path):
    place = dense(tmp_path)
    config = bigann_config("ood", **{"base-args": ["@metric"], "run-groups": {"g": {"args": '[{"k": "@count"}]'}}})
    wrapper = bigann(tmp_path, config, track="ood", fit="assert self.params == {'k': 7}", methods="query_args = None")
    assert place.run(f"bigann:{wrapper}", "--runs", "1", "--k", "7") == 0


def test_more_searches_than_the_track_allows_are_a_result_with_a_name(tmp_path):
    place = dense(tmp_path)
    config = ann_config(run_groups={"g": {"args": [[1]], "query_args": [list(range(11))]}})
    assert place.run(f"annbenchmarks:{annbenchmarks(tmp_path, config)}", "--runs", "1") == 1
    assert {one.outcome.detail for one in place.bundles()} == {"11 query configs; the track allows 10"}


def test_what_its_files_need(tmp_path, caplog):
    wrapper = annbenchmarks(tmp_path)
    source = (wrapper / "module.py").read_text("utf-8")
    imports = (
        "import hnswlib, numpy, faiss, diskannpy, scann\nimport own_native_thing as n\nfrom sklearn import cluster\n"
    )
    (wrapper / "module.py").write_text(imports + source, encoding="utf-8")
    lines = "scann==1.3.2  # that one\n-r more.txt\nmissing-package\n"
    (wrapper / "requirements.txt").write_text(lines, encoding="utf-8")
    steps = "RUN apt update && \\\n  pip3 install -U pybind11 'numpy<2' \\\n  hnswlib>=0.7 ./x.whl\n"
    steps += "RUN pip install dist/diskannpy-0.5.0rc3.post1-cp310-cp310-linux_x86_64.whl\n"
    steps += "RUN pip install own_native_thing-1.0-py3-none-any.whl\n"
    (wrapper / "Dockerfile").write_text("FROM ann-benchmarks\n" + steps, encoding="utf-8")
    with caplog.at_level("WARNING"):
        (entry,) = entries_at(f"annbenchmarks:{wrapper}", "dense")
    assert entry.config.requires == [
        *("diskannpy==0.5.0rc3.post1", "faiss-cpu", "hnswlib>=0.7", "numpy<2", "scann==1.3.2", "scikit-learn")
    ]
    assert "imports own_native_thing, and neither its Dockerfile nor" in caplog.text


def test_where_there_is_no_wrapper(tmp_path):
    with pytest.raises(UsageError, match=r"no wrapper of bigann, there is no config\.yaml in it"):
        entries_at(f"bigann:{tmp_path}")
    with pytest.raises(UsageError, match="the wrapper is for filtered, dense, not for the track 'sparse'"):
        entries_at(f"bigann:{bigann(tmp_path)}", "sparse")


def test_the_place_of_an_entry_names_it_alone(tmp_path):
    wrapper = bigann(tmp_path, bigann_config(**{"run-groups": {"g": {"args": '[{"a": 1}, {"a": 2}]'}}}))
    for word in (f"bigann:{wrapper}", f"bigann:{wrapper}@any"):
        for entry in entries_at(word, "filtered"):
            assert entries_at(entry.place, "filtered") == [entry]
