"""Batches in several threads: each has a share of the motions, and its own scratch memory.

Only kernels that release the interpreter's lock (`batch_kernel`) run in parallel.
"""
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
import threading

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.robot import HodynError


class ThreadScratch(threading.local):
    """Scratch memory, made once per thread that uses it."""

    def __init__(self, make: Callable[[], Array]) -> None:
        self.array = make()  #: The memory of the calling thread


def in_threads(
    compute: Callable[[slice], None], motions: int, threads: int, together: int,
) -> None:
    """Compute a batch in several threads, one part in each; a single part in the caller's thread.

    `compute` takes a part of the batch; its exceptions are raised here. A kernel computes
    `together` motions at once, and parts begin at multiples of this number. So the same motions
    are computed together, with the same result, whatever the number of threads.
    """
    check_threads(threads)
    if threads == 1 or motions <= together:
        compute(slice(None))
        return
    share = -(-motions // (threads * together)) * together
    with ThreadPoolExecutor(threads) as pool:
        parts = [slice(begin, begin + share) for begin in range(0, motions, share)]
        for _ in pool.map(compute, parts):
            pass


def check_threads(threads: int) -> None:
    """Raise HodynError unless `threads` is an integer of at least 1."""
    if isinstance(threads, bool) or not isinstance(threads, (int, np.integer)) or threads < 1:
        raise HodynError(f'threads must be an integer of at least 1, got {threads!r}')
