"""Turns of pips that share a cache."""

from __future__ import annotations

import threading

import pytest

from ann_bench.environments.downloads import Downloads


def test_a_turn_ends_when_all_is_downloaded() -> None:
    downloads, second = Downloads(), threading.Event()

    def wait() -> None:
        with downloads.turn():
            second.set()

    with downloads.turn() as said:
        thread = threading.Thread(target=wait)
        thread.start()
        said("Collecting tiny-lib")
        assert not second.wait(0.05)
        said("Installing collected packages: tiny-lib")
        assert second.wait(10)
        said("Installing collected packages: and once more")
    thread.join()


def test_a_turn_that_fails_ends_too() -> None:
    downloads = Downloads()
    for line in ("ERROR: nothing", "Installing collected packages: x"):
        with pytest.raises(RuntimeError), downloads.turn() as said:
            said(line)
            raise RuntimeError
    with downloads.turn():
        pass
