"""Batches in several threads: shares of the motions, and scratch memory for each thread.

Only kernels that release the interpreter's lock (`batch_kernel`) run at once.
"""
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
import threading

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.robot import HodynError


class ThreadScratch(threading.local):
    """Scratch memory that each thread which uses it makes for itself.

    Attributes
    ----------
    array : array
        That of the calling thread.

    """

    def __init__(self, make: Callable[[], NDArray[np.float64]]) -> None:
        self.array = make()


def in_threads(
    compute: Callable[[slice], None], motions: int, threads: int, together: int,
) -> None:
    """Have each of some threads compute its part of a batch.

    Parameters
    ----------
    compute : callable
        Takes a part of the batch; what it raises is raised here.
    motions : int
        Of the batch.
    threads : int
        How many; 1 is the caller itself.
    together : int
        Motions that a kernel computes at once. Parts begin at multiples, so that the same motions
        are together however many threads there are: the result is the same to the bit.

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
    """Raise HodynError for what is no number of threads."""
    if isinstance(threads, bool) or not isinstance(threads, (int, np.integer)) or threads < 1:
        raise HodynError(f'threads must be an integer of at least 1, got {threads!r}')
