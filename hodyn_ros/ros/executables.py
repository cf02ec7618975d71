"""Entry points of the executables: they handle signals before slow imports."""
from collections.abc import Callable
import contextlib
import ctypes
import importlib
import os
import signal
import sys

END_WITH_PARENT = 'HODYN_END_WITH_PARENT'
"""Environment variable; if not empty, the parent's death sends this process SIGINT (Linux)."""
_SIGNAL_AT_PARENTS_DEATH = 1  # PR_SET_PDEATHSIG of prctl


def feedforward() -> int:
    """Run the node."""
    _begin()
    return _run('feedforward', 'hodyn_ros.ros.feedforward_node')


def simulated_driver() -> int:
    """Run the simulated driver."""
    _begin()
    # Imported now, while a signal simply ends the process. Later a signal raises an exception:
    # during this import, MuJoCo would seem to be missing.
    with contextlib.suppress(ImportError):
        importlib.import_module('mujoco')
    return _run('simulated_driver', 'hodyn_ros.ros.simulated_driver')


def _run(name: str, module: str) -> int:
    """Run the `main` of a module; if a package is missing, say how to install it."""
    try:
        main: Callable[[], int] = importlib.import_module(module).main
    except ModuleNotFoundError as error:
        from hodyn_ros.common.errors import how_to_install
        print(f'{name}: {error}; {how_to_install("ros,sim")}', file=sys.stderr)
        return 2
    return main()


def end_signals() -> list[signal.Signals]:
    """Return the signals for an orderly end, including SIGHUP unless nohup ignores it.

    SIGHUP comes when the terminal is closed or its connection breaks.
    """
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    return numbers


def _begin() -> None:
    # Nothing moves yet, so the process can end at once.
    for number in end_signals():
        signal.signal(number, lambda *_: os._exit(0))
    if os.environ.get(END_WITH_PARENT) and sys.platform == 'linux':
        ctypes.CDLL(None).prctl(_SIGNAL_AT_PARENTS_DEATH, signal.SIGINT)
        if os.getppid() == 1:
            os._exit(0)
