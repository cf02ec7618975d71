"""How a recording is read: as which joint, with which sign, zero and unit each is recorded."""
from collections.abc import Collection
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Order = tuple[int, ...]


@dataclass(frozen=True)
class Reading:
    """What is done to a recording before it is compared with the model.

    Attributes
    ----------
    order, effort_order : tuple of int
        As which joint each joint of the robot is recorded, and which one its effort is.
    reversed_position, reversed_effort : frozenset of int
        Joints of the robot that are recorded with the opposite sign.
    quarters : tuple of int
        How many quarter turns are added to the positions, from −1 to 2.
    is_in_degrees : bool
        Whether positions are in degrees.
    are_velocities_in_degrees : bool
        Whether recorded velocities are too, if positions are.
    are_of_motors : bool
        Whether positions are those of motors before springs, at the scale of the joints.
    load : tuple of float or None
        Mass, kg, of a load on the last link, and its centre in the link's axes, m.

    """

    order: Order
    effort_order: Order
    quarters: tuple[int, ...]
    reversed_position: frozenset[int] = field(default_factory=frozenset)
    reversed_effort: frozenset[int] = field(default_factory=frozenset)
    is_in_degrees: bool = False
    are_velocities_in_degrees: bool = True
    are_of_motors: bool = False
    load: tuple[float, ...] | None = None

    @classmethod
    def plain(cls, n: int) -> 'Reading':
        """Return that of n joints as they are recorded."""
        return cls(tuple(range(n)), tuple(range(n)), n * (0,))

    @property
    def changes(self) -> int:
        """How much is changed: a swap, a sign, a unit, motors, half a zero or half a load each."""
        return int(
            sum(len(cycle) - 1 for cycle in (*_cycles(self.order), *_cycles(self._efforts)))
            + len(self.reversed_position | self.reversed_effort)
            + int(self.is_in_degrees) + int(self.are_of_motors)
            + 2 * (np.count_nonzero(self.quarters) + (self.load is not None)))

    def without(self, terms: Collection[str]) -> 'Reading':
        """Return what is left of it once terms of ``hodyn identify`` found their part."""
        return replace(
            self,
            quarters=len(self.order) * (0,) if 'zeros' in terms else self.quarters,
            reversed_effort=frozenset() if 'gains' in terms else self.reversed_effort,
            load=None if {'payload', 'links'} & set(terms) else self.load)

    @property
    def _efforts(self) -> Order:
        """As which joint of the recording the effort of each is recorded."""
        return tuple(self.order.index(joint) for joint in self.effort_order)

    def motion(self, q: Array, turns: NDArray[np.bool_]) -> Array:
        """Return the motions, (S, 5, n), of recorded ones, and of joints of which some turn."""
        read = np.take(q, self.order, axis=2)
        if self.is_in_degrees:
            read[:, :, turns] *= np.pi / 180.0
        read[:, :, list(self.reversed_position)] *= -1.0
        read[:, 0] += 0.5 * np.pi * np.array(self.quarters)
        return read

    def effort(self, effort: Array) -> Array:
        """Return the efforts, (S, n), of recorded ones."""
        read = np.take(effort, self.effort_order, axis=1)
        read[:, list(self.reversed_effort)] *= -1.0
        return read

    def causes(self, names: tuple[str, ...]) -> list[str]:
        """Return what it says of the recording, a clause each; `names` are those of the joints."""
        said = []
        for order, what in ((self.order, 'joints'), (self._efforts, 'efforts')):
            for cycle in _cycles(order):
                joints = [names[joint] for joint in cycle]
                said.append(
                    f'the {what} of {joints[0]} and {joints[1]} are swapped' if len(joints) == 2
                    else f'the {what} of {", ".join(joints)} are in another order')
        both = self.reversed_position & self.reversed_effort
        for some, what in (
                (both, 'turns the other way'),
                (self.reversed_position - both, 'has positions of the opposite sign'),
                (self.reversed_effort - both, 'has efforts of the opposite sign')):
            if len(some) == len(names):
                said.append(f'every joint {what}')
            else:
                said += [f'{names[joint]} {what}' for joint in sorted(some)]
        said += [
            f'{0.5 * quarter:+.2g} π rad are added to the positions of {names[joint]}'
            for joint, quarter in enumerate(self.quarters) if quarter]
        if self.is_in_degrees:
            said.append(
                f'positions {"and velocities " if self.are_velocities_in_degrees else ""}are in '
                'degrees')
        if self.are_of_motors:
            said.append('positions are those of the motors, not of the links behind the springs')
        if self.load is not None:
            said.append(f'the last link carries {self.load[0]:.2g} kg that the model lacks')
        return said

    @property
    def remedies(self) -> list[str]:
        """What to do about it, a sentence each."""
        n = len(self.order)
        return [said for is_so, said in (
            ((self.order, self._efforts) != 2 * (tuple(range(n)),),
             'Let the driver send names and values in the same order.'),
            (self.reversed_position or self.reversed_effort,
             'Change the signs in the driver, or the axes in the robot file.'),
            (any(self.quarters),
             'Turn the placements of these joints in the robot file, or take the description that '
             'the driver uses.'),
            (self.is_in_degrees, 'Let the driver send radians.'),
            (self.are_of_motors,
             'Take the positions of the links: those of the motors less Q/K, where Q is the '
             'effort of the joint and K the stiffness of its spring.'),
            (self.load is not None,
             '`--payload LINK KG` states it, `hodyn identify --terms payload` finds it.'),
        ) if is_so]


def _cycles(order: Order) -> list[list[int]]:
    """Return the cycles of a permutation, of two at least."""
    cycles, seen = [], set()
    for start in range(len(order)):
        cycle = []
        while start not in seen:
            seen.add(start)
            cycle.append(start)
            start = order[start]
        if len(cycle) > 1:
            cycles.append(cycle)
    return cycles
