"""The terms of the model of a recorded effort, which parameters are fitted, and their priors.

effort = k ⊙ (Y(q + zero) π + payload + friction + d q̇ + I q̈) + offset, joint by joint, with the
regressor Y, the links' parameters π, viscous friction d and rotor inertia I. k, the inverse of the
gain, is in units of effort per N m: a factor per joint times a common factor, since a wrong unit
or scale affects all drives alike. All parameters are in one vector; those that are not fitted keep
the robot's values.
"""
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hodyn_ros.actuators.friction import SigmoidFriction
from hodyn_ros.common.arrays import Array, Flags
from hodyn_ros.dynamics.regressor import PARAMETERS, inertial_parameters, torque_regressor
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.identification.data import Data
from hodyn_ros.identification.payload import (
    log_cholesky,
    rigid_body,
    slope,
    uncertainty,
)
from hodyn_ros.robot import Robot

_SLOPES = (1.0, 300.0)  # bounds of the slope, s/rad
# Bound of the slope times the joint's largest velocity, if this allows a slope beyond _SLOPES.
_STEEPEST = 30.0
_TURNED = 5.0  # slope times velocity at which symmetric friction has 98.7 % of its full value
_SLOPE_DEVIATION = 1.5  # prior deviation of the slope's logarithm
_ASYMMETRY = 3.0  # bound of slope · velocity offset: a friction 20 times larger in one direction
# Prior deviation of slope · velocity offset: a tenth more friction in one direction, and a tenth
# less in the other.
_ASYMMETRY_DEVIATION = 0.2
_ZERO_DEVIATION = 0.05  # prior deviation of a zero, rad
_ANGLE_STEP = 1e-4  # step of the finite differences by an angle, rad
_VISCOUS = 0.2  # prior deviation of given viscous friction, over its value
# Prior deviation of friction, viscous friction, rotor and offset: the effort that each may cause,
# over the standard deviation of the joint's efforts.
_LARGEST = 10.0
_EXTENT = 0.05  # prior median of a payload's extents, m; their logarithms have the deviation 1
_REACH = 0.3  # prior deviation of the coordinates of a payload's centre of mass, m
_PAYLOAD = np.repeat([  # start, deviation and bounds of log m, c, log diag L and the rest of L
    [0.0, np.inf, np.log(1e-3), np.log(1e3)], [0.0, _REACH, -1.0, 1.0],
    [np.log(_EXTENT), 1.0, np.log(1e-3), 0.0], [0.0, _EXTENT, -1.0, 1.0]], [1, 3, 3, 3], 0).T
_FRICTION = {
    'amplitude': 'amplitude', 'slope': 'slope', 'asymmetry': 'velocity_offset',
    'viscous': 'viscous'}  # name of the law's parameter for each kind


@dataclass(frozen=True)
class _Kind:
    """Parameters of one kind: the term that fits them, their prior and their bounds."""

    term: str
    start: ArrayLike
    deviation: ArrayLike
    low: ArrayLike = -np.inf
    high: ArrayLike = np.inf
    needs_motion: bool = True  # whether its joint must move both ways


