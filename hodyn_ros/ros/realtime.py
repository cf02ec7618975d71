"""Real time as far as Python goes; what is not permitted is said and left."""
from collections.abc import Callable, Sequence
import ctypes
import gc
import io
import os
import resource
import struct
import sys
import threading

MCL_CURRENT, MCL_FUTURE = 1, 2
LATENCY = '/dev/cpu_dma_latency'
PRIORITY = 60  # above what does its work at leisure, below the kernel's own threads


SWITCH_INTERVAL = 1e-4


def freeze_gc() -> None:
    """Let neither the garbage collector nor another thread hold a cycle up for milliseconds.

    What exists now is taken out of collection; the interpreter goes from thread to thread sooner.
    """
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(SWITCH_INTERVAL)


def unfreeze_gc() -> None:
    """Let what was taken out of garbage collection be collected again."""
    gc.unfreeze()


def apply(
    warn: Callable[[str], object], *, priority: int, lock_memory: bool, cpus: Sequence[int],
) -> None:
    """Ask the system for what the parameters want; each refusal is one warning.

    Parameters
    ----------
    warn : callable
        Takes a line for the log.
    priority : int
        Of SCHED_FIFO, 1 to 99; 0 leaves the scheduler alone. Of the thread that runs the cycles
        and of those of the middleware, but of no process that they start.
    lock_memory : bool
        Keep all memory in RAM.
    cpus : sequence of int
        Processors for the same threads; those below 0 are left out, and none leaves the choice
        open.

    """
    try:
        if priority > 0:
            for thread in _threads_of_cycles():
                os.sched_setscheduler(
                    thread, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(priority))
    except OSError as error:
        warn(f'realtime_priority {priority}: not permitted ({error.strerror}); run as a user '
             'with an rtprio limit (/etc/security/limits.conf) or CAP_SYS_NICE')
    if lock_memory and ctypes.CDLL(None, use_errno=True).mlockall(MCL_CURRENT | MCL_FUTURE) != 0:
        warn(f'lock_memory: not permitted ({os.strerror(ctypes.get_errno())}); raise the memlock '
             'limit (/etc/security/limits.conf)')
    chosen = {cpu for cpu in cpus if cpu >= 0}
    try:
        if chosen:
            for thread in _threads_of_cycles():
                os.sched_setaffinity(thread, chosen)
    except OSError as error:
        warn(f'cpu_affinity {sorted(chosen)}: {error.strerror}; this machine has processors '
             f'{sorted(os.sched_getaffinity(0))}')


def permitted() -> list[str]:
    """Return the parameters of a node that make it real-time as far as this user may."""
    parameters = []
    if os.geteuid() == 0 or resource.getrlimit(resource.RLIMIT_RTPRIO)[0] >= PRIORITY:
        parameters.append(f'realtime_priority:={PRIORITY}')
    if os.access(LATENCY, os.W_OK):
        parameters.append('keep_awake:=true')
    return parameters


def keep_awake(warn: Callable[[str], object]) -> Callable[[], object]:
    """Keep idle processors from sleeping, from which to wake takes long; return what ends it.

    The machine uses more power meanwhile. A refusal is one warning.
    """
    try:
        file = io.FileIO(LATENCY, 'w')  # it counts as long as it is open
        file.write(struct.pack('i', 0))
    except OSError as error:
        warn(f'keep_awake: not permitted ({error.strerror}: {LATENCY}); let the user of the node '
             'write this file, by a rule of udev say')
        return lambda: None
    return file.close


def _threads_of_cycles() -> list[int]:
    """Return the threads of this process but those of Python beside the main one."""
    beside = {
        thread.native_id for thread in threading.enumerate()
        if thread is not threading.main_thread()}
    return [int(task) for task in os.listdir('/proc/self/task') if int(task) not in beside]
