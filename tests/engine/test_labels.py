"""Whose is what on the engine, and is its judge still there."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from ann_bench.engine.labels import OURS, Namespace, judge_is_gone, short_tag, worker_labels


def test_this_process_lives() -> None:
    labels = worker_labels("an-entry")
    assert labels["ann-bench.kind"] == "worker"
    assert labels["ann-bench.entry"] == "an-entry"
    assert labels["ann-bench.judge"] == str(os.getpid())
    assert not judge_is_gone(labels)


@pytest.mark.parametrize(
    ("changes", "gone"),
    [
        ({"boot": "another"}, True),
        ({"judge-start": "1"}, True),
        ({"judge": "4194305"}, True),
        ({"judge": "no number"}, True),
        ({"pids": "pid:[1]", "judge": "4194305"}, False),
    ],
)
def test_what_tells_that_a_judge_is_gone(changes: dict[str, str], gone: bool) -> None:
    labels = worker_labels("x") | {OURS.label(key): value for key, value in changes.items()}
    assert judge_is_gone(labels) is gone


def test_labels_that_are_not_there() -> None:
    assert judge_is_gone({})


def test_a_zombie_is_gone() -> None:
    """A judge that was killed and not yet waited for has its process id still."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    from ann_bench.engine import labels as module

    start = module._start_time(process.pid)
    assert start is not None
    labels = worker_labels("x") | {OURS.label("judge"): str(process.pid), OURS.label("judge-start"): start}
    assert not judge_is_gone(labels)
    process.kill()
    for _ in range(100):
        if judge_is_gone(labels):
            break
        time.sleep(0.05)
    assert judge_is_gone(labels)
    process.wait()


@pytest.mark.parametrize(
    ("tag", "owned"),
    [
        ("ann-bench/common:1", True),
        ("docker.io/ann-bench/common:1", True),
        ("localhost/ann-bench/common:1", True),
        ("ann-bench:1", False),
        ("someone/ann-bench/common:1", False),
        ("ann-bench-too/common:1", False),
        ("registry.example/ann-bench/common:1", False),
        ("python:3.11-slim-bookworm", False),
    ],
)
def test_whose_a_tag_is(tag: str, owned: bool) -> None:
    assert OURS.owns(tag) is owned


def test_tags_are_short_everywhere() -> None:
    assert short_tag("docker.io/library/python:3.11") == "python:3.11"
    assert OURS.image_tags(["<none>:<none>"]) == OURS.image_tags(None) == ([], [])


@pytest.mark.parametrize("name", ["filtered-Faiss_IVF", "filtered-a..b", "filtered-x-", "filtered-_", "f-" + "Y" * 300])
def test_a_repository_is_one_that_engines_take(name: str) -> None:
    from docker.utils.build import match_tag

    assert match_tag(f"{Namespace('t').repository(name)}:1")
