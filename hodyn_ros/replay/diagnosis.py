"""Finds what is wrong with a recording, from some samples of its motion."""
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.comparison import percent
from hodyn_ros.replay.effort_samples import MAX_SAMPLES, EffortSamples
from hodyn_ros.replay.effort_unit import (
    AGREE,
    in_another_unit,
    in_joint_units,
    motor_side,
    unit_of,
)
from hodyn_ros.replay.exchanged_columns import RecordedColumns
from hodyn_ros.replay.frozen_encoders import FrozenEncoders
from hodyn_ros.replay.gravity_share import (
    ANOTHER_UNIT,
    contain_gravity,
    gravity_doubt,
    gravity_facts,
    share_if_read,
)
from hodyn_ros.replay.joint_springs import SPRING_CHANGES, JointSpring
from hodyn_ros.replay.misreading import PRICE, Fit, find_misreading
from hodyn_ros.replay.motor_positions import series_compliance, with_rates
from hodyn_ros.replay.position_ranges import UNITS, are_inside, mostly_outside, unit_factors
from hodyn_ros.replay.reading import DEGREES
from hodyn_ros.replay.recorded_torques import Chunk, EffortContents
from hodyn_ros.replay.scaled_efforts import ScaledEfforts
from hodyn_ros.replay.slight_cause import SlightCause, find_slight_cause, is_of_terms, sentence
from hodyn_ros.replay.small_changes import ScaledPosition
from hodyn_ros.replay.swapped_friction import swapped_friction
from hodyn_ros.replay.unsigned_efforts import unsigned_efforts
from hodyn_ros.replay.wrong_velocities import RecordedVelocities
from hodyn_ros.robot import Robot

_FEW = 8  # number of pieces, from the beginning of a recording, whose samples are used
_SAME = 0.02  # difference below which unexplained shares of the efforts count as equal
_CLEARLY = 2.0  # ratio from which two unexplained shares clearly differ


Leap = tuple[float, int, float]
"""Time since the first used message, s, index of the joint, and by how much, rad or m."""


