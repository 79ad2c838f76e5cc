"""The limit of BLAS threads while fits run (skrank/_fit/threads.py)."""

import os
import subprocess
import sys
from pathlib import Path
from threading import Barrier, Thread

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from skrank._fit.threads import one_blas_thread

np.ones((2, 2)) @ np.ones((2, 2))  # loads BLAS


def printed(code):
    """Return what a process of its own prints: forks would take pytest with them."""
    run = subprocess.run(
        [sys.executable, "-P", "-c", code],
        capture_output=True,
        text=True,
        timeout=30,
        cwd=Path(__file__).parent,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def blas_threads():
    return {
        pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"
    }


@pytest.fixture(autouse=True)
def three_threads():
    with threadpool_limits(limits=3, user_api="blas"):
        if blas_threads() != {3}:
            pytest.skip("this BLAS cannot be told its number of threads")
        yield


def test_there_is_one_thread_inside_and_what_there_was_outside():
    with one_blas_thread(), one_blas_thread():
        assert blas_threads() == {1}
    assert blas_threads() == {3}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_child_forked_inside_has_no_limit_and_begins_anew():
    code = """
import os
import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits
from skrank._fit.threads import one_blas_thread

np.ones((2, 2)) @ np.ones((2, 2))

def threads():
    return {p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"}

threadpool_limits(2)
with one_blas_thread():
    child = os.fork()
seen = [threads()]
with one_blas_thread():
    seen.append(threads())
seen.append(threads())
if child == 0:
    os._exit(0 if seen == [{2}, {1}, {2}] else 3)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert seen == [{2}, {1}, {2}], seen
print("done")
"""
    assert printed(code) == "done\n"


def test_another_thread_has_the_limit_too():
    recorded = []

    def inside():
        with one_blas_thread():
            recorded.append(blas_threads())
        recorded.append(blas_threads())

    thread = Thread(target=inside)
    thread.start()
    thread.join()
    assert recorded == [{1}, {3}]


def test_an_error_inside_lifts_the_limit():
    with pytest.raises(KeyError, match="inside"), one_blas_thread():
        raise KeyError("inside")
    assert blas_threads() == {3}


def test_fits_that_overlap_lift_the_limit_with_the_last():
    both_inside, first_out = Barrier(2, timeout=60), Barrier(2, timeout=60)
    recorded = {}

    def first():
        with one_blas_thread():
            both_inside.wait()
        recorded["first out"] = blas_threads()
        first_out.wait()

    def second():
        with one_blas_thread():
            both_inside.wait()
            first_out.wait()

    threads = [Thread(target=first), Thread(target=second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert recorded["first out"] == {1}
    assert blas_threads() == {3}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_child_forked_while_a_thread_fits_fits_as_well():
    """In a process of its own, since threads and forks of pytest's would be in the way.

    The other thread enters and leaves the limit all the time, so that it often holds
    the lock when a child is made.
    """
    code = """
import os, threading, warnings
import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits
from skrank._fit.threads import one_blas_thread

warnings.simplefilter("ignore")  # Python's own, of forks beside threads
np.ones((2, 2)) @ np.ones((2, 2))

def threads():
    return {p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"}

threadpool_limits(2)
going = True

def enter_and_leave():
    while going:
        with one_blas_thread():
            pass

other = threading.Thread(target=enter_and_leave)
other.start()
for _ in range(8):
    child = os.fork()
    if child == 0:
        outside = threads()
        with one_blas_thread():
            inside = threads()
        os._exit(0 if inside == {1} and outside == threads() == {2} else 3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
going = False
other.join()
print("done")
"""
    assert printed(code) == "done\n"
