"""Child processes that end with their parent, even if it is killed."""
import os
import signal
import subprocess
import sys
from typing import Any

# The child runs this before slow imports. After `prctl` the system sends it the signal when the
# thread that started it ends. If the parent died before `prctl`, no signal comes: the child checks
# for that. Ctrl-C ends the child without a traceback until the module handles it.
_BEGIN = """
import ctypes, os, runpy, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
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
    """Run a module of this package, given by its full name, in a child process.

    The module finds the arguments in `sys.argv`; the options are those of `subprocess.Popen`. On
    Linux the child gets `end_signal` when the calling thread ends, even if the process of this
    thread goes on; elsewhere the child must notice this itself.
    """
    return subprocess.Popen(
        [sys.executable, '-c', _BEGIN, str(int(end_signal)), str(os.getpid()), module, *arguments],
        # The child finds the package where this process found it.
        env={**os.environ, 'PYTHONPATH': os.pathsep.join(filter(None, sys.path))}, **options)
