"""The terms of the model of a recorded effort, and which of its parameters are fitted.

effort = k ⊙ (Y(q + z) π + payload + friction + d q̇ + I q̈) + offset, joint by joint, with k the
inverse of the gain: N m per unit of effort. Beside a payload, k may be off by a factor common to
all joints, too: who states the gains of an arm's drives measures them alike. All parameters stand
in one vector; those that are not free keep what the robot has.
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
_EXTENT = 0.05  # m: what is known of the radius of a payload, within a factor of e


class Terms:
    """The model's value and Jacobian at the samples of some data.

    Attributes
    ----------
    places : dict of str to slice
        Where the parameters of each kind stand in the vector.
    start, low, high : (p,) arrays
        What the robot has, and bounds.
    free : (p,) bool array
        What is fitted.
    known : (T, n) bool array
        Which efforts are fitted: those that are recorded while the joint moves.
    prior : (p,) array
        Standard deviations of `start` as knowledge; those of links for links known to ±100 %, of
        gains for such known to ±100 %; infinite where nothing is known.

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
        self.known = data.known
        self._set_start()
        self._set_free()
        self.move_to(self.start)
        self._last: tuple[bytes, Array, Array] = (b'', np.empty(0), np.empty(0))

    def of(self, kind: str, values: NDArray[Any]) -> Any:
        """Return a view of the parameters of a kind."""
        return values[self.places[kind]]

    def _set_start(self) -> None:
        robot, n = self.robot, self.robot.n
        given = np.array([
            log_cholesky(body.mass, body.com, body.inertia) for body in robot.bodies])
        self.of('links', self.start)[:] = given.ravel()
        self.of('links', self.prior)[:] = np.concatenate([uncertainty(row) for row in given])
        friction = robot.friction or SigmoidFriction(np.zeros(n), np.full(n, 10.0), np.zeros(n))
        for kind in ('amplitude', 'viscous'):
            self.of(kind, self.start)[:] = getattr(friction, kind)
        slope_given = np.clip(friction.slope, *_SLOPES)
        self.of('slope', self.start)[:] = np.log(slope_given)
        self.of('asymmetry', self.start)[:] = slope_given * friction.velocity_offset
        if 'offsets' in self.terms:  # which the fast motion cannot tell from an asymmetry
            self.of('asymmetry', self.prior)[:] = _ASYMMETRY_DEVIATION
        self.of('slope', self.prior)[:] = _SLOPE_DEVIATION
        self.of('rotor', self.start)[:] = 0.0 if robot.rotor_inertia is None else (
            robot.rotor_inertia)
        for kind in ('inverse_gain', 'common_gain'):
            self.of(kind, self.start)[:] = self.of(kind, self.prior)[:] = 1.0
        self.of('zero', self.prior)[:] = _ZERO_DEVIATION
        self.of('payload', self.start)[EXTENT] = np.log(_EXTENT)
        self.of('payload', self.prior)[EXTENT] = 1.0
        self.of('payload', self.prior)[SHEAR] = _EXTENT
        most = max(_ASYMMETRY, float(np.abs(self.of('asymmetry', self.start)).max()))
        for kind, low, high in (
                ('amplitude', 0.0, np.inf), ('slope', *np.log(_SLOPES)),
                ('asymmetry', -most, most), ('viscous', 0.0, np.inf), ('rotor', 0.0, np.inf)):
            self.of(kind, self.low)[:], self.of(kind, self.high)[:] = low, high
        payload = self.places['payload'].start
        for part, low, high in (
                (MASS, np.log(1e-3), np.log(1e3)), (COM, -1.0, 1.0), (EXTENT, np.log(1e-3), 0.0),
                (SHEAR, -1.0, 1.0)):
            self.low[payload:][part], self.high[payload:][part] = low, high

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
        if 'payload' in self.terms:
            self.of('inverse_gain', self.free)[:] = moving & heard
            self.of('common_gain', self.free)[:] = 'gains' not in self.terms and (
                moving & heard).any()
        if 'gains' in self.terms:
            self.of('inverse_gain', self.prior)[:] = np.inf

    def effort_per_torque(self, theta: Array) -> Array:
        """Return k of each joint, (n,)."""
        return np.asarray(self.of('inverse_gain', theta) * self.of('common_gain', theta))

    def load_columns(self, theta: Array, carries: NDArray[np.bool_]) -> Array:
        """Return efforts by mass and first moment of a load on the last body, (T, n, 4).

        It is there at the samples that `carries`, (T,), names.
        """
        count, n = self.data.effort.shape
        last = self.regressor.reshape(count, n, -1, PARAMETERS)[:, :, -1, :EXTENT.start]
        return np.asarray(
            last * carries[:, None, None] * self.effort_per_torque(theta)[:, None])

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
        self._last = (b'', np.empty(0), np.empty(0))

    def evaluate(self, theta: Array) -> tuple[Array, Array]:
        """Return the efforts (T, n) and their derivative by the free parameters (T, n, f)."""
        key = theta.tobytes() + self.free.tobytes()
        if self._last[0] != key:
            self._last = (key, *self._evaluated(theta))
        return self._last[1], self._last[2]

    def _evaluated(self, theta: Array) -> tuple[Array, Array]:
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
        velocity, acceleration = data.q[:, 1], data.q[:, 2]
        a, s, u, d, rotor = (self.of(kind, theta) for kind in (
            'amplitude', 'slope', 'asymmetry', 'viscous', 'rotor'))
        k, common = self.effort_per_torque(theta), self.of('common_gain', theta)
        alpha = np.exp(s)
        moved, rest = (0.5 * (1.0 + np.tanh(0.5 * (alpha * v + u))) for v in (velocity, 0.0))
        d_moved, d_rest = moved * (1.0 - moved), rest * (1.0 - rest)
        inner = inner + a * (moved - rest) + d * velocity + rotor * acceleration
        inner = inner + self._turned @ (self.of('zero', theta) - self.zero)
        for kind, by in (
                ('amplitude', moved - rest),
                ('slope', a * alpha * d_moved * velocity),
                ('asymmetry', a * (d_moved - d_rest)),
                ('viscous', velocity), ('rotor', acceleration)):
            for i, at in columns(kind):
                derivative[:, i, at] = by[:, i]
        for i, at in columns('zero'):
            derivative[:, :, at] = self._turned[:, :, i]
        derivative *= k[:, None]
        for i, at in columns('inverse_gain'):
            derivative[:, i, at] = inner[:, i] * common
        for _, at in columns('common_gain'):
            derivative[:, :, at] = inner * (k / common)
        offset = self.of('offset', theta).reshape(-1, n)
        for i, at in columns('offset'):
            group, joint = divmod(i, n)
            derivative[self.group == group, joint, at] = 1.0
        return k * inner + offset[self.group], derivative

