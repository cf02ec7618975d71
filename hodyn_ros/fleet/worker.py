"""The process of a worker: it is sent a task and then file after file, and sends outcomes back."""
import os

# Before numpy and numba are imported: workers share the cores, and have one thread each.
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
os.environ.setdefault('NUMBA_NUM_THREADS', '1')

from multiprocessing.connection import Connection
import signal
import sys
from typing import Any
import warnings

from hodyn_ros.fleet.outcome import Task, perform, prepare


def serve(connection: Connection) -> None:
    """Do file after file until the other end is gone."""
    # Ctrl-C of the terminal is for the one that hands out the files; told to end, what is
    # unfinished is undone.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end)
    warnings.simplefilter('ignore')
    try:
        task: Task = connection.recv()
        prepare(task)
        connection.send(None)
        while True:
            connection.send(perform(task, connection.recv()))
    except (EOFError, OSError):
        return


def _end(number: int, _: Any) -> None:
    raise SystemExit(128 + number)


if __name__ == '__main__':
    serve(Connection(int(sys.argv[1])))
