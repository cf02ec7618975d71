"""Finds how a recording must be read (order, signs, zeros, units, …) to fit the model."""
from collections.abc import Iterator
from dataclasses import dataclass, replace
import heapq
from itertools import combinations

import numpy as np

from hodyn_ros.common.arrays import Array, Flags
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.effort_samples import EffortSamples
from hodyn_ros.replay.friction_fit import FrictionFit, is_measured
from hodyn_ros.replay.motor_positions import series_compliance
from hodyn_ros.replay.point_loads import PointLoad, carrying, find_load, with_load
from hodyn_ros.replay.position_ranges import mostly_outside, slides_in_degrees, swaps
from hodyn_ros.replay.quarter_turns import quarter_turns
from hodyn_ros.replay.reading import DEGREES, Mounting, Reading, mountings, other_angles, swapped
from hodyn_ros.replay.standstill import STILL
from hodyn_ros.replay.tips import swapped_arms, tips

HOPELESS = 0.5
"""Unexplained share of the efforts above which a model does not describe them."""

PRICE = 0.01
"""Least decrease of the unexplained share by each additional change."""

_POOR = 0.1  # unexplained share of a joint's efforts from which other readings are tried
_BETTER = 0.25  # greatest part of the unexplained share that another reading may leave
_PROGRESS = 0.9  # greatest part of the last unexplained share that a change may leave
_RIGHT = 0.01  # unexplained share below which a reading needs no other change
_CHANGES = 4  # greatest number of successive changes of a reading
_HELD = 3  # number of best readings that are changed further
_FEW_JOINTS = 10  # number of joints up to which whole orders are tried: their cost grows as n³
# The ranges of the joints decide between readings whose unexplained shares differ by less than
# _ALIKE times that of the unchanged recording, and by less than _LIKE times the best share.
_ALIKE, _LIKE = 0.1, 3.0
_NOISE, _NOISE_OF_ARM = 0.01, 0.001  # noise, over the largest effort of joint and arm
# Motor positions as the only mistake: unexplained share from which they are tried, and greatest
# part of it that they may leave. Some is left, as friction that springs carry stays unexplained.
_SHOWS, _LEAVES = 0.003, 0.4
# Least part of the efforts, in the mean of the joints that carry it, that a load must explain.
_CARRIED = 0.005
_SCALES = np.geomspace(10.0, 400.0, 17)  # factors of positions that are tried, such as of gears
_FINER = (0.12, 0.02, 0.004)  # relative half widths of the finer searches for a factor
_TURNS = 2.0 * np.pi  # range of positions, rad, beyond which these factors are tried
# Degrees are chosen unless another factor leaves at most this part of the share that they leave.
_LIKE_DEGREES = 0.7
_SIGNS = np.array([[1.0], [-1.0]])  # of efforts
_NOTHING = 1e-9  # weight of a joint whose efforts nothing explains

# The unexplained share of a reading plus the price of its changes, the share alone, the reading.
_Ranked = tuple[float, float, Reading]


@dataclass(frozen=True)
class Fit:
    """How well a recording fits the model."""

    #: Share of the efforts that the model does not explain, whatever bias, friction and gain each
    #: joint has: the mean of the joints with a measured effort. With a reading, the joints are
    #: weighted by what it or the model explains of each. NaN if undetermined.
    unexplained: float
    #: A reading that leaves a quarter of the share or less (motor positions: two fifths; a load
    #: on one arm: a quarter of the share of the joints that carry it), or a swap that puts all
    #: joints inside their ranges; None if there is none
    reading: Reading | None = None
    left: float = np.nan  #: The share that this reading leaves unexplained
    #: Joints mostly outside their ranges, if `reading` is a swap for this reason
    misplaced: tuple[int, ...] = ()

    @property
    def is_wrong(self) -> bool:
        """Whether the model does not describe the efforts as they are recorded."""
        return self.unexplained > HOPELESS or self.reading is not None

    @property
    def least(self) -> float:
        """Share left by the reading, or by the recording as it is if there is no reading."""
        return self.unexplained if self.reading is None else self.left

    @property
    def cost(self) -> float:
        """`least`, and the price of the reading's changes."""
        return self.least + PRICE * (0 if self.reading is None else self.reading.changes)

    @property
    def zeros(self) -> dict[int, float]:
        """Joints of the model whose zeros must be turned, and by which angles, rad."""
        return {} if self.reading is None else {
            joint: 0.5 * np.pi * quarter
            for joint, quarter in enumerate(self.reading.quarters) if quarter}


