"""How columns of a recording are read: as which joint, and with which sign, zero and unit."""
from collections.abc import Collection
from dataclasses import dataclass, field, replace

import numpy as np

from hodyn_ros.common.arrays import Array, Flags
from hodyn_ros.replay.point_loads import PointLoad
from hodyn_ros.robot import Body, Robot

Order = tuple[int, ...]
OtherAngle = tuple[int, tuple[tuple[int, int], ...], bool]
"""A joint, the joints before it whose angles its recorded angle contains, with signs, and whether
it is relative to the link before instead of to the base."""

_PARALLEL = 0.99  # cosine of the angle between axes that count as parallel
_SAME = 0.99  # cosine of the angle from which two directions of gravity are the same
_FEW = 2  # greatest number of swaps that are counted: more are probably a swap of two arms

DEGREES = 180.0 / np.pi
"""How many times too large positions in degrees are."""


@dataclass(frozen=True)
class Mounting:
    """The mounting of an arm's base, given by the direction of gravity."""

    #: The axis of the base along which gravity points, such as ``+z`` for an arm on a ceiling
    axis: str
    gravity: tuple[float, ...]  #: The acceleration of gravity in the axes of the robot file, m/s²


@dataclass(frozen=True)
class Reading:
    """The changes of a recording before it is compared with the model."""

    #: `order`, `effort_order`: Indices of the recorded joints that have the positions, and the
    #: efforts, of each joint of the robot
    order: Order
    effort_order: Order
    #: Number of quarter turns, −1 to 2, to add to the positions of each joint
    quarters: tuple[int, ...]
    #: `reversed_position`, `reversed_effort`: Joints of the robot whose positions, or efforts,
    #: have the opposite sign
    reversed_position: frozenset[int] = field(default_factory=frozenset)
    reversed_effort: frozenset[int] = field(default_factory=frozenset)
    #: Joints whose angles are recorded relative to the base instead of to the link before, or,
    #: of links that the model keeps from turning with it, the other way round
    absolute: frozenset[OtherAngle] = field(default_factory=frozenset)
    #: Whether the efforts are those that do work on these angles
    are_efforts_absolute: bool = False
    #: How many times too large the positions are: `DEGREES` for joints that turn, or another
    #: factor for all joints, such as on the motors' side of gears
    scale: float = 1.0
    #: Whether positions of prismatic joints are `DEGREES` times too large as well
    are_slides_in_degrees: bool = False
    #: Whether the positions may be in degrees although `scale` is another factor
    may_be_degrees: bool = False
    #: Whether recorded velocities are too large as well, if the positions are
    are_velocities_scaled: bool = True
    #: Whether positions are those of the motors, before the springs, scaled to the joints
    are_of_motors: bool = False
    load: PointLoad | None = None  #: A load that the model lacks
    mounting: Mounting | None = None  #: How the base is mounted, if not as in the robot file

    @classmethod
    def plain(cls, n: int) -> 'Reading':
        """Return the reading of n joints as they are recorded."""
        return cls(tuple(range(n)), tuple(range(n)), n * (0,))

    @property
    def is_in_degrees(self) -> bool:
        """Whether `scale` is that of degrees."""
        return self.scale == DEGREES

    @property
    def changes(self) -> int:
        """Number of changes: 2 for a zero, load or mounting, 1 for any other.

        Any number of swapped joints, such as all of two arms, count as two swaps at most.
        A sign that is opposite in all joints is one change. If the first axis is vertical, a
        shoulder's zero off by π looks like an upside-down base with a reversed first joint; the
        zero has fewer changes, and is preferred.
        """
        return int(
            sum(min(sum(len(cycle) - 1 for cycle in _cycles(order)), _FEW)
                for order in (self.order, self._efforts))
            + sum(1 if len(some) == len(self.order) else len(some) for some in self._reversed)
            + int(self.scale != 1.0) + int(self.are_of_motors) + len(self.absolute)
            + 2 * (np.count_nonzero(self.quarters) + (self.load is not None)
                   + (self.mounting is not None)))

    def without(self, terms: Collection[str]) -> 'Reading':
        """Return the reading without the changes that these terms of ``hodyn identify`` find.

        The term `payload` finds only a load on the last link.
        """
        is_found = 'links' in terms or (
            'payload' in terms and self.load is not None and self.load.is_on_last)
        return replace(
            self,
            quarters=len(self.order) * (0,) if 'zeros' in terms else self.quarters,
            reversed_effort=frozenset() if 'gains' in terms else self.reversed_effort,
            load=None if is_found else self.load)

    @property
    def moves_differently(self) -> bool:
        """Whether the reading changes the motion, and not only efforts, load or mounting."""
        return replace(
            self, effort_order=self.order, reversed_effort=frozenset(), load=None, mounting=None,
        ).changes > 0

    @property
    def _reversed(self) -> tuple[frozenset[int], frozenset[int], frozenset[int]]:
        """Joints with both positions and efforts reversed, only positions, and only efforts."""
        both = self.reversed_position & self.reversed_effort
        return both, self.reversed_position - both, self.reversed_effort - both

    @property
    def _efforts(self) -> Order:
        """The joint of the robot under whose name each joint's effort is recorded."""
        return tuple(self.order.index(joint) for joint in self.effort_order)

    def factors(self, turns: Flags) -> Array:
        """Return how many times too large each joint's positions are, (n,)."""
        is_part = self.is_in_degrees and not self.are_slides_in_degrees
        return np.where(turns, self.scale, 1.0 if is_part else self.scale)

    def motion(self, q: Array, turns: Flags) -> Array:
        """Return recorded motions, (S, 5, n), under this reading; `turns` marks turning joints."""
        read = np.take(q, self.order, axis=2)
        read /= self.factors(turns)
        read[:, :, list(self.reversed_position)] *= -1.0
        for joint, before, _ in sorted(self.absolute):
            for other, sign in before:
                read[:, :, joint] -= sign * read[:, :, other]
        read[:, 0] += 0.5 * np.pi * np.array(self.quarters)
        return read

    def effort(self, effort: Array) -> Array:
        """Return recorded efforts, (S, …, n), under this reading."""
        read = np.take(effort, self.effort_order, axis=-1)
        read[..., list(self.reversed_effort)] *= -1.0
        for joint, before, _ in sorted(self.absolute) if self.are_efforts_absolute else ():
            for other, sign in before:
                read[..., other] += sign * read[..., joint]
        return read

    def causes(self, names: tuple[str, ...]) -> list[str]:
        """Return a clause for each change; `names` are the joint names."""
        said = []
        moved = _cycles(self.order)
        alone = [cycle for cycle in moved if all(self.effort_order[k] == k for k in cycle)]
        by_themselves = {joint for cycle in alone for joint in cycle}
        for cycles, what in (
                ([cycle for cycle in moved if cycle not in alone], 'joints'),
                (alone, 'positions of'),
                ([cycle for cycle in _cycles(self._efforts) if cycle[0] not in by_themselves],
                 'efforts of')):
            joints = [[names[joint] for joint in cycle] for cycle in cycles]
            pairs = [' and '.join(each) for each in joints if len(each) == 2]
            said += [f'the {what} {pair} are swapped' for pair in (
                [', '.join(pairs)] if len(pairs) > _FEW else pairs)]
            said += [f'the {what} {", ".join(each)} are in another order'
                     for each in joints if len(each) > 2]
        for some, what in zip(self._reversed, (
                'turns the other way', 'has positions of the opposite sign',
                'has efforts of the opposite sign'), strict=True):
            if len(some) == len(names):
                said.append(f'every joint {what}')
            else:
                said += [f'{names[joint]} {what}' for joint in sorted(some)]
        said += [
            f'positions of {names[joint]} are ' + _off(quarter)
            for joint, quarter in enumerate(self.quarters) if quarter]
        said += [
            f'positions of {names[joint]} are measured from the ' + (
                'link before, not from the base' if is_relative else
                'base, not from the link before')
            + ', and so are the efforts' * self.are_efforts_absolute
            for joint, _, is_relative in sorted(self.absolute)]
        if self.scale != 1.0:
            said.append(
                f'positions {"and velocities " if self.are_velocities_scaled else ""}are '
                + (self._in_degrees if self.is_in_degrees or self.may_be_degrees else '')
                + (', or ' if self.may_be_degrees else '')
                + ('' if self.is_in_degrees else
                   f"about {self.scale:.3g} times too large, as on the motor's side of gears "
                   'with this ratio (a mean, if the ratios differ)'))
        if self.are_of_motors:
            said.append('positions are those of the motors, not of the links behind the springs')
        if self.load is not None:
            link = 'the last link' if self.load.is_on_last else self.load.link
            said.append(f'{link} carries {self.load.mass:.2g} kg that the model lacks')
        if self.mounting is not None:
            said.append(
                f'the base is mounted so that gravity points along {self.mounting.axis} of its '
                'axes')
        return said

    @property
    def _in_degrees(self) -> str:
        return 'in degrees' if not self.are_slides_in_degrees else (
            'multiplied by 180/π as into degrees, also those of prismatic joints')

    @property
    def remedies(self) -> list[str]:
        """What to do about the changes, a sentence each."""
        n = len(self.order)
        both, positions, efforts = self._reversed
        return [said for is_so, said in (
            ((self.order, self._efforts) != 2 * (tuple(range(n)),),
             'Let the driver send names and values in the same order.'),
            (both, 'Change the signs of positions and efforts in the driver, or turn the axes of '
             'these joints in the robot file.'),
            (positions, 'Change the signs of these positions in the driver.'),
            (efforts, 'Change the signs of these efforts in the driver, or give these joints the '
             'opposite `effort_gain` in the robot file (-1 if there is none).'),
            (any(self.quarters),
             'Turn the placements of these joints in the robot file, or use the description that '
             'the driver uses.'),
            (any(is_relative for *_, is_relative in self.absolute),
             'Let the driver add the angle of the joint before, or take the link that keeps its '
             'direction (the joint with `mimic`) out of the robot file.'),
            (any(not is_relative for *_, is_relative in self.absolute),
             'Let the driver send the angle between each link and the link before it, or put a '
             'link that keeps its direction between them (a joint with `mimic` that turns back) '
             'into the robot file.'),
            (self.is_in_degrees or self.may_be_degrees, 'Let the driver send radians'
             f'{" and metres" if self.are_slides_in_degrees else ""}.'),
            (self.scale != 1.0 and not self.is_in_degrees,
             'Let the driver send positions, velocities and efforts of the joints, not of the '
             'motors.'),
            (self.are_of_motors,
             'Record the positions of the links: motor position minus Q/K, where Q is the effort '
             'of the joint and K the stiffness of its spring.'),
            (self.load is not None,
             'Give this load by `--payload LINK KG`, or find it by `hodyn identify --terms '
             'payload`.' if self.load is None or self.load.is_on_last else
             f'Give this load by `--payload {self.load.option}`; `hodyn identify --terms payload` '
             'finds it in a copy of the robot file that lists the bodies of this arm last.'),
            (self.mounting is not None, 'Give the base_pose in the robot file' + (
                f', or write gravity: {rounded(self.mounting.gravity)} there.'
                if self.mounting is not None else '')),
        ) if is_so]


