"""Finds a robot's joints in messages; the error about one message also depends on the others."""
from collections.abc import Iterable, Sequence
from typing import Protocol

from hodyn_ros.common.arrays import Indices
from hodyn_ros.common.errors import (
    HodynError,
    MissingJointsError,
    NamesError,
    NoKnownJointError,
    OtherArmError,
)

MERGE = ('merge these into one topic first, for example by joint_state_publisher with its '
         'parameter source_list')
TOGETHER = 'the others come in other messages: let the driver send all joints in each message'
# Largest number of lists of names that are kept: a topic may have any number of different ones.
_MOST = 64


class JointFinder(Protocol):
    """Finds a robot's joints in lists of names, as `robot.joint_names.JointNames` does."""

    def indices(self, names: Sequence[str]) -> Indices:
        """Return each joint's index in a list of names, in the robot's order.

        Raises HodynError if joints are missing.
        """


class TopicNames:
    """Finds joints as `finder` does, and explains failures by all messages so far.

    After a message with some of the joints, the error about another arm's message only names that
    arm's joints. After a message with all joints, the error about missing joints no longer advises
    to lock them. If only several messages together have all joints, the advice is to merge them.
    """

    def __init__(self, finder: JointFinder) -> None:
        self._finder = finder
        self._known: dict[tuple[str, ...], Indices | HodynError] = {}
        self._parts: dict[tuple[str, ...], None] = {}  # lists that lack joints, in order
        self._others: dict[tuple[str, ...], None] = {}  # lists of other arms, in order
        self._of_others: HodynError | None = None  # about all these lists together
        self._is_found = self._are_whole = False
        self._said: dict[str, tuple[str, ...]] = {}

    def indices(self, names: Sequence[str]) -> Indices:
        """Return each joint's index in the names of a message; raise the finder's errors."""
        key = tuple(names)
        found = self._known.get(key)
        if found is None:
            found = self._find(key)
            if len(self._known) < _MOST:
                self._known[key] = found
        if isinstance(found, HodynError):
            error = self._explained(key, found)
            if len(self._said) < _MOST:
                self._said[str(error)] = key
            # The error is kept: without this, each raise would lengthen its traceback.
            raise error.with_traceback(None) from None
        return found

    def latest(self, said: str) -> str:
        """Return the text that an earlier error has by now: later messages may have changed it."""
        error = self._known.get(self._said.get(said, ()))
        return str(self._explained(self._said[said], error)) if isinstance(
            error, HodynError) else said

    def _find(self, names: tuple[str, ...]) -> Indices | HodynError:
        try:
            found = self._finder.indices(names)
        except HodynError as error:
            refused = error
        else:
            self._is_found = True
            return found
        # The following is not in the `except` block, as an error raised there, about several
        # lists, would keep the handled error as its context.
        if isinstance(refused, OtherArmError):
            if len(self._others) < _MOST:
                self._others[names] = None
                self._of_others = self._together(self._others)
        elif isinstance(refused, NamesError) and names and len(self._parts) < _MOST:
            self._parts[names] = None
            self._are_whole = self._together(self._parts) is None
        return refused

    def _together(self, lists: Iterable[tuple[str, ...]]) -> HodynError | None:
        """Return the finder's error about the names in several lists together, if any."""
        try:
            self._finder.indices(list(dict.fromkeys(sum(lists, ()))))
        except HodynError as error:
            return error
        return None

    def _explained(self, names: tuple[str, ...], error: HodynError) -> HodynError:
        """Return the error about a message, as the other messages explain it."""
        if isinstance(error, OtherArmError):
            return OtherArmError(
                f'{", ".join(map(repr, names[:3]))} … are joints of another arm on this topic'
            ) if self._is_found or any(
                isinstance(self._known.get(part), MissingJointsError) for part in self._parts
            ) else self._of_others if isinstance(self._of_others, OtherArmError) else error
        if not isinstance(error, MissingJointsError):
            # An error that names the prefix of the robot's joints helps more than this one.
            others = self._of_others
            return others if isinstance(others, OtherArmError) and isinstance(
                error, NoKnownJointError) and not self._is_found else error
        if self._is_found:
            return MissingJointsError(error.missing, TOGETHER if self._are_whole else '')
        if not self._are_whole:
            return error
        parts = '; '.join(', '.join(map(repr, part[:8])) for part in list(self._parts)[:4])
        return MissingJointsError(
            f'the joints come in separate messages ({parts})', MERGE)