def find_misreading(
    feedforward: FeedForward, q: Array, effort: Array, rates: Array | None = None,
) -> Fit:
    """Return how well efforts fit the model, and the reading under which they fit far better.

    Motions are (S, 5, n), rad/sᵏ, and efforts (S, n), N m. Up to four changes are tried one after
    the other: joints or efforts in another order, opposite signs, zeros off by quarter turns,
    angles to the base instead of the link before or the reverse, degrees or another factor of the
    positions, a load on a tip, two arms of a tree swapped, gravity along another axis of the base
    and, if joints have springs and the `rates` of the efforts, (S, 2, n), N m/s and N m/s², are
    given, positions of the motors. Joints whose effort is not recorded or never changes are left
    out. An arm at rest is not judged.
    """
    rows, judged = _judged(q, effort)
    efforts = effort[:, np.newaxis] if rates is None else np.stack(
        [effort, *np.moveaxis(rates, 1, 0)], axis=1)
    q, efforts = q[rows], np.where(judged, efforts[rows], 0.0)
    if not judged.any() or np.sqrt(np.mean(q[:, 1] ** 2, axis=0)).max() < STILL:
        return Fit(np.nan)
    trial = _Trial(feedforward, q, efforts, judged)
    reading = Reading.plain(effort.shape[1])
    joints = trial.unexplained(reading)
    best = start = float(joints.mean())
    # Efforts that hardly change are mostly noise, which no model has to explain.
    plain = Fit(float(np.mean(joints * trial.notable)))
    held, last = [(start, start, reading)], start
    is_poor = joints.max() >= _POOR
    orders = trial.orders() if is_poor and np.count_nonzero(trial.judged) <= _FEW_JOINTS else []
    for _ in range(_CHANGES if is_poor else 0):
        readings = {*orders, *(other for *_, one in held for other in _changes(one, trial))}
        tried = [trial.with_signs(other) for other in readings]
        ranked = [(left + PRICE * other.changes, left, other) for left, other in tried]
        held = heapq.nsmallest(_HELD, ranked, key=lambda each: each[0])
        left = held[0][1]
        if left > _PROGRESS * last:
            break
        held = [*trial.inside_instead(held[0], ranked, min(
            _ALIKE * start, _LIKE * max(left, _RIGHT))), *held]
        (_, best, reading), last = held[0], left
        if best < _RIGHT:
            break
    if reading.scale != 1.0:
        reading, _ = trial.with_scale(reading)
    rest = trial.unexplained(reading)
    unexplained, left = _means(joints, rest)
    if left > _BETTER * unexplained:
        return trial.of_motors(start) or trial.with_load_on_one_arm(joints) or trial.swapped(plain)
    return Fit(unexplained, reading, left)


def _means(joints: Array, rest: Array) -> tuple[float, float]:
    """Return the means of joints' unexplained shares, and of those that a reading leaves.

    Efforts that are noise, which nothing explains, do not decide. Both are NaN without joints.
    """
    if not len(joints):
        return np.nan, np.nan
    weight = np.maximum(1.0 - np.minimum(joints, rest), _NOTHING)
    unexplained, left = (float(np.average(share, weights=weight)) for share in (joints, rest))
    return unexplained, left


