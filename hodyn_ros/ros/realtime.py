"""Real time as far as Python goes; what is not permitted is said and left."""
from collections.abc import Callable, Sequence
import ctypes
import gc
import os
import sys

MCL_CURRENT, MCL_FUTURE = 1, 2


SWITCH_INTERVAL = 1e-4


def settle() -> None:
    """Let neither the garbage collector nor another thread hold a cycle up for milliseconds.

    What exists now is taken out of collection; the interpreter goes from thread to thread sooner.
    """
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(SWITCH_INTERVAL)


def apply(
    warn: Callable[[str], object], *, priority: int, lock_memory: bool, cpus: Sequence[int],
) -> None:
    """Ask the system for what the parameters want; each refusal is one warning.

    Parameters
    ----------
    warn : callable
        Takes a line for the log.
    priority : int
        Of SCHED_FIFO, 1 to 99; 0 leaves the scheduler alone.
    lock_memory : bool
        Keep all memory in RAM.
    cpus : sequence of int
        Processors to stay on; those below 0 are left out, and none leaves the choice open.

    """
    if priority > 0:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
        except OSError as error:
            warn(f'realtime_priority {priority}: not permitted ({error.strerror}); run as a user '
                 'with an rtprio limit (/etc/security/limits.conf) or CAP_SYS_NICE')
    if lock_memory and ctypes.CDLL(None, use_errno=True).mlockall(MCL_CURRENT | MCL_FUTURE) != 0:
        warn(f'lock_memory: not permitted ({os.strerror(ctypes.get_errno())}); raise the memlock '
             'limit (/etc/security/limits.conf)')
    chosen = {cpu for cpu in cpus if cpu >= 0}
    if chosen:
        try:
            os.sched_setaffinity(0, chosen)
        except OSError as error:
            warn(f'cpu_affinity {sorted(chosen)}: {error.strerror}; this machine has processors '
                 f'{sorted(os.sched_getaffinity(0))}')
