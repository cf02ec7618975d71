"""The terms of the model of a recorded effort, which parameters are fitted, and their priors.

effort = k ⊙ (Y(q + z) π + payload + friction + d q̇ + I q̈) + offset, joint by joint, with k the
inverse of the gain, in units of effort per N m. k is a factor of each joint times one of all:
drives that one mistake of a unit or a scale feeds are off alike. All parameters stand in one
vector; those that are not free keep what the robot has.
"""
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.actuators.friction import SigmoidFriction
from hodyn_ros.dynamics.regressor import PARAMETERS, inertial_parameters, torque_regressor
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.identification.data import MIN_VELOCITY, Data
from hodyn_ros.identification.payload import (
    COM,
    EXTENT,
    MASS,
    SHEAR,
    log_cholesky,
    rigid_body,
    slope,
    uncertainty,
)
from hodyn_ros.robot import Robot

Array = NDArray[np.float64]

TERMS = ('links', 'friction', 'viscous', 'rotor', 'gains', 'offsets', 'payload', 'zeros')

_SLOPES = (1.0, 300.0)  # s/rad
_SLOPE_DEVIATION = 1.5  # of the logarithm
_ASYMMETRY = 3.0  # slope · velocity offset: friction 20 times as large in one direction
_ASYMMETRY_DEVIATION = 0.2  # a tenth more in one direction, and a tenth less in the other
_ZERO_DEVIATION = 0.05  # rad
_ANGLE_STEP = 1e-4  # rad
_LARGEST = 10.0  # times the standard deviation of efforts: what no term of a drive is beyond
_EXTENT = 0.05  # m: what is known of the radius of a payload, within a factor of e
_FRICTION = {
    'amplitude': 'amplitude', 'slope': 'slope', 'asymmetry': 'velocity_offset',
    'viscous': 'viscous'}  # names of the law's parameters