def _judged(q: Array, effort: Array) -> tuple[Flags, Flags]:
    """Return which samples, (S,), have measured efforts, and which joints measure them, (n,)."""
    known, least = np.isfinite(effort), 5 * effort.shape[1]
    moved = np.asarray(np.isfinite(q).all(axis=(1, 2)))
    judged = known[moved].sum(axis=0) >= least
    rows = moved & known[:, judged].all(axis=1)
    is_enough = np.count_nonzero(rows) >= least
    return rows, judged & is_enough & is_measured(effort[rows])


def _changes(reading: Reading, trial: '_Trial') -> Iterator[Reading]:
    """Yield a reading, and those that differ by one change, or by mounting and degrees."""
    judged = np.flatnonzero(trial.judged).tolist()
    yield reading
    degrees = 1.0 if reading.is_in_degrees else DEGREES
    yield replace(reading, scale=degrees)
    if trial.is_far:  # one factor only: similar ones would displace other readings
        yield trial.with_scale(reading, finer=())[0]
    # One cause may reverse all joints, even those whose efforts hardly determine a sign.
    every = frozenset(range(len(reading.order)))
    yield replace(reading, reversed_effort=every)
    yield replace(reading, reversed_position=every)
    for pair in combinations(judged, 2):
        yield from swapped(reading, *pair)
    for i in judged:
        yield replace(reading, reversed_position=reading.reversed_position ^ {i})
    yield replace(reading, quarters=trial.quarters(reading))
    for angle in trial.parallel:
        other = replace(reading, absolute=reading.absolute ^ {angle})
        yield replace(other, are_efforts_absolute=False)
        yield replace(other, are_efforts_absolute=bool(other.absolute))
    if trial.has_springs:
        yield replace(reading, are_of_motors=not reading.are_of_motors)
    for order in trial.swapped_arms:
        yield replace(reading, order=order, effort_order=order)
    for load in trial.loads(reading):
        yield replace(reading, load=load)
    for mounting in mountings(trial.robot):
        yield (other := replace(reading, mounting=mounting))
        # Mounting or degrees alone may explain nothing.
        yield replace(other, scale=degrees)


