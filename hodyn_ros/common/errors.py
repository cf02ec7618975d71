"""Errors that a user can fix, checks of arguments, and how to install extras."""

from collections.abc import Iterable, Sequence
import difflib
import reprlib

# A message has at most _LONGEST characters; of a longer one the last _END are kept, which may say
# what to do.
_LONGEST, _END = 2000, 500


class HodynError(ValueError):
    """Wrong input: a file, a message, an argument, a parameter.

    Its text says what is wrong, where, and what to do, in one line of limited length. The entry
    points (command line, node, planning process) show it; any other error that reaches them is a
    bug in this package and is shown as a bug.
    """

    def __init__(self, message: object = '') -> None:
        line = ' '.join(str(message).split())
        if len(line) > _LONGEST:
            line = f'{line[:_LONGEST - _END - 3]} … {line[-_END:]}'
        super().__init__(line)


def did_you_mean(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Return the end of a message, with the most similar known name; empty without one."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return f'; did you mean {near[0]!r}?' if near else ''


def check_choice(value: object, name: str, choices: Sequence[str]) -> None:
    """Raise HodynError unless the value of an argument is one of its choices."""
    if not isinstance(value, str) or value not in choices:
        raise HodynError(
            f'{name} {reprlib.repr(value)}: expected one of {", ".join(map(repr, choices))}')


def check_names(names: object, name: str) -> tuple[str, ...]:
    """Return the names in an argument; raise HodynError unless it is a list of strings."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise HodynError(
            f'{name} {reprlib.repr(names)}: expected a list of names'
            + (f', such as [{names!r:.80}]' if isinstance(names, str) else ''))
    found = tuple(names)
    if wrong := [entry for entry in found if not isinstance(entry, str)]:
        raise HodynError(f'{name}: expected names, got {reprlib.repr(wrong[0])}')
    return found


class NamesError(HodynError):
    """The names in a message do not include all joints of the robot."""


class NoKnownJointError(NamesError):
    """A message has none of the robot's joints, for example a gripper's message."""


class OtherArmError(NoKnownJointError):
    """A message names all joints, but with the prefix of another arm or robot model."""


class MissingJointsError(NamesError):
    """A message lacks some of the robot's joints, but not all."""

    def __init__(self, missing: str, advice: str = '') -> None:
        super().__init__(f'{missing}; {advice}' if advice else missing)
        self.missing = missing  #: Which joints are missing, without the advice


def how_to_install(extra: str) -> str:
    """Return the commands that install an extra: from the package index, and from a clone."""
    return f"pip install 'hodyn_ros[{extra}]', or pip install '.[{extra}]' in a clone"