def _off(quarter: int) -> str:
    """Return by how much positions are off if these quarter turns must be added to them."""
    return 'off by π rad' if abs(quarter) == 2 else (
        f'0.5 π rad too {"small" if quarter > 0 else "large"}')


def mountings(robot: Robot) -> list[Mounting]:
    """Return the mountings whose gravity points along another axis than in the robot file."""
    if robot.floating or not robot.gravity.any():
        return []
    turn, strength = robot.base_pose[:3, :3], float(np.linalg.norm(robot.gravity))
    return [
        Mounting(f'{"+-"[sign < 0]}{name}', tuple((strength * sign * axis).tolist()))
        for name, axis in zip('xyz', turn.T, strict=True) for sign in (1, -1)
        if sign * axis @ robot.gravity < _SAME * strength]


def other_angles(robot: Robot) -> list[OtherAngle]:
    """Return the other angle of each joint whose axis is parallel to that before.

    It is the angle to the base or, if a link that turns back with the joint before keeps its
    direction between them, the angle to the link of this joint.
    """
    joints = {body.joint: joint for joint, body in enumerate(robot.joint_bodies)}
    found: dict[str, OtherAngle] = {}
    for body in robot.joint_bodies:
        parent = robot.bodies[body.parent]
        if body.type != 'revolute' or not (sign := _parallel(robot, body)):
            continue
        if parent.joint in joints:
            _, before, is_relative = found.get(parent.joint, (0, (), False))
            found[body.joint] = joints[body.joint], ((joints[parent.joint], sign), *(
                (other, sign * also) for other, also in before if not is_relative)), False
        elif parent.mimic is not None and robot.bodies[parent.parent].joint == parent.mimic.joint \
                and parent.mimic.multiplier == -_parallel(robot, parent):
            found[body.joint] = joints[body.joint], ((
                joints[parent.mimic.joint], sign * int(parent.mimic.multiplier)),), True
    return list(found.values())