class _Trial:
    """Compares readings of one recording with the model, by the efforts of joints `judged`."""

    def __init__(
        self, feedforward: FeedForward, q: Array, efforts: Array, judged: Flags,
    ) -> None:
        robot = self.robot = feedforward.robot
        self._q, self._efforts, self.judged = q, efforts, judged
        self._effort = effort = efforts[:, 0]
        self._mounted: dict[Mounting | None, FeedForward] = {None: feedforward}
        self._known = np.broadcast_to(judged, effort.shape)
        self._variance = np.var(effort, axis=0)
        self._turns = robot.turns
        # Positions this far apart are too large, unless the joint turns continuously.
        self.is_far = bool(np.ptp(q[:, 0, self._turns], axis=0).max(initial=0.0) > _TURNS)
        self._slides_in_degrees = slides_in_degrees(robot, q[:, 0], ~self._turns)
        self._compliance = series_compliance(robot)
        self.parallel, self.swapped_arms = other_angles(robot), swapped_arms(robot)
        self.has_springs = efforts.shape[1] > 1 and bool(self._compliance.any())

    def orders(self) -> list[Reading]:
        """Return the best orders of names, of positions and of efforts, found swap by swap.

        The first swaps of several in a row may explain less than any other mistake.
        """
        pairs, found = list(combinations(np.flatnonzero(self.judged).tolist(), 2)), []
        for kind in range(3):
            shares = {Reading.plain(len(self.judged)): np.inf}
            held = list(shares)
            for _ in range(len(self.judged) - 1):
                new = {swapped(one, *pair)[kind] for one in held for pair in pairs} - {*shares}
                shares |= {one: float(self.unexplained(one).mean()) for one in new}
                held = heapq.nsmallest(_HELD, new, key=shares.__getitem__)
            found.append(min(shares, key=shares.__getitem__))
        return found

    def unexplained(self, reading: Reading) -> Array:
        """Return the unexplained share of the efforts of each judged joint."""
        return self._of_joints(reading)[0][self.judged]

    @property
    def notable(self) -> Array:
        """Weight of each judged joint: 1, or less if its effort changes no more than noise."""
        effort = np.abs(self._effort[:, self.judged]).max(axis=0)
        noise = np.maximum(_NOISE * effort, _NOISE_OF_ARM * effort.max())
        variance = self._variance[self.judged]
        return np.asarray(variance / np.maximum(variance, noise ** 2))

    def of_motors(self, start: float) -> Fit | None:
        """Return the fit of motor positions, if they explain far more than link positions."""
        if not self.has_springs or start < _SHOWS:
            return None
        reading = replace(Reading.plain(len(self.judged)), are_of_motors=True)
        left = float(self.unexplained(reading).mean())
        return None if left > _LEAVES * start else Fit(start, reading, left)

    def with_load_on_one_arm(self, joints: Array) -> Fit | None:
        """Return the fit with a load on an arm of a tree, judged by the joints that carry it.

        The mean of all joints hardly shows a load that most of them do not carry. `joints` are
        the unexplained shares without a load.
        """
        plain = Reading.plain(len(self.judged))
        best, most = None, _CARRIED
        for load in self.loads(plain) if len(tips(self.robot)) > 1 else ():
            reading = replace(plain, load=load)
            rest = self.unexplained(reading)
            carry = carrying(self.robot, load, self._q)[self.judged]
            unexplained, left = _means(joints[carry], rest[carry])
            if left <= _BETTER * unexplained and unexplained - left > most:
                whole, rest_of_whole = _means(joints, rest)
                best, most = Fit(whole, reading, rest_of_whole), unexplained - left
        return best

    def swapped(self, plain: Fit) -> Fit:
        """Return the fit with swapped joints if all joints are inside their ranges only then.

        Efforts that are mostly friction hardly determine a swap, but they must not contradict it.
        """
        start = float(self.unexplained(Reading.plain(len(self.judged))).mean())
        tried = [(float(self.unexplained(reading).mean()), reading)
                 for reading in swaps(self.robot, self._q[:, 0])]
        if not tried:
            return plain
        left, reading = min(tried, key=lambda each: each[0])
        misplaced = np.flatnonzero(mostly_outside(self.robot, self._q[:, 0])).tolist()
        return plain if left > start else Fit(start, reading, left, tuple(misplaced))

    def inside_instead(
        self, best: _Ranked, ranked: list[_Ranked], alike: float,
    ) -> list[_Ranked]:
        """Return, in a list, the best alternative if the best reading leaves a joint outside.

        The alternative leaves no joint mostly outside its range, and explains about as much
        (unexplained shares less than `alike` apart) with no more mistakes. The list is empty if
        there is none.
        """
        def leaves_outside(reading: Reading) -> bool:
            # The scale is ignored here: small positions are inside most ranges.
            position = replace(reading, scale=1.0).motion(self._q, self._turns)[:, 0]
            return bool(mostly_outside(self.robot, position).any())

        def mistakes(reading: Reading) -> int:
            return len(reading.causes(self.robot.joint_names))

        if not leaves_outside(best[2]):
            return []
        inside = [each for each in ranked if each[1] < best[1] + alike
                  and mistakes(each[2]) <= mistakes(best[2]) and not leaves_outside(each[2])]
        return sorted(inside, key=lambda each: each[0])[:1]

    def with_signs(self, reading: Reading) -> tuple[float, Reading]:
        """Reverse efforts that then fit clearly better; return the share left, and the reading."""
        right, opposite = self._of_joints(reading)
        # A sign is changed only if that explains far more, not by chance.
        is_other = self.judged & (opposite < 0.5 * right - 0.1)
        return float(np.where(is_other, opposite, right)[self.judged].mean()), replace(
            reading, reversed_effort=reading.reversed_effort ^ set(
                np.flatnonzero(is_other).tolist()))

    def with_scale(
        self, reading: Reading, finer: tuple[float, ...] = _FINER,
    ) -> tuple[Reading, float]:
        """Return a reading with the best factor of its positions, and its unexplained share.

        The factor is `DEGREES`, for the joints that turn or for all, unless another one explains
        clearly more.
        """
        def left(other: Reading) -> float:
            return float(self.unexplained(other).mean())

        def share(scale: float) -> float:
            return left(replace(reading, scale=scale))

        best = min(_SCALES.tolist(), key=share)
        for half in finer:
            best = min((best * np.linspace(1.0 - half, 1.0 + half, 13)).tolist(), key=share)
        in_degrees = [
            replace(reading, scale=DEGREES, are_slides_in_degrees=also)
            for also in (self._slides_in_degrees if finer else (False,))]
        least = share(best)
        found, degrees = in_degrees[0], left(in_degrees[0])
        for other in in_degrees[1:]:
            if (of_all := left(other)) < _LIKE_DEGREES * degrees:
                found, degrees = other, of_all
        if least > _LIKE_DEGREES * degrees:
            return found, degrees
        return replace(found, scale=best, may_be_degrees=least > _BETTER * degrees), least

    def quarters(self, reading: Reading) -> tuple[int, ...]:
        """Return the quarter turns of the zeros that explain most."""
        plain = replace(reading, quarters=len(reading.quarters) * (0,))
        turns = quarter_turns(self._model(reading), EffortSamples(
            self._motion(plain), np.where(self.judged, plain.effort(self._effort), np.nan)))
        return tuple(np.round(turns / (0.5 * np.pi)).astype(int).tolist())

    def loads(self, reading: Reading) -> list[PointLoad]:
        """Return the load on each tip that fits best, if it is plausible."""
        model, motion, effort = (
            self._model(reading), self._motion(reading), reading.effort(self._effort))
        weight = 1.0 / np.maximum(self._variance[list(reading.effort_order)], 1e-300)
        return [load for tip in tips(self.robot) if (load := find_load(
            model, tip.name, motion, effort, self._known, weight)) is not None]

    def _model(self, reading: Reading) -> FeedForward:
        """Return the feed-forward of the robot, mounted as in the reading, without a load."""
        mounting = reading.mounting
        if mounting is not None and mounting not in self._mounted:
            self._mounted[mounting] = FeedForward(
                replace(self.robot, gravity=np.array(mounting.gravity)))
        return self._mounted[mounting]

    def _motion(self, reading: Reading) -> Array:
        """Return the motion of the links, (S, 5, n), under a reading."""
        motion = reading.motion(self._q, self._turns)
        if reading.are_of_motors:  # recorded efforts, friction included, deflect the springs
            motion[:, :3] -= self._compliance * reading.effort(self._efforts)
        return motion

    def _of_joints(self, reading: Reading) -> tuple[Array, Array]:
        """Return each joint's unexplained share, (n,), with its effort's sign and the opposite.

        The prediction is with or without gravity, whichever fits better.
        """
        motion = self._motion(reading)
        effort = reading.effort(self._effort)
        model, gain = self._model(reading), None
        if reading.load is not None:
            # An unknown gain could be mistaken for a load.
            model, gain = FeedForward(with_load(model.robot, reading.load)), 1.0
        shares = []
        for gravity in (True, False):
            predicted = model.torque(motion, gravity=gravity, friction=False)[:, 0]
            fit = FrictionFit(effort.shape[1], 1)
            fit.add(motion[:, 1], (predicted,), effort, self._known)
            shares.append(fit.unexplained(_SIGNS, gain))
        right, opposite = min(
            shares, key=lambda each: float(np.minimum(*each)[self.judged].mean()))
        return right, opposite
