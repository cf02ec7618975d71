"""The error that a user can fix, a special case for callers, and how to install extras."""

from collections.abc import Sequence
import reprlib

_LONGEST, _END = 2000, 500  # characters of a line, and of it those that may say what to do


class HodynError(ValueError):
    """Wrong input: a file, a message, an argument, a parameter.

    Its text says what is wrong, where, and what to do, in one line that is no longer than a person
    reads, whatever it quotes. The entry points (command line, node, planning process) show it;
    anything else that reaches them is a bug of this package and shows as one.
    """

    def __init__(self, message: object = '') -> None:
        line = ' '.join(str(message).split())
        if len(line) > _LONGEST:
            line = f'{line[:_LONGEST - _END - 3]} … {line[-_END:]}'
        super().__init__(line)


def check_choice(value: object, name: str, choices: Sequence[str]) -> None:
    """Raise HodynError for what is none of the choices of an argument."""
    if not isinstance(value, str) or value not in choices:
        raise HodynError(
            f'{name} {reprlib.repr(value)}: expected one of {", ".join(map(repr, choices))}')


class NoKnownJointError(HodynError):
    """A message names none of the robot's joints, for example a gripper's message."""


def how_to_install(extra: str) -> str:
    """Return the commands that install an extra: from the package index, and from a clone."""
    return f"pip install 'hodyn_ros[{extra}]', or pip install '.[{extra}]' in a clone"