@dataclass(frozen=True)
class Diagnosis:
    """What is wrong with a recording, if anything."""

    names: tuple[str, ...]  #: The driver's joint names in the robot's order
    efforts: EffortContents  #: Gravity and unit of the recorded efforts
    #: How well the efforts fit the model, and the reading of the recording that fits better
    fit: Fit
    #: How recorded velocities contradict the positions: one clause per contradiction
    wrong_velocities: list[str]
    #: How many times too far apart the stamps are; NaN if they may be right
    stamp_factor: float = np.nan
    #: Whether the robot has springs, so that motor and link positions differ
    has_springs: bool = False
    slight: SlightCause | None = None  #: What may be the cause of a small misfit
    #: How many times too large the positions of each joint are: 1, or the factor of a unit in
    #: `UNITS`; empty if unknown
    unit_factors: tuple[float, ...] = ()
    misplaced: tuple[str, ...] = ()  #: Joints mostly outside their ranges
    #: Joints whose positions stand still while their velocities go on, and for how long, s
    frozen: Mapping[str, float] = field(default_factory=dict)
    leaps: tuple[Leap, ...] = ()  #: Where positions leap and stay
    units: tuple[str, ...] = ()  #: The unit of each joint's positions
    #: A sentence on columns in each other's place, copied or without signs; empty if none
    columns: str = ''
    share_if_read: float = np.nan  #: The share of gravity under `fit.reading`; NaN if unknown

    @property
    def is_wrong(self) -> bool:
        """Whether conclusions from the recording would mislead."""
        return self.fit.is_wrong or self._is_scaled or bool(self.columns)

    @property
    def _is_scaled(self) -> bool:
        """Whether the stamps, or positions of single joints, are in another unit."""
        return bool(np.isfinite(self.stamp_factor)) or any(
            factor != 1.0 for factor in self.unit_factors)

    @property
    def is_comparable(self) -> bool:
        """Whether the efforts can be compared with the model's torques."""
        return not (self.is_wrong or np.isfinite(self.efforts.factor))

    @property
    def of_motors(self) -> str:
        """A sentence of `motor_side` about the efforts; empty if it would mislead."""
        return '' if self.is_wrong else motor_side(
            self.names, self.efforts.gear_ratios, self.efforts.factor)

    @property
    def beyond_limits(self) -> dict[str, float]:
        """Joints whose efforts are too large for any load: their ratios to the limits."""
        efforts = self.efforts
        return {} if self.is_wrong or np.isfinite(efforts.factor) else {
            name: ratio for name, ratio, gear in zip(
                self.names, efforts.of_limits, efforts.gear_ratios, strict=True)
            if ratio > AGREE and np.isnan(gear)}

    @property
    def another_unit(self) -> str:
        """A sentence about the unit of most joints' efforts; empty if it would mislead."""
        factor = self.efforts.factor
        return '' if self.is_wrong or np.isnan(factor) else (
            f'The efforts are {in_another_unit(factor)}, '
            f'{"or are" if unit_of(factor) else "for example"} motor currents. `hodyn identify '
            '--terms gains` finds the factor; write it to the robot file as `effort_gain`, or let '
            'the driver send N m (or N). Until then the errors here say nothing about the model.')

    @property
    def gravity_doubt(self) -> str:
        """A sentence about the share of gravity in the efforts; empty if it would mislead."""
        explains = isinstance(self.slight, ScaledEfforts | ScaledPosition | JointSpring)
        share = self.efforts.gravity_share
        # What few joints have beyond their limits raises the share of all.
        explains |= share > ANOTHER_UNIT and 0 < 2 * len(self.beyond_limits) < len(self.names)
        return gravity_doubt(share) if (
            self.is_comparable and not self.of_motors and not explains) else ''

    @property
    def gravity_facts(self) -> list[str]:
        """Sentences about the gravity in the efforts, as far as the recording can be read."""
        if np.isfinite(self.efforts.factor):
            return []
        is_read = self.is_comparable and not self.misplaced
        return gravity_facts(
            self.efforts.gravity_share, if_read=None if is_read else self.share_if_read)

    @property
    def scaled_joints(self) -> tuple[str, ...]:
        """Joints whose efforts differ from the model's torques by a factor."""
        return tuple(self.names[joint] for joint in self.slight.joints) if isinstance(
            self.slight, ScaledEfforts) else ()

    @property
    def explained_joints(self) -> tuple[str, ...]:
        """Joints whose errors have a cause of their own: a factor, or a spring."""
        return (self.names[self.slight.joint],) if isinstance(
            self.slight, JointSpring) else self.scaled_joints

    @property
    def has_a_cause(self) -> bool:
        """Whether the cause of a misfit is known."""
        return self.fit.reading is not None or self._is_scaled or bool(self.columns)

    @property
    def is_misread(self) -> bool:
        """Whether the recording must be read differently; a missing load alone does not count."""
        reading = self.fit.reading
        return self._is_scaled or bool(self.columns) or (
            reading is not None and replace(reading, load=None).changes > 0)

    @property
    def is_motion_misread(self) -> bool:
        """Whether the motion is misread, so that it cannot be compared with limits."""
        reading = self.fit.reading
        return self._is_scaled or bool(self.columns) or (
            reading is not None and reading.moves_differently)

    @property
    def sentences(self) -> list[str]:
        """What is wrong with the recording, and what to do about it."""
        if self.columns:
            return [self.columns]
        if np.isfinite(self.stamp_factor):
            is_far = self.stamp_factor > 1.0
            return [
                f'The time stamps are a thousand times too {"far apart" if is_far else "dense"} '
                'for the recorded velocities: by the stamps the positions change '
                f'{"a thousandth" if is_far else "a thousand times"} as fast. They seem to be '
                f'{"in milliseconds" if is_far else "divided by 1000"}: let the driver stamp in '
                'seconds and nanoseconds.']
        said = self.other_units
        if self.frozen:
            frozen = ', '.join(
                f'{name} (for {seconds:.2g} s or more{self._then(name)})'
                for name, seconds in self.frozen.items())
            said.append(
                f'Positions stand still while the recorded velocities go on: {frozen}. Did an '
                'encoder, or the driver, fail? Leave this part out, or record it again.')
        slips = [leap for leap in self.leaps if self.names[leap[1]] not in self.frozen]
        said += [self._leaping(slips)] if slips else []
        said += [self._misread] if self.fit.is_wrong else []
        if self.slight is not None and self.is_comparable:
            said.append(sentence(self.slight, self.names, has_springs=self.has_springs))
        if self.wrong_velocities:
            clauses = '; '.join(self.wrong_velocities)
            said.append(
                'Recorded velocities contradict the positions, from which the motion is '
                f'estimated: {clauses}{"" if clauses.endswith("?") else "."} Correct the driver.')
        return said

    def without(self, terms: Collection[str]) -> 'Diagnosis':
        """Return what is still wrong after these terms of ``hodyn identify`` are identified."""
        reading = self.fit.reading
        if np.isfinite(self.stamp_factor) or self.columns:
            return self
        is_found = self.slight is not None and is_of_terms(self.slight, terms)
        rest = replace(self, slight=None) if is_found else self
        if reading is None or reading.without(terms).changes:
            return rest
        return replace(rest, fit=Fit(self.fit.left))

    @property
    def other_units(self) -> list[str]:
        """Sentences on positions of single joints that are not in metres or radians."""
        said = []
        for factor in sorted({*self.unit_factors} - {1.0}):
            names = [name for name, one in zip(self.names, self.unit_factors, strict=True)
                     if one == factor]
            whose = 'its range allows' if len(names) == 1 else 'their ranges allow'
            said.append(
                f'Positions of {", ".join(names)} are about {factor:.4g} times as large as '
                f'{whose}: are they in {UNITS[factor]}? Let the driver send '
                f'{"radians" if factor == DEGREES else "metres"}.')
        return said

    def _then(self, name: str) -> str:
        """Return where the positions of a joint that stood still leap, as part of a sentence."""
        largest = max(
            (leap for leap in self.leaps if self.names[leap[1]] == name), default=None,
            key=lambda each: abs(each[2]))
        return '' if largest is None else f', with a leap {self._by(largest)}'

    def _by(self, leap: Leap) -> str:
        passed, joint, size = leap
        return f'by {size:+.2g} {self.units[joint]} at t = {passed:.4g} s'

    def _leaping(self, leaps: Sequence[Leap]) -> str:
        _, joint, _ = worst = max(leaps, key=lambda each: abs(each[2]))
        names = ', '.join(self.names[k] for k in sorted({joint for _, joint, _ in leaps}))
        largest, many = self._by(worst), len(leaps) > 1
        return (
            f'Positions of {names} leap {f"{len(leaps)} times" if many else largest}, faster '
            'than any joint moves, and stay there'
            f'{f": {self.names[joint]} {largest}" if many else ""}. '
            'Did an encoder slip, or a drive stop reporting for a while? Between leaps the motion '
            'is smoothed separately; zeros may differ. Use only a part without a leap.')

    @property
    def _misread(self) -> str:
        fit = self.fit
        if fit.misplaced and fit.reading is not None:
            names = ', '.join(self.names[joint] for joint in fit.misplaced)
            return (
                f'Positions of {names} are mostly outside the range. All are inside if '
                f'{"; ".join(fit.reading.causes(self.names))}, and the efforts fit the model no '
                f'worse then. {" ".join(fit.reading.remedies)}')
        said = (
            f'The recording does not fit the model, which leaves {percent(fit.unexplained)} of '
            'the efforts unexplained, whatever bias, friction and gain each joint has')
        if fit.reading is None:
            return said + (
                '. None of these, up to four at once, explains it: joints, positions or efforts '
                'in another order, swapped arms, opposite signs, zeros off by quarter turns, '
                'degrees or another factor of the positions, a load on the last link of an arm, '
                'gravity along another axis of the base. Check that the robot is the recorded '
                'one.')
        causes = '; '.join(fit.reading.causes(self.names))
        return f'{said}; {percent(fit.left)} would be left if {causes}. ' + ' '.join(
            fit.reading.remedies)


