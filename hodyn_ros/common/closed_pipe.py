"""The end of a command whose reader has closed the pipe, such as ``| head``."""
import os

PIPE_CLOSED = 141
"""Exit code of a command that SIGPIPE ended, as in shells."""
_STDOUT = 1  # file descriptor


def discard_output() -> int:
    """Discard unprinted output, and return the exit code; call it on BrokenPipeError."""
    # Otherwise the interpreter's last flush would also fail.
    os.dup2(os.open(os.devnull, os.O_WRONLY), _STDOUT)
    return PIPE_CLOSED