class Terms:
    """The model's value and Jacobian at the samples of some data."""

    def __init__(
        self, robot: Robot, data: Data, terms: Collection[str], *, each_bag: bool = False,
    ) -> None:
        self.robot, self.data, self.terms = robot, data, frozenset(terms)
        self.group = np.unique(data.bag, return_inverse=True)[1] if each_bag else np.zeros(
            len(data.q), np.intp)
        #: `known`: (T, n): which efforts are fitted: those recorded while the joint moves;
        #: `shares`: (n,): joints whose gains include the common factor
        self.known, self.shares = data.known, np.ones(robot.n, np.bool_)
        #: (n,): joints whose friction is steeper than the bound, see `leave_out_reversals`
        self.steep = np.zeros(robot.n, np.bool_)
        velocity = np.where(self.known & data.moves, data.q[:, 1], 0.0)
        #: (n,): joints that move both ways and have efforts
        self.moving: Flags = np.asarray(
            (velocity.max(axis=0) > 0.0) & (velocity.min(axis=0) < 0.0))
        self.places: dict[str, slice] = {}  #: Slice of the vector for the parameters of each kind
        rows = []
        end = 0
        kinds = self._kinds()
        for name, kind in kinds.items():
            row = np.array(np.broadcast_arrays(kind.start, kind.deviation, kind.low, kind.high))
            self.places[name] = slice(end, end + row.shape[1])
            end = self.places[name].stop
            rows.append(row)
        #: `start`: (p,): the robot's values, the means of the priors; `low`, `high`: (p,): bounds;
        #: `prior`: (p,): standard deviations of the priors, infinite without a prior; those of
        #: links and gains are for errors of ±100 %, and the fit multiplies them by its levels
        self.start, self.prior, self.low, self.high = np.concatenate(rows, axis=1)
        #: `free`: (p,): parameters that are fitted;
        #: `considered`: (p,): parameters that keep the robot's values, but whose prior deviations
        #: increase the uncertainty of the offsets;
        #: `curved`: (p,): parameters in which the model is far from linear
        self.free, self.considered, self.curved = np.zeros((3, end), np.bool_)
        self.of('slope', self.curved)[:] = self.of('asymmetry', self.curved)[:] = True
        self._set_free(kinds)
        self.move_to(self.start)

    def of(self, kind: str, values: NDArray[Any]) -> Any:
        """Return a view of the parameters of a kind."""
        return values[self.places[kind]]

    def _kinds(self) -> dict[str, _Kind]:
        robot, n = self.robot, self.robot.n
        given = np.array([
            log_cholesky(body.mass, body.com, body.inertia) for body in robot.bodies])
        friction = robot.friction or SigmoidFriction(np.zeros(n), np.full(n, 10.0), np.zeros(n))
        velocity = np.abs(np.where(self.known, self.data.q[:, 1], 0.0)).max(axis=0, initial=0.0)
        # The friction of slow joints changes its sign within a smaller range of velocities.
        steepest = np.maximum(_SLOPES[1], _STEEPEST / np.where(
            self.moving, velocity, _STEEPEST))
        slope_given = np.clip(friction.slope, _SLOPES[0], steepest)
        asymmetry = slope_given * friction.velocity_offset
        most = max(_ASYMMETRY, float(np.abs(asymmetry).max()))
        scale = _LARGEST * np.array([
            np.std(own[known]) or 1.0 if known.any() else 1.0
            for own, known in zip(self.data.effort.T, self.known.T, strict=True)])
        pace = np.maximum(np.sqrt(np.mean(self.data.q[:, 1:3] ** 2, axis=0)), 1e-9)
        groups = int(self.group.max(initial=0)) + 1
        return {
            'links': _Kind(
                'links', given.ravel(), np.concatenate([uncertainty(row) for row in given])),
            'amplitude': _Kind('friction', friction.amplitude, scale, 0.0),
            'slope': _Kind(
                'friction', np.log(slope_given), _SLOPE_DEVIATION, np.log(_SLOPES[0]),
                np.log(steepest)),
            # Only friction near a reversal distinguishes an asymmetry from an offset, and there
            # real friction differs from the law: with offsets, the prior is narrow.
            'asymmetry': _Kind(
                'friction', asymmetry,
                _ASYMMETRY_DEVIATION if 'offsets' in self.terms else _ASYMMETRY, -most, most),
            'viscous': _Kind('viscous', friction.viscous, np.where(
                self._doubts_viscous(friction), _VISCOUS * friction.viscous,
                scale / pace[0]), 0.0),
            'rotor': _Kind('rotor', np.zeros(n) if robot.rotor_inertia is None else
                           robot.rotor_inertia, scale / pace[1], 0.0),
            'inverse_gain': _Kind('gains', np.ones(n), 1.0),
            'common_gain': _Kind('gains', [1.0], np.inf if 'gains' in self.terms else 1.0),
            'zero': _Kind('zeros', np.zeros(n), _ZERO_DEVIATION, needs_motion=False),
            'offset': _Kind(
                'offsets', np.zeros(n * groups), np.tile(scale, groups), needs_motion=False),
            'payload': _Kind('payload', *_PAYLOAD)}

    def _set_free(self, kinds: dict[str, _Kind]) -> None:
        heard: Flags = np.asarray(self.known.any(axis=0))
        for name, kind in kinds.items():
            if kind.term in self.terms and name not in ('links', 'payload', 'common_gain'):
                part = self.of(name, self.free)
                those = self.moving if kind.needs_motion else heard
                part[:] = np.tile(those, len(part) // len(those))
        if 'offsets' in self.terms:
            self.of('asymmetry', self.considered)[:] = self.of('asymmetry', self.free)
            self.of('asymmetry', self.free)[:] = False
        # Fixed viscous friction that is wrong would change the gains, and these the payload.
        if self.robot.friction is not None:
            self.of('viscous', self.free)[self._doubts_viscous(self.robot.friction)] = True
        # Errors of links or gains resemble a payload, so links and gains are fitted with it.
        self.of('links', self.free)[:] = bool({'links', 'payload'} & self.terms)
        if {'payload', 'gains'} & self.terms:
            self.of('inverse_gain', self.free)[:] = self.moving
            self.of('common_gain', self.free)[:] = self.moving.any()

    def _doubts_viscous(self, friction: SigmoidFriction) -> Flags:
        """Return the joints whose given viscous friction is fitted, but not written, (n,)."""
        is_doubted = 'viscous' not in self.terms and bool({'payload', 'gains'} & self.terms)
        return np.asarray(is_doubted & self.moving & (friction.viscous > 0.0))

    def stated(self, *kinds: str) -> list[str]:
        """Return those of `kinds` that are results: not kinds fitted though they are not terms."""
        beside = {'viscous': 'viscous', 'inverse_gain': 'gains'}
        return [kind for kind in kinds if beside.get(kind) in (None, *self.terms)]

    @property
    def assumed(self) -> tuple[str, ...]:
        """The kinds whose given values tests of a fit assume: links; gains if no term."""
        return ('links', *(() if 'gains' in self.terms else ('inverse_gain', 'common_gain')))

    def as_given(self, theta: Array) -> Array:
        """Return a parameter vector, (p,), with the given values of the kinds in `assumed`."""
        theta = theta.copy()
        for kind in self.assumed:
            self.of(kind, theta)[:] = self.of(kind, self.start)
        return theta

    def leave_out_reversals(self, steep: Flags) -> None:
        """Fix slopes, (n,), at their upper bounds, and leave out efforts in slow motion.

        In slow motion, the law cannot follow friction that is steeper than this bound. The errors
        of these few samples would change the law's amplitude and, if offsets are not fitted, its
        asymmetry: all other torques would then be wrong.
        """
        self.steep |= steep
        self.of('slope', self.free)[steep] = False
        full = np.abs(self.data.q[:, 1]) * np.exp(self.of('slope', self.high)) > _TURNED
        self.known &= full | ~self.steep

    def common_gain(self, theta: Array) -> Array:
        """Return the common factor of the drives, (n,); 1 for joints outside `shares`."""
        return np.where(self.shares, self.of('common_gain', theta), 1.0)

    def effort_per_torque(self, theta: Array) -> Array:
        """Return k of each joint, (n,)."""
        return np.asarray(self.of('inverse_gain', theta) * self.common_gain(theta))

    def by_gain(self, theta: Array) -> Array:
        """Return the derivative of k of each joint by all parameters, (n, p)."""
        out = np.zeros((self.robot.n, len(theta)))
        out[:, self.places['inverse_gain']] = np.diag(self.common_gain(theta))
        out[:, self.places['common_gain']] = (self.shares * self.of('inverse_gain', theta))[
            :, None]
        return out

    def load_columns(self, theta: Array, carries: Flags) -> Array:
        """Return the derivative of efforts by the ten parameters of a load, (T, n, 10).

        The load is on the last body, at the samples `carries`, (T,).
        """
        count, n = self.data.effort.shape
        last = self.regressor.reshape(count, n, -1, PARAMETERS)[:, :, -1]
        return np.asarray(
            last * carries[:, None, None] * self.effort_per_torque(theta)[:, None])

    def friction(self, theta: Array) -> SigmoidFriction:
        """Return the law of friction of a parameter vector."""
        slope_ = np.exp(self.of('slope', theta))
        return SigmoidFriction(
            self.of('amplitude', theta), slope_, self.of('asymmetry', theta) / slope_,
            self.of('viscous', theta))

    def move_to(self, theta: Array) -> None:
        """Linearise the torques at the joints' zeros in a parameter vector, (p,)."""
        self.zero = self.of('zero', theta).copy()
        q = self.data.q.copy()
        q[:, 0] += self.zero
        count, n = self.data.effort.shape
        self.regressor = torque_regressor(self.robot, q[:, :3], gravity=self.data.gravity).reshape(
            count * n, -1)
        self._remainder = np.zeros((count, n))
        if 'links' not in self.terms:
            # The given inertias count as they are, even if they are not physical.
            exact = np.concatenate([
                inertial_parameters(body.mass, body.com, body.inertia)
                for body in self.robot.bodies])
            near = np.concatenate([rigid_body(row).parameters for row in self.of(
                'links', self.start).reshape(-1, PARAMETERS)])
            self._remainder = (self.regressor @ (exact - near)).reshape(count, n)
        self._turned = self.turned_by(
            self.of('zero', self.free) if 'zeros' in self.terms else np.zeros(n, np.bool_))

    def turned_by(self, joints: Flags) -> Array:
        """Return the derivative of the torques by the zeros of joints, (T, n, n); 0 for others."""
        q = self.data.q.copy()
        q[:, 0] += self.zero
        out = np.zeros((len(q), self.robot.n, self.robot.n))
        feedforward = FeedForward(self.robot)
        for j in np.flatnonzero(joints):
            both = []
            for step in (_ANGLE_STEP, -_ANGLE_STEP):
                turned = q.copy()
                turned[:, 0, j] += step
                both.append(feedforward.torque(
                    turned, gravity=self.data.gravity, friction=False)[:, 0])
            out[:, :, j] = (both[0] - both[1]) / (2.0 * _ANGLE_STEP)
        return out

    def evaluate(
        self, theta: Array, by: Flags | None = None,
    ) -> tuple[Array, Array]:
        """Return the efforts, (T, n), and their derivative, (T, n, f), by some parameters.

        The mask `by`, (p,), selects the parameters; by default, they are the free ones.
        """
        data, n, free = self.data, self.robot.n, self.free if by is None else by
        count = len(data.q)
        column = np.cumsum(free) - 1  # column of the derivative for each of these parameters
        derivative = np.zeros((count, n, int(free.sum())))

        def put(kind: str, slopes: Array) -> None:
            """Set derivatives by a kind's parameters: (T, n) if each acts on one joint only."""
            those = np.flatnonzero(self.of(kind, free))
            at = column[self.places[kind]][those]
            if slopes.ndim == 2:
                derivative[:, those, at] = slopes[:, those]
            else:
                derivative[:, :, at] = slopes[:, :, those]

        rows = self.of('links', theta).reshape(-1, PARAMETERS)
        inner = self._remainder + (self.regressor @ np.concatenate(
            [rigid_body(row).parameters for row in rows])).reshape(count, n)
        by_body = self.regressor.reshape(count * n, -1, PARAMETERS)
        if self.of('links', free).any():
            put('links', np.concatenate([
                by_body[:, b] @ slope(row) for b, row in enumerate(rows)], axis=1).reshape(
                    count, n, -1))
        if self.of('payload', self.free).any():
            last = by_body[:, -1].reshape(count, n, -1) * data.loaded[:, None, None]
            inner = inner + last @ rigid_body(self.of('payload', theta)).parameters
            put('payload', last @ slope(self.of('payload', theta)))
        friction = self.friction(theta)
        by_parameters = friction.by_parameters(data.q[:, 1])
        rotor, acceleration = self.of('rotor', theta), data.q[:, 2]
        inner = inner + friction.amplitude * by_parameters['amplitude'] + (
            friction.viscous * data.q[:, 1]) + rotor * acceleration
        inner = inner + self._turned @ (self.of('zero', theta) - self.zero)
        # Derivatives by the logarithm of the slope at constant asymmetry, and by the asymmetry.
        by_offset = by_parameters['velocity_offset']
        by_parameters['slope'] = friction.slope * by_parameters['slope'] - (
            friction.velocity_offset * by_offset)
        by_parameters['velocity_offset'] = by_offset / friction.slope
        for kind, name in _FRICTION.items():
            put(kind, by_parameters[name])
        put('rotor', acceleration)
        put('zero', self._turned)
        k = self.effort_per_torque(theta)
        derivative *= k[:, None]
        put('inverse_gain', inner * self.common_gain(theta))
        put('common_gain', (inner * (self.shares * self.of('inverse_gain', theta)))[:, :, None])
        offset = self.of('offset', theta).reshape(-1, n)
        belongs = self.group[:, None] == np.arange(len(offset))
        put('offset', (belongs[:, None, :, None] * np.eye(n)[:, None]).reshape(count, n, -1))
        return k * inner + offset[self.group], derivative