class DiagnosisSamples:
    """Gathers what a diagnosis needs: samples of the first pieces, and all frozen encoders."""

    def __init__(self, robot: Robot) -> None:
        self._pieces: list[tuple[Array, ...]] = []
        self._fitted: list[tuple[Array, ...]] = []  # motion and efforts that are fitted
        self._encoders = FrozenEncoders()
        self._columns = RecordedColumns(robot.n)
        self._least = np.full(robot.n, np.inf)  # recorded effort
        self._begin: int | None = None
        self._leaps: list[Leap] = []
        self._has_springs = bool(series_compliance(robot).any())

    def add(self, used: Chunk) -> None:
        """Add the next used messages."""
        self._encoders.add(used)
        self._columns.add(used)
        self._least = np.fmin(
            self._least, np.fmin.reduce(used.states.effort, axis=0, initial=np.inf))
        if self._begin is None and len(used.instants):
            self._begin = int(used.instants[0])
        for i, joint in np.argwhere(used.leap).tolist():
            passed = 1e-9 * float(used.instants[i] - (self._begin or 0))
            self._leaps.append((passed, joint, float(used.leap[i, joint])))
        if len(used.q) and len(self._pieces) < _FEW:
            fitted = with_rates(used) if self._has_springs else (used.q, used.slow[:, 1:])
            self._fitted.append(_some(*fitted))
            self._pieces.append(_some(used.q, used.slow[:, 1], used.states.velocity))

    def diagnosis(
        self, feedforward: FeedForward, names: tuple[str, ...], efforts: EffortContents,
    ) -> Diagnosis:
        """Return the diagnosis; `names` are the driver's joint names."""
        columns = self._columns.sentence
        if columns or not self._pieces:
            return Diagnosis(names, efforts, Fit(np.nan), [], columns=columns)
        q, effort, velocity = (
            np.concatenate(values) for values in zip(*self._pieces, strict=True))
        if columns := unsigned_efforts(
                feedforward, EffortSamples(q, effort), self._least, names):
            return Diagnosis(names, efforts, Fit(np.nan), [], columns=columns)
        robot, turns = feedforward.robot, feedforward.robot.turns
        moved, fitted = _some(*(
            np.concatenate(values) for values in zip(*self._fitted, strict=True)))
        factors, fit = (
            factors_and_fit(feedforward, moved, fitted, efforts.gear_ratios) if len(moved)
            else (np.ones(robot.n), Fit(np.nan)))  # all runs of an arm with springs are too short
        if not fit.is_wrong and (columns := swapped_friction(
                feedforward, EffortSamples(moved, fitted[:, 0]), names,
                gravity=efforts.with_gravity)):
            return Diagnosis(names, efforts, Fit(np.nan), [], columns=columns)
        # Recorded velocities of a joint may be in m/s although its positions are not in m.
        are_right = RecordedVelocities(q[:, 1], velocity, turns).are_slower(factors)
        misplaced = tuple(np.array(names)[mostly_outside(robot, q[:, 0])].tolist())
        q = q / factors
        velocities = RecordedVelocities(
            q[:, 1] * np.where(are_right, 1.0, factors), velocity, turns)
        reading = fit.reading
        if reading is not None and reading.scale != 1.0 and (
                velocities.positions_are_scaled(reading.scale)
                or not np.isfinite(velocity).any()):
            fit = replace(fit, reading=replace(reading, are_velocities_scaled=False))
            velocities = RecordedVelocities(q[:, 1] / reading.factors(turns), velocity, turns)
        slight = None
        # A leap changes a zero within the recording, so no single zero fits all of it. If stamps
        # are wrong by a factor, so are accelerations.
        if not (np.isnan(fit.unexplained) or self._leaps) and np.isnan(velocities.common_factor):
            samples = EffortSamples(q, in_joint_units(effort, efforts.gear_ratios))
            slight = find_slight_cause(
                feedforward, samples, gravity=efforts.with_gravity,
                tilt=contain_gravity(efforts.gravity_share))
        if fit.is_wrong and isinstance(slight, JointSpring) and (
                slight.left + SPRING_CHANGES * PRICE < fit.cost):
            fit = Fit(slight.left)
        return Diagnosis(
            names, efforts, fit, velocities.clauses(names), velocities.stamp_factor,
            self._has_springs, None if fit.is_wrong else slight, tuple(factors.tolist()),
            misplaced, self._encoders.named(names), tuple(self._leaps),
            tuple('rad' if turning else 'm' for turning in turns),
            share_if_read=share_if_read(
                feedforward, fit.reading, moved / factors,
                in_joint_units(fitted[:, 0], efforts.gear_ratios)))


