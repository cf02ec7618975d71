"""Real-time settings of the process. Best effort: refused settings are logged and skipped."""
from collections.abc import Callable, Sequence
import ctypes
import gc
import inspect
import io
import os
import resource
import struct
import sys
import threading

MCL_CURRENT, MCL_FUTURE = 1, 2
LATENCY = '/dev/cpu_dma_latency'
# SCHED_FIFO priority above ordinary processes and interrupt threads (50), below the most urgent
# kernel threads (99).
PRIORITY = 60
# Time after which the interpreter switches to another waiting thread, s.
SWITCH_INTERVAL = 1e-4


def freeze_gc() -> None:
    """Keep the garbage collector and other threads from delaying a cycle by milliseconds.

    Existing objects are taken out of collection, and the interpreter switches threads sooner.
    """
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(SWITCH_INTERVAL)


def warm_up_log() -> None:
    """Do the slow part of a first log line now, so that this line delays no cycle.

    A logger of rclpy finds its caller's file by `inspect`, which looks up the files of all modules
    the first time. That takes tens of milliseconds.
    """
    unknown = compile('', 'of no module', 'exec')  # a known file would end the lookup early
    inspect.getmodule(unknown)


def unfreeze_gc() -> None:
    """Let the garbage collector collect again the objects that `freeze_gc` took out."""
    gc.unfreeze()


def apply(
    warn: Callable[[str], object], *, priority: int, lock_memory: bool, cpus: Sequence[int],
) -> None:
    """Apply the real-time parameters; `warn` gets one line for each that the system refuses.

    `priority` is the SCHED_FIFO priority, 1 to 99, of the thread that runs the cycles and of the
    middleware's threads, but not of processes that they start; 0 keeps the scheduler. `cpus` are
    processors for the same threads; values below 0 are ignored, and an empty choice changes
    nothing. `lock_memory` keeps all memory in RAM.
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
        warn(f'cpu_affinity {sorted(chosen)}: {error.strerror}; this process may use processors '
             f'{sorted(os.sched_getaffinity(0))}')


def permitted() -> list[str]:
    """Return the real-time parameters of a node that this user is permitted to set."""
    parameters = []
    if os.geteuid() == 0 or resource.getrlimit(resource.RLIMIT_RTPRIO)[0] >= PRIORITY:
        parameters.append(f'realtime_priority:={PRIORITY}')
    if os.access(LATENCY, os.W_OK):
        parameters.append('keep_awake:=true')
    return parameters


def keep_awake(warn: Callable[[str], object]) -> Callable[[], object]:
    """Keep idle processors from sleeping, as waking up is slow; return the function that ends it.

    The machine uses more power meanwhile. A refusal gives one warning.
    """
    try:
        file = io.FileIO(LATENCY, 'w')  # it takes effect while it is open
        file.write(struct.pack('i', 0))
    except OSError as error:
        warn(f'keep_awake: not permitted ({error.strerror}: {LATENCY}); let the user of the node '
             'write this file, for example by a udev rule')
        return lambda: None
    return file.close


def _threads_of_cycles() -> list[int]:
    """Return the threads of this process except those that Python started."""
    others = {
        thread.native_id for thread in threading.enumerate()
        if thread is not threading.main_thread()}
    return [int(task) for task in os.listdir('/proc/self/task') if int(task) not in others]
