"""Rivals run in processes of their own: what hangs, fails or eats memory is a row, and the next one has its turn."""

import os
import time

import numpy as np

from benchmarks.apart import alone, one_by_one


def work(item):
    if item == "hang":
        time.sleep(60)
    if item == "fail":
        message = "no such gene"
        raise ValueError(message)
    if item == "eat":
        np.ones(1 << 36)
    if item == "die":
        raise SystemExit(3)
    return os.getpid() if item == "who" else item * 2


def test_every_item_gets_its_row():
    items = [1, "hang", "fail", "eat", "die", 4]
    ended = dict(one_by_one(work, items, seconds=1.0))
    assert list(ended) == items
    hows = [each.how for each in ended.values()]
    assert hows == [
        "done",
        "time-out",
        "failed: ValueError: no such gene",
        "out of memory",
        "failed: the process died",
        "done",
    ]
    assert (ended[1].value, ended["hang"].value, ended[4].value) == (2, None, 8)
    assert 1.0 <= ended["hang"].seconds < 10.0
    assert ended[1].megabytes > 1


def test_items_that_succeed_share_a_process():
    processes = {ended.value for _, ended in one_by_one(work, ["who"] * 6, seconds=30.0)}
    assert len(processes) == 1


def test_memory_is_capped():
    assert alone(work, 3, seconds=30.0, memory=4 << 30).value == 6
    assert alone(len, "x" * 10, seconds=30.0).value == 10