def _some(*values: Array) -> tuple[Array, ...]:
    """Return evenly spaced rows of arrays, about `MAX_SAMPLES` or fewer."""
    return tuple(one[::len(one) // MAX_SAMPLES + 1] for one in values)


def factors_and_fit(
    feedforward: FeedForward, q: Array, efforts: Array, gear_ratios: Array,
) -> tuple[Array, Fit]:
    """Return the factors by which positions of single joints are too large, and the fit.

    The fit is that of motions, q, (S, 5, n), divided by these factors. `efforts` have two
    derivatives, (S, 3, n), or none, (S, 1, n). If a common factor of all positions, or swapped
    joints, put these joints inside their ranges and explain as much, this is the cause, and the
    factors are 1.
    """
    robot, effort, rates = feedforward.robot, efforts[:, 0], efforts[:, 1:]
    none, fit = np.ones(robot.n), find_misreading(
        feedforward, q, *(in_joint_units(one, gear_ratios) for one in (effort, rates)))
    units = unit_factors(robot, q[:, 0])
    if not units:
        return none, fit
    # The gear ratios hold only for the motion as recorded, without factors. No gain is fitted:
    # with one, the efforts of a joint hardly determine the size of its motion.
    tried = [EffortSamples(q / factors, effort) for factors in units.values()]
    left = [
        float(np.sum(samples.unexplained(feedforward.torque(samples.q, friction=False)[:, 0])))
        for samples in tried]
    factors = next(
        factors for factors, one in zip(units.values(), left, strict=True)
        if not one > min(left) + _SAME)
    single = find_misreading(feedforward, q / factors, effort, rates)
    if fit.reading is None or not are_inside(
            robot, fit.reading.motion(q, robot.turns)[:, 0])[factors != 1.0].all():
        return factors, single
    # Another unit is one change more.
    explains = fit.cost < single.cost + PRICE if fit.reading.scale == 1.0 else (
        fit.least < _CLEARLY * single.least + _SAME)
    return (none, fit) if explains else (factors, single)
