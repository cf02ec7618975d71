"""The start of a fit: quarter turns, gains and friction by rough least squares."""
import numpy as np
from scipy.optimize import nnls

from hodyn_ros.actuators.friction import sigmoid
from hodyn_ros.common.arrays import Array, Flags
from hodyn_ros.dynamics.regressor import PARAMETERS
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.identification.estimate import Estimate
from hodyn_ros.identification.payload import rigid_body
from hodyn_ros.identification.terms import Terms
from hodyn_ros.replay.effort_samples import EffortSamples
from hodyn_ros.replay.friction_fit import FrictionFit
from hodyn_ros.replay.quarter_turns import quarter_turns

_QUARTER = 0.5 * np.pi
_CANDIDATES = 16  # number of slopes of friction from which the best is chosen
# Slope times velocity below which friction is nearly proportional to velocity. The given slope is
# then replaced by any that fits better.
_LINEAR = 1.5
_FAR_BETTER = 0.7  # greatest ratio of the errors with a far better slope and with the given one


def start_values(model: Terms, begin: Estimate | None) -> tuple[Array, Flags]:
    """Return the start of a fit, (p,), and which gains can be told apart from friction, (n,).

    The start is `begin`, an estimate from other data of the arm, if given.
    """
    robot, data, known = model.robot, model.data, model.known
    theta, n = model.start.copy(), robot.n
    clear = np.ones(n, np.bool_)
    if 'zeros' in model.terms:
        if begin is None:
            arm = FeedForward(robot if data.gravity else robot.with_gravity((0.0, 0.0, 0.0)))
            quarters = quarter_turns(
                arm, EffortSamples(data.q, data.effort), gains='gains' in model.terms)
        else:
            quarters = _QUARTER * np.round(begin.parameters['zero'] / _QUARTER)
        model.of('zero', theta)[:] = model.of('zero', model.start)[:] = quarters
        model.move_to(theta)
    if begin is not None:
        for kind in ('links', 'amplitude', 'slope', 'asymmetry', 'viscous', 'rotor',
                     'inverse_gain', 'common_gain'):
            those = model.of(kind, model.free)
            model.of(kind, theta)[those] = begin.parameters[kind][those]
    rigid = (model.regressor @ np.concatenate([
        rigid_body(row).parameters
        for row in model.of('links', theta).reshape(-1, PARAMETERS)])).reshape(-1, n)
    if 'gains' in model.terms:
        if begin is not None:
            clear = ~np.isin(robot.joint_names, begin.gains_by_others)
        else:  # units of effort per N m, by least squares with friction
            by_torque = FrictionFit(n, 1)
            by_torque.add(data.q[:, 1], (rigid,), data.effort, known, data.block)
            gain, clear = by_torque.coefficients[0][:, 0], by_torque.clear[:, 0]
            if clear.any():
                common = float(np.median(gain[clear]))
                model.of('common_gain', theta)[:] = common
                model.of('inverse_gain', theta)[clear] = gain[clear] / common
    k = model.effort_per_torque(theta)
    for term, kind in (('friction', 'amplitude'), ('viscous', 'viscous'), ('rotor', 'rotor')):
        if term in model.terms:  # convert from the unit of the efforts to N m
            model.of(kind, model.prior)[:] /= np.abs(k)
    rest = np.where(known, data.effort / k - rigid, 0.0)
    those = model.of('amplitude', model.free)
    model.of('amplitude', theta)[those] = np.maximum(
        model.of('amplitude', theta), 0.1 * np.std(rest, axis=0))[those]
    if begin is None:
        _start_at_better_slopes(model, theta, rest)
    if not np.isfinite(theta).all():
        raise np.linalg.LinAlgError('no finite start')
    return theta, clear


def _start_at_better_slopes(model: Terms, theta: Array, rest: Array) -> None:
    """Replace starts of friction in `theta` whose slope is far from the best candidate.

    `rest`, (T, n), are the torques minus those of the rigid bodies. A fit would keep a far too
    small slope, as the law is then proportional to velocity, like viscous friction.
    """
    low, high = (model.of('slope', bounds) for bounds in (model.low, model.high))
    for j in np.flatnonzero(model.of('slope', model.free)):
        known = model.known[:, j]
        velocity, torque = model.data.q[known, 1, j], rest[known, j]
        slopes = np.array([
            model.of('slope', theta)[j], *np.linspace(low[j], high[j], _CANDIDATES)])
        # Coefficients are not negative: two columns allow for a constant of either sign.
        one = np.ones_like(velocity)
        linear = velocity * model.of('viscous', model.free)[j]
        found, left = zip(*(nnls(np.stack([
            sigmoid(slope * velocity) - 0.5, linear, one, -one], axis=1), torque)
            for slope in np.exp(slopes)), strict=True)
        best = int(np.argmin(left))
        is_linear = np.exp(slopes[0]) * np.quantile(np.abs(velocity), 0.95) < _LINEAR
        if left[best] < (1.0 if is_linear else _FAR_BETTER) * left[0]:
            model.of('slope', theta)[j] = slopes[best]
            model.of('amplitude', theta)[j] = found[best][0]
            if linear.any():
                model.of('viscous', theta)[j] = found[best][1]
