"""Downloads from hosts that are good, bad and worse."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import shutil
import struct
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest

from ann_bench.datasets.download import Patience, Receipt, Wanted, download
from ann_bench.datasets.formats import Reading, locate
from ann_bench.datasets.formats.xbin import locate_xbin
from ann_bench.errors import DownloadError, StorageError
from tests.datasets.host import Host, serving

QUICK = Patience(connect=1.0, stall=0.2, tries=3, backoff=0.001)
CONTENT = np.random.default_rng(1).bytes(300_000)


def fetch(host: Host, target: Path, **wanted: object) -> Receipt | None:
    return download(Wanted(host.url, **wanted), target, QUICK)  # type: ignore[arg-type]


def leftovers(target: Path) -> list[str]:
    return sorted(p.name for p in target.parent.iterdir() if p.name != f"{target.name}.lock")


def test_a_good_host(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "data.bin"
    seen: list[tuple[str, int, int | None]] = []
    with serving(Host(CONTENT)) as host:
        receipt = download(Wanted(host.url), target, QUICK, lambda task, done, total: seen.append((task, done, total)))
        assert receipt == Receipt(hashlib.sha256(CONTENT).hexdigest(), len(CONTENT))
        assert fetch(host, target) is None  # it is there
        assert host.asked == ["all"]
    assert target.read_bytes() == CONTENT
    assert leftovers(target) == ["data.bin"]
    assert ("download data.bin", len(CONTENT), len(CONTENT)) in seen


def test_resumes_where_a_truncating_host_stopped(tmp_path: Path) -> None:
    target = tmp_path / "data.bin"
    with serving(Host(CONTENT, cuts=[100_000, 50_000])) as host:
        assert fetch(host, target) is not None
        assert host.asked == ["all", "bytes=100000-299999", "bytes=150000-299999"]
        assert host.served == len(CONTENT)  # no byte was fetched twice
    assert target.read_bytes() == CONTENT


def test_resumes_in_the_next_run(tmp_path: Path) -> None:
    target = tmp_path / "data.bin"
    with serving(Host(CONTENT, cuts=[100_000], statuses=[200, 503, 503, 503])) as host:
        with pytest.raises(DownloadError, match="answered 503, 3 times in a row; what arrived is kept"):
            fetch(host, target)
        assert leftovers(target) == ["data.bin.part", "data.bin.part.json"]
        fetch(host, target)
        assert host.served == len(CONTENT)
    assert target.read_bytes() == CONTENT
    assert leftovers(target) == ["data.bin"]


def test_an_interrupt_leaves_a_part_that_resumes(tmp_path: Path) -> None:
    target, content = tmp_path / "data.bin", CONTENT * 10

    def interrupt(task: str, done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with serving(Host(content)) as host:
        with pytest.raises(KeyboardInterrupt):
            download(Wanted(host.url), target, QUICK, interrupt)
        assert leftovers(target) == ["data.bin.part", "data.bin.part.json"]
        kept = (tmp_path / "data.bin.part").stat().st_size
        assert kept > 0
        fetch(host, target)
        assert host.asked == ["all", f"bytes={kept}-{len(content) - 1}"]
    assert target.read_bytes() == content


def test_a_host_that_stalls(tmp_path: Path) -> None:
    with serving(Host(CONTENT, stalls=[1000])) as host:
        assert fetch(host, tmp_path / "a") is not None
        assert host.asked == ["all", "bytes=1000-299999"]
    with serving(Host(CONTENT, stalls=[0, 0, 0])) as host:
        with pytest.raises(DownloadError, match="the server stopped sending, 3 times in a row"):
            fetch(host, tmp_path / "b")
        assert not (tmp_path / "b").exists()


def test_a_host_that_promises_more_than_it_sends(tmp_path: Path) -> None:
    expected = r"the server sent 300,000 of 300,500 bytes, 3 times"
    with serving(Host(CONTENT, lie=500, ranges=False)) as host, pytest.raises(DownloadError, match=expected):
        fetch(host, tmp_path / "data.bin")
    expected = r"no bytes after the first 300,000|300,500 bytes"
    with serving(Host(CONTENT, lie=500)) as host, pytest.raises(DownloadError, match=expected):
        fetch(host, tmp_path / "data.bin")
    assert not (tmp_path / "data.bin").exists()


def test_a_host_that_promises_less_than_it_has(tmp_path: Path) -> None:
    array = np.arange(1000, dtype=np.uint8).reshape(100, 10)
    content = struct.pack("<II", 100, 10) + array.tobytes()
    with serving(Host(content, lie=-100)) as host:
        with pytest.raises(DownloadError, match=r"damaged.*908 bytes instead of 1,008"):
            fetch(host, tmp_path / "x.u8bin", check=lambda path: locate_xbin(path, "uint8") and None)
        with pytest.raises(DownloadError, match="sha256"):
            fetch(host, tmp_path / "x.u8bin", sha256=hashlib.sha256(content).hexdigest())
        with pytest.raises(DownloadError, match="has 908 bytes, the manifest says 1,008"):
            fetch(host, tmp_path / "x.u8bin", size=1008)
    assert leftovers(tmp_path / "x.u8bin") == []


def test_a_host_that_ignores_ranges(tmp_path: Path) -> None:
    with serving(Host(CONTENT, ranges=False, cuts=[100_000])) as host:
        fetch(host, tmp_path / "data.bin")
        assert host.asked == ["all", "bytes=100000-299999"]
    assert (tmp_path / "data.bin").read_bytes() == CONTENT


@pytest.mark.parametrize("ignore_if_range", [False, True])
def test_a_file_that_changes_between_tries(tmp_path: Path, ignore_if_range: bool) -> None:
    other = CONTENT[::-1]

    def change(host: Host) -> None:
        host.content = other

    host = Host(CONTENT, cuts=[100_000], after=change, ignore_if_range=ignore_if_range)
    with serving(host):
        fetch(host, tmp_path / "data.bin")
    assert (tmp_path / "data.bin").read_bytes() == other


def test_a_file_that_changes_where_only_the_host_can_tell(tmp_path: Path) -> None:
    """A part need not repeat the date: the host must be asked for a part of the old file only, by If-Range."""
    first, second = "Sat, 01 Aug 2026 10:00:00 GMT", "Sun, 02 Aug 2026 10:00:00 GMT"
    other = CONTENT[::-1]

    def change(host: Host) -> None:
        host.content, host.modified = other, second

    host = Host(CONTENT, cuts=[100_000], validators=False, modified=first, after=change)
    with serving(host):
        fetch(host, tmp_path / "data.bin")
    assert (tmp_path / "data.bin").read_bytes() == other
    assert host.asked == ["all", "bytes=100000-299999"]
    assert host.conditions == [None, first]


def test_a_file_that_did_not_change_goes_on_by_its_date(tmp_path: Path) -> None:
    date = "Sat, 01 Aug 2026 10:00:00 GMT"
    with serving(Host(CONTENT, cuts=[100_000], validators=False, modified=date)) as host:
        fetch(host, tmp_path / "data.bin")
        assert host.served == len(CONTENT)
    assert (tmp_path / "data.bin").read_bytes() == CONTENT


@pytest.mark.parametrize(("shift", "requests"), [(-1000, 3), (1000, 3), (-99_999, 3), (-100_000, 2)])
def test_a_part_that_begins_elsewhere_is_not_mixed_in(tmp_path: Path, shift: int, requests: int) -> None:
    with serving(Host(CONTENT, cuts=[100_000], shift=shift)) as host:
        fetch(host, tmp_path / "data.bin")
        # a part from the very start is a start; any other makes the download begin again
        assert host.asked == ["all", "bytes=100000-299999", "all"][:requests]
    assert (tmp_path / "data.bin").read_bytes() == CONTENT


@pytest.mark.parametrize(("shift", "reason"), [(4, "another part than asked for"), (8, "no header of 8 bytes")])
def test_a_header_that_begins_elsewhere_is_refused(tmp_path: Path, shift: int, reason: str) -> None:
    content = struct.pack("<II", 100, 100) * 5001
    with serving(Host(content, shift=shift)) as host, pytest.raises(DownloadError, match=f"{reason}, 3 times"):
        fetch(host, tmp_path / "base.fbin", rows=10, dtype="float32")
    assert not (tmp_path / "base.fbin").exists()


def test_a_file_that_changes_its_length(tmp_path: Path) -> None:
    def change(host: Host) -> None:
        host.content = CONTENT[:50_000]

    with serving(Host(CONTENT, cuts=[100_000], after=change, validators=True, etag='"same"')) as host:
        fetch(host, tmp_path / "data.bin")
    assert (tmp_path / "data.bin").read_bytes() == CONTENT[:50_000]


def test_without_a_validator_only_a_hash_allows_to_resume(tmp_path: Path) -> None:
    with serving(Host(CONTENT, cuts=[100_000], validators=False)) as host:
        fetch(host, tmp_path / "a")
        assert host.asked == ["all", "all"]
    sha256 = hashlib.sha256(CONTENT).hexdigest()
    with serving(Host(CONTENT, cuts=[100_000], validators=False)) as host:
        fetch(host, tmp_path / "b", sha256=sha256)
        assert host.asked == ["all", "bytes=100000-299999"]

    def change(host: Host) -> None:
        host.content = CONTENT if host.content != CONTENT else host.content

    wrong = bytes(100_000) + CONTENT[100_000:]
    with serving(Host(wrong, cuts=[100_000], validators=False, after=change)) as host:
        fetch(host, tmp_path / "c", sha256=sha256)  # mixed at first; the hash tells, and all is fetched again
        assert host.asked == ["all", "bytes=100000-299999", "all"]
    assert (tmp_path / "c").read_bytes() == CONTENT


@pytest.mark.parametrize(("status", "advice"), [(404, "no such file"), (403, "refuses"), (418, "check the address")])
def test_a_refusal_is_told_at_once(tmp_path: Path, status: int, advice: str) -> None:
    with serving(Host(CONTENT, statuses=[status])) as host:
        with pytest.raises(DownloadError, match=f"{host.port}/files/data.bin.*answered {status}: .*{advice}"):
            fetch(host, tmp_path / "data.bin")
        assert len(host.asked) == 1
    assert leftovers(tmp_path / "data.bin") == []


def test_a_host_in_trouble_is_asked_again(tmp_path: Path) -> None:
    with serving(Host(CONTENT, statuses=[500, 503])) as host:
        assert fetch(host, tmp_path / "data.bin") is not None


def test_nobody_answers(tmp_path: Path) -> None:
    with serving(Host(b"")) as host:
        pass
    with pytest.raises(DownloadError, match=r"no connection \(Connection refused\), 3 times in a row"):
        fetch(host, tmp_path / "data.bin")


def test_a_reply_without_a_length(tmp_path: Path) -> None:
    with serving(Host(CONTENT, chunked=True)) as host:
        fetch(host, tmp_path / "data.bin")
        with pytest.raises(DownloadError, match="more than the expected 299,999 bytes"):
            fetch(host, tmp_path / "b", size=299_999)
        with pytest.raises(DownloadError, match="sent 300,000 of 300,001"):
            fetch(host, tmp_path / "c", size=300_001)
    assert (tmp_path / "data.bin").read_bytes() == CONTENT


def test_an_empty_file(tmp_path: Path) -> None:
    with serving(Host(b"")) as host:
        fetch(host, tmp_path / "data.bin")
    assert (tmp_path / "data.bin").read_bytes() == b""


def test_a_wrong_hash(tmp_path: Path) -> None:
    with serving(Host(CONTENT)) as host:
        with pytest.raises(DownloadError, match=f"sha256 is .* instead of {'0' * 64}"):
            fetch(host, tmp_path / "data.bin", sha256="0" * 64)
        assert len(host.asked) == 1
    assert leftovers(tmp_path / "data.bin") == []


def rows_of(count: int) -> tuple[np.ndarray, bytes]:
    array = np.random.default_rng(2).standard_normal((count, 100)).astype(np.float32)
    return array, struct.pack("<II", count, 100) + array.tobytes()


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("validators", [True, False])
def test_a_prefix_fetches_no_more_than_it_needs(tmp_path: Path, ranges: bool, validators: bool) -> None:
    array, content = rows_of(20_000)
    target = tmp_path / "base.fbin"
    with serving(Host(content, ranges=ranges, validators=validators)) as host:
        receipt = fetch(host, target, rows=50, dtype="float32")
        if ranges:
            assert host.served == 8 + 8 + 50 * 400
        else:
            assert host.served < len(content)
    ref = locate(target)
    assert ref.shape == (50, 100)
    np.testing.assert_array_equal(ref.open(), array[:50])
    assert receipt is not None
    assert receipt.rows_at_source == 20_000


def test_a_prefix_resumes_and_may_be_everything(tmp_path: Path) -> None:
    array, content = rows_of(100)
    with serving(Host(content, cuts=[8, 5000])) as host:
        fetch(host, tmp_path / "base.fbin", rows=100, dtype="float32", sha256=hashlib.sha256(content).hexdigest())
        assert host.asked == ["bytes=0-7", "bytes=0-40007", "bytes=5000-40007"]
    np.testing.assert_array_equal(locate(tmp_path / "base.fbin", Reading(rows=100)).open(), array)


def test_a_prefix_of_a_file_that_changes(tmp_path: Path) -> None:
    _, content = rows_of(100)
    other = struct.pack("<II", 50, 100) + bytes(50 * 400)

    def change(host: Host) -> None:
        host.content = other

    with serving(Host(content, after=change)) as host:
        fetch(host, tmp_path / "base.fbin", rows=10, dtype="float32")
    assert locate(tmp_path / "base.fbin").open().max() == 0


def test_a_prefix_of_a_file_that_is_no_array(tmp_path: Path) -> None:
    _, content = rows_of(100)
    expected = r"100 rows of 100 float32, which are 40,008 bytes.*has 40,007"
    with serving(Host(content[:-1])) as host, pytest.raises(DownloadError, match=expected):
        fetch(host, tmp_path / "base.fbin", rows=10, dtype="float32")
    with serving(Host(content)) as host, pytest.raises(DownloadError, match="has 100 rows, 101 are asked for"):
        fetch(host, tmp_path / "base.fbin", rows=101, dtype="float32")
    with serving(Host(b"")) as host, pytest.raises(DownloadError, match="no header of 8 bytes"):
        fetch(host, tmp_path / "base.fbin", rows=10, dtype="float32")
    with serving(Host(b"abc")) as host, pytest.raises(DownloadError, match="3 bytes of a header of 8"):
        fetch(host, tmp_path / "base.fbin", rows=10, dtype="float32")


def test_a_disk_too_small_is_told_before_the_download(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(1000, 0, 1000))
    with serving(Host(CONTENT * 20)) as host:
        with pytest.raises(StorageError, match="needs 6,000,000 bytes and the disk has 1,000 left: free some space"):
            fetch(host, tmp_path / "data.bin")
        assert host.served < len(CONTENT) * 20


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with serving(Host(CONTENT)) as host, pytest.raises(StorageError, match="cannot be written"):
        fetch(host, tmp_path / "data.bin")


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with serving(Host(CONTENT)) as host, pytest.raises(StorageError, match="cannot be written"):
        fetch(host, tmp_path / "file" / "data.bin")


def _fetch_in_process(url: str, target: Path) -> None:
    download(Wanted(url), target, QUICK)


def test_two_processes_fetch_one_file_once(tmp_path: Path) -> None:
    target = tmp_path / "data.bin"
    context = multiprocessing.get_context("spawn")
    with serving(Host(CONTENT)) as host:
        both = [context.Process(target=_fetch_in_process, args=(host.url, target)) for _ in range(2)]
        for process in both:
            process.start()
        for process in both:
            process.join(30)
        assert [process.exitcode for process in both] == [0, 0]
        assert host.asked == ["all"]
    assert target.read_bytes() == CONTENT
