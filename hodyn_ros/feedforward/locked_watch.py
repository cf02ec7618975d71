"""Compares the measured positions of locked joints with their locks."""
from collections import Counter
from collections.abc import Collection, Mapping

from hodyn_ros.robot.locked_joints import APART, FAR, elsewhere

LISTEN = 0.2
"""A start waits this long, s, for joint states that name the locked joints: a driver other than
the arm's, such as a gripper's, may publish them."""


class LockedWatch:
    """The measured positions of a robot's locked joints; times are on a monotonic clock, s.

    Parameters
    ----------
    locked : mapping of str to float
        Joints whose positions change torques, and the positions at which they are locked, rad or
        m.
    shifting : collection of str
        Locked joints of which only the acceleration changes torques, such as a lift.

    """

    def __init__(self, locked: Mapping[str, float], shifting: Collection[str] = ()) -> None:
        self._locked = dict(locked)
        # Where shifting joints stood, None if unknown, and how often they moved by `APART`.
        self._stood: dict[str, float | None] = dict.fromkeys(shifting)
        self._shifts: Counter[str] = Counter()
        self._measured: dict[str, float] = {}
        self._apart: set[str] = set()
        self._told: set[tuple[str, bool]] = set()
        self._since: float | None = None

    def take(self, measured: Mapping[str, float]) -> None:
        """Take measured positions, rad or m, by joint."""
        self._measured.update(measured)
        for joint in measured.keys() & self._stood.keys():
            stood, self._stood[joint] = self._stood[joint], measured[joint]
            if stood is not None and abs(measured[joint] - stood) <= APART:
                self._stood[joint] = stood
            elif stood is not None:
                self._shifts[joint] += 1
        for joint in measured.keys() & self._locked.keys():
            # The bound has a hysteresis, so that noise does not make the report flicker.
            bound = 0.5 * APART if joint in self._apart else APART
            (self._apart.add if self._distance(joint) > bound else self._apart.discard)(joint)

    @property
    def refusal(self) -> str:
        """Why the arm cannot be held: joints are far from their locks; empty if it can be."""
        far = [joint for joint in self._locked if self._distance(joint) > FAR]
        return '; '.join(map(self._said, far)) + (
            ': the torque would be wrong. Lock joints where they are (locked_joints: '
            f'{far[0]}={self._measured[far[0]]:.3g}), move them to their locks, or do not lock '
            'them') if far else ''

    def waits_for(self, at: float) -> str:
        """Return what the start still waits for; empty if for nothing."""
        self._since = at if self._since is None else self._since
        unseen = [joint for joint in self._locked if joint not in self._measured]
        return f'for joint states that name {", ".join(unseen)}, up to {LISTEN:g} s' if (
            unseen and at - self._since < LISTEN) else ''

    def news(self) -> str:
        """Return which joints left their locks: once each, and once more when far away."""
        new = {(joint, is_far) for joint in self._apart
               if (is_far := self._distance(joint) > FAR) or (joint, True) not in self._told
               } - self._told
        self._told |= new
        left = '; '.join(self._said(joint) for joint, _ in sorted(new)) + (
            ': the torque is still computed for the lock') if new else ''
        # One wrong reading counts as two shifts: there and back.
        shifted = sorted(joint for joint, count in self._shifts.items() if count > 2)
        for joint in shifted:
            del self._stood[joint], self._shifts[joint]  # reported once
        return '; '.join([*filter(None, [left]), *(
            f'{joint} moves, though it is locked: its accelerations are left out of the torque'
            for joint in shifted)])

    @property
    def doubt(self) -> str:
        """Which joints are away from their locks, without their changing positions."""
        return '; '.join(
            f'{joint} is not at its lock, {self._locked[joint]:g}'
            for joint in sorted(self._apart))

    def statistics(self) -> dict[str, str]:
        """Return the positions of joints that left their locks, for diagnostics."""
        return {'locked joints elsewhere': '; '.join(map(self._said, sorted(self._apart)))
                or 'none'} if self._locked else {}

    def _distance(self, joint: str) -> float:
        return abs(self._measured.get(joint, self._locked[joint]) - self._locked[joint])

    def _said(self, joint: str) -> str:
        position = self._measured[joint]
        return elsewhere(joint, self._locked[joint], position, position)