class Terms:
    """The model's value and Jacobian at the samples of some data.

    Attributes
    ----------
    places : dict of str to slice
        Where the parameters of each kind stand in the vector.
    start, low, high : (p,) arrays
        What the robot has, the mean of the prior; and bounds.
    free : (p,) bool array
        What is fitted.
    curved : (p,) bool array
        What the model is far from linear in.
    known : (T, n) bool array
        Which efforts are fitted: those that are recorded while the joint moves.
    prior : (p,) array
        Standard deviations of `start` as knowledge; those of links for links known to ±100 %, of
        gains for such known to ±100 %; infinite where nothing is known.
    shares : (n,) bool array
        Which joints' gains the factor of all applies to.

    """

    def __init__(
        self, robot: Robot, data: Data, terms: Collection[str], *, each_bag: bool = False,
    ) -> None:
        self.robot, self.data, self.terms = robot, data, frozenset(terms)
        n, bodies = robot.n, len(robot.bodies)
        self.group = np.unique(data.bag, return_inverse=True)[1] if each_bag else np.zeros(
            len(data.q), np.intp)
        groups = int(self.group.max(initial=0)) + 1
        self.places: dict[str, slice] = {}
        end = 0
        for kind, size in (
                ('links', PARAMETERS * bodies), ('amplitude', n), ('slope', n),
                ('asymmetry', n), ('viscous', n), ('rotor', n), ('inverse_gain', n),
                ('common_gain', 1), ('zero', n), ('offset', n * groups), ('payload', PARAMETERS)):
            self.places[kind] = slice(end, end + size)
            end += size
        self.low, self.high = np.full(end, -np.inf), np.full(end, np.inf)
        self.free, self.prior = np.zeros(end, np.bool_), np.full(end, np.inf)
        self.start = np.zeros(end)
        self.known, self.shares = data.known, np.ones(n, np.bool_)
        self.curved = np.zeros(end, np.bool_)
        self.of('slope', self.curved)[:] = self.of('asymmetry', self.curved)[:] = True
        self._set_start()
        self._set_bounds()
        self._set_free()
        self.move_to(self.start)

    def of(self, kind: str, values: NDArray[Any]) -> Any:
        """Return a view of the parameters of a kind."""
        return values[self.places[kind]]

    def _set_start(self) -> None:
        robot, n = self.robot, self.robot.n
        given = np.array([
            log_cholesky(body.mass, body.com, body.inertia) for body in robot.bodies])
        friction = robot.friction or SigmoidFriction(np.zeros(n), np.full(n, 10.0), np.zeros(n))
        slope_given = np.clip(friction.slope, *_SLOPES)
        # An asymmetry is what the fast motion cannot tell from an offset.
        asymmetry = _ASYMMETRY_DEVIATION if 'offsets' in self.terms else _ASYMMETRY
        scale = _LARGEST * np.array([
            np.std(own[known]) or 1.0 if known.any() else 1.0
            for own, known in zip(self.data.effort.T, self.known.T, strict=True)])
        pace = np.maximum(np.sqrt(np.mean(self.data.q[:, 1:3] ** 2, axis=0)), 1e-9)
        for kind, start, deviation in (
                ('links', given.ravel(), np.concatenate([uncertainty(row) for row in given])),
                ('amplitude', friction.amplitude, scale),
                ('slope', np.log(slope_given), _SLOPE_DEVIATION),
                ('asymmetry', slope_given * friction.velocity_offset, asymmetry),
                ('viscous', friction.viscous, scale / pace[0]),
                ('rotor', 0.0 if robot.rotor_inertia is None else robot.rotor_inertia,
                 scale / pace[1]),
                ('inverse_gain', 1.0, 1.0),
                ('common_gain', 1.0, np.inf if 'gains' in self.terms else 1.0),
                ('zero', 0.0, _ZERO_DEVIATION),
                ('offset', 0.0, np.tile(scale, len(self.of('offset', self.start)) // n))):
            self.of(kind, self.start)[:], self.of(kind, self.prior)[:] = start, deviation
        self.of('payload', self.start)[EXTENT] = np.log(_EXTENT)
        self.of('payload', self.prior)[EXTENT] = 1.0
        self.of('payload', self.prior)[SHEAR] = _EXTENT

    def _set_bounds(self) -> None:
        most = max(_ASYMMETRY, float(np.abs(self.of('asymmetry', self.start)).max()))
        for kind, low, high in (
                ('amplitude', 0.0, np.inf), ('slope', *np.log(_SLOPES)),
                ('asymmetry', -most, most), ('viscous', 0.0, np.inf), ('rotor', 0.0, np.inf)):
            self.of(kind, self.low)[:], self.of(kind, self.high)[:] = low, high
        for part, low, high in (
                (MASS, np.log(1e-3), np.log(1e3)), (COM, -1.0, 1.0), (EXTENT, np.log(1e-3), 0.0),
                (SHEAR, -1.0, 1.0)):
            self.of('payload', self.low)[part], self.of('payload', self.high)[part] = low, high

    def _set_free(self) -> None:
        velocity = np.where(self.known, self.data.q[:, 1], 0.0)
        moving = (velocity.max(0) > MIN_VELOCITY) & (velocity.min(0) < -MIN_VELOCITY)
        heard = self.known.any(axis=0)
        kinds = {
            'friction': ('amplitude', 'slope', 'asymmetry'), 'viscous': ('viscous',),
            'rotor': ('rotor',), 'gains': ('inverse_gain',), 'offsets': ('offset',),
            'zeros': ('zero',)}
        for term in self.terms & set(kinds):
            those: NDArray[np.bool_] = np.asarray(
                heard if term in ('offsets', 'zeros') else moving & heard)
            for kind in kinds[term]:
                part = self.of(kind, self.free)
                part[:] = np.tile(those, len(part) // len(those))
        # A wrong link or gain passes for a payload, so that both are left free beside it.
        self.of('links', self.free)[:] = bool({'links', 'payload'} & self.terms)
        if {'payload', 'gains'} & self.terms:
            self.of('inverse_gain', self.free)[:] = moving & heard
            self.of('common_gain', self.free)[:] = (moving & heard).any()

    def common_gain(self, theta: Array) -> Array:
        """Return the factor of all drives as it applies to each, (n,)."""
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

    def load_columns(self, theta: Array, carries: NDArray[np.bool_]) -> Array:
        """Return efforts by mass and first moment of a load on the last body, (T, n, 4).

        It is there at the samples that `carries`, (T,), names.
        """
        count, n = self.data.effort.shape
        last = self.regressor.reshape(count, n, -1, PARAMETERS)[:, :, -1, :EXTENT.start]
        return np.asarray(
            last * carries[:, None, None] * self.effort_per_torque(theta)[:, None])

    def friction(self, theta: Array) -> SigmoidFriction:
        """Return the law of friction of a parameter vector."""
        slope_ = np.exp(self.of('slope', theta))
        return SigmoidFriction(
            self.of('amplitude', theta), slope_, self.of('asymmetry', theta) / slope_,
            self.of('viscous', theta))

    def move_to(self, theta: Array) -> None:
        """Take the torques where the joints' zeros of a parameter vector put them."""
        self.zero = self.of('zero', theta).copy()
        q = self.data.q.copy()
        q[:, 0] += self.zero
        count, n = self.data.effort.shape
        self.regressor = torque_regressor(self.robot, q[:, :3], gravity=self.data.gravity).reshape(
            count * n, -1)
        self._remainder = np.zeros((count, n))
        if 'links' not in self.terms:
            # The given inertias, also where no rigid body has them.
            exact = np.concatenate([
                inertial_parameters(body.mass, body.com, body.inertia)
                for body in self.robot.bodies])
            near = np.concatenate([rigid_body(row).parameters for row in self.of(
                'links', self.start).reshape(-1, PARAMETERS)])
            self._remainder = (self.regressor @ (exact - near)).reshape(count, n)
        self._turned = np.zeros((count, n, n))
        if 'zeros' in self.terms:
            feedforward = FeedForward(self.robot)
            for j in np.flatnonzero(self.of('zero', self.free)):
                both = []
                for step in (_ANGLE_STEP, -_ANGLE_STEP):
                    turned = q.copy()
                    turned[:, 0, j] += step
                    both.append(feedforward.torque(
                        turned, gravity=self.data.gravity, friction=False)[:, 0])
                self._turned[:, :, j] = (both[0] - both[1]) / (2.0 * _ANGLE_STEP)

    def evaluate(self, theta: Array) -> tuple[Array, Array]:
        """Return the efforts (T, n) and their derivative by the free parameters (T, n, f)."""
        data, n = self.data, self.robot.n
        count = len(data.q)
        column = np.cumsum(self.free) - 1  # of each free parameter
        derivative = np.zeros((count, n, int(self.free.sum())))

        def columns(kind: str) -> list[tuple[int, int]]:
            place = self.places[kind]
            return [(i, int(column[place.start + i])) for i in range(place.stop - place.start)
                    if self.free[place.start + i]]

        rows = self.of('links', theta).reshape(-1, PARAMETERS)
        bodies = len(rows)
        inner = self._remainder + (self.regressor @ np.concatenate(
            [rigid_body(row).parameters for row in rows])).reshape(count, n)
        if self.of('links', self.free).any():
            by_body = self.regressor.reshape(count * n, bodies, PARAMETERS)
            at = int(column[self.places['links'].start])
            for b in range(bodies):
                derivative[:, :, at + PARAMETERS * b:at + PARAMETERS * (b + 1)] = (
                    by_body[:, b] @ slope(rows[b])).reshape(count, n, PARAMETERS)
        if self.of('payload', self.free).any():
            own = self.of('payload', theta)
            last = self.regressor.reshape(count, n, bodies, PARAMETERS)[:, :, -1]
            last = last * data.loaded[:, None, None]
            inner = inner + last @ rigid_body(own).parameters
            by = last @ slope(own)
            for i, at in columns('payload'):
                derivative[:, :, at] = by[:, :, i]
        friction = self.friction(theta)
        by_parameters = friction.by_parameters(data.q[:, 1])
        rotor, acceleration = self.of('rotor', theta), data.q[:, 2]
        inner = inner + friction.amplitude * by_parameters['amplitude'] + (
            friction.viscous * data.q[:, 1]) + rotor * acceleration
        inner = inner + self._turned @ (self.of('zero', theta) - self.zero)
        # By the logarithm of the slope, with the asymmetry as it is, and by the asymmetry.
        by_offset = by_parameters['velocity_offset']
        by_parameters['slope'] = friction.slope * by_parameters['slope'] - (
            friction.velocity_offset * by_offset)
        by_parameters['velocity_offset'] = by_offset / friction.slope
        for kind, by in (
                *((kind, by_parameters[name]) for kind, name in _FRICTION.items()),
                ('rotor', acceleration)):
            for i, at in columns(kind):
                derivative[:, i, at] = by[:, i]
        for i, at in columns('zero'):
            derivative[:, :, at] = self._turned[:, :, i]
        k = self.effort_per_torque(theta)
        derivative *= k[:, None]
        common = self.common_gain(theta)
        for i, at in columns('inverse_gain'):
            derivative[:, i, at] = inner[:, i] * common[i]
        for _, at in columns('common_gain'):
            derivative[:, :, at] = inner * (self.shares * self.of('inverse_gain', theta))
        offset = self.of('offset', theta).reshape(-1, n)
        for i, at in columns('offset'):
            group, joint = divmod(i, n)
            derivative[self.group == group, joint, at] = 1.0
        return k * inner + offset[self.group], derivative

