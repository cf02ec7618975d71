"""Processes that end with the one that started them, however that ends."""
import os
import signal
import subprocess
import sys
from typing import Any

# It runs before anything is imported that takes long. The system sends the signal when the thread
# ends that started the process; where the parent had died before, nobody would send it.
_BEGIN = """
import ctypes, os, runpy, sys
number, parent, module = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
if sys.platform == 'linux':
    ctypes.CDLL(None).prctl(1, number)
if os.getppid() != parent:
    sys.exit()
del sys.argv[1:4]
sys.path[:] = filter(None, sys.path)
runpy.run_module(module, run_name='__main__', alter_sys=True)
"""


def start(
    module: str, *arguments: str, end_signal: signal.Signals, **options: Any,
) -> 'subprocess.Popen[bytes]':
    """Run a module of this package as a process of its own.

    Parameters
    ----------
    module : str
        Its full name.
    arguments : str
        What it finds in `sys.argv`.
    end_signal : signal.Signals
        What it is sent when the thread that calls this ends, with its process or alone. (On
        Linux; elsewhere the process has to find out itself.)
    options
        Of `subprocess.Popen`.

    """
    return subprocess.Popen(
        [sys.executable, '-c', _BEGIN, str(int(end_signal)), str(os.getpid()), module, *arguments],
        # The package is found where this process found it.
        env={**os.environ, 'PYTHONPATH': os.pathsep.join(filter(None, sys.path))}, **options)
