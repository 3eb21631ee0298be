"""Queries put one by one: what is measured, what is kept, and what becomes of entries that cheat or fail."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from ann_bench.cli import main
from ann_bench.errors import ResultError
from ann_bench.judge.mode import KINDS
from ann_bench.judge.verify_asks import verify_asks
from ann_bench.judge.verify_steps import verify_steps
from ann_bench.results.bundle import write
from ann_bench.results.figures import figures
from ann_bench.results.model import Bundle, Status
from tests.judge.modes import QUERY, WIRE
from tests.support import QUERIES, Bench, write_entry

pytestmark = pytest.mark.usefixtures("nothing_left")

SLEEPS = f"{QUERY}import time; time.sleep(0.004); return self.exact(queries, k, tags)"
ONE_RUN = ("--runs", "1", "--cpus", "1")


def measured(place: Bench, body: str, *options: str, **config: object) -> Bundle:
    """The result of an entry under these options."""
    place.run(write_entry(place.folder / "mine", body, start=WIRE, **config), *ONE_RUN, *options)
    return place.bundle()


def latencies(bundle: Bundle) -> np.ndarray:
    assert bundle.asks is not None
    return bundle.asks.answered - bundle.asks.due


def test_one_at_a_time(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = measured(place, SLEEPS, "--mode", "latency", "--runs", "2")
    assert bundle.outcome.status is Status.OK, bundle.outcome
    assert latencies(bundle).shape == (1, 2, QUERIES)
    assert latencies(bundle).min() >= 0.004
    shown = figures(bundle)
    assert shown.recall == 1.0
    assert shown.mode == "latency"
    assert 0.004 <= shown.p50 <= shown.p90 <= shown.p95 <= shown.p99 <= shown.p999 <= shown.slowest
    assert 0 < shown.wire < shown.p50  # calls without the entry do not sleep
    assert shown.qps <= 1 / 0.004
    output = capsys.readouterr().out
    assert "queries one by one, latency" in output
    assert all(len(line) <= 110 for line in output.splitlines())
    assert place.run(place.folder / "mine", *ONE_RUN) == 0  # whole batches are another configuration
    assert len(place.bundles()) == 2


def test_clients_that_wait(place: Bench) -> None:
    """Sleeping entries overlap where the worker has several threads, and do not where it has one."""
    entry = write_entry(
        place.folder / "mine", f"{QUERY}import time; time.sleep(0.02); return self.exact(queries, k, tags)"
    )
    place.run(entry, "--runs", "1", "--mode", "concurrent", "--clients", "2")
    (together,) = place.bundles()
    assert together.outcome.status is Status.OK, together.outcome
    assert together.identity["callers"] == 2
    write_entry(entry, f"{QUERY}import time; time.sleep(0.02); return self.exact(queries, k, tags)", concurrent=False)
    place.run(entry, "--runs", "1", "--mode", "concurrent", "--clients", "2")
    alone = next(one for one in place.bundles() if one.identity["callers"] == 1)
    assert alone.seconds[0, 0, 0] >= 0.02 * QUERIES
    assert np.median(latencies(alone)) >= 0.04 - 0.001  # each waits for the other client's query
    assert together.seconds[0, 0, 0] < alone.seconds[0, 0, 0]
    assert figures(together).recall == figures(alone).recall == 1.0


def test_waiting_is_not_hidden(place: Bench) -> None:
    """Above what the entry can do, latencies grow from query to query: they count from when each was due."""
    bundle = measured(place, SLEEPS, "--mode", "load", "--rate", "1000")
    assert bundle.outcome.status is Status.OK, bundle.outcome
    assert bundle.asks is not None
    order = np.argsort(bundle.asks.due[0, 0])
    found = latencies(bundle)[0, 0][order]
    assert found[-5:].min() > found[:5].max()
    assert found[-1] >= 0.004 * QUERIES - bundle.asks.due.max() - 0.001
    assert figures(bundle).slowest >= found[-1]
    assert figures(bundle).rate == 1000


def test_a_run_lasts(place: Bench) -> None:
    """The set is asked again, in other orders, until the time is over; all of it is kept and verified."""
    body = f"{QUERY}self.count = getattr(self, 'count', 0) + 1\n    right = self.exact(queries, k, tags)\n    "
    later_worse = f"{body}right[:, k // 2 :] = right[:, k // 2 :] if self.count <= {QUERIES} else -1\n    return right"
    for mode in (("latency",), ("load", "--rate", "300")):
        bundle = measured_once(place, later_worse, "--mode", *mode, "--seconds", "0.3")
        asks = bundle.asks
        assert asks is not None
        assert asks.answer_of is not None
        rounds = asks.answer_of.shape[2]
        assert asks.due.shape == (1, 1, rounds * QUERIES)
        assert rounds == 3 if mode[0] == "load" else rounds > 1 or asks.answered.max() >= 0.3
        if rounds == 1:
            continue  # so busy a machine that one round took that long
        orders = [np.argsort(one) for one in asks.due.reshape(rounds, QUERIES)]
        assert not np.array_equal(orders[0], orders[1])
        assert bundle.answer_of[0, 0, 0] == asks.answer_of[0, 0, 0, 0] != asks.answer_of[0, 0, 1, 0]
        alone = dataclasses.replace(bundle, asks=dataclasses.replace(asks, answer_of=None))
        assert figures(bundle).recall < 0.8 < figures(alone).recall == 1.0
        assert bundle.seconds[0, 0, 0] * rounds >= min(0.3, float(asks.answered.max()))
        verify_asks(bundle)
        verify_steps(bundle)
        fewer = {name: getattr(asks, name)[..., :-QUERIES] for name in ("due", "sent", "answered")}
        cut = dataclasses.replace(asks, **fewer, answer_of=asks.answer_of[:, :, :-1])
        with pytest.raises(ResultError, match=r"took another time|rounds"):
            verify_asks(dataclasses.replace(bundle, asks=cut))
        swapped = dataclasses.replace(asks, answer_of=asks.answer_of[:, :, ::-1])
        with pytest.raises(ResultError, match="do not belong together"):
            verify_asks(dataclasses.replace(bundle, asks=swapped))
    assert main(["verify", "--results", str(place.results)]) == 0


def measured_once(place: Bench, body: str, *options: str) -> Bundle:
    """The result of an entry under these options that was not there before."""
    before = {bundle.identity.key for bundle in place.bundles()} if place.results.exists() else set()
    place.run(write_entry(place.folder / "mine", body), *ONE_RUN, *options)
    (new,) = [bundle for bundle in place.bundles() if bundle.identity.key not in before]
    return new


def test_the_highest_rate(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    """A goal that any rate below the capacity meets, and one that none can meet."""
    bundle = measured(place, SLEEPS, "--mode", "load", "--rate", "max", "--p99", "10s", "--runs", "4")
    shown = figures(bundle)
    assert bundle.outcome.status is Status.OK, bundle.outcome
    assert bundle.asks is not None
    assert np.isnan(bundle.asks.rate[0, 0, 0])
    assert shown.rate == shown.qps > 0
    assert shown.p99 <= 10
    never = measured_again(place, "--mode", "load", "--rate", "max", "--p99", "2ms", "--runs", "3")
    assert np.isnan(figures(never).rate)
    assert any("no rate kept p99 <= 2 ms" in note for note in figures(never).notes)
    assert "none reaches it" in capsys.readouterr().out
    assert place.bundles()[0].seconds.shape[1] in (3, 4)


def measured_again(place: Bench, *options: str) -> Bundle:
    """The result of the same entry under other options."""
    before = {bundle.identity.key for bundle in place.bundles()}
    place.run(place.folder / "mine", *ONE_RUN, *options)
    (new,) = [bundle for bundle in place.bundles() if bundle.identity.key not in before]
    return new


def test_recall_is_bounded_where_it_is_wanted(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = f"{QUERY}return (self.exact(queries, k, tags) + 1) % 300"
    bundle = measured(place, wrong, "--mode", "latency", "--recall", "0.99")
    assert figures(bundle).recall < 0.9 or bundle.outcome.status is Status.INVALID_ANSWER
    assert "recall@10 >= 0.99" in capsys.readouterr().out


def test_a_rate_beyond_the_client_is_said(place: Bench) -> None:
    """As it is with a pass whose queries were sent a second later than they were due."""
    bundle = measured(place, f"{QUERY}return self.exact(queries, k, tags)", "--mode", "load", "--rate", "1e6")
    asks = bundle.asks
    assert asks is not None
    late = np.linspace(0, 1, QUERIES)[np.argsort(np.argsort(asks.due[0, 0]))]
    slow = dataclasses.replace(asks, sent=asks.due + late, answered=asks.due + late + 0.001)
    shown = figures(dataclasses.replace(bundle, asks=slow))
    assert np.isnan(shown.p50)
    assert any("the client could send no more than 4" in note for note in shown.notes)


@pytest.mark.parametrize(
    ("body", "status", "detail"),
    [
        ("return self.exact(queries, k, tags)[:, :3]", Status.INVALID_ANSWER, "shape (1, 3)"),
        ("return np.zeros((1, k), int)", Status.INVALID_ANSWER, "duplicate"),
        ("raise ValueError('no idea')", Status.CRASHED, "no idea"),
        ("raise MemoryError('too much')", Status.OUT_OF_MEMORY, "too much"),
        ("os.kill(os.getpid(), 9)", Status.CRASHED, "SIGKILL"),
        ("time.sleep(60)", Status.TIMEOUT, "took longer"),
        ("say(type='answered', seq=asked()['seq']); time.sleep(0.3)", Status.RULE_BROKEN, ""),
        ("say(type='answered', seq=asked()['seq']); return self.exact(queries, k, tags)", Status.RULE_BROKEN, ""),
        ("say(type='answered', seq=asked()['seq'] + 100000); time.sleep(0.5)", Status.RULE_BROKEN, "not asked"),
        ("say(type='answered', seq='one'); time.sleep(0.5)", Status.RULE_BROKEN, "not asked"),
        ("say(type='error', seq=asked()['seq'], kind='new', text='x'); time.sleep(0.1)", Status.RULE_BROKEN, ""),
        ("say(nothing=1); time.sleep(0.5)", Status.RULE_BROKEN, "broke the wire protocol"),
    ],
)
def test_what_goes_wrong_has_a_name(place: Bench, body: str, status: Status, detail: str) -> None:
    """An error, a lie or an end in the middle of a pass."""
    bundle = measured(place, QUERY + body, "--mode", "latency", "--timeout", "4s")
    assert bundle.outcome.status is status, bundle.outcome
    assert detail in bundle.outcome.detail


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("raise ValueError('no idea')", Status.CRASHED),
        ("os.kill(os.getpid(), 9)", Status.CRASHED),
        ("time.sleep(60)", Status.TIMEOUT),
        ("say(type='answered', seq=asked()['seq']); return self.exact(queries, k, tags)", Status.RULE_BROKEN),
    ],
)
def test_and_so_it_has_among_many(place: Bench, body: str, status: Status) -> None:
    """Three in flight, on two threads where the machine has them; the first ones are answered well."""
    first = f"self.count = getattr(self, 'count', 0) + 1\n    if self.count > 10:\n        {body}\n    "
    bundle = measured(
        place, f"{QUERY}{first}return self.exact(queries, k, tags)",
        "--mode", "concurrent", "--clients", "3", "--timeout", "4s", "--cpus", "2",
    )  # fmt: skip
    assert bundle.outcome.status is status, bundle.outcome


def test_answers_that_are_swapped_are_wrong(place: Bench) -> None:
    """Each query gets the answer of the one before it."""
    body = """
    def query(self, queries, k, tags=None):
        now = self.exact(queries, k, tags)
        before, self.last = getattr(self, "last", now), now
        return before
    """
    bundle = measured(place, body, "--mode", "latency")
    assert figures(bundle).recall < 0.9 or bundle.outcome.status is Status.INVALID_ANSWER


def test_what_is_written_after_the_answer_is_never_read(place: Bench) -> None:
    """The right answers come a moment after wrong ones were sent: the wrong ones count."""
    body = """
    def query(self, queries, k, tags=None):
        import inspect
        frame = next(one.frame for one in inspect.stack() if "ask" in one.frame.f_locals)
        row, answers = frame.f_locals["ask"]["row"], frame.f_locals["self"].answers
        right = self.exact(queries, k, tags)[0]
        def later():
            time.sleep(0.3)
            answers[row] = right
        threading.Thread(target=later).start()
        return np.full((1, k), -1)
    """
    bundle = measured(place, body, "--mode", "latency")
    assert figures(bundle).recall < 0.5  # 0, but where the machine is so busy that the answer waits for 0.3 s


def test_no_query_can_be_read_before_it_is_asked(place: Bench) -> None:
    """The entry looks at the next lines of the file: nothing but zeros."""
    body = """
    def query(self, queries, k, tags=None):
        import inspect
        frame = next(one.frame for one in inspect.stack() if "ask" in one.frame.f_locals)
        whole, row = frame.f_locals["self"].queries.get(), frame.f_locals["ask"]["row"]
        self.seen = max(getattr(self, "seen", 0), int(whole[row + 1:].max(initial=0)))
        return self.exact(queries, k, tags)

    def stats(self):
        return {"seen": self.seen}
    """
    bundle = measured(place, body, "--mode", "latency")
    assert bundle.outcome.status is Status.OK, bundle.outcome
    assert bundle.stats == {"seen": 0}


def test_the_next_config_goes_on_after_an_error(place: Bench) -> None:
    body = """
    def set_query_arguments(self, effort):
        self.effort = effort

    def query(self, queries, k, tags=None):
        if self.effort == 1:
            raise ValueError("not with 1")
        return self.exact(queries, k, tags)

    def stats(self):
        return {"process": os.getpid()}
    """
    configs = {"default": [{"effort": 1}, {"effort": 2}]}
    place.run(write_entry(place.folder / "mine", body, start=WIRE, query=configs), *ONE_RUN, "--mode", "latency")
    found = {bundle.identity["query"]["effort"]: bundle.outcome.status for bundle in place.bundles()}
    assert found == {1: Status.CRASHED, 2: Status.OK}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--mode", "sideways"), "unknown mode 'sideways'"),
        (("--mode", "latency", "--clients", "3"), "--clients is for --mode concurrent"),
        (("--rate", "100"), "--rate is for --mode load"),
        (("--seconds", "3"), "--seconds is for --mode latency"),
        (("--mode", "latency", "--seconds", "nan"), "'nan' is no number"),
        (("--mode", "latency", "--recall", "nan"), "'nan' is no number"),
        (("--mode", "load"), "needs a rate"),
        (("--mode", "load", "--rate", "max"), "--p99 10ms"),
        (("--mode", "load", "--rate", "max", "--p99", "9ms", "--runs", "1"), "needs more runs"),
        (("--mode", "load", "--rate", "10", "--p99", "10ms"), "--p99 is for --rate max"),
        (("--mode", "concurrent", "--clients", "0"), "clients"),
        (("--mode", "concurrent", "--clients", "41"), "the query set has 40 queries"),
        (("--mode", "load", "--rate", "-5"), "no rate"),
        (("--mode", "load", "--rate", "max", "--p99", "10"), "no latency"),
    ],
)
def test_what_makes_no_sense_is_said(
    place: Bench, options: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert place.run(write_entry(place.folder / "mine"), *options) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert not list(place.results.rglob("*.h5"))


def test_every_kind_is_tried_here() -> None:
    assert set(KINDS) == {"batch", "latency", "concurrent", "load"}


def test_verify_finds_what_was_changed(place: Bench) -> None:
    """Times that cannot be, a rate that was not asked for, a schedule that was not followed."""
    bundle = measured(place, SLEEPS, "--mode", "load", "--rate", "400")
    verify_asks(bundle)
    asks = bundle.asks
    assert asks is not None
    for field, value, said in (
        ("answered", asks.answered - 1.0, "before they were asked"),
        ("rate", asks.rate * 2, "another rate"),
        ("due", asks.due * 0.5, "schedule"),
        ("sent", np.full(asks.sent.shape, np.nan), "lacks times"),
        ("answered", asks.answered + 1.0, "another time"),
    ):
        changed = dataclasses.replace(bundle, asks=dataclasses.replace(asks, **{field: value}))
        with pytest.raises(ResultError, match=said):
            verify_asks(changed)
    with pytest.raises(ResultError, match="do not belong to the mode"):
        verify_asks(dataclasses.replace(bundle, asks=None))


def test_the_command_verifies_it(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = measured(place, SLEEPS, "--mode", "concurrent", "--clients", "2")
    assert main(["verify", "--results", str(place.results)]) == 0
    capsys.readouterr()
    asks = bundle.asks
    assert asks is not None
    forged = dataclasses.replace(bundle, asks=dataclasses.replace(asks, answered=asks.answered / 2))
    write(forged, place.results)
    assert main(["verify", "--results", str(place.results)]) == 1
    assert "pass 0 of build 0" in capsys.readouterr().err


def test_the_export_has_it(place: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    measured(place, SLEEPS, "--mode", "latency")
    output = place.folder / "table.json"
    assert main(["export", "--results", str(place.results), "--format", "json", "--output", str(output)]) == 0
    (row,) = json.loads(output.read_text())
    assert row["mode"] == "latency"
    assert row["p50"] >= 0.004
    assert row["p99_low"] is None  # 40 queries do not place a p99
