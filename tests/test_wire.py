"""The wire: short lines, capped, and nothing that a hostile worker sends gets further than an error."""

from __future__ import annotations

import os
import socket
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ann_bench.wire import MESSAGE_CAP, Channel, WireClosed, WireError, WireTimeout

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture
def ends():
    ours, theirs = socket.socketpair()
    yield Channel(ours), theirs
    ours.close()
    theirs.close()


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=9), plain, max_size=5))
def test_messages_arrive_as_they_were_sent(fields) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        message = {**fields, "type": "x"}
        Channel(ours).send(message)
        assert Channel(theirs).receive(1) == message


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_garbage_is_an_error_and_nothing_else(data: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(data + b"\n")
        theirs.close()
        channel = Channel(ours)
        try:
            while True:
                assert isinstance(channel.receive(1)["type"], str)
        except (WireError, WireClosed):
            pass


@pytest.mark.parametrize("line", [b"[1]", b"1", b'{"a": 1}', b'{"type": 3}', b"[" * 60000, b"\xff", b'{"type": "x"'])
def test_what_is_no_message(ends, line: bytes) -> None:
    channel, theirs = ends
    theirs.sendall(line + b"\n")
    with pytest.raises(WireError):
        channel.receive(1)


def test_an_endless_line_is_cut_off(ends) -> None:
    channel, theirs = ends

    def flood() -> None:
        try:
            while True:
                theirs.sendall(b"x" * 65536)
        except OSError:
            pass

    thread = threading.Thread(target=flood)
    thread.start()
    with pytest.raises(WireError, match="longer than"):
        channel.receive(5)
    channel.close()
    theirs.close()
    thread.join()


def test_a_message_too_long_is_not_sent(ends) -> None:
    with pytest.raises(WireError):
        ends[0].send({"type": "x", "text": "y" * MESSAGE_CAP})


def test_two_messages_in_one_packet_are_two(ends) -> None:
    channel, theirs = ends
    theirs.sendall(b'{"type": "a"}\n{"type": "b"}\n')
    assert [channel.receive(1)["type"] for _ in range(2)] == ["a", "b"]
    assert not channel.unread()


def test_what_nobody_asked_for_is_seen(ends) -> None:
    channel, theirs = ends
    assert not channel.unread()
    theirs.sendall(b"x")
    assert channel.unread()


def test_time_runs_out(ends) -> None:
    start = time.monotonic()
    with pytest.raises(WireTimeout):
        ends[0].receive(0.05)
    assert time.monotonic() - start < 2


def test_a_closed_end_is_said(ends) -> None:
    channel, theirs = ends
    theirs.close()
    with pytest.raises(WireClosed):
        channel.receive(1)


def test_the_end_of_the_process_wakes_the_reader() -> None:
    """A child of the worker may hold the socket open after the worker is gone."""
    ours, theirs = socket.socketpair()
    read_end, write_end = os.pipe()
    with ours, theirs:
        os.write(write_end, b"exit")
        with pytest.raises(WireClosed, match="process ended"):
            Channel(ours, read_end).receive(5)
    os.close(read_end)
    os.close(write_end)


def test_what_was_posted_arrives_whole_and_in_order(ends) -> None:
    """Nobody reads while more is posted than the socket holds: `post` does not wait, `collect` sends the rest."""
    channel, theirs = ends
    lines = [b'{"type":"ask","seq":%d}\n' % number for number in range(30_000)]
    for line in lines:
        channel.post(line)
    got = bytearray()
    while len(got) < sum(map(len, lines)):
        got += theirs.recv(1 << 20)
        assert channel.collect(0) == []
    assert bytes(got) == b"".join(lines)


def test_all_that_has_come_is_collected(ends) -> None:
    channel, theirs = ends
    assert channel.collect(0.001) == []
    theirs.sendall(b'{"type":"a"}\n{"type":"b"}\n{"ty')
    assert [message["type"] for message in channel.collect(5)] == ["a", "b"]
    theirs.sendall(b'pe":"c"}\n')
    assert [message["type"] for message in channel.collect(5)] == ["c"]
    theirs.sendall(b"[1]\n")
    with pytest.raises(WireError):
        channel.collect(5)
    theirs.close()
    with pytest.raises(WireClosed):
        channel.collect(5)


def test_the_end_of_the_process_ends_collecting() -> None:
    ours, theirs = socket.socketpair()
    read_end, write_end = os.pipe()
    with ours, theirs:
        os.write(write_end, b"exit")
        for wait in (5, 0.001):
            with pytest.raises(WireClosed, match="process ended"):
                Channel(ours, read_end).collect(wait)
    os.close(read_end)
    os.close(write_end)