def _parallel(robot: Robot, body: Body) -> int:
    """Return the sign of the axis of the joint before, in this one's; 0 if not parallel."""
    parent = robot.bodies[body.parent]
    if body.parent < 0 or parent.type != 'revolute':
        return 0
    cosine = float(parent.axis @ body.placement[:3, :3] @ body.axis)
    return (1 if cosine > 0.0 else -1) * (abs(cosine) > _PARALLEL)


def rounded(values: tuple[float, ...]) -> str:
    """Return numbers as a list of YAML."""
    return f'[{", ".join(f"{value + 0.0:.4g}" for value in np.round(values, 9))}]'


def swapped(reading: Reading, i: int, j: int) -> tuple[Reading, Reading, Reading]:
    """Return a reading with two joints swapped, with their positions, and with their efforts.

    Positions are one of them: by the swaps of joints and efforts they would take two changes,
    neither of which may help alone.
    """
    order, efforts = list(reading.order), list(reading.effort_order)
    for each in (order, efforts):
        each[i], each[j] = each[j], each[i]
    return (
        replace(reading, order=tuple(order), effort_order=tuple(efforts)),
        replace(reading, order=tuple(order)), replace(reading, effort_order=tuple(efforts)))


def _cycles(order: Order) -> list[list[int]]:
    """Return the cycles of a permutation that have at least two members."""
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
