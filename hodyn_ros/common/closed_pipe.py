"""How a command ends if the reader of its output, such as ``| head``, has closed the pipe."""
import os

PIPE_CLOSED = 141
"""Exit code of a command that SIGPIPE ended, as in shells."""
_STDOUT = 1  # file descriptor


def discard_output() -> int:
    """Discard unprinted output, and return the exit code; call it on BrokenPipeError."""
    # Otherwise the interpreter's last flush would also fail.
    os.dup2(os.open(os.devnull, os.O_WRONLY), _STDOUT)
    return PIPE_CLOSED
